"""The bytes of a workbook as they leave: in pieces, as fast as the client takes them.

What waits is one piece and an open file, whatever the client's speed (F6). Who takes nothing is cut
off by the socket (serve/listen.py), who takes too long altogether here. The file has no name: with
its last piece, or with the connection, it is gone.
"""

import asyncio
from typing import Final

from serve.answer import Answer
from serve.reply import Reply
from serve.trace import Trace

# Ten minutes for some ten megabytes: slower than any line, faster than who wants to hold a file.
SENDING: Final = 600.0

_PIECE: Final = 64 * 1024


class Download(Reply):
    """What aiohttp sends for an Answer with a file."""

    def __init__(self, answer: Answer, trace: Trace, *, opened: bool) -> None:
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
