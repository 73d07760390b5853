"""The bytes of a response on their way to the client.

aiohttp's own Response keeps headers in a multidict, and checks and formats them one by one, which
takes longer than all the rest of a 304. Here most of the head is text that was formatted once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Final

from aiohttp import HttpVersion10, web
from aiohttp.abc import AbstractStreamWriter

from serve.access.call import DATA_VERSION, Response
from serve.http.headers import JSON, POLICY, first_lines, lines
from serve.observe.request_trace import RequestTrace

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
