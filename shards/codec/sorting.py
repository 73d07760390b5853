"""Stable sorting of millions of texts without a Python object per text.

Texts are compared 8 bytes at a time, as numbers. Texts that are still tied are compared by their next 8 bytes, and so
on; most texts are compared once. Names are sorted in the same way by the numbers of their words
(`writing/name_index.py`).
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.strings import Texts

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
