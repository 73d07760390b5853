"""Sets of rows as bytes: row numbers, the gaps between them, or one bit per row (FORMAT.md §8).

Bits are used where they lie in the file, and one test per row is enough. Below one row in 16, gaps take less space:
one byte per row, until the gaps get so long that row numbers take less. Large sets are stored with their heads, the
first rows in each order.

Useful for: testing rows that come from elsewhere, listing, union. Not useful for: changing a set. Only sets of the same
shard may be combined.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import sort_keys
from shards.codec.arrays import Rows, distinct, where
from shards.format import BITS, COUNTED, FURTHER, GAPS, HEADED, LIST, U4
from shards.query import ORDERS

Mask = NDArray[np.bool_]
Heads = NDArray[np.uint32]  # the first rows of a set in each order, one line per order

_HEADER: Final = struct.Struct("<II")  # kind, number of rows
_WORD: Final = 64
_OPENING: Final = 2.5  # nanoseconds per row
_DENSE = 16  # sets of more than one row in so many are stored as bits
# The heads of a set are first looked for among so many times the rows that should contain them, then among more.
_LOOKED_AT = 2
_FURTHER = 4


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
        return found if len(found) == self.size else found.take(where(self.gaps != FURTHER))


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
        return Bits(np.frombuffer(packed, dtype=np.uint8, offset=start), size, count, heads)
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


# -- writing ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Packing:
    """The encoder of the sets of one shard, large sets with their heads.

    Attributes:
        rows: the number of rows of the shard.
        orders: all rows in each of `query.ORDERS`.
    """

    rows: int
    orders: Sequence[Rows]

    def of_rows(self, found: Rows) -> bytes:
        """The bytes of the set `found`, ascending."""
        packed = pack(found, self.rows)
        if len(found) <= format.headed_size(self.rows):
            return packed
        return self._with_heads(packed, mask_of(found, self.rows))

    def of_mask(self, mask: NDArray[np.bool_]) -> bytes:
        """The bytes of the set of the rows where `mask`, one entry per row, is true."""
        packed = pack_mask(mask)
        _, size = _HEADER.unpack_from(packed)
        return self._with_heads(packed, mask) if size > format.headed_size(self.rows) else packed

    def of_count(self, found: Rows) -> bytes:
        """The size and the heads of the set `found`, ascending; the set itself if it is shorter than a head."""
        size = len(found)
        if size < format.HEAD_ROWS:
            return pack(found, self.rows)
        # A walk looks at _LOOKED_AT × HEAD_ROWS × rows / size rows; ranking at `size` rows.
        if size * size < _LOOKED_AT * format.HEAD_ROWS * self.rows:
            heads = self._heads_by_rank(found)
        else:
            heads = self._heads_by_walk(mask_of(found, self.rows), size)
        return _HEADER.pack(COUNTED, size) + b"".join(head.tobytes() for head in heads)

    def _with_heads(self, packed: bytes, mask: NDArray[np.bool_]) -> bytes:
        kind, size = _HEADER.unpack_from(packed)
        heads = b"".join(head.tobytes() for head in self._heads_by_walk(mask, size))
        return _HEADER.pack(kind | HEADED, size) + heads + packed[_HEADER.size :]

    @cached_property
    def _ranks(self) -> Sequence[Rows]:
        return [sort_keys.ranks(order) for order in self.orders]

    def _heads_by_rank(self, found: Rows) -> Iterator[Rows]:
        """The heads of a small set, by the rank of each row."""
        for order, ranks in zip(self.orders, self._ranks, strict=True):
            places = np.partition(ranks[found], format.HEAD_ROWS - 1)[: format.HEAD_ROWS]
            places.sort()
            yield np.ascontiguousarray(order[places], dtype=U4)

    def _heads_by_walk(self, mask: NDArray[np.bool_], size: int) -> Iterator[Rows]:
        """The heads of a large set, by walking each order."""
        for order in self.orders:
            end = _LOOKED_AT * format.HEAD_ROWS * self.rows // size
            while True:
                looked_at = order[:end]
                found = looked_at[mask[looked_at]]
                if len(found) >= format.HEAD_ROWS:
                    yield np.ascontiguousarray(found[: format.HEAD_ROWS], dtype=U4)
                    break
                end *= _FURTHER


def pack(found: Rows, rows: int) -> bytes:
    """The bytes of the set `found`, ascending, in a shard of `rows` rows; without heads.

    >>> pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(" ", -4)
    '02000000 02000000 01ff2c'
    """
    if len(found) * _DENSE > rows:
        return _pack_bits(mask_of(found, rows), len(found))
    gaps = _pack_gaps(found)
    if len(gaps) < found.itemsize * len(found):
        return _HEADER.pack(GAPS, len(found)) + gaps.tobytes()
    return _HEADER.pack(LIST, len(found)) + np.ascontiguousarray(found, dtype=U4).tobytes()


def pack_mask(mask: NDArray[np.bool_]) -> bytes:
    """The bytes of the set of the rows where `mask`, one entry per row, is true; without heads."""
    count = int(np.count_nonzero(mask))
    if count * _DENSE > len(mask):
        return _pack_bits(mask, count)
    return pack(np.flatnonzero(mask).astype(np.uint32), len(mask))


def mask_of(found: Rows, rows: int) -> NDArray[np.bool_]:
    """A mask of the rows `found`, over all `rows` rows; `found` may be unordered and repeat rows."""
    mask = np.zeros(rows, dtype=bool)
    mask[found] = True
    return mask


# -- bytes and bits --------------------------------------------------------------------


def _unpack_heads(packed: memoryview | bytes) -> Heads:
    shape = len(ORDERS), format.HEAD_ROWS
    return np.frombuffer(packed, np.uint32, shape[0] * shape[1], _HEADER.size).reshape(shape)


def _pack_bits(mask: NDArray[np.bool_], count: int) -> bytes:
    bits = np.zeros(-(-len(mask) // _WORD) * _WORD // 8, dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    bits[: len(packed)] = packed
    return _HEADER.pack(BITS, count) + bits.tobytes()


def _pack_gaps(found: Rows) -> NDArray[np.uint8]:
    """The gap before each row: FURTHER as often as it goes into the gap, then the rest."""
    whole, rest = np.divmod(np.diff(found, prepend=np.uint32(0)), np.uint32(FURTHER))
    last = np.cumsum(whole + np.uint32(1), dtype=np.int64) - 1
    gaps = np.full(int(last[-1]) + 1 if len(last) else 0, FURTHER, dtype=np.uint8)
    gaps[last] = rest
    return gaps


def _rank(
    words: NDArray[np.uint64], before: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The number of set bits below each of `places`; `before` is the number below each word."""
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    low = (np.uint64(1) << bit) - np.uint64(1)  # no bit of the word if the place begins it
    partly = np.bitwise_count(words.take(word, mode="clip") & low)
    return before.take(word) + partly
