"""Codes: numbers that a search compares in place of texts, amounts and other numbers (FORMAT.md §7, §8).

A text column has the code 0 for null and 1 + i for text i of the sorted list of its distinct texts, so texts with the
same beginning have a range of codes. Total assets have a code of 32 bits that ascends with the amount: cents, with room
on either side for the few amounts that are negative or greater.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold, fold_id
from shards.query import STATES

# The bit of `etat` for a company with statements; the bits below are the place of the state in `query.STATES`.
STATEMENTS: Final = 4
UNKNOWN: Final = STATES.index("inconnu")
STATE_CODES: Final = 2 * STATEMENTS
# Amounts of so many cents and more are listed.
LISTED: Final = 4_000_000_000


class DistinctValues(NamedTuple):
    """A text column: its distinct values, and by row which of them it has."""

    values: list[str | None]
    numbers: NDArray[np.uint32]


def area(code_postal: str) -> str:
    """A postcode as it is compared: in upper case, without blanks (extension X2).

    >>> area("ec1a 1bb")
    'EC1A1BB'
    """
    return "".join(code_postal.upper().split())


# What a text column compares; the texts of `forme` and `nace` are compared as they are.
COMPARED: Final[Mapping[str, Callable[[str], str]]] = {
    "forme": str, "nace": str, "ville": fold, "code_postal": area,
}  # fmt: skip


def code_type(codes: int) -> str:
    """The type of a column with so many codes.

    >>> code_type(256), code_type(257), code_type(70_000)
    ('|u1', '<u2', '<u4')
    """
    return "|u1" if codes <= 1 << 8 else "<u2" if codes <= 1 << 16 else "<u4"


def listed_amounts(euros: NDArray[np.float64]) -> NDArray[np.float64]:
    """The amounts that have no code of their own by their cents: distinct, ascending."""
    cents = np.rint(euros * 100)
    return np.unique(euros[(cents < 0) | (cents >= LISTED)])


def amount_codes(euros: NDArray[np.float64], listed: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The codes of amounts in euros and cents; 0 for NaN, which is null."""
    below = int(listed.searchsorted(0.0))
    with np.errstate(invalid="ignore"):
        cents = np.nan_to_num(np.rint(euros * 100), nan=0.0)
        places = listed.searchsorted(euros)
        codes = np.where(
            cents < 0,
            1 + places,
            np.where(cents < LISTED, 1 + below + cents, 1 + LISTED + places),
        )
    return np.where(np.isnan(euros), 0, codes).astype(np.uint32)


def amounts(stored: NDArray[np.uint32], listed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The amounts in euros of codes of total assets; NaN for null."""
    below = int(listed.searchsorted(0.0))
    number = stored.astype(np.int64) - 1
    cents = number - below
    euros = cents / 100
    over = cents >= LISTED
    places = np.where(over, number - LISTED, number)
    outside = ((number >= 0) & (cents < 0)) | over
    euros[outside] = np.append(listed, np.nan)[np.clip(places[outside], 0, len(listed))]
    euros[number < 0] = np.nan
    return euros


def amount_bound(listed: Any, euros: float, *, after: bool) -> int:
    """The least code of an amount of at least `euros`, or of more than that if `after`.

    >>> [amount_bound(np.array([-1.0, 5e7]), euros, after=False) for euros in (-2, 0, 1.1, 6e7)]
    [1, 2, 112, 4000000003]
    """
    below = int(listed.searchsorted(0.0))
    if euros < 0:
        return 1 + int(listed[:below].searchsorted(euros, side="right" if after else "left"))
    if euros >= LISTED / 100:
        return 1 + LISTED + int(listed.searchsorted(euros, side="right" if after else "left"))
    cents = round(euros * 100)
    # The code is that of the first amount whose float passes, as the filter says it.
    while cents > 0 and (cents - 1) / 100 >= euros:
        cents -= 1
    while cents / 100 < euros or (after and cents / 100 == euros):
        cents += 1
    return 1 + below + cents


# -- numbers beside the identifier: LEI and VAT number (extensions X6) ---------------------------

# A shard has the hashes of all of them in order, with their rows. A hash may be that of another number by chance, so a
# reader compares the number with that of the record.

# The fields of a company that are such numbers.
ALIASES: Final = ("lei", "tva")
_ALIAS_BYTES: Final = 8


def alias_key(number: str) -> int:
    """The hash of a number, compared by letters and digits.

    >>> alias_key("EE 100 366 327") == alias_key("ee100366327")
    True
    """
    digest = blake2b(fold_id(number).encode(), digest_size=_ALIAS_BYTES).digest()
    return int.from_bytes(digest, "little")


def alias_table(numbers: Sequence[tuple[int, str]]) -> Mapping[str, NDArray[Any]]:
    """The table of these rows and numbers: `keys`, ascending, and the `rows`; ties by row."""
    hashes = np.array([alias_key(number) for _, number in numbers], "<u8")
    rows = np.array([row for row, _ in numbers], "<u4")
    order = np.lexsort((rows, hashes))
    keys, rows = hashes[order], rows[order]
    again = np.zeros(len(keys), bool)  # a pair that is there already
    again[1:] = (keys[1:] == keys[:-1]) & (rows[1:] == rows[:-1])
    return {"keys": keys[~again], "rows": rows[~again]}
