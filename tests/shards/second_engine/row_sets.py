"""Row sets of the file as NumPy arrays (FORMAT.md §8): testing, listing, uniting."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.arrays import Rows, distinct, where
from shards.format import BITS, COUNTED, FURTHER, GAPS, HEADED
from shards.query import ORDERS

Mask = NDArray[np.bool_]
Heads = NDArray[np.uint32]  # the first rows of a set in each order, one line per order

_HEADER: Final = struct.Struct("<II")  # kind, number of rows
_OPENING: Final = 2.5  # nanoseconds per row


@dataclass(frozen=True, slots=True)
class Listed:
    """Row numbers, ascending, each once."""

    numbers: Rows
    heads: Heads | None = None

    @property
    def size(self) -> int:
        """The number of rows in the set."""
        return len(self.numbers)

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        return self.numbers

    def test(self, rows: Rows) -> Mask:
        """A mask of the `rows` that are in the set."""
        if not len(self.numbers):
            return np.zeros(len(rows), dtype=bool)
        places = self.numbers.searchsorted(rows)
        found: Mask = self.numbers.take(places, mode="clip") == rows
        return found


@dataclass(frozen=True, slots=True)
class Bits:
    """One bit per row of a shard of `count` rows: bit (row & 7) of byte row >> 3; `size` bits are set."""

    bits: NDArray[np.uint8]
    size: int
    count: int
    heads: Heads | None = None

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        return where(self.mask(0, self.count)).astype(np.uint32)

    def test(self, rows: Rows) -> Mask:
        """A mask of the `rows` that are in the set."""
        found = self.bits.take(rows >> 3)
        found >>= (rows & 7).astype(np.uint8)
        found &= 1
        return found.view(np.bool_)

    def within(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int:
        """The number of rows of the set in the ranges [start, stop), which ascend."""
        if not len(starts):
            return 0
        first = int(starts[0]) >> 6
        words = self.bits[8 * first : 8 * ((int(stops[-1]) + 63) >> 6)].view(np.uint64)
        before = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.bitwise_count(words), out=before[1:])
        return int((_rank(words, before, stops - 64 * first)
                    - _rank(words, before, starts - 64 * first)).sum())  # fmt: skip

    def mask(self, start: int, stop: int) -> Mask:
        """A mask of the rows in the set, over the rows [start, stop)."""
        unpacked = np.unpackbits(self.bits[start >> 3 : (stop + 7) >> 3], bitorder="little")
        return unpacked[start & 7 : (start & 7) + stop - start].view(np.bool_)


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps between the rows of a set of `size` rows; it must be expanded before use."""

    gaps: NDArray[np.uint8]
    size: int
    heads: Heads | None = None

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        found = np.cumsum(self.gaps, dtype=np.uint32)
        return found.take(where(self.gaps != FURTHER)[: self.size])  # the end is padded


RowSet = Listed | Bits
Packed = RowSet | Gaps


class Counted(NamedTuple):
    """The size and the heads of a set whose rows are not stored."""

    size: int
    heads: Heads


class Lookup(NamedTuple):
    """A set that can be found.

    Attributes:
        cost: the estimated nanoseconds that `find` takes.
        counted: the size and heads of the set, if they are known without `find`.
    """

    cost: float
    find: Callable[[], RowSet]
    counted: Counted | None = None


EMPTY: Final = Listed(np.empty(0, dtype=np.uint32))
NO_LOOKUP: Final = Lookup(0.0, lambda: EMPTY)


# -- reading ---------------------------------------------------------------------------


def unpack(packed: memoryview | bytes, count: int) -> Packed:
    """The set that these bytes encode, in a shard of `count` rows; nothing is copied."""
    kind, size = _HEADER.unpack_from(packed)
    heads, start = None, _HEADER.size
    if kind & HEADED:
        heads = _unpack_heads(packed)
        kind, start = kind ^ HEADED, start + heads.nbytes
    if kind == BITS:
        bits = np.frombuffer(packed, np.uint8, (count + 63) // 64 * 8, start)
        return Bits(bits, size, count, heads)
    if kind == GAPS:
        return Gaps(np.frombuffer(packed, dtype=np.uint8, offset=start), size, heads)
    if not size:
        return EMPTY
    return Listed(np.frombuffer(packed, dtype=np.uint32, count=size, offset=start), heads)


def unpack_union(packed: memoryview | bytes, count: int) -> Packed | Counted:
    """The same as `unpack`, for a table that also has sets without their rows."""
    kind, size = _HEADER.unpack_from(packed)
    return Counted(size, _unpack_heads(packed)) if kind == COUNTED else unpack(packed, count)


def expand(packed: Packed) -> RowSet:
    """The set in a form that can be tested."""
    return Listed(packed.rows()) if isinstance(packed, Gaps) else packed


def lazy_lookup(packed: Packed) -> Lookup:
    """A lookup that expands `packed` when the set is needed."""
    cost = _OPENING * packed.size * isinstance(packed, Gaps)
    counted = None if packed.heads is None else Counted(packed.size, packed.heads)
    return Lookup(cost, lambda: expand(packed), counted)


def union(one: RowSet, other: RowSet) -> RowSet:
    """The rows that are in either set.

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
    # Each of these bits is zero and occurs once, so the addition never carries.
    np.add.at(united, fresh >> 3, np.left_shift(1, fresh & 7).astype(np.uint8))
    return Bits(united, dense.size + len(fresh), dense.count)


def common_size(one: RowSet, other: RowSet) -> int:
    """The number of rows that are in both sets.

    >>> low, high = (Listed(np.array(n, dtype=np.uint32)) for n in ([1, 4], [4, 7]))
    >>> common_size(low, high)
    1
    """
    if isinstance(one, Bits) and isinstance(other, Bits):
        return int(np.bitwise_count(one.bits & other.bits).sum(dtype=np.int64))
    few, many = sorted((one, other), key=lambda rows: (isinstance(rows, Bits), rows.size))
    return int(np.count_nonzero(many.test(few.rows())))


def _unpack_heads(packed: memoryview | bytes) -> Heads:
    shape = len(ORDERS), format.HEAD_ROWS
    return np.frombuffer(packed, np.uint32, shape[0] * shape[1], _HEADER.size).reshape(shape)


def _rank(
    words: NDArray[np.uint64], before: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The number of set bits below each of `places`; `before` is the number below each word."""
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    low = (np.uint64(1) << bit) - np.uint64(1)  # no bit of the word if the place begins it
    partly = np.bitwise_count(words.take(word, mode="clip") & low)
    return before.take(word) + partly
