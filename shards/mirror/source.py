"""The bytes of a file of another host, the errors of reading them, and the interface of the source of a mirror.

A source only reads bytes. Their meaning, their validity and retries are the task of its callers, so they are the same
for all kinds of sources of a mirror (`source_kinds`). Nightly fetches from registers share the bytes and the errors.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from shards.errors import ShardError


class SyncError(ShardError):
    """A source cannot be used; the generation, or the edition of a register, that was there before is unchanged."""


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


# How long a pointer, a manifest or a signature may take as a whole.
SMALL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from `start` on, in pieces as they arrive; they may end too early.

    Attributes:
        start: None if the source has no bytes from the requested position on.
        size: the size of the whole file, if the source announces it.
        etag, modified, content_type: the headers of a web server.
    """

    start: int | None
    pieces: AsyncIterator[bytes]
    size: int | None = None
    etag: str = ""
    modified: str = ""
    content_type: str = ""


class MirrorSource(Protocol):
    """A place that holds a folder DATA."""

    @property
    def name(self) -> str:
        """The name for messages; it never contains a password."""
        ...

    def open(self, path: str, start: int = 0) -> AbstractAsyncContextManager[Body]:
        """Open the file at `path`, which is relative and has no part `..`, at the byte `start`.

        A source that cannot begin there returns the whole file, with `Body.start` 0.

        Raises:
            AbsentError: there is no such file.
            FaultError: the source failed in a way that may be temporary.
            SyncError: the source refuses the file.
        """
        ...


def read_small(source: MirrorSource, path: str, most: int) -> bytes:
    """The content of a small file.

    Raises:
        FaultError: the file has more than `most` bytes, or comes too slowly; the rest is not read.
        SyncError: as `MirrorSource.open`.
    """
    return asyncio.run(_read_small(source, path, most))


async def _read_small(source: MirrorSource, path: str, most: int) -> bytes:
    content = bytearray()
    try:
        async with asyncio.timeout(SMALL_SECONDS), source.open(path) as body:
            async for piece in body.pieces:
                content += piece
                if len(content) > most:
                    raise FaultError(f"{source.name}/{path} has more than {most} bytes")
    except TimeoutError as error:
        raise FaultError(f"{source.name}/{path} has not come in {SMALL_SECONDS:g} s") from error
    return bytes(content)
