"""A set of rows as bytes: their numbers where they are few, a bit a row where they are many.

FORMAT.md §8 draws it. Both forms are used where they lie: a reader copies neither.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from shards.format import BITS, LIST, U4
from shards.orders import Rows

_HEAD = struct.Struct("<II")  # kind, number of rows
_DENSE = 32  # bits of a row number: above one row in so many, a bit a row is shorter
_WORD = 64


def pack(found: Rows, rows: int) -> bytes:
    """The bytes of the set `found`, ascending, in a shard of `rows`.

    >>> pack(np.array([1], dtype=np.uint32), 100).hex(" ", 4)
    '00000000 01000000 01000000'
    """
    if len(found) * _DENSE <= rows:
        return _HEAD.pack(LIST, len(found)) + np.ascontiguousarray(found, dtype=U4).tobytes()
    mask = np.zeros(rows, dtype=bool)
    mask[found] = True
    return pack_mask(mask)


def pack_mask(mask: NDArray[np.bool_]) -> bytes:
    """The bytes of the set of rows where `mask`, an entry a row, is true."""
    count = int(np.count_nonzero(mask))
    if count * _DENSE <= len(mask):
        return _HEAD.pack(LIST, count) + np.flatnonzero(mask).astype(U4).tobytes()
    bits = np.zeros(-(-len(mask) // _WORD) * _WORD // 8, dtype=np.uint8)
    packed = np.packbits(mask, bitorder="little")
    bits[: len(packed)] = packed
    return _HEAD.pack(BITS, count) + bits.tobytes()
