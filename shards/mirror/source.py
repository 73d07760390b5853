"""The bytes of a file of another host, the errors of reading them, and the interface of the source of a mirror.

A source only reads bytes. Its callers interpret and check them and retry, in the same way for all kinds of sources
(`source_kinds`). Nightly fetches from registers share `Body` and the errors.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from shards.errors import ShardError


class SyncError(ShardError):
    """A source cannot be used; the present generation, or the present edition of a register, is unchanged."""


class AbsentError(SyncError):
    """The source does not have this file, maybe because it is publishing another generation."""


class FaultError(SyncError):
    """The source failed in a way that may be temporary.

    Attributes:
        after: the seconds that the source asks to wait (Retry-After), or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class RangeError(FaultError):
    """The source does not continue a file at the requested byte, so the download has to start again."""


# The longest time to read a pointer, manifest or signature completely.
SMALL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from `start` on, in pieces as they arrive; the pieces can end too early.

    Attributes:
        size: the size of the complete file, if the source announces it.
        etag, modified, content_type: the headers of a web server.
    """

    start: int
    pieces: AsyncIterator[bytes]
    size: int | None = None
    etag: str = ""
    modified: str = ""
    content_type: str = ""


class MirrorSource(Protocol):
    """A place with a folder DATA."""

    @property
    def name(self) -> str:
        """The name for messages; it never contains a password."""
        ...

    def open(self, path: str, start: int = 0) -> AbstractAsyncContextManager[Body]:
        """Open the file at `path`, which is relative and has no part `..`, at the byte `start`.

        A source that cannot start there returns the complete file, with `Body.start` 0.

        Raises:
            AbsentError: there is no such file.
            RangeError: the file has no bytes from `start` on.
            FaultError: the source failed in a way that may be temporary.
            SyncError: the source refuses the file.
        """
        ...


def read_small(source: MirrorSource, path: str, most: int) -> bytes:
    """The content of a small file.

    Raises:
        FaultError: the file has more than `most` bytes, or did not end within SMALL_SECONDS; reading stops there.
        SyncError: as `MirrorSource.open`.
    """
    return asyncio.run(_read_small(source, path, most))


async def _read_small(source: MirrorSource, path: str, most: int) -> bytes:
    """`read_small` as a coroutine."""
    content = bytearray()
    try:
        async with asyncio.timeout(SMALL_SECONDS), source.open(path) as body:
            async for piece in body.pieces:
                content += piece
                if len(content) > most:
                    raise FaultError(f"{source.name}/{path} has more than {most:,} bytes")
    except TimeoutError as error:
        raise FaultError(
            f"{source.name}/{path} was not complete within {SMALL_SECONDS:g} s"
        ) from error
    return bytes(content)
