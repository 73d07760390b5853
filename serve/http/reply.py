"""The bytes of an answer as they leave.

aiohttp's own Response keeps headers in a multidict, and checks and writes them name by name: more
than all the rest of a 304. Here most of the head is text that was written once.
"""

import asyncio
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Final

from aiohttp import HttpVersion10, web
from aiohttp.abc import AbstractStreamWriter

from serve.access.result import DATA_VERSION, Response
from serve.http.headers import JSON, POLICY, first_lines, lines
from serve.observe.request_trace import RequestTrace

# A body that is longer is not copied behind its head; the loop sends both at once all the same.
_COPIED: Final = 8_192

# An answer with one of these has no body, whatever the method (RFC 9110 §15).
_BODILESS: Final = (204, 304)


class Reply(web.StreamResponse):
    """What aiohttp sends for an Answer; it calls `prepare`, then `write_eof`."""

    def __init__(
        self, answer: Response, trace: RequestTrace, *, opened: bool, last: bool = False
    ) -> None:
        """
        Args:
            opened: a browser of any origin may read it.
            last: the connection ends with it.
        """
        super().__init__(status=answer.status)
        self._answer = answer
        self.trace = trace
        self._opened = opened
        self._last = last
        self._writer: AbstractStreamWriter | None = None
        self._pieces = (b"", b"")

    def end(self) -> None:
        """Let the connection end with this answer."""
        self._last = True

    @property
    def keep_alive(self) -> bool:
        """Whether another request may come on the connection, once this one is prepared."""
        return not self._last

    @property
    def body_length(self) -> int:
        """How many bytes were sent, the head included."""
        return sum(map(len, self._pieces))

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Make all bytes of the answer to `request`."""
        self._last = self._last or not request.keep_alive
        head = self._head(request.version == HttpVersion10)
        self._pieces = (head, b"" if request.method == "HEAD" else self._answer.body)
        self._writer = request.writer
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Send them; waits while the client is slow."""
        assert self._writer is not None and not data
        head, body = self._pieces
        if len(body) <= _COPIED:
            await self._writer.write_eof(head + body)
        else:
            await self._writer.write(head)
            await self._writer.write_eof(body)

    def _head(self, old: bool) -> bytes:
        answer, trace, length = self._answer, self.trace, len(self._answer.body)
        own = dict(answer.headers)
        kind = own.pop("Content-Type", JSON) if length else ""
        policy = own.pop("Content-Security-Policy", POLICY)
        own["X-Request-Id"] = trace.request_id
        if trace.generation:
            own.setdefault(DATA_VERSION, trace.generation)
        if answer.status not in _BODILESS:
            own.setdefault("Content-Length", str(length))
        if self._last:
            own["Connection"] = "close"
        elif old:
            own["Connection"] = "keep-alive"
        first = first_lines(answer.status, kind, policy, opened=self._opened)
        return f"{first}{_date(int(time()))}{lines(own)}\r\n".encode()


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return f"Date: {formatdate(second, usegmt=True)}\r\n"


# MERGED serve/download.py
# The bytes of a workbook as they leave: in pieces, as fast as the client takes them.
#
# What waits is one piece and an open file, whatever the client's speed (F6). Who takes nothing is cut
# off by the socket (serve/listen.py), who takes too long altogether here. The file has no name: with
# its last piece, or with the connection, it is gone.

# Ten minutes for some ten megabytes: slower than any line, faster than who wants to hold a file.
SENDING: Final = 600.0

_PIECE: Final = 64 * 1024


class Download(Reply):
    """What aiohttp sends for an Answer with a file."""

    def __init__(self, answer: Response, trace: RequestTrace, *, opened: bool) -> None:
        super().__init__(answer, trace, opened=opened)
        assert answer.file is not None
        self._file = answer.file
        self._sent = 0

    @property
    def body_length(self) -> int:
        return super().body_length + self._sent

    async def write_eof(self, data: bytes = b"") -> None:
        """Send all; waits while the client is slow.

        Raises:
            ConnectionError: the client has gone, or was cut off.
        """
        assert self._writer is not None and not data
        try:
            async with asyncio.timeout(SENDING):
                await self._writer.write(self._pieces[0])
                # From the page cache: it was written a moment ago.
                while piece := self._file.read(_PIECE):
                    await self._writer.write(piece)
                    self._sent += len(piece)
                await self._writer.write_eof()
        except TimeoutError:
            if self._writer.transport is not None:
                self._writer.transport.abort()
            raise ConnectionAbortedError(f"cut off after {SENDING:g} s") from None
        finally:
            self._file.close()
