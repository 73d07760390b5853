"""Lists of texts as two arrays: the UTF-8 bytes of all texts, each followed by a newline, and their starts.

Words and identifiers are stored in this form, and names are passed to the writer in this form. No such text contains a
newline, and END sorts before every byte of a folded text: a search for `text` finds prefixes, a search for `text` + END
finds complete texts. Bytes of UTF-8 sort like code points, and a text contains another text exactly where the bytes of
the one contain the bytes of the other.

Millions of texts are sorted without a Python object per text: their first 8 bytes are compared as numbers, then the
next 8 bytes of texts that are still tied. Names are sorted in the same way by the numbers of their words
(`writing/name_index.py`).

A sparse index over sorted texts has the first 8 bytes of every 16th text, as a number. A look-up is a binary search in
these numbers, which are close together in memory, and then four steps in the texts. Two lists have such an index:
suffixes of words, and identifiers.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.format import SAMPLED

END: Final = b"\n"  # after each text of a list


class Interval(NamedTuple):
    """The positions [first, end) in a sorted list."""

    first: int
    end: int


def interval_key(interval: Interval) -> int:
    """The key of an interval in an index of row sets: the first position in the upper 32 bits, the end in the lower.

    >>> hex(interval_key(Interval(1, 5)))
    '0x100000005'
    """
    return interval.first << 32 | interval.end


def pair_key(pair: bytes) -> int:
    """The key of two characters in an index of row sets: their UTF-8 as a big-endian number, padded with zeros.

    >>> hex(pair_key(b"ab"))
    '0x6162000000000000'
    """
    return int.from_bytes(pair.ljust(8, b"\0"), "big")


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts: text i is data[starts[i] : starts[i + 1] - 1]; `starts` has one more entry than texts."""

    data: memoryview | bytes
    starts: NDArray[np.uint32]

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.data[int(self.starts[index]) : int(self.starts[index + 1]) - 1])

    def __len__(self) -> int:
        return len(self.starts) - 1


def place_of(texts: Texts, text: bytes) -> int:
    """The place of a text in a sorted list; -1 if the list does not contain the text.

    >>> place_of(pack(["ab", "cd"]), b"cd"), place_of(pack(["ab", "cd"]), b"c")
    (1, -1)
    """
    place = bisect_left(texts, text)
    return place if place < len(texts) and texts[place] == text else -1


def pack(texts: Iterable[str]) -> Texts:
    """The list of `texts`, which must not contain a newline.

    >>> pack(["ab", "", "é"]).data
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    encoded = [text.encode() + END for text in texts]
    starts = np.zeros(len(encoded) + 1, dtype=np.uint32)
    np.cumsum([len(text) for text in encoded], out=starts[1:])
    return Texts(b"".join(encoded), starts)


# -- sorting -----------------------------------------------------------------------------------


LevelKeys = NDArray[np.uint64]  # the keys of rows at one depth

CHUNK: Final = 8  # bytes of a text that are compared at once, as a number


class SortedRows(NamedTuple):
    """Sorted rows; group[i] is the index in `rows` of the first row with the same keys as rows[i]."""

    rows: Rows
    group: NDArray[np.int64]


class Level(Protocol):
    """A function that gives the key of each of the rows at a depth: for texts, their bytes from 8 × depth on.

    Two texts are compared depth by depth, until their keys differ or one has no further keys.
    """

    def __call__(self, rows: Rows, depth: int, /) -> tuple[LevelKeys, NDArray[np.bool_]]:
        """The key of each row at this depth, and whether the row has further keys."""
        ...


def single_group(rows: Rows) -> SortedRows:
    """Rows as a single group of ties; if rows remain equal after sorting, the order of `rows` decides."""
    return SortedRows(rows, np.zeros(len(rows), dtype=np.int64))


def refine(ordered: SortedRows, level: Level) -> SortedRows:
    """Sort the rows within each group of `ordered` by the keys of `level`, depth by depth.

    Only rows that are still tied are sorted again with the keys of the next depth. Returns the rows with smaller
    groups.
    """
    rows, group = ordered.rows.copy(), ordered.group.copy()
    places = _tied_rows(group)
    depth = 0
    while len(places):
        tied = rows[places]
        keys, longer = level(tied, depth)
        group_of_place = group[places]
        sequence = np.lexsort((keys, group_of_place))
        rows[places] = tied[sequence]
        keys, longer = keys[sequence], longer[sequence]
        is_first = np.ones(len(places), dtype=bool)
        is_first[1:] = (group_of_place[1:] != group_of_place[:-1]) | (keys[1:] != keys[:-1])
        subgroup = np.cumsum(is_first) - 1
        group[places] = places[is_first][subgroup]
        # A group needs another round if it has several rows, and at least one of them has further keys.
        needs_more = np.bincount(subgroup) > 1
        needs_more &= np.bincount(subgroup, weights=longer) > 0
        places = places[needs_more[subgroup]]
        depth += 1
    return SortedRows(rows, group)


def sort_texts(texts: Texts, ordered: SortedRows | None = None) -> SortedRows:
    """The indexes of `texts` sorted by their bytes, a prefix before a longer text; `ordered` can be a partial order."""
    places = single_group(np.arange(len(texts), dtype=np.uint32)) if ordered is None else ordered
    return refine(places, _byte_keys(texts))


def prefix_keys(data: NDArray[np.uint8], positions: NDArray[np.generic]) -> LevelKeys:
    """The 8 bytes from each position of `data` on, as a number that sorts like the bytes.

    `data` must have 8 bytes after the last position (`pad`).

    >>> [hex(n) for n in prefix_keys(np.frombuffer(b"abcdefghi", dtype=np.uint8), np.array([0, 1]))]
    ['0x6162636465666768', '0x6263646566676869']
    """
    windows = np.lib.stride_tricks.sliding_window_view(data, CHUNK)[positions]
    keys: LevelKeys = windows.view(">u8").ravel().astype(np.uint64)
    return keys


def pad(data: memoryview | bytes, by: int = CHUNK) -> NDArray[np.uint8]:
    """A copy of `data`, followed by `by` zero bytes."""
    return np.frombuffer(bytes(data) + bytes(by), dtype=np.uint8)


def _byte_keys(texts: Texts) -> Level:
    """The function that gives the keys of `texts` for `refine`: at each depth, the next 8 bytes as a number."""
    data = pad(texts.data)
    starts = texts.starts[:-1].astype(np.int64)
    lengths = np.diff(texts.starts.astype(np.int64)) - 1

    def level(rows: Rows, depth: int) -> tuple[LevelKeys, NDArray[np.bool_]]:
        """The next 8 bytes of these texts, and whether further bytes follow."""
        bytes_left = lengths[rows] - depth * CHUNK
        position = np.minimum(starts[rows] + depth * CHUNK, len(data) - CHUNK)
        # The bits after the end of the text are set to zero.
        unused = np.clip((CHUNK - bytes_left) * 8, 0, 64).astype(np.uint64)
        keys = prefix_keys(data, position)
        first_shift = unused // np.uint64(2)  # a shift by 64 is undefined, two by 32 are not
        second_shift = unused - first_shift
        masked = np.asarray(
            keys >> first_shift >> second_shift << second_shift << first_shift, dtype=np.uint64
        )
        return masked, bytes_left > CHUNK

    return level


def _tied_rows(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indexes of the rows whose group has several rows, so that their order is not decided yet."""
    if not len(group):
        return np.empty(0, dtype=np.int64)
    counts = np.bincount(group)
    return np.flatnonzero(counts[group] > 1)


