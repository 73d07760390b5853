"""Sets of rows, used where they lie in the file: a list of numbers, or a bit a row (FORMAT.md §9).

Useful for: testing rows that come from elsewhere, and listing. Not useful for: changing; a union is
a new set. Sets of one shard are only ever combined with each other.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.arrays import distinct, where
from shards.format import BITS

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]

_HEAD: Final = struct.Struct("<II")  # kind, number of rows


@dataclass(frozen=True, slots=True)
class Listed:
    """Some rows, ascending, each once."""

    numbers: Rows

    @property
    def size(self) -> int:
        return len(self.numbers)

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        return self.numbers

    def test(self, rows: Rows) -> Mask:
        """Which of `rows` are in the set."""
        if not len(self.numbers):
            return np.zeros(len(rows), dtype=bool)
        places = self.numbers.searchsorted(rows)
        found: Mask = self.numbers.take(places, mode="clip") == rows
        return found


@dataclass(frozen=True, slots=True)
class Bits:
    """`size` of the `count` rows of a shard: bit (row & 7) of byte row >> 3 is one."""

    bits: NDArray[np.uint8]
    size: int
    count: int

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        return where(self.mask(0, self.count)).astype(np.uint32)

    def test(self, rows: Rows) -> Mask:
        """Which of `rows` are in the set."""
        found = self.bits.take(rows >> 3)
        found >>= (rows & 7).astype(np.uint8)
        found &= 1
        return found.view(np.bool_)

    def mask(self, start: int, stop: int) -> Mask:
        """Which of the rows [start, stop) are in the set."""
        unpacked = np.unpackbits(self.bits[start >> 3 : (stop + 7) >> 3], bitorder="little")
        return unpacked[start & 7 : (start & 7) + stop - start].view(np.bool_)


RowSet = Listed | Bits

EMPTY: Final = Listed(np.empty(0, dtype=np.uint32))


def unpack(packed: memoryview | bytes, count: int) -> RowSet:
    """The set whose bytes these are, in a shard of `count` rows; nothing is copied."""
    kind, size = _HEAD.unpack_from(packed)
    if kind == BITS:
        return Bits(np.frombuffer(packed, dtype=np.uint8, offset=_HEAD.size), size, count)
    if not size:
        return EMPTY
    return Listed(np.frombuffer(packed, dtype=np.uint32, count=size, offset=_HEAD.size))


def union(one: RowSet, other: RowSet) -> RowSet:
    """The rows of either set.

    >>> low, high = (Listed(np.array(n, dtype=np.uint32)) for n in ([1, 4], [4, 7]))
    >>> union(low, high).rows().tolist()
    [1, 4, 7]
    """
    if not one.size or not other.size:
        return one if one.size else other
    if isinstance(one, Listed) and isinstance(other, Listed):
        return Listed(distinct(np.concatenate((one.numbers, other.numbers))))
    if isinstance(one, Bits) and isinstance(other, Bits):
        united = one.bits | other.bits
        return Bits(united, int(np.bitwise_count(united).sum(dtype=np.int64)), one.count)
    dense, few = (one, other) if isinstance(one, Bits) else (other, one)
    assert isinstance(dense, Bits)
    fresh = few.rows()
    fresh = fresh[~dense.test(fresh)]
    united = dense.bits.copy()
    # Each of these bits is zero, and named once: adding never carries.
    np.add.at(united, fresh >> 3, np.left_shift(1, fresh & 7).astype(np.uint8))
    return Bits(united, dense.size + len(fresh), dense.count)


def in_all(sets: Sequence[RowSet], few: int) -> Rows:
    """Rows that are in all sets, ascending; so few as `few` may be in the smallest list alone."""
    lists = sorted((one for one in sets if isinstance(one, Listed)), key=lambda one: one.size)
    bits = [one for one in sets if isinstance(one, Bits)]
    if not lists:
        united = bits[0].bits
        for other in bits[1:]:
            united = united & other.bits
        return Bits(united, 0, bits[0].count).rows()
    rows = lists[0].numbers
    others: list[RowSet] = [*bits, *lists[1:]]
    for one in others:
        if len(rows) <= few:
            break
        rows = rows.take(where(one.test(rows)))
    return rows
