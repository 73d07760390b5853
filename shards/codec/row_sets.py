"""Sets of rows as bytes: row numbers, the gaps between them, or one bit per row (FORMAT.md §8).

Bits are used where they lie in the file, and one test per row is enough. Below one row in 16, gaps take less space:
one byte per row, until the gaps get so long that row numbers take less. Large sets are stored with their heads, the
first rows in each order.

This module encodes them; `shards/kernel/row_sets.py` uses them where they lie.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import sort_keys
from shards.codec.arrays import Rows
from shards.format import BITS, COUNTED, FURTHER, GAPS, HEADED, LIST, U4

_HEADER: Final = struct.Struct("<II")  # kind, number of rows
_WORD: Final = 64
_DENSE = 16  # sets of more than one row in so many are stored as bits
# The heads of a set are first looked for among so many times the rows that should contain them, then among more.
_LOOKED_AT = 2
_FURTHER = 4


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

    def of_rows(self, rows: Rows) -> bytes:
        """The bytes of the set `rows`, ascending."""
        packed = pack(rows, self.rows)
        if len(rows) <= format.headed_size(self.rows):
            return packed
        return self._with_heads(packed, mask_of(rows, self.rows))

    def of_mask(self, mask: NDArray[np.bool_]) -> bytes:
        """The bytes of the set of the rows where `mask`, one entry per row, is true."""
        packed = pack_mask(mask)
        _, size = _HEADER.unpack_from(packed)
        return self._with_heads(packed, mask) if size > format.headed_size(self.rows) else packed

    def of_count(self, rows: Rows) -> bytes:
        """The size and the heads of the set `rows`, ascending; the set itself if it is shorter than a head."""
        size = len(rows)
        if size < format.HEAD_ROWS:
            return pack(rows, self.rows)
        # A walk looks at _LOOKED_AT × HEAD_ROWS × rows / size rows; ranking at `size` rows.
        if size * size < _LOOKED_AT * format.HEAD_ROWS * self.rows:
            heads = self._heads_by_rank(rows)
        else:
            heads = self._heads_by_walk(mask_of(rows, self.rows), size)
        return _HEADER.pack(COUNTED, size) + b"".join(head.tobytes() for head in heads)

    def _with_heads(self, packed: bytes, mask: NDArray[np.bool_]) -> bytes:
        kind, size = _HEADER.unpack_from(packed)
        heads = b"".join(head.tobytes() for head in self._heads_by_walk(mask, size))
        return _HEADER.pack(kind | HEADED, size) + heads + packed[_HEADER.size :]

    @cached_property
    def _ranks(self) -> Sequence[Rows]:
        return [sort_keys.ranks(order) for order in self.orders]

    def _heads_by_rank(self, rows: Rows) -> Iterator[Rows]:
        """The heads of a small set, by the rank of each row."""
        for order, ranks in zip(self.orders, self._ranks, strict=True):
            places = np.partition(ranks[rows], format.HEAD_ROWS - 1)[: format.HEAD_ROWS]
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


def pack(rows: Rows, count: int) -> bytes:
    """The bytes of the set `rows`, ascending, in a shard of `count` rows; without heads.

    >>> pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(" ", -4)
    '02000000 02000000 01ff2c'
    """
    if len(rows) * _DENSE > count:
        return _pack_bits(mask_of(rows, count), len(rows))
    gaps = _pack_gaps(rows)
    if len(gaps) < rows.itemsize * len(rows):
        return _HEADER.pack(GAPS, len(rows)) + gaps.tobytes()
    return _HEADER.pack(LIST, len(rows)) + np.ascontiguousarray(rows, dtype=U4).tobytes()


def pack_mask(mask: NDArray[np.bool_]) -> bytes:
    """The bytes of the set of the rows where `mask`, one entry per row, is true; without heads."""
    count = int(np.count_nonzero(mask))
    if count * _DENSE > len(mask):
        return _pack_bits(mask, count)
    return pack(np.flatnonzero(mask).astype(np.uint32), len(mask))


def mask_of(rows: Rows, count: int) -> NDArray[np.bool_]:
    """A mask of `rows`, over all `count` rows of a shard; `rows` may be unordered and repeat rows."""
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return mask


# -- bytes and bits --------------------------------------------------------------------


def _pack_bits(mask: NDArray[np.bool_], count: int) -> bytes:
    bits = np.zeros(-(-len(mask) // _WORD) * _WORD // 8, dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    bits[: len(packed)] = packed
    return _HEADER.pack(BITS, count) + bits.tobytes()


def _pack_gaps(rows: Rows) -> NDArray[np.uint8]:
    """The gap before each row: FURTHER as often as it goes into the gap, then the rest."""
    whole, rest = np.divmod(np.diff(rows, prepend=np.uint32(0)), np.uint32(FURTHER))
    last = np.cumsum(whole + np.uint32(1), dtype=np.int64) - 1
    gaps = np.full(int(last[-1]) + 1 if len(last) else 0, FURTHER, dtype=np.uint8)
    gaps[last] = rest
    return gaps
