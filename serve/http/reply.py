"""The bytes of a response on their way to the client.

aiohttp's own Response keeps headers in a multidict, and checks and formats them one by one, which
takes longer than all the rest of a 304. Here most of the head is the same for every response of a kind, so it is
formatted once (`first_lines`): cross-origin access, safety, the policy. A few lines are formatted for each response.
"""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import Final

from aiohttp import HttpVersion10, web
from aiohttp.abc import AbstractStreamWriter

from serve.access.call import DATA_VERSION, Response
from serve.http.router import ALLOW, Route
from serve.observe.log import RequestTrace

JSON: Final = "application/json; charset=utf-8"

SAFE: Final = {
    "Server": "societes",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Responses are data: a browser must not run, frame or reinterpret them.
POLICY: Final = "default-src 'none'; frame-ancestors 'none'"

# The headers of a page. With `no-referrer`, browsers would send forms without their origin.
HTML: Final = {
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_HTML: Final = "text/html"

# Not every browser understands `*` in Access-Control-Expose-Headers, so each is named (G2).
EXPOSED: Final = (
    "Content-Disposition", "Content-Location", "ETag", "Link", "RateLimit", "RateLimit-Policy",
    "Retry-After", "WWW-Authenticate", "X-Credits-Debites", "X-Credits-Restants",
    "X-Donnees-Version", "X-Export-Activites", "X-Export-Activites-Total", "X-Export-Comptes",
    "X-Export-Comptes-Plafond", "X-Export-Coordonnees",
    "X-Export-Ids-Inconnus", "X-Export-Ids-Inconnus-Total", "X-Export-Lignes", "X-Export-Plafond",
    "X-Export-Total", "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Reset", "X-Quota-Used",
    "X-Request-Id",
)  # fmt: skip

CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": ", ".join(EXPOSED),
}
# `*` would not cover Authorization (Fetch §3.3.3), so request headers are named as well.
_ALLOWED_METHODS: Final = "Access-Control-Allow-Methods"
_PREFLIGHT: Final = {
    _ALLOWED_METHODS: ALLOW,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")

# A longer body is not copied behind its head: the system gathers both.
_COPIED: Final = 8_192

# Statuses without a body, whatever the method (RFC 9110 §15).
_BODILESS: Final = (204, 304)

# Seconds for some ten megabytes: slower than any line, shorter than a client needs to hold up a file.
SENDING: Final = 600.0
# A response in memory waits so many seconds for its client, and a second more for so many bytes.
PATIENCE: Final = 20.0
_SLOWEST: Final = 16 * 1024

_PIECE: Final = 64 * 1024


class Reply(web.StreamResponse):
    """A `Response` as aiohttp sends it: it calls `prepare`, then `write_eof`."""

    def __init__(
        self, response: Response, trace: RequestTrace, *, opened: bool, last: bool = False
    ) -> None:
        """
        Args:
            opened: a browser of any origin may read the response.
            last: the connection ends with this response.
        """
        super().__init__(status=response.status)
        self._response = response
        self.trace = trace
        self._opened = opened
        self._last = last
        self._writer: AbstractStreamWriter | None = None
        self._pieces = (b"", b"")

    def end(self) -> None:
        """Let the connection end with this response."""
        self._last = True

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow on the connection; valid once this one is prepared."""
        return not self._last

    @property
    def body_length(self) -> int:
        """The number of bytes sent, the head included."""
        return sum(map(len, self._pieces))

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Format the bytes of the response to `request`."""
        self._last = self._last or not request.keep_alive
        head = self._head(request.version == HttpVersion10)
        self._pieces = (head, b"" if request.method == "HEAD" else self._response.body)
        self._writer = request.writer
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the bytes; waits while the client is slow.

        Raises:
            ConnectionError: the client has left, or was cut off.
        """
        writer = self._writer
        assert writer is not None and not data
        head, body = self._pieces
        patience = PATIENCE + len(body) / _SLOWEST
        if _is_waited_for(writer):
            async with _in_time(writer, patience):
                await writer.write(head)
                await writer.write_eof(body)
        elif len(body) <= _COPIED:
            await writer.write_eof(head + body)
        else:
            _write_together(writer, head, body)
            if _is_waited_for(writer):  # the system did not take all of it
                async with _in_time(writer, patience):
                    await writer.drain()
            await writer.write_eof()

    def _head(self, old: bool) -> bytes:
        response, trace, length = self._response, self.trace, len(self._response.body)
        own = dict(response.headers)
        kind = own.pop("Content-Type", JSON) if length else ""
        policy = own.pop("Content-Security-Policy", POLICY)
        own["X-Request-Id"] = trace.request_id
        if trace.generation:
            own.setdefault(DATA_VERSION, trace.generation)
        if response.status not in _BODILESS:
            own.setdefault("Content-Length", str(length))
        if self._last:
            own["Connection"] = "close"
        elif old:
            own["Connection"] = "keep-alive"
        first = first_lines(response.status, kind, policy, opened=self._opened)
        return f"{first}{_date(int(time()))}{lines(own)}\r\n".encode()


class Download(Reply):
    """A `Response` with a file, sent in pieces as fast as the client takes them.

    One piece and an open file wait in memory, whatever the client's speed (F6). A client that takes
    nothing is cut off by the socket (serve/process/port.py), one that takes too long altogether is cut
    off here. The file has no name: it is gone with its last piece, or with the connection.
    """

    def __init__(self, response: Response, trace: RequestTrace, *, opened: bool) -> None:
        super().__init__(response, trace, opened=opened)
        assert response.file is not None
        self._file = response.file
        self._sent = 0

    @property
    def body_length(self) -> int:
        return super().body_length + self._sent

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the whole file; waits while the client is slow.

        Raises:
            ConnectionError: the client has left, or was cut off.
        """
        writer = self._writer
        assert writer is not None and not data
        try:
            async with _in_time(writer, SENDING):
                await writer.write(self._pieces[0])
                # A blocking read is from the page cache: the file was written a moment ago.
                while piece := self._file.read(_PIECE):
                    await writer.write(piece)
                    self._sent += len(piece)
                await writer.write_eof()
        finally:
            self._file.close()


@asynccontextmanager
async def _in_time(writer: AbstractStreamWriter, seconds: float) -> AsyncIterator[None]:
    """Cut the client off if it has not taken what is written within `seconds`.

    Raises:
        ConnectionAbortedError: it was cut off.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        if writer.transport is not None:
            writer.transport.abort()
        raise ConnectionAbortedError(f"cut off after {seconds:g} s") from None


def _write_together(writer: AbstractStreamWriter, head: bytes, body: bytes) -> None:
    """Hand two pieces over in one system call; two calls would take a fifth of the time of a search.

    Raises:
        ConnectionResetError: the client has left.
    """
    transport = writer.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client has left")
    writer.output_size += len(head) + len(body)
    transport.writelines((head, body))


def _is_waited_for(writer: AbstractStreamWriter) -> bool:
    """Does an earlier response on the connection still wait for its client?"""
    return writer.transport is not None and writer.transport.get_write_buffer_size() > 0


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return f"Date: {formatdate(second, usegmt=True)}\r\n"


def preflight(route: Route | None) -> dict[str, str]:
    """The headers of the response to OPTIONS (G2); None is a path of the API that there is not."""
    allow = route.allow if route else ALLOW
    headers = {"Allow": allow, **_PREFLIGHT, _ALLOWED_METHODS: allow}
    if route and route.accepts:
        headers["Access-Control-Allow-Headers"] = route.accepts
    return headers


@lru_cache(maxsize=256)
def first_lines(status: int, kind: str, policy: str, *, opened: bool) -> str:
    """The status line and the headers of every response of a kind, each with its line end.

    Args:
        kind: the Content-Type, or "" where there is no body.
        policy: the Content-Security-Policy.
        opened: a browser of any origin may read the response (G2).
    """
    given = {"Content-Type": kind} if kind else {}
    page = dict(HTML) if kind.startswith(_HTML) else {}
    if "frame-ancestors 'none'" not in policy:
        page.pop("X-Frame-Options", None)
    safe = {**SAFE, **page, "Content-Security-Policy": policy}
    always = {**given, **safe, **(CORS if opened else {})}
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines(always)}"


def lines(headers: Mapping[str, str]) -> str:
    """The header lines, each with its line end.

    Raises:
        ValueError: a value would begin a line of its own.
    """
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        raise ValueError(f"a header holds a line end: {headers!r}")
    return text


def request_id(given: str | None) -> str:
    """The caller's id for a request if it is safe to log and echo, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return f"{random.getrandbits(64):016x}"  # not a secret, so not from `secrets`
