"""Pages: what is the same for everybody and every generation, made once and served as bytes.

The description of the API and the pages that show it. They have no parameters, no meter and no
key; a tag of their bytes makes a repeat a 304.
"""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

from serve.access.etag import matches
from serve.access.result import Response, not_modified
from serve.contract import errors
from serve.request import params
from serve.request.params import Pairs

# A page may change with the next start of a server; what has a version in its name never does.
SHORT: Final = "public, max-age=300"
_MARKDOWN: Final = "text/markdown"
FOREVER: Final = "public, max-age=31536000, immutable"


class StaticPage(NamedTuple):
    """`headers` are all of its own: ETag, Content-Type, Cache-Control, maybe a policy."""

    body: bytes
    headers: Mapping[str, str]


def page(body: bytes, kind: str, cache: str = SHORT, **headers: str) -> StaticPage:
    """A page of that Content-Type; `headers` by name, with `_` for `-`."""
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    return StaticPage(body, {"ETag": tag, "Content-Type": kind, "Cache-Control": cache, **own})


def wants_markdown(accept: str) -> bool:
    """Does an Accept header prefer Markdown to a page for people (RFC 9110 §12.5.1)?

    >>> wants_markdown("text/markdown, text/html;q=0.9"), wants_markdown("text/html, */*")
    (True, False)
    """
    wanted: dict[str, float] = {}
    for part in accept.split(","):
        kind, *options = (piece.strip() for piece in part.lower().split(";"))
        weights = [option[2:] for option in options if option.startswith("q=")]
        with suppress(ValueError):
            wanted[kind] = float(weights[0]) if weights else 1.0
    return wanted.get(_MARKDOWN, 0.0) > 0.0 and wanted[_MARKDOWN] >= wanted.get("text/html", 0.0)


def answer(
    pages: Mapping[str, StaticPage], path: str, given: Pairs, if_none_match: str | None
) -> Response:
    """The page at `path` ("docs/index.css").

    Raises:
        ApiError: 404 there is none; 400 it has no parameters.
    """
    found = pages.get(path)
    if found is None:
        raise errors.route_inconnue()
    params.nothing(given)
    if matches(if_none_match, found.headers["ETag"]):
        kept = {name: text for name, text in found.headers.items() if name != "Content-Type"}
        return not_modified(kept)
    return Response(200, found.body, found.headers)
