"""A set of rows as bytes: a bit a row, the gaps between rows, or their numbers.

FORMAT.md §8 draws it. A bit a row is used where it lies, and tells of any row at once; from one row
in 16 down, the gaps take less: a byte a row until they get long, then numbers do.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from shards.format import BITS, FURTHER, GAPS, LIST, U4
from shards.orders import Rows

_HEAD = struct.Struct("<II")  # kind, number of rows
_DENSE = 16  # above one row in so many, a bit a row
_WORD = 64


def pack(found: Rows, rows: int) -> bytes:
    """The bytes of the set `found`, ascending, in a shard of `rows`.

    >>> pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(" ", -4)
    '02000000 02000000 01ff2c'
    """
    if len(found) * _DENSE > rows:
        mask = np.zeros(rows, dtype=bool)
        mask[found] = True
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
