"""The interface of a mirror source, a place from which the files of a folder DATA can be read, and its errors.

A source only reads bytes. Their meaning, their validity and retries are the task of its callers, so they are the same
for all kinds of sources.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from shards.errors import ShardError


class SyncError(ShardError):
    """The mirror cannot continue; the published generation is unchanged."""


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
    """The bytes of a file from `start` on, in pieces as they arrive; they may end too early."""

    start: int
    pieces: Iterator[bytes]


class MirrorSource(Protocol):
    """A place that holds a folder DATA."""

    @property
    def name(self) -> str:
        """The name for messages; it never contains a password."""
        ...

    def open(self, path: str, start: int = 0) -> AbstractContextManager[Body]:
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
    found, end = bytearray(), time.monotonic() + SMALL_SECONDS
    with source.open(path) as body:
        for piece in body.pieces:
            found += piece
            if len(found) > most:
                raise FaultError(f"{source.name}/{path} has more than {most} bytes")
            if time.monotonic() > end:
                raise FaultError(f"{source.name}/{path} has not come in {SMALL_SECONDS:g} s")
    return bytes(found)
