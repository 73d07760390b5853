"""A slow decoder of row sets, written from FORMAT.md §8 without the code that writes or searches them."""

import struct
from typing import NamedTuple

from shards import format
from shards.query import ORDERS


class UnpackedSet(NamedTuple):
    """A row set: its size, its rows (None if they are not stored), its heads by order (None if it has no heads)."""

    size: int
    rows: list[int] | None
    heads: list[list[int]] | None


def unpack(packed: bytes) -> UnpackedSet:
    """The size, the rows and the heads of the row set that these bytes encode, read as FORMAT.md describes them.

    The rows are None if only their count is stored, the heads None if the set has none.
    """
    kind, size = struct.unpack_from("<II", packed)
    heads, start = None, 8
    if kind & format.HEADED:
        head_rows = struct.unpack_from(f"<{len(ORDERS) * format.HEAD_ROWS}I", packed, start)
        heads = [
            list(head_rows[order * format.HEAD_ROWS : (order + 1) * format.HEAD_ROWS])
            for order in range(len(ORDERS))
        ]
        start += 4 * len(head_rows)
    if kind == format.COUNTED:
        return UnpackedSet(size, None, heads)
    body = packed[start:]
    if kind & ~format.HEADED == format.BITS:
        rows = [row for row in range(8 * len(body)) if body[row >> 3] >> (row & 7) & 1]
    elif kind & ~format.HEADED == format.GAPS:
        rows, row = [], 0
        for gap in body:
            row += gap
            if gap != format.FURTHER and len(rows) < size:
                rows.append(row)
    else:
        rows = list(struct.unpack_from(f"<{size}I", body))
    return UnpackedSet(size, rows, heads)