# -- a sparse index over sorted texts ----------------------------------------------------------


_KEY_BYTES: Final = 8  # the bytes at the beginning of a text that the index has as a number


class EvenPlaces:
    """The starts 0, `width`, 2 × `width`, … of `count` texts of equal length; computed, not stored.

    `width` is the bytes from one start to the next, so it includes the newline after a text.
    """

    def __init__(self, width: int, count: int) -> None:
        self._places = range(0, width * count, width)

    def __getitem__(self, index: int) -> int:
        return self._places[index]

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A text to look up, with the bounds of the index numbers (see `bounds`) of texts that begin with this text."""

    text: bytes
    bounds: NDArray[np.uint64]


def probe(text: bytes) -> Probe:
    """Prepare the lookup of `text`, once for all shards.

    >>> [hex(bound) for bound in probe(b"ab").bounds]
    ['0x6162000000000000', '0x6163000000000000']
    """
    return Probe(text, np.array(bounds(text), dtype=np.uint64))


def bounds(text: bytes) -> tuple[int, int]:
    """The numbers [low, high) of the first 8 bytes of texts that begin with `text`; (0, 0) if `text` is empty."""
    head = text[:_KEY_BYTES]
    low = int.from_bytes(head.ljust(_KEY_BYTES, b"\0"), "big")
    return low, low + (1 << 8 * (_KEY_BYTES - len(head))) if head else 0


# How the starts of texts are given: stored, or computed.
P = TypeVar("P", NDArray[np.uint32], EvenPlaces)


@dataclass(frozen=True, slots=True)
class SparseIndex(Generic[P]):
    """A sparse index over sorted texts.

    Attributes:
        places: where each text begins in `data`, sorted by the bytes from there on.
        keys: the first 8 bytes, as a number, of texts 0, 16, 32, …
    """

    data: memoryview | bytes
    places: P
    keys: NDArray[np.uint64]

    def beginning_with(self, text_probe: Probe) -> Interval:
        """The interval [first, end) of `places` whose texts begin with the text of the probe."""
        low, high = (SAMPLED * self.keys.searchsorted(text_probe.bounds)).tolist()
        text, count = text_probe.text, len(self.places)
        # Only every SAMPLED-th text has a key, so each bound is among the SAMPLED places up to the bound in the keys. A
        # key has 8 bytes, so for a longer text the keys only bound all texts with its first 8 bytes.
        is_short = len(text) <= _KEY_BYTES
        first = self._count_below(text, low - SAMPLED + 1, min(low if is_short else high, count))
        if first == count or not self._begins(first, text):
            return Interval(first, first)
        least = max(first, high - SAMPLED + 1) if is_short else first
        # UTF-8 has no byte 0xFF, so a text with this byte added sorts after all texts that begin with the text.
        return Interval(first, self._count_below(text + b"\xff", least, min(high, count)))

    def end_of(self, text: bytes, first: int) -> int:
        """The first index from `first` on whose text sorts after `text` and does not begin with `text`."""
        return self._count_below(text + b"\xff", first, len(self.places))

    def _begins(self, index: int, text: bytes) -> bool:
        """Whether the text of this index begins with `text`."""
        place = int(self.places[index])
        return bytes(self.data[place : place + len(text)]) == text

    def _count_below(self, text: bytes, low: int, high: int) -> int:
        """The number of places whose texts sort before `text`; the caller knows that it is from `low` to `high`."""
        data, places, length = self.data, self.places, len(text)

        def beginning(index: int) -> bytes:
            """The first bytes of this text, as many as `text` has."""
            place = int(places[index])
            return bytes(data[place : place + length])

        return bisect_left(range(high), text, lo=max(0, low), key=beginning)
