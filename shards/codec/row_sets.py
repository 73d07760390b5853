"""Sets of rows as bytes: row numbers, the gaps between them, or one bit per row (FORMAT.md §8).

Bits are used in place: one test says whether a row is in the set. If a set has fewer than one row in 16, gaps take less
space: one byte per row, until the gaps are so long that row numbers take less. Large sets are stored with their heads,
the first rows in each order.

This module encodes sets; `shards/kernel/row_sets.py` reads them in place.
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
_WORD_BITS: Final = 64  # a set of bits is padded to a multiple of this many bits
_DENSE_FROM = 16  # a set with more than one row in 16 is stored as bits
# A walk reads an order from its start, to find the rows of a set: its head. It first reads _FIRST_WALK times the rows
# that should contain the head. If that is not enough, it starts again with _LONGER_WALK times as many rows.
_FIRST_WALK = 2
_LONGER_WALK = 4


# -- the bytes of a set, with or without heads -----------------------------------------


@dataclass(frozen=True)
class Packing:
    """The encoder of the sets of one shard; large sets are encoded with their heads.

    Attributes:
        rows: the number of rows of the shard.
        orders: all rows in each of `query.ORDERS`.
    """

    rows: int
    orders: Sequence[Rows]

    def pack_rows(self, rows: Rows) -> bytes:
        """The bytes of the set `rows`, ascending; with heads if the set has more than `headed_size` rows."""
        packed = pack(rows, self.rows)
        if len(rows) <= format.headed_size(self.rows):
            return packed
        return self._append_heads(packed, mask_of(rows, self.rows))

    def pack_mask(self, mask: NDArray[np.bool_]) -> bytes:
        """The bytes of the set of the rows where `mask`, one entry per row, is true; with heads as in `pack_rows`."""
        packed = pack_mask(mask)
        _, size = _HEADER.unpack_from(packed)
        return self._append_heads(packed, mask) if size > format.headed_size(self.rows) else packed

    def pack_count(self, rows: Rows) -> bytes:
        """The bytes of the size and heads of the set `rows`, ascending; of the set itself if shorter than a head."""
        size = len(rows)
        if size < format.HEAD_ROWS:
            return pack(rows, self.rows)
        # A walk reads _FIRST_WALK × HEAD_ROWS × rows / size rows, ranking reads `size` rows.
        if size * size < _FIRST_WALK * format.HEAD_ROWS * self.rows:
            heads = self._heads_by_rank(rows)
        else:
            heads = self._heads_by_walk(mask_of(rows, self.rows), size)
        return _HEADER.pack(COUNTED, size) + b"".join(head.tobytes() for head in heads)

    def _append_heads(self, packed: bytes, mask: NDArray[np.bool_]) -> bytes:
        """Insert the heads of an encoded set after its kind and size, and add HEADED to the kind.

        The heads are the first rows of the set in each order, so that a first page needs no sorting.
        """
        kind, size = _HEADER.unpack_from(packed)
        heads = b"".join(head.tobytes() for head in self._heads_by_walk(mask, size))
        return _HEADER.pack(kind | HEADED, size) + heads + packed[_HEADER.size :]

    @cached_property
    def _ranks(self) -> Sequence[Rows]:
        """The place of each row in each of `orders`."""
        return [sort_keys.ranks(order) for order in self.orders]

    def _heads_by_rank(self, rows: Rows) -> Iterator[Rows]:
        """The heads of a small set, by the rank of each row."""
        for order, ranks in zip(self.orders, self._ranks, strict=True):
            places = np.partition(ranks[rows], format.HEAD_ROWS - 1)[: format.HEAD_ROWS]
            places.sort()
            yield np.ascontiguousarray(order[places], dtype=U4)

    def _heads_by_walk(self, mask: NDArray[np.bool_], size: int) -> Iterator[Rows]:
        """The heads of a large set, by reading the rows of each order from the first on."""
        for order in self.orders:
            end = _FIRST_WALK * format.HEAD_ROWS * self.rows // size
            while True:
                prefix = order[:end]
                rows = prefix[mask[prefix]]
                if len(rows) >= format.HEAD_ROWS:  # a large set has at least this many rows
                    yield np.ascontiguousarray(rows[: format.HEAD_ROWS], dtype=U4)
                    break
                end *= _LONGER_WALK


def pack(rows: Rows, count: int) -> bytes:
    """The bytes of the set `rows`, ascending, in a shard of `count` rows; without heads.

    >>> pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(" ", -4)
    '02000000 02000000 01ff2c'
    """
    if len(rows) * _DENSE_FROM > count:
        return _pack_bits(mask_of(rows, count), len(rows))
    gaps = _pack_gaps(rows)
    if len(gaps) < rows.itemsize * len(rows):
        return _HEADER.pack(GAPS, len(rows)) + gaps.tobytes()
    return _HEADER.pack(LIST, len(rows)) + np.ascontiguousarray(rows, dtype=U4).tobytes()


def pack_mask(mask: NDArray[np.bool_]) -> bytes:
    """The bytes of the set of the rows where `mask`, one entry per row, is true; without heads."""
    count = int(np.count_nonzero(mask))
    if count * _DENSE_FROM > len(mask):
        return _pack_bits(mask, count)
    return pack(np.flatnonzero(mask).astype(np.uint32), len(mask))


def mask_of(rows: Rows, count: int) -> NDArray[np.bool_]:
    """A mask of `rows`, over all `count` rows of a shard; `rows` may be unordered and repeat rows."""
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return mask


# -- the rows of a set as bits, or as gaps ---------------------------------------------


def _pack_bits(mask: NDArray[np.bool_], count: int) -> bytes:
    """The bytes of a set of `count` rows, one bit per row."""
    bits = np.zeros(-(-len(mask) // _WORD_BITS) * _WORD_BITS // 8, dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    bits[: len(packed)] = packed
    return _HEADER.pack(BITS, count) + bits.tobytes()


def _pack_gaps(rows: Rows) -> NDArray[np.uint8]:
    """The gap before each row: FURTHER as many times as it fits into the gap, then the rest."""
    full_bytes, remainder = np.divmod(np.diff(rows, prepend=np.uint32(0)), np.uint32(FURTHER))
    last_bytes = np.cumsum(full_bytes + np.uint32(1), dtype=np.int64) - 1
    gaps = np.full(int(last_bytes[-1]) + 1 if len(last_bytes) else 0, FURTHER, dtype=np.uint8)
    gaps[last_bytes] = remainder
    return gaps
