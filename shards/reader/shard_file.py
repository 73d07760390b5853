"""The file of a shard: its values by table and key, where they lie in the map of the file.

Only the table `meta` is read as LMDB has it (`lmdb_pages`). All other values are taken from a map of the file, where
`places` says that they lie (FORMAT.md §3), so any number of threads may use a shard.
"""

import mmap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.strings import Texts
from shards.errors import REMEDY, CorruptError
from shards.reader.lmdb_pages import LmdbPages

# Of each value, the bytes that are read ahead when a shard is opened.
_FIRST_BYTES: Final = 1 << 14
# The size of the largest value of `meta`: those of the largest country have some 40 KiB.
_MOST_META: Final = 1 << 22


class _Place(NamedTuple):
    """Where a large value lies in the file."""

    start: int
    size: int


class ShardFile:
    """The values of one mapped file; no view of them may be used after `close`."""

    def __init__(self, path: Path, places: bytes) -> None:
        """Map the file at `path`, whose values are at `places`, as its table `meta` has them.

        Raises:
            CorruptError: these places are not within the file.
        """
        self.path = path
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._places = _places(places, len(self._map))
        # A search reads a few bytes here and there. Without this, each of them brings in as much as the system reads
        # at once, 128 KiB or several MiB, and pushes out what is needed; the first are asked for side by side.
        self._advise(mmap.MADV_RANDOM, self._places.values())
        self._advise(mmap.MADV_WILLNEED, _first_reads(self._places))

    def value(self, table: bytes, key: bytes) -> memoryview:
        """A value in place."""
        place = self._places.get((table, key))
        if not self._places:
            raise ValueError(f"{self.path} is closed")
        if place is None:
            raise CorruptError(f"{self.path}: table {table.decode()} has no key {key!r}; {REMEDY}")
        return memoryview(self._map)[place.start : place.start + place.size]

    def array(self, table: bytes, name: str, dtype: str) -> NDArray[Any]:
        """An array in place; one that does not begin at a multiple of 8 is copied."""
        view = self.value(table, name.encode())
        found = np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)
        return found if found.ctypes.data % 8 == 0 else found.copy()

    def texts(self, table: bytes) -> Texts:
        """The texts of a table that has one list of them."""
        return Texts(self.value(table, b"data"), self.array(table, "starts", format.U4))

    def entries(self, table: bytes) -> int:
        """The number of entries of a table."""
        return sum(1 for name, _ in self._places if name == table)

    def size(self, table: bytes) -> int:
        """The size of the values of a table in bytes."""
        return sum(place.size for (name, _), place in self._places.items() if name == table)

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries of a table by ascending key, as LMDB has them."""
        with LmdbPages(self.path) as pages:
            yield from pages.entries(table)

    def misplaced_values(self) -> Iterator[str]:
        """The values that are not where `places` says, as table and key."""
        left = set(self._places)
        for table in format.TABLES[1:]:
            for key, value in self.items(table):
                if (table, key) not in left or self.value(table, key) != value:
                    yield f"{table.decode()} {key!r}"
                left.discard((table, key))
        yield from (f"{table.decode()} {key!r}" for table, key in sorted(left))

    def close(self) -> None:
        """Close the map; somebody who has a view of it keeps it open."""
        self._places.clear()
        with suppress(BufferError):
            self._map.close()

    def arrays(self) -> list[tuple[int, int]]:
        """The parts of the file with what searches read, begin and end: all but records and statements."""
        return _pages(p for key, p in self._places.items() if not format.is_chunk(*key))

    def expect_scans(self, *, frames: bool = False) -> None:
        """Have the system read on from what is asked: arrays, or with `frames` the whole file, will be read through."""
        held = self._places.items()
        places = (place for key, place in held if frames or not format.is_chunk(*key))
        self._advise(mmap.MADV_NORMAL, places)

    def _advise(self, advice: int, places: Iterable[_Place]) -> None:
        with suppress(OSError):
            for start, stop in _pages(places):
                self._map.madvise(advice, start, stop - start)


def read_meta(path: Path) -> dict[bytes, bytes]:
    """The values of `meta`.

    Raises:
        WrongFormatError: the file is no shard, or a shard of another format version.
        CorruptError: its pages contradict each other, or it is shorter than it was written.
    """
    with LmdbPages(path) as pages:
        meta = dict(pages.entries(format.META, _MOST_META))
    # Every format version has this value, so a wrong version is reported before a missing one.
    format.unpack_header(meta.get(format.HEADER, b""))
    return meta


def _first_reads(places: Mapping[tuple[bytes, bytes], _Place]) -> Iterator[_Place]:
    """What the first search of any kind reads: where values begin, where steps end, dictionaries."""
    for (table, key), (start, size) in places.items():
        if not format.is_chunk(table, key):
            yield _Place(start, size if key == format.DICTIONARY else min(size, _FIRST_BYTES))
        if table == format.STEP and size:
            yield _Place(start + size - 1, 1)


def _pages(places: Iterable[_Place]) -> list[tuple[int, int]]:
    """The pages that hold these, as ranges of bytes; ranges that touch are one.

    >>> _pages([_Place(4096, 1 << 14), _Place(20_000, 5), _Place(1 << 22, 1), _Place(7, 0)])
    [(4096, 20480), (4194304, 4194305)]
    """
    found: list[tuple[int, int]] = []
    for start, size in sorted(place for place in places if place.size):
        first, stop = start & ~(mmap.PAGESIZE - 1), start + size
        if found and first <= found[-1][1]:
            first, stop = found[-1][0], max(stop, found.pop()[1])
        found.append((first, stop))
    return found


def _places(packed: bytes, size: int) -> dict[tuple[bytes, bytes], _Place]:
    """The places of all values, which lie in a file of `size` bytes.

    Raises:
        CorruptError: some do not.
    """
    try:
        places = {
            (table.encode(), key): _Place(start, length)
            for table, key, start, length in msgpack.unpackb(packed)
        }
        if all(0 <= start <= start + length <= size for start, length in places.values()):
            return places
    except (ValueError, TypeError, AttributeError):
        pass  # no list of places
    raise CorruptError("the places of its values are damaged; build or fetch the file again")
