"""What a source is: somewhere that a folder DATA can be read from, file by file.

A source only reads bytes. What they mean, whether they are right, and when to ask again is decided
by its callers, the same for all kinds of sources.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from shards.sync.errors import FaultError


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from `start` on, in pieces as they come; they may end too soon."""

    start: int
    pieces: Iterator[bytes]


class MirrorSource(Protocol):
    """A place that holds a folder DATA."""

    @property
    def name(self) -> str:
        """What messages call it: never with a password in it."""
        ...

    def open(self, path: str, start: int = 0) -> AbstractContextManager[Body]:
        """The file at `path`, which is relative and has no part `..`, from the byte `start`.

        A source that cannot begin there gives the whole file: `Body.start` says so.

        Raises:
            AbsentError: there is no such file.
            FaultError: it may be there the next time.
            SyncError: it is not to be had.
        """
        ...


def read_small(source: MirrorSource, path: str, most: int) -> bytes:
    """A small file.

    Raises:
        FaultError: it has more than `most` bytes, and is not read further; or as `Source.open`.
    """
    found = bytearray()
    with source.open(path) as body:
        for piece in body.pieces:
            found += piece
            if len(found) > most:
                raise FaultError(f"{source.name}/{path} has more than {most} bytes")
    return bytes(found)
