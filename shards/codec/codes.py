"""Codes: numbers that a search compares in place of texts, amounts and other numbers (FORMAT.md §7, §8).

In a text column, code 0 is null and code 1 + i is text i of the sorted list of distinct texts, so texts with the same
prefix have a range of codes. Total assets have a 32-bit code that ascends with the amount: the amount in cents, with
codes on either side for the few amounts that are negative or greater.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold, fold_id
from shards.query import STATES

# The bit of a code of `etat` for a company with statements; the lower bits are the index of the state in
# `query.STATES`.
STATEMENTS: Final = 4
UNKNOWN: Final = STATES.index("inconnu")  # the code of a company without a known state
STATE_CODES: Final = 2 * STATEMENTS  # the number of codes of `etat`
# Amounts of this many cents or more do not fit into a code: they are listed, and the code is an index in the list.
LISTED: Final = 4_000_000_000


class DistinctValues(NamedTuple):
    """A text column: its distinct values, and the index of the value of each row."""

    values: list[str | None]
    numbers: NDArray[np.uint32]


def fold_postcode(code_postal: str) -> str:
    """A postcode in the form for comparison: in upper case, without blanks (extension X2).

    >>> fold_postcode("ec1a 1bb")
    'EC1A1BB'
    """
    return "".join(code_postal.upper().split())


# The form for comparison of each text column; the texts of `forme` and `nace` do not change.
COMPARED: Final[Mapping[str, Callable[[str], str]]] = {
    "forme": str, "nace": str, "ville": fold, "code_postal": fold_postcode,
}  # fmt: skip


def code_type(codes: int) -> str:
    """The type of a column with this many codes.

    >>> code_type(256), code_type(257), code_type(70_000)
    ('|u1', '<u2', '<u4')
    """
    return "|u1" if codes <= 1 << 8 else "<u2" if codes <= 1 << 16 else "<u4"


def listed_amounts(euros: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distinct amounts that are negative or at least LISTED cents, ascending; their codes are indexes here."""
    cents = np.rint(euros * 100)
    return np.unique(euros[(cents < 0) | (cents >= LISTED)])


def amount_codes(euros: NDArray[np.float64], listed: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The codes of amounts in euros; NaN is null, with code 0.

    Codes ascend with amounts: 1 + index for an amount below 0, then 1 + the number of these amounts + the cents, then
    1 + LISTED + index from LISTED cents. An index is the place of the amount in `listed` (`listed_amounts`).
    """
    negative_count = int(listed.searchsorted(0.0))
    with np.errstate(invalid="ignore"):
        cents = np.nan_to_num(np.rint(euros * 100), nan=0.0)
        places = listed.searchsorted(euros)
        codes = np.where(
            cents < 0,
            1 + places,
            np.where(cents < LISTED, 1 + negative_count + cents, 1 + LISTED + places),
        )
    return np.where(np.isnan(euros), 0, codes).astype(np.uint32)


def amounts(stored: NDArray[np.uint32], listed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The amounts in euros of codes of total assets; NaN for null. The inverse of `amount_codes`."""
    negative_count = int(listed.searchsorted(0.0))
    index = stored.astype(np.int64) - 1
    cents = index - negative_count
    euros = cents / 100
    is_above = cents >= LISTED
    places = np.where(is_above, index - LISTED, index)
    is_listed = ((index >= 0) & (cents < 0)) | is_above
    euros[is_listed] = np.append(listed, np.nan)[np.clip(places[is_listed], 0, len(listed))]
    euros[index < 0] = np.nan
    return euros


def amount_bound(listed: Any, euros: float, *, after: bool) -> int:
    """The least code of an amount of at least `euros`; if `after`, of more than `euros`.

    `listed` has the amounts that have no code by their cents: those below 0 and those from LISTED cents on.

    >>> [amount_bound(np.array([-1.0, 5e7]), euros, after=False) for euros in (-2, 0, 1.1, 6e7)]
    [1, 2, 112, 4000000003]
    """
    negative_count = int(listed.searchsorted(0.0))
    if euros < 0:
        return 1 + int(
            listed[:negative_count].searchsorted(euros, side="right" if after else "left")
        )
    if euros >= LISTED / 100:
        return 1 + LISTED + int(listed.searchsorted(euros, side="right" if after else "left"))
    cents = round(euros * 100)
    # The first amount that passes the filter as a float, since the filter compares floats.
    while cents > 0 and (cents - 1) / 100 >= euros:
        cents -= 1
    while cents / 100 < euros or (after and cents / 100 == euros):
        cents += 1
    return 1 + negative_count + cents


# -- numbers other than the identifier: LEI and VAT number (extensions X6) -----------------------

# A shard has the hashes of these numbers, sorted, with their rows. Two numbers may have the same hash by chance, so a
# reader compares the number with the record.

# The fields of a company that have a LEI or a VAT number.
ALIASES: Final = ("lei", "tva")
_ALIAS_BYTES: Final = 8  # of a hash


def alias_key(number: str) -> int:
    """The hash of a number, compared by letters and digits.

    >>> alias_key("EE 100 366 327") == alias_key("ee100366327")
    True
    """
    digest = blake2b(fold_id(number).encode(), digest_size=_ALIAS_BYTES).digest()
    return int.from_bytes(digest, "little")


def alias_table(numbers: Sequence[tuple[int, str]]) -> Mapping[str, NDArray[Any]]:
    """The table `alias` of these pairs of row and number: the hashes as `keys`, ascending, and their `rows`."""
    hashes = np.array([alias_key(number) for _, number in numbers], "<u8")
    rows = np.array([row for row, _ in numbers], "<u4")
    order = np.lexsort((rows, hashes))
    keys, rows = hashes[order], rows[order]
    is_repeat = np.zeros(len(keys), bool)  # true for a pair that repeats the pair before
    is_repeat[1:] = (keys[1:] == keys[:-1]) & (rows[1:] == rows[:-1])
    return {"keys": keys[~is_repeat], "rows": rows[~is_repeat]}
