"""Content codings of answers: Zstandard (RFC 8878) and gzip (RFC 1952), as the client accepts them (X0).

Answers of more than 1 000 bytes are compressed, also errors of the API and answers of /api/mcp. Pages with `no-store`
are not: such a page may have a secret of its user (the token of a form) in addition to text that an attacker chose, and
its compressed length would reveal the secret (BREACH). Answers of the API have no such secret, and browsers do not send
a key by themselves. Files of an export are sent unchanged.

A tag identifies exact bytes, so each coding has its own tag: `"abc"`, `"abc-gzip"`, `"abc-zstd"` (RFC 9110 §8.8.3.3).
Routes use only the tag without a coding; this module adds the coding, and removes it from the tags of If-None-Match.
"""

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

import zstandard
from aiohttp import web

from serve.access.call import Response, matches
from serve.request import accept

# Bytes; a shorter answer fits into one packet uncompressed.
SHORTEST: Final = 1_000
# Bytes; a longer answer takes about a millisecond to compress, so a thread compresses it.
_LONG_BODY: Final = 128 * 1024
# The levels of compression. A page of 50 companies costs 65 µs with gzip 1 and 40 µs with Zstandard 1; higher levels
# save a fifth of the bytes and cost five times as much.
_QUICK_LEVEL: Final = 1
_THOROUGH_LEVEL: Final = 9
# The most compressed public bodies in the cache: documents, assets, public lists; about 20 kB each.
_MOST_BODIES: Final = 256

_GZIP_FORMAT: Final = 31  # of zlib: the largest window, and the head and tail of gzip
# The beginnings of the media types that are compressed.
_COMPRESSED_TYPES: Final = ("text/", "application/json", "image/svg+xml")
_VARY: Final = "Accept-Encoding"  # the header on which a coded answer depends

# The compressor of each coding, the best first; the level may be 1 to 9.
_COMPRESSORS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "zstd": lambda body, level: zstandard.ZstdCompressor(level=level).compress(body),
    "gzip": lambda body, level: zlib.compress(body, level, _GZIP_FORMAT),
}


class AcceptedCodings(NamedTuple):
    """The codings that a client accepts, the best first; `plain`: it also accepts an uncompressed body."""

    codings: Sequence[str] = ()
    plain: bool = True

    @property
    def best_coding(self) -> str | None:
        """The coding of a long answer; None to send it uncompressed."""
        return self.codings[0] if self.codings else None


_UNCOMPRESSED: Final = AcceptedCodings()


def read_accept_encoding(header: str | None) -> AcceptedCodings:
    """Read the header Accept-Encoding (RFC 9110 §12.5.3).

    A coding with a lower quality than `identity` is not used.

    >>> read_accept_encoding("gzip, deflate, br, zstd").codings
    ['zstd', 'gzip']
    >>> read_accept_encoding("gzip;q=0.5, identity").best_coding is None
    True
    >>> read_accept_encoding("identity;q=0, *"), read_accept_encoding("zstd;q=0")
    (AcceptedCodings(codings=['zstd', 'gzip'], plain=False), AcceptedCodings(codings=[], plain=True))
    """
    if not header:
        return _UNCOMPRESSED
    # `x-gzip` is another name of gzip (RFC 9110 §8.4.1.3).
    qualities = {word.removeprefix("x-"): quality for word, quality in accept.qualities(header)}
    quality_of_others = qualities.get("*", 0.0)
    quality = {name: qualities.get(name, quality_of_others) for name in _COMPRESSORS}
    least_quality = qualities.get("identity", 0.0)
    codings = [
        name for name in _COMPRESSORS if quality[name] > 0 and quality[name] >= least_quality
    ]
    codings.sort(key=lambda name: -quality[name])
    return AcceptedCodings(codings, qualities.get("identity", qualities.get("*", 1.0)) > 0)


def strip_codings(if_none_match: str | None, accepted: AcceptedCodings) -> str | None:
    """Replace the tags of coded answers in If-None-Match by the tags of routes, for the codings the client accepts.

    >>> strip_codings('"a-gzip", "b-zstd"', AcceptedCodings(["gzip"]))
    '"a", "b-zstd"'
    """
    if if_none_match is not None:
        for coding in accepted.codings:
            if_none_match = if_none_match.replace(f'-{coding}"', '"')
    return if_none_match


async def compress_response(
    message: web.BaseRequest, response: Response, accepted: AcceptedCodings, *, of_api: bool
) -> Response:
    """Compress a response that the rules at the top of this file allow, and set the tag of its bytes.

    Args:
        of_api: the route belongs to the API, whose callers are identified by keys alone (A12).
    """
    headers = response.headers
    policy = headers.get("Cache-Control", "no-store")
    if message.method not in ("GET", "HEAD") and message.path != "/api/mcp":
        return response
    if response.file is not None:
        return response
    if "no-store" in policy and not of_api:
        return response
    if response.status == 304:
        return response._replace(
            headers=_headers_of_304(headers, message.headers.get("If-None-Match"), accepted)
        )
    has_body = response.status == 200 or (of_api and response.status >= 400)
    if not has_body or not headers.get("Content-Type", _COMPRESSED_TYPES[1]).startswith(
        _COMPRESSED_TYPES
    ):
        return response
    coded_headers = {
        **headers,
        "Vary": f"{headers['Vary']}, {_VARY}" if "Vary" in headers else _VARY,
    }
    coding, body = accepted.best_coding, response.body
    if coding is None or (len(body) <= SHORTEST and accepted.plain):
        return response._replace(headers=coded_headers)
    if tag := headers.get("ETag"):
        coded_headers["ETag"] = _coded_tag(tag, coding)
    coded_headers["Content-Encoding"] = coding
    return response._replace(body=await _encode(body, coding, policy), headers=coded_headers)


@lru_cache(_MOST_BODIES)
def _compress_thoroughly(body: bytes, coding: str) -> bytes:
    """Compress a public body at the slow level; results are cached, because many clients get the same body."""
    return _COMPRESSORS[coding](body, _THOROUGH_LEVEL)


async def _encode(body: bytes, coding: str, policy: str) -> bytes:
    """Compress a body: a public body thoroughly and once, any other body quickly."""
    quickly = partial(_COMPRESSORS[coding], body, _QUICK_LEVEL)
    encode = partial(_compress_thoroughly, body, coding) if "public" in policy else quickly
    return encode() if len(body) <= _LONG_BODY else await asyncio.to_thread(encode)


def _headers_of_304(
    headers: Mapping[str, str], if_none_match: str | None, accepted: AcceptedCodings
) -> dict[str, str]:
    """The headers of a 304, with the tag that the client already has: that of the body, or of a compressed form."""
    fields = {**headers, "Vary": f"{headers['Vary']}, {_VARY}" if "Vary" in headers else _VARY}
    tag = headers.get("ETag")
    if tag and not matches(if_none_match, tag):
        tags = (_coded_tag(tag, coding) for coding in accepted.codings)
        fields["ETag"] = next(
            (coded_tag for coded_tag in tags if matches(if_none_match, coded_tag)), tag
        )
    return fields


def _coded_tag(tag: str, coding: str) -> str:
    """The tag of a body in this coding: `"abc-gzip"` for `"abc"`."""
    return f'{tag[:-1]}-{coding}"'
