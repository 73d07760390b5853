"""Numbers of a company beside its identifier, hashed: LEI and VAT number (extensions X6).

A shard has the hashes of all of them in order, with their rows. A hash may be that of another number by chance, so a
reader compares the number with that of the record.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold_id

# The fields of a company that are such numbers.
FIELDS: Final = ("lei", "tva")

_BYTES: Final = 8


def key(number: str) -> int:
    """The hash of a number, compared by letters and digits.

    >>> key("EE 100 366 327") == key("ee100366327")
    True
    """
    digest = blake2b(fold_id(number).encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "little")


def table(numbers: Sequence[tuple[int, str]]) -> Mapping[str, NDArray[Any]]:
    """The table of these rows and numbers: `keys`, ascending, and the `rows`; ties by row."""
    hashes = np.array([key(number) for _, number in numbers], "<u8")
    rows = np.array([row for row, _ in numbers], "<u4")
    order = np.lexsort((rows, hashes))
    keys, rows = hashes[order], rows[order]
    again = np.zeros(len(keys), bool)  # a pair that is there already
    again[1:] = (keys[1:] == keys[:-1]) & (rows[1:] == rows[:-1])
    return {"keys": keys[~again], "rows": rows[~again]}
