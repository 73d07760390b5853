"""Static pages: documents that are the same for every caller and generation, made once as bytes.

These are the description of the API and the pages that show it. They have no parameters, no meter
and no key; a tag of their bytes turns a repeated request into a 304.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from serve.access.call import Response, matches
from serve.request import reader
from serve.request.query_string import Pairs

# A page may change when a server starts; a file with a version in its name never does.
SHORT: Final = "public, max-age=300"
FOREVER: Final = "public, max-age=31536000, immutable"


class StaticPage(NamedTuple):
    """`headers` are all of its own: ETag, Content-Type, Cache-Control, sometimes a policy."""

    body: bytes
    headers: Mapping[str, str]


def page(body: bytes, kind: str, cache: str = SHORT, **headers: str) -> StaticPage:
    """A page of Content-Type `kind`; `headers` by name, with `_` for `-`."""
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    return StaticPage(body, {"ETag": tag, "Content-Type": kind, "Cache-Control": cache, **own})


def response(
    pages: Mapping[str, StaticPage], path: str, pairs: Pairs, if_none_match: str | None
) -> Response:
    """The page at `path` ("docs/index.css").

    Raises:
        KeyError: there is none.
        ApiError: 400: pages have no parameters.
    """
    static_page = pages[path]
    reader.refuse_parameters(pairs)
    if matches(if_none_match, static_page.headers["ETag"]):
        kept = {name: text for name, text in static_page.headers.items() if name != "Content-Type"}
        return Response(304, b"", kept)
    return Response(200, static_page.body, static_page.headers)
