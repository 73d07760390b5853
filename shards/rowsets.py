"""A set of rows as bytes: a bit a row, the gaps between rows, or their numbers.

FORMAT.md §8 draws it. A bit a row is used where it lies, and tells of any row at once; from one row
in 16 down, the gaps take less: a byte a row until they get long, then numbers do.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shards import format, orders
from shards.format import BITS, COUNTED, FURTHER, GAPS, HEADED, LIST, U4
from shards.orders import Rows

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
        return [orders.ranks(order) for order in self.orders]

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
