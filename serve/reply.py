"""The bytes of an answer as they leave.

aiohttp's own Response keeps headers in a multidict, and checks and writes them name by name: more
than all the rest of a 304. Here most of the head is text that was written once.
"""

from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Final

from aiohttp import HttpVersion10, web
from aiohttp.abc import AbstractStreamWriter

from serve.answer import DATA_VERSION, Answer
from serve.headers import JSON, POLICY, first_lines, lines
from serve.trace import Trace

# A body that is longer is not copied behind its head; the loop sends both at once all the same.
_COPIED: Final = 8_192

# An answer with one of these has no body, whatever the method (RFC 9110 §15).
_BODILESS: Final = (204, 304)


class Reply(web.StreamResponse):
    """What aiohttp sends for an Answer; it calls `prepare`, then `write_eof`."""

    def __init__(self, answer: Answer, trace: Trace, *, opened: bool, last: bool = False) -> None:
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
