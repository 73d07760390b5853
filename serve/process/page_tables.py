"""The page tables of this process for the shards that it maps, filled ahead.

A page that is in memory still costs its first reader in each process a fault: 30 µs in a virtual machine, and a search
that meets new words reads ten such pages. One call of the system for a whole file costs 0.1 s a gibibyte; its tables
take a 512th of it. A shard is opened as a file that is read at random, of which the system drops the pages first; from
here on a page that is used stays.
"""

import ctypes
import mmap
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

_MAPS: Final = Path("/proc/self/maps")
_LINE: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \d+ +(/.*)")
# madvise(2): since Linux 5.14. It reports a page that cannot be read, and raises no signal.
_POPULATE_READ: Final = 22
# Others that map or free memory wait for as long as a call takes; between two calls they and Python have their turn.
_PIECE: Final = 4 << 20
_PAUSE_S: Final = 0.002


def fill(files: Collection[Path], wanted: Callable[[], bool]) -> int:
    """Map all pages of files that this process has mapped; returns the bytes, 0 where the system has no call for it.

    Args:
        wanted: called for every 4 MiB; False ends it.
    """
    if sys.platform != "linux":
        return 0
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    done = 0
    for start, end in list(_mapped_addresses({str(path.resolve()) for path in files})):
        madvise(start, end - start, mmap.MADV_NORMAL)
        for at in range(start, end, _PIECE):
            size = min(_PIECE, end - at)
            if not wanted():
                return done
            if madvise(at, size, _POPULATE_READ):
                break  # the file was cut, or the system has no such call
            done += size
            time.sleep(_PAUSE_S)
    return done


def _mapped_addresses(names: Collection[str]) -> Iterator[tuple[int, int]]:
    """The addresses at which files are mapped: begin and end."""
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        found = _LINE.fullmatch(line)
        if found and found[3] in names:
            yield int(found[1], 16), int(found[2], 16)
