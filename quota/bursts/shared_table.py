"""A hash table of fixed size in a file that processes share: 16 bytes of name lead to a number.

    names    slots x 16 bytes   the digest of who has the row; zeros: the row is free
    values   slots x u64        of this machine's byte order: the file never leaves it

The name says at which slot a row is at home. It lies in one of the `WINDOW` slots from there on,
and a search looks at all of them: so a row can be freed without moving another one.

Who changes it has the turn (`write_lock.py`), so there is one writer, and a change must only survive that
the writer is killed between any two instructions. A value is stored by one of them. A row that is
new gets its value first and its name last, and a name that was written in part is nobody's. So what
is found is always a number that was stored for this name.
"""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

# 24 MiB. Up to 600 000 rows no window is ever full (linear probing: runs of 128 are unheard of).
SLOTS: Final = 1 << 20
WINDOW: Final = 128

_NAME: Final = 16
_ROW: Final = _NAME + 8
_FREE: Final = bytes(_NAME)
_CHUNK: Final = 1 << 20

# What a sweep looks at: so many slots at most, so many rows at most.
_STRETCH: Final = 1_024
_LOOKED_AT: Final = 64


class SharedTable:
    """An open table. `slots` is a power of two, at least WINDOW, and the same for all who share."""

    def __init__(self, path: Path, slots: int = SLOTS) -> None:
        """Open the table in the file `path`, which `make` has made."""
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(file, slots * _ROW)
        finally:
            os.close(file)
        # Names that begin near the end go on at the beginning: `_find` looks twice.
        self._end = slots * _NAME
        self._names = np.frombuffer(self._map, np.uint64, 2 * slots).reshape(slots, 2)
        self._values = memoryview(self._map)[self._end :].cast("Q")
        self._swept = 0

    def get(self, name: bytes) -> int | None:
        """The value of a name, or None."""
        slot = self._find(name, name)
        return None if slot is None else self._values[slot]

    def put(self, name: bytes, value: int) -> bool:
        """Store the value (under 2**64) of a name; False: no room in its window, nothing stored."""
        slot = self._find(name, name)
        if slot is None:
            slot = self._find(name, _FREE)
            if slot is None:
                return False
            self._values[slot] = value
            self._map[slot * _NAME : (slot + 1) * _NAME] = name
        else:
            self._values[slot] = value
        return True

    def sweep(self, is_over: Callable[[int], bool]) -> None:
        """Free the rows whose value is over among the next few, from where the last sweep ended."""
        stretch = self._names[self._swept : self._swept + _STRETCH]
        taken = np.flatnonzero(stretch[:, 0] | stretch[:, 1])
        for slot in (self._swept + taken[:_LOOKED_AT]).tolist():
            if is_over(self._values[slot]):
                self._map[slot * _NAME : (slot + 1) * _NAME] = _FREE
        passed = len(stretch) if len(taken) <= _LOOKED_AT else int(taken[_LOOKED_AT])
        self._swept = (self._swept + passed) % len(self._names)

    def empty(self) -> None:
        """Free every row."""
        self._names.fill(0)

    def rows(self) -> int:
        """How many rows are not free."""
        return int(self._names.any(axis=1).sum())

    def close(self) -> None:
        del self._names  # a file is not unmapped under a view
        self._values.release()
        self._map.close()

    def _find(self, home: bytes, wanted: bytes) -> int | None:
        """The first slot in the window of `home` that holds `wanted`: a name, or none."""
        start = int.from_bytes(home[:8], "little") * _NAME % self._end
        end = start + WINDOW * _NAME
        found = self._within(wanted, start, min(end, self._end))
        if found is None and end > self._end:
            found = self._within(wanted, 0, end - self._end)
        return found

    def _within(self, wanted: bytes, start: int, end: int) -> int | None:
        at = self._map.find(wanted, start, end)
        while at > 0 and at % _NAME:  # bytes of two neighbours may look like it
            at = self._map.find(wanted, at + 1, end)
        return None if at < 0 else at // _NAME


def is_whole(path: Path, slots: int) -> bool:
    """Has the file been made?"""
    return path.stat().st_size >= slots * _ROW


def make(path: Path, slots: int) -> None:
    """Make an empty table in a file that exists and that nobody has opened as one yet.

    Zeros are written and no hole is left: a page that cannot be had later, with memory full, would
    end the process by a signal instead of an error.

    Raises:
        OSError: there is no room for it; what was written is given back.
    """
    with path.open("r+b", buffering=0) as file:
        written = 0
        try:
            while written < slots * _ROW:
                zeros = bytes(min(_CHUNK, slots * _ROW - written))
                written += os.pwrite(file.fileno(), zeros, written)
        except OSError:
            file.truncate(0)
            raise
