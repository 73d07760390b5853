"""Row sets read by FORMAT.md §8, slowly and by nothing of the code that writes or searches them."""

import struct
from typing import NamedTuple

from shards import format
from shards.query import ORDERS


class UnpackedSet(NamedTuple):
    """A row set: its size, its rows (None: not stored), its heads by order (None: none)."""

    size: int
    rows: list[int] | None
    heads: list[list[int]] | None


def unpack(packed: bytes) -> UnpackedSet:
    """The set that these bytes encode."""
    kind, size = struct.unpack_from("<II", packed)
    heads, start = None, 8
    if kind & format.HEADED:
        flat = struct.unpack_from(f"<{len(ORDERS) * format.HEAD_ROWS}I", packed, start)
        heads = [
            list(flat[n * format.HEAD_ROWS : (n + 1) * format.HEAD_ROWS])
            for n in range(len(ORDERS))
        ]
        start += 4 * len(flat)
    if kind == format.COUNTED:
        return UnpackedSet(size, None, heads)
    body = packed[start:]
    if kind & ~format.HEADED == format.BITS:
        rows = [row for row in range(8 * len(body)) if body[row >> 3] >> (row & 7) & 1]
    elif kind & ~format.HEADED == format.GAPS:
        rows, place = [], 0
        for gap in body:
            place += gap
            if gap != format.FURTHER and len(rows) < size:
                rows.append(place)
    else:
        rows = list(struct.unpack_from(f"<{size}I", body))
    return UnpackedSet(size, rows, heads)
