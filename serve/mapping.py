"""Pages of files that are mapped and in memory, entered into the process's own table of pages.

A page that a process has not touched yet costs it a fault, even where the page cache holds it. A
search by name touches a million of them; at 18.7 million companies the first took three seconds
of faults, on the event loop. `madvise` enters all pages of a mapping in one call, without Python's
lock: MADV_POPULATE_READ, Linux 5.14 and later. Elsewhere nothing is done, and the first searches
take the faults.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_POPULATE_READ: Final = 22  # <linux/mman.h>; the module mmap has no name for it
_MAPS: Final = Path("/proc/self/maps")
_PIECE: Final = 64 << 20  # bytes a call: somebody else may want the table meanwhile


def enter(path: Path) -> int:
    """Enter the pages of the file at `path`, wherever it is mapped; returns how many bytes."""
    if sys.platform != "linux":
        return 0
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    entered = 0
    for start, size in _mapped(path):
        for at in range(0, size, _PIECE):
            piece = min(_PIECE, size - at)
            # What fails is too old a kernel, or a mapping that has just been given back.
            entered += 0 if madvise(start + at, piece, _POPULATE_READ) else piece
    return entered


def _mapped(path: Path) -> Iterator[tuple[int, int]]:
    """Where the file is mapped: addresses, and bytes that it has there; a map may be longer."""
    name, size = str(path.resolve()), path.stat().st_size
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        found = line.split(maxsplit=5)
        if len(found) == 6 and found[5] == name:
            start, end = (int(address, 16) for address in found[0].split("-"))
            offset = int(found[2], 16)
            yield start, max(0, min(end - start, pages - offset))
