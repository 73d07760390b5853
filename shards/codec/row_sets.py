"""Sets of rows as they lie in the file: numbers, gaps between them, or a bit a row (FORMAT.md §8).

Useful for: testing rows that come from elsewhere, and listing. Not useful for: changing; a union is
a new set. Sets of one shard are only ever combined with each other.
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
Heads = NDArray[np.uint32]  # of a large set the first rows in each order, a line an order

_HEAD: Final = struct.Struct("<II")  # kind, number of rows
_OPENING: Final = 2.5  # nanoseconds a row


@dataclass(frozen=True, slots=True)
class Listed:
    """Some rows, ascending, each once."""

    numbers: Rows
    heads: Heads | None = None

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
    heads: Heads | None = None

    def rows(self) -> Rows:
        """The rows of the set, ascending."""
        return where(self.mask(0, self.count)).astype(np.uint32)

    def test(self, rows: Rows) -> Mask:
        """Which of `rows` are in the set."""
        found = self.bits.take(rows >> 3)
        found >>= (rows & 7).astype(np.uint8)
        found &= 1
        return found.view(np.bool_)

    def within(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int:
        """How many rows of the set lie in the ranges [start, stop), which ascend."""
        if not len(starts):
            return 0
        first = int(starts[0]) >> 6
        words = self.bits[8 * first : 8 * ((int(stops[-1]) + 63) >> 6)].view(np.uint64)
        before = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.bitwise_count(words), out=before[1:])
        return int((_rank(words, before, stops - 64 * first)
                    - _rank(words, before, starts - 64 * first)).sum())  # fmt: skip

    def mask(self, start: int, stop: int) -> Mask:
        """Which of the rows [start, stop) are in the set."""
        unpacked = np.unpackbits(self.bits[start >> 3 : (stop + 7) >> 3], bitorder="little")
        return unpacked[start & 7 : (start & 7) + stop - start].view(np.bool_)


@dataclass(frozen=True, slots=True)
class Gaps:
    """`size` rows by what is to be added from one to the next; has to be opened to be used."""

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
    """How many rows a set has, and the first of them in each order."""

    size: int
    heads: Heads


class Lookup(NamedTuple):
    """A set that can be found, and about how many nanoseconds that will take.

    `counted`: what is known of it without finding it.
    """

    cost: float
    find: Callable[[], RowSet]
    counted: Counted | None = None


EMPTY: Final = Listed(np.empty(0, dtype=np.uint32))
NO_LOOKUP: Final = Lookup(0.0, lambda: EMPTY)


def unpack(packed: memoryview | bytes, count: int) -> Packed:
    """The set whose bytes these are, in a shard of `count` rows; nothing is copied."""
    kind, size = _HEAD.unpack_from(packed)
    heads, start = None, _HEAD.size
    if kind & HEADED:
        heads = _heads(packed)
        kind, start = kind ^ HEADED, start + heads.nbytes
    if kind == BITS:
        return Bits(np.frombuffer(packed, dtype=np.uint8, offset=start), size, count, heads)
    if kind == GAPS:
        return Gaps(np.frombuffer(packed, dtype=np.uint8, offset=start), size, heads)
    if not size:
        return EMPTY
    return Listed(np.frombuffer(packed, dtype=np.uint32, count=size, offset=start), heads)


def unpack_union(packed: memoryview | bytes, count: int) -> Packed | Counted:
    """As `unpack`, or what there is of a set without its rows."""
    kind, size = _HEAD.unpack_from(packed)
    return Counted(size, _heads(packed)) if kind == COUNTED else unpack(packed, count)


def expand(packed: Packed) -> RowSet:
    """The set in a form that can be tested."""
    return Listed(packed.rows()) if isinstance(packed, Gaps) else packed


def lazy_lookup(packed: Packed) -> Lookup:
    """`packed`, still to be opened."""
    cost = _OPENING * packed.size * isinstance(packed, Gaps)
    counted = None if packed.heads is None else Counted(packed.size, packed.heads)
    return Lookup(cost, lambda: expand(packed), counted)


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


def common_size(one: RowSet, other: RowSet) -> int:
    """How many rows are in both sets.

    >>> low, high = (Listed(np.array(n, dtype=np.uint32)) for n in ([1, 4], [4, 7]))
    >>> common_size(low, high)
    1
    """
    if isinstance(one, Bits) and isinstance(other, Bits):
        return int(np.bitwise_count(one.bits & other.bits).sum(dtype=np.int64))
    few, many = sorted((one, other), key=lambda held: (isinstance(held, Bits), held.size))
    return int(np.count_nonzero(many.test(few.rows())))


def _heads(packed: memoryview | bytes) -> Heads:
    shape = len(ORDERS), format.HEAD_ROWS
    return np.frombuffer(packed, np.uint32, shape[0] * shape[1], _HEAD.size).reshape(shape)


def _rank(
    words: NDArray[np.uint64], before: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many bits are one below each of these places; `before`: below each of the words."""
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    low = (np.uint64(1) << bit) - np.uint64(1)  # none of the word where a place begins one
    partly = np.bitwise_count(words.take(word, mode="clip") & low)
    return before.take(word) + partly


