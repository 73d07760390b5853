"""The file of a shard: its values by table and key, in place in a map of the file.

Only the table `meta` is read through LMDB's structures (`lmdb_pages`). Its value `places` says where all other values
are in the file (FORMAT.md §3). These values are read from the map, so any number of threads can use a shard.
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

# The number of bytes at the start of each value that are read ahead when a shard is opened.
_FIRST_BYTES: Final = 1 << 14
# The most bytes of a value of `meta`; the largest country needs some 40 KiB.
_MOST_META: Final = 1 << 22


class _Place(NamedTuple):
    """The place of a value in the file, in bytes."""

    start: int
    size: int


class ShardFile:
    """The values of one mapped file. Do not use a view of a value after `close`."""

    def __init__(self, path: Path, places: bytes) -> None:
        """Map the file at `path`.

        Args:
            places: the value `places` of the table `meta`.

        Raises:
            CorruptError: a place is not within the file.
        """
        self.path = path
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._places = _load_places(places, len(self._map), path)
        # A search reads a few bytes here and there. Without this advice the system reads 128 KiB or several MiB around
        # each of them, and evicts pages that are needed. The first bytes of each value are read ahead in parallel.
        self._advise(mmap.MADV_RANDOM, self._places.values())
        self._advise(mmap.MADV_WILLNEED, _first_reads(self._places))

    def value(self, table: bytes, key: bytes) -> memoryview:
        """A value, as a view of the map."""
        place = self._places.get((table, key))
        if not self._places:
            raise ValueError(f"{self.path} is closed")
        if place is None:
            raise CorruptError(f"{self.path}: table {table.decode()} has no key {key!r}; {REMEDY}")
        return memoryview(self._map)[place.start : place.start + place.size]

    def array(self, table: bytes, name: str, dtype: str) -> NDArray[Any]:
        """An array, as a view of the map; an array that does not begin at a multiple of 8 bytes is copied."""
        view = self.value(table, name.encode())
        values = np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)
        return values if values.ctypes.data % 8 == 0 else values.copy()

    def texts(self, table: bytes) -> Texts:
        """The texts of a table with one list of texts."""
        return Texts(self.value(table, b"data"), self.array(table, "starts", format.U4))

    def entries(self, table: bytes) -> int:
        """The number of entries of a table."""
        return sum(1 for name, _ in self._places if name == table)

    def size(self, table: bytes) -> int:
        """The size of the values of a table in bytes."""
        return sum(place.size for (name, _), place in self._places.items() if name == table)

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a table by ascending key, read through LMDB's structures."""
        with LmdbPages(self.path) as pages:
            yield from pages.entries(table)

    def misplaced_values(self) -> Iterator[str]:
        """The values that are not at their place in `places`, as table and key."""
        remaining = set(self._places)
        for table in format.TABLES[1:]:  # `places` does not have the first table, `meta`
            for key, value in self.items(table):
                if (table, key) not in remaining or self.value(table, key) != value:
                    yield f"{table.decode()} {key!r}"
                remaining.discard((table, key))
        yield from (f"{table.decode()} {key!r}" for table, key in sorted(remaining))

    def close(self) -> None:
        """Close the map; while a view of the map exists, the map stays open."""
        self._places.clear()
        with suppress(BufferError):
            self._map.close()

    def array_ranges(self) -> list[tuple[int, int]]:
        """The ranges of bytes of the file that searches read: all values except records and statements."""
        return _page_ranges(
            place for key, place in self._places.items() if not format.is_chunk(*key)
        )

    def expect_scans(self, *, frames: bool = False) -> None:
        """Turn on the read-ahead of the system for `array_ranges`, or with `frames` also for records and statements."""
        items = self._places.items()
        places = (place for key, place in items if frames or not format.is_chunk(*key))
        self._advise(mmap.MADV_NORMAL, places)

    def _advise(self, advice: int, places: Iterable[_Place]) -> None:
        """Tell the system how these places will be read; an error is ignored, since only speed depends on it."""
        with suppress(OSError):
            for start, stop in _page_ranges(places):
                self._map.madvise(advice, start, stop - start)


def read_meta(path: Path) -> dict[bytes, bytes]:
    """The values of `meta`.

    Raises:
        WrongFormatError: the file is not a shard, or a shard of another format version.
        CorruptError: the pages of the file contradict each other, or the file is truncated.
    """
    with LmdbPages(path) as pages:
        meta = dict(pages.entries(format.META, _MOST_META))
    # Every format version has the header, so a wrong version is reported before a missing value.
    format.unpack_header(meta.get(format.HEADER, b""))
    return meta


def _first_reads(places: Mapping[tuple[bytes, bytes], _Place]) -> Iterator[_Place]:
    """The places to read ahead for the first search: the start of each value, also the end of each value of `step`.

    The dictionary is read ahead completely, because every record needs it; chunks of frames are not read ahead.
    """
    for (table, key), (start, size) in places.items():
        if not format.is_chunk(table, key):
            yield _Place(start, size if key == format.DICTIONARY else min(size, _FIRST_BYTES))
        if table == format.STEP and size:
            yield _Place(start + size - 1, 1)


def _page_ranges(places: Iterable[_Place]) -> list[tuple[int, int]]:
    """The ranges of bytes, each from the start of a page, that contain these places; adjacent ranges are joined.

    >>> _page_ranges([_Place(4096, 1 << 14), _Place(20_000, 5), _Place(1 << 22, 1), _Place(7, 0)])
    [(4096, 20480), (4194304, 4194305)]
    """
    pages: list[tuple[int, int]] = []
    for start, size in sorted(place for place in places if place.size):
        # The start is rounded down to a page.
        page_start, stop = start & ~(mmap.PAGESIZE - 1), start + size
        if pages and page_start <= pages[-1][1]:
            page_start, stop = pages[-1][0], max(stop, pages.pop()[1])
        pages.append((page_start, stop))
    return pages


def _load_places(packed: bytes, size: int, path: Path) -> dict[tuple[bytes, bytes], _Place]:
    """The places of all values in the file at `path`, which has `size` bytes.

    Raises:
        CorruptError: a place is not within the file.
    """
    try:
        places = {
            (table.encode(), key): _Place(start, length)
            for table, key, start, length in msgpack.unpackb(packed)
        }
        if all(0 <= start <= start + length <= size for start, length in places.values()):
            return places
    except (ValueError, TypeError, AttributeError):
        pass  # the bytes are not a list of places
    raise CorruptError(f"{path}: the places of its values are damaged; build or fetch it again")
