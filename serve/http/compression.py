"""Content codings of answers: Zstandard (RFC 8878) and gzip (RFC 1952), as the client accepts them (X0).

Answers of more than 1 000 bytes are compressed, errors of the API and answers of /api/mcp too, but not pages that no
cache may keep: such a page may contain a secret of its reader (the token of a form) beside text that an attacker
chose, whose browser sends the session by itself, and its compressed length would give the secret away (BREACH).
Answers of the API have no such secret, and no browser adds a key by itself. Files of an export are sent as they are.

A tag names exact bytes, so each coding has its own: `"abc"`, `"abc-gzip"`, `"abc-zstd"` (RFC 9110 §8.8.3.3).
Routes know only the first; here the others are made of it, and recognised in If-None-Match.
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

# Bytes; a shorter answer fits into one packet as it is.
SHORTEST: Final = 1_000
# Above this, compressing takes about a millisecond, and is done in a thread.
_LONG: Final = 128 * 1024
# For the levels: a page of 50 companies costs 65 µs with gzip 1 and 40 µs with Zstandard 1; higher levels
# save a fifth of the bytes and cost five times as much.
_QUICK: Final = 1
_THOROUGH: Final = 9
# Bodies that are the same for everybody: documents, assets, public lists; some 20 kB each.
_REMEMBERED: Final = 256

_GZIP_FORMAT: Final = 31  # of zlib: the largest window, and the head and tail of gzip
_KINDS: Final = ("text/", "application/json", "image/svg+xml")
_VARY: Final = "Accept-Encoding"

# By name, the best first; the level may be 1 to 9.
_COMPRESS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "zstd": lambda body, level: zstandard.ZstdCompressor(level=level).compress(body),
    "gzip": lambda body, level: zlib.compress(body, level, _GZIP_FORMAT),
}


class AcceptedCodings(NamedTuple):
    """The codings that a client accepts, the best first; `plain`: it also accepts none."""

    codings: Sequence[str] = ()
    plain: bool = True

    @property
    def best_coding(self) -> str | None:
        """The coding of a long answer; None to send it as it is."""
        return self.codings[0] if self.codings else None


_PLAIN: Final = AcceptedCodings()


def read_accept_encoding(header: str | None) -> AcceptedCodings:
    """Read the header Accept-Encoding (RFC 9110 §12.5.3).

    A coding that the client likes less than no coding is not used, unless it refuses to do without.

    >>> read_accept_encoding("gzip, deflate, br, zstd").codings
    ['zstd', 'gzip']
    >>> read_accept_encoding("gzip;q=0.5, identity").best_coding is None
    True
    >>> read_accept_encoding("identity;q=0, *"), read_accept_encoding("zstd;q=0")
    (AcceptedCodings(codings=['zstd', 'gzip'], plain=False), AcceptedCodings(codings=[], plain=True))
    """
    if not header:
        return _PLAIN
    # `x-gzip` is another name of gzip (RFC 9110 §8.4.1.3).
    given = {word.removeprefix("x-"): quality for word, quality in accept.qualities(header)}
    others = given.get("*", 0.0)
    quality = {name: given.get(name, others) for name in _COMPRESS}
    least = given.get("identity", 0.0)
    found = [name for name in _COMPRESS if quality[name] > 0 and quality[name] >= least]
    found.sort(key=lambda name: -quality[name])
    return AcceptedCodings(found, given.get("identity", given.get("*", 1.0)) > 0)


def without_codings(if_none_match: str | None, by: AcceptedCodings) -> str | None:
    """If-None-Match with the tags of answers as they are, for every coding that the client still accepts.

    >>> without_codings('"a-gzip", "b-zstd"', AcceptedCodings(["gzip"]))
    '"a", "b-zstd"'
    """
    if if_none_match is not None:
        for coding in by.codings:
            if_none_match = if_none_match.replace(f'-{coding}"', '"')
    return if_none_match


async def compress_response(
    message: web.BaseRequest, response: Response, by: AcceptedCodings, *, of_api: bool
) -> Response:
    """The response as it goes to the client: compressed if that is worth it, with the tag of its bytes.

    Args:
        of_api: it is that of a route of the API, identified by keys alone (A12).
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
            headers=_headers_of_304(headers, message.headers.get("If-None-Match"), by)
        )
    answered = response.status == 200 or (of_api and response.status >= 400)
    if not answered or not headers.get("Content-Type", _KINDS[1]).startswith(_KINDS):
        return response
    varied = {**headers, "Vary": f"{headers['Vary']}, {_VARY}" if "Vary" in headers else _VARY}
    coding, body = by.best_coding, response.body
    if coding is None or (len(body) <= SHORTEST and by.plain):
        return response._replace(headers=varied)
    if tag := headers.get("ETag"):
        varied["ETag"] = _tag(tag, coding)
    varied["Content-Encoding"] = coding
    return response._replace(body=await _encode(body, coding, policy), headers=varied)


@lru_cache(_REMEMBERED)
def _compress_thoroughly(body: bytes, coding: str) -> bytes:
    """A body that is the same for everybody, compressed once, when the first client accepts the coding."""
    return _COMPRESS[coding](body, _THOROUGH)


async def _encode(body: bytes, coding: str, policy: str) -> bytes:
    quickly = partial(_COMPRESS[coding], body, _QUICK)
    encode = partial(_compress_thoroughly, body, coding) if "public" in policy else quickly
    return encode() if len(body) <= _LONG else await asyncio.to_thread(encode)


def _headers_of_304(
    headers: Mapping[str, str], if_none_match: str | None, by: AcceptedCodings
) -> dict[str, str]:
    """The headers of a 304, with the tag that the client has, and may go on using."""
    found = {**headers, "Vary": f"{headers['Vary']}, {_VARY}" if "Vary" in headers else _VARY}
    tag = headers.get("ETag")
    if tag and not matches(if_none_match, tag):
        tags = (_tag(tag, coding) for coding in by.codings)
        found["ETag"] = next((one for one in tags if matches(if_none_match, one)), tag)
    return found


def _tag(tag: str, coding: str) -> str:
    return f'{tag[:-1]}-{coding}"'