# MERGED shards/rowsets.py
# A set of rows as bytes: a bit a row, the gaps between rows, or their numbers.
#
# FORMAT.md §8 draws it. A bit a row is used where it lies, and tells of any row at once; from one row
# in 16 down, the gaps take less: a byte a row until they get long, then numbers do.

_DENSE = 16  # above one row in so many, a bit a row
_WORD = 64
# The first rows of a set are looked for among so many times those that should hold them, then more.
_LOOKED_AT = 2
_FURTHER = 4


@dataclass(frozen=True)
class Packing:
    """The sets of one shard as bytes, large ones with their heads.

    `orders`: all rows in each of `query.ORDERS`, of which a head holds the first HEAD_ROWS.
    """

    rows: int
    orders: Sequence[Rows]

    def of_rows(self, found: Rows) -> bytes:
        """The bytes of the set `found`, ascending."""
        packed = pack(found, self.rows)
        if len(found) <= format.headed_size(self.rows):
            return packed
        mask = mask_of(found, self.rows)
        return self._headed(packed, mask)

    def of_mask(self, mask: NDArray[np.bool_]) -> bytes:
        """The bytes of the set of rows where `mask`, an entry a row, is true."""
        packed = pack_mask(mask)
        _, size = _HEAD.unpack_from(packed)
        return self._headed(packed, mask) if size > format.headed_size(self.rows) else packed

    def of_count(self, found: Rows) -> bytes:
        """The number and the heads of the set `found`, ascending, without its rows."""
        size = len(found)
        if size < format.HEAD_ROWS:
            return pack(found, self.rows)
        if size * size < _LOOKED_AT * format.HEAD_ROWS * self.rows:  # else so many are walked over
            heads = self._ranked(found)
        else:
            mask = mask_of(found, self.rows)
            heads = self._heads(mask, size)
        return _HEAD.pack(COUNTED, size) + b"".join(head.tobytes() for head in heads)

    def _headed(self, packed: bytes, mask: NDArray[np.bool_]) -> bytes:
        kind, size = _HEAD.unpack_from(packed)
        heads = b"".join(head.tobytes() for head in self._heads(mask, size))
        return _HEAD.pack(kind | HEADED, size) + heads + packed[_HEAD.size :]

    @cached_property
    def _ranks(self) -> Sequence[Rows]:
        return [sort_keys.ranks(order) for order in self.orders]

    def _ranked(self, found: Rows) -> Iterator[Rows]:
        """The heads by the rank of each row: for few."""
        for order, ranks in zip(self.orders, self._ranks, strict=True):
            places = np.partition(ranks[found], format.HEAD_ROWS - 1)[: format.HEAD_ROWS]
            places.sort()
            yield np.ascontiguousarray(order[places], dtype=U4)

    def _heads(self, mask: NDArray[np.bool_], size: int) -> Iterator[Rows]:
        """The heads by walking each order: for many."""
        for order in self.orders:
            end = _LOOKED_AT * format.HEAD_ROWS * self.rows // size
            while True:
                looked_at = order[:end]
                found = looked_at[mask[looked_at]]
                if len(found) >= format.HEAD_ROWS:
                    yield np.ascontiguousarray(found[: format.HEAD_ROWS], dtype=U4)
                    break
                end *= _FURTHER


def mask_of(found: Rows, rows: int) -> NDArray[np.bool_]:
    """Which of `rows` rows are among `found`, in any order and as often as they like."""
    mask = np.zeros(rows, dtype=bool)
    mask[found] = True
    return mask


def pack(found: Rows, rows: int) -> bytes:
    """The bytes of the set `found`, ascending, in a shard of `rows`.

    >>> pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(" ", -4)
    '02000000 02000000 01ff2c'
    """
    if len(found) * _DENSE > rows:
        mask = mask_of(found, rows)
        return _bits(mask, len(found))
    gaps = _gaps(found)
    if len(gaps) < found.itemsize * len(found):
        return _HEAD.pack(GAPS, len(found)) + gaps.tobytes()
    return _HEAD.pack(LIST, len(found)) + np.ascontiguousarray(found, dtype=U4).tobytes()


def pack_mask(mask: NDArray[np.bool_]) -> bytes:
    """The bytes of the set of rows where `mask`, an entry a row, is true."""
    count = int(np.count_nonzero(mask))
    if count * _DENSE > len(mask):
        return _bits(mask, count)
    return pack(np.flatnonzero(mask).astype(np.uint32), len(mask))


def _bits(mask: NDArray[np.bool_], count: int) -> bytes:
    bits = np.zeros(-(-len(mask) // _WORD) * _WORD // 8, dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    bits[: len(packed)] = packed
    return _HEAD.pack(BITS, count) + bits.tobytes()


def _gaps(found: Rows) -> NDArray[np.uint8]:
    """What is to be added from row to row, FURTHER as often as it goes into it, then the rest."""
    whole, rest = np.divmod(np.diff(found, prepend=np.uint32(0)), np.uint32(FURTHER))
    last = np.cumsum(whole + np.uint32(1), dtype=np.int64) - 1
    gaps = np.full(int(last[-1]) + 1 if len(last) else 0, FURTHER, dtype=np.uint8)
    gaps[last] = rest
    return gaps
