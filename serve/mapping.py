"""Pages of a mapped file, entered into the process's own table of pages.

A page that a process has not touched yet costs it a fault, even where the page cache holds it. A
search by name touches a million of them; at 18.7 million companies the first took three seconds
of faults, on the event loop. `madvise` enters all pages of a stretch in one call, without Python's
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


def enter(path: Path, offset: int, size: int) -> int:
    """Enter some pages of the file at `path` wherever it is mapped; returns how many bytes.

    They should be in the page cache; one that is not is read. LMDB has the kernel read nothing
    ahead, which would make of many such pages as many reads, so that is lifted meanwhile.

    Args:
        offset, size: the bytes, of the file; `offset` is a multiple of the size of a page.
    """
    if sys.platform != "linux":
        return 0
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    entered = 0
    for address, length in _mapped(path, offset, size):
        madvise(address, length, mmap.MADV_NORMAL)
        # What fails is too old a kernel, or a mapping that has just been given back.
        entered += 0 if madvise(address, length, _POPULATE_READ) else length
        madvise(address, length, mmap.MADV_RANDOM)
    return entered


def _mapped(path: Path, offset: int, size: int) -> Iterator[tuple[int, int]]:
    """Where these bytes are mapped: addresses and lengths, whole pages. A map may be longer."""
    name, end = str(path.resolve()), min(offset + size, path.stat().st_size)
    end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        found = line.split(maxsplit=5)
        if len(found) == 6 and found[5] == name:
            start, stop = (int(address, 16) for address in found[0].split("-"))
            begins = int(found[2], 16)  # the place in the file of its first byte
            first, last = max(offset, begins), min(end, begins + stop - start)
            if first < last:
                yield start + first - begins, last - first
