"""Lists of texts as two arrays: the UTF-8 bytes of all texts, each followed by a newline, and their starts.

Words and identifiers are stored so, and names are passed to the writer so. No such text contains a newline, and END
sorts before every byte of a folded text: a search for `text` finds prefixes, a search for `text` + END whole texts.
UTF-8 needs no further care: its bytes sort like the code points, and a text occurs in another exactly where its bytes
do.

Millions of texts are sorted without a Python object per text: they are compared 8 bytes at a time, as numbers, and
texts that are still tied by their next 8 bytes. Names are sorted in the same way by the numbers of their words
(`writing/name_index.py`).

A sparse index over sorted texts has the first 8 bytes of every 16th text, as a number. A search is a binary search
among the numbers, which lie close together in memory, followed by four steps among the texts themselves. Two lists have
such an index: suffixes of words, and identifiers.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.format import SAMPLED

END: Final = b"\n"


class Interval(NamedTuple):
    """The positions [first, end) in a sorted list."""

    first: int
    end: int


def interval_key(interval: Interval) -> int:
    """The key of an interval in an index of row sets: the first position in the upper 32 bits, the end below.

    >>> hex(interval_key(Interval(1, 5)))
    '0x100000005'
    """
    return interval.first << 32 | interval.end


def pair_key(pair: bytes) -> int:
    """The key of two characters in an index of row sets: their UTF-8 as a big-endian number, filled with zeros.

    >>> hex(pair_key(b"ab"))
    '0x6162000000000000'
    """
    return int.from_bytes(pair.ljust(8, b"\0"), "big")


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts: text i is data[starts[i] : starts[i + 1] - 1], so `starts` has one entry more than texts."""

    data: memoryview | bytes
    starts: NDArray[np.uint32]

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.data[int(self.starts[index]) : int(self.starts[index + 1]) - 1])

    def __len__(self) -> int:
        return len(self.starts) - 1


def place_of(texts: Texts, text: bytes) -> int:
    """The place of a text in a list that is sorted, -1 if it is not there.

    >>> place_of(pack(["ab", "cd"]), b"cd"), place_of(pack(["ab", "cd"]), b"c")
    (1, -1)
    """
    place = bisect_left(texts, text)
    return place if place < len(texts) and texts[place] == text else -1


def pack(texts: Iterable[str]) -> Texts:
    """The list of `texts`, none of which contains a newline.

    >>> pack(["ab", "", "é"]).data
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    encoded = [text.encode() + END for text in texts]
    starts = np.zeros(len(encoded) + 1, dtype=np.uint32)
    np.cumsum([len(text) for text in encoded], out=starts[1:])
    return Texts(b"".join(encoded), starts)


# -- sorting -----------------------------------------------------------------------------------


Keys = NDArray[np.uint64]

CHUNK: Final = 8


class SortedRows(NamedTuple):
    """Rows in order; group[i] is the place of the first row that compares equal to rows[i]."""

    rows: Rows
    group: NDArray[np.int64]


class Level(Protocol):
    """A function from rows and a depth to the keys that are compared at this depth.

    The second array says which rows have further keys at the next depth.
    """

    def __call__(self, rows: Rows, depth: int, /) -> tuple[Keys, NDArray[np.bool_]]: ...


def one_group(rows: Rows) -> SortedRows:
    """Rows as a single group of ties; their order here decides between equal rows."""
    return SortedRows(rows, np.zeros(len(rows), dtype=np.int64))


def refine(given: SortedRows, level: Level) -> SortedRows:
    """Sort the rows of each group of `given` by the keys of `level`, depth by depth."""
    rows, group = given.rows.copy(), given.group.copy()
    places = _members(group)
    depth = 0
    while len(places):
        tied = rows[places]
        keys, longer = level(tied, depth)
        owner = group[places]
        sequence = np.lexsort((keys, owner))
        rows[places] = tied[sequence]
        keys, longer = keys[sequence], longer[sequence]
        first = np.ones(len(places), dtype=bool)
        first[1:] = (owner[1:] != owner[:-1]) | (keys[1:] != keys[:-1])
        index = np.cumsum(first) - 1
        group[places] = places[first][index]
        # A group needs another round if it has several rows, and at least one of them has further keys.
        several = np.bincount(index) > 1
        several &= np.bincount(index, weights=longer) > 0
        places = places[several[index]]
        depth += 1
    return SortedRows(rows, group)


def sort_texts(texts: Texts, given: SortedRows | None = None) -> SortedRows:
    """The indexes of `texts` sorted by their bytes, a prefix before the longer text."""
    places = one_group(np.arange(len(texts), dtype=np.uint32)) if given is None else given
    return refine(places, _level(texts))


def prefix_keys(data: NDArray[np.uint8], positions: NDArray[np.generic]) -> Keys:
    """The 8 bytes from each position of `data` as a number that sorts like the bytes.

    `data` must have 8 bytes from the last position on (`pad`).

    >>> [hex(n) for n in prefix_keys(np.frombuffer(b"abcdefghi", dtype=np.uint8), np.array([0, 1]))]
    ['0x6162636465666768', '0x6263646566676869']
    """
    windows = np.lib.stride_tricks.sliding_window_view(data, CHUNK)[positions]
    keys: Keys = windows.view(">u8").ravel().astype(np.uint64)
    return keys


def pad(data: memoryview | bytes, by: int = CHUNK) -> NDArray[np.uint8]:
    """A copy of `data`, followed by `by` zero bytes."""
    return np.frombuffer(bytes(data) + bytes(by), dtype=np.uint8)


def _level(texts: Texts) -> Level:
    data = pad(texts.data)
    starts = texts.starts[:-1].astype(np.int64)
    lengths = np.diff(texts.starts.astype(np.int64)) - 1

    def level(rows: Rows, depth: int) -> tuple[Keys, NDArray[np.bool_]]:
        left = lengths[rows] - depth * CHUNK
        position = np.minimum(starts[rows] + depth * CHUNK, len(data) - CHUNK)
        # Bytes after the end of the text are replaced by zeros.
        unused = np.clip((CHUNK - left) * 8, 0, 64).astype(np.uint64)
        keys = prefix_keys(data, position)
        half = unused // np.uint64(2)  # a shift by 64 is undefined, two by 32 are not
        rest = unused - half
        kept = np.asarray(keys >> half >> rest << rest << half, dtype=np.uint64)
        return kept, left > CHUNK

    return level


def _members(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places that belong to groups with several rows."""
    if not len(group):
        return np.empty(0, dtype=np.int64)
    counts = np.bincount(group)
    return np.flatnonzero(counts[group] > 1)


# -- a sparse index over sorted texts ----------------------------------------------------------


_HEAD: Final = 8


class EvenPlaces:
    """The places 0, width, 2 × width, … where texts of equal length begin; an array that is not stored."""

    def __init__(self, width: int, count: int) -> None:
        self._places = range(0, width * count, width)

    def __getitem__(self, index: int) -> int:
        return self._places[index]

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A text to look up, with the bounds of the numbers of all texts that begin with it."""

    text: bytes
    bounds: NDArray[np.uint64]


def probe(text: bytes) -> Probe:
    """Prepare the lookup of `text`, once for all shards.

    >>> [hex(bound) for bound in probe(b"ab").bounds]
    ['0x6162000000000000', '0x6163000000000000']
    """
    return Probe(text, np.array(bounds(text), dtype=np.uint64))


def bounds(text: bytes) -> tuple[int, int]:
    """The numbers [low, high) of the first 8 bytes of all texts that begin with `text`; twice 0 if it is empty."""
    head = text[:_HEAD]
    low = int.from_bytes(head.ljust(_HEAD, b"\0"), "big")
    return low, low + (1 << 8 * (_HEAD - len(head))) if head else 0


P = TypeVar("P", NDArray[np.uint32], EvenPlaces)


@dataclass(frozen=True, slots=True)
class SparseIndex(Generic[P]):
    """The places of texts in `data`, sorted by the bytes from there on, and the numbers of places 0, 16, 32, …"""

    data: memoryview | bytes
    places: P
    keys: NDArray[np.uint64]

    def beginning_with(self, wanted: Probe) -> Interval:
        """The interval of `places` where texts begin with the text of `wanted`."""
        low, high = (SAMPLED * self.keys.searchsorted(wanted.bounds)).tolist()
        text, count = wanted.text, len(self.places)
        # If the text is no longer than the numbers, they decide all but the last few places.
        decided = len(text) <= _HEAD
        first = self._count_below(text, low - SAMPLED + 1, min(low if decided else high, count))
        if first == count or not self._begins(first, text):
            return Interval(first, first)
        least = max(first, high - SAMPLED + 1) if decided else first
        return Interval(first, self._count_below(text + b"\xff", least, min(high, count)))

    def end_of(self, text: bytes, first: int) -> int:
        """The first place from `first` on where a text neither sorts before `text` nor begins with it."""
        return self._count_below(text + b"\xff", first, len(self.places))

    def _begins(self, index: int, text: bytes) -> bool:
        place = int(self.places[index])
        return bytes(self.data[place : place + len(text)]) == text

    def _count_below(self, text: bytes, low: int, high: int) -> int:
        """The number of places whose texts sort before `text`; it is at least `low` and at most `high`."""
        data, places, length = self.data, self.places, len(text)

        def at(index: int) -> bytes:
            place = int(places[index])
            return bytes(data[place : place + length])

        return bisect_left(range(high), text, lo=max(0, low), key=at)
