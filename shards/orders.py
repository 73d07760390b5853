"""The seven orders of `tri` (§4.4), as keys to compare and as permutations of rows.

Every order but `nom` is a number: the key is the value, negated where the order descends, and
+inf for a null, which is last in both directions (contract B27). Ties go by identifier within a
country and by country across them (B28), so an order is total and a page never depends on chance.
All the values are integers below 2**53 or floats: one kind of key, float64, holds each exactly.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.format import EFFECTIF_NULL

Keys = NDArray[np.float64]
Rows = NDArray[np.uint32]

# tri -> column and sign (contract B30 to B32); `nom` has no column, its key is a text (B29).
COLUMN_OF: Final = {
    "ca_desc": ("ca_eur", -1.0),
    "ca_asc": ("ca_eur", 1.0),
    "effectif_desc": ("effectif", -1.0),
    "recent": ("date_creation", -1.0),
    "capital_desc": ("capital_eur", -1.0),
    "score": ("score", -1.0),
}


def is_null(column: str, values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which of the stored `values` of `column` stand for null."""
    if column in ("ca_eur", "capital_eur"):
        return np.isnan(values.astype(np.float64, copy=False))
    null = {"effectif": EFFECTIF_NULL, "date_creation": 0}.get(column)
    if null is None:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values == null)


def keys(tri: str, values: NDArray[np.generic]) -> Keys:
    """What the order `tri` compares, ascending, from the stored values of its column."""
    column, sign = COLUMN_OF[tri]
    return np.where(is_null(column, values), np.inf, values.astype(np.float64) * sign)


def date_key(date: str | None) -> int:
    """A date as a number that sorts as its text does (contract C8); 0 for null.

    >>> [date_key(d) for d in ("2024-02-29", "2024-02", "2024", None)]
    [20240229, 20240200, 20240000, 0]
    """
    return int(date.replace("-", "").ljust(8, "0")) if date else 0


def by_number(key: Keys, by_id: Rows) -> Rows:
    """Rows by `key`, ties in the order of `by_id`."""
    return by_id[np.argsort(key[by_id], kind="stable")]


def by_name(folded: Sequence[str], noms: Sequence[str], by_id: Rows) -> Rows:
    """Rows by folded name, then raw name, ties in the order of `by_id` (contract B29).

    UTF-8 sorts as code points do, and no folded name holds the separator, so one byte string
    compares as the pair would.
    """
    text = [f"{fold}\0{nom}".encode() for fold, nom in zip(folded, noms, strict=True)]
    return np.array(sorted(by_id.tolist(), key=text.__getitem__), dtype=np.uint32)


def by_identifier(ids: Sequence[str]) -> Rows:
    """Rows by the bytes of their identifiers."""
    encoded = [identifier.encode() for identifier in ids]
    return np.array(sorted(range(len(ids)), key=encoded.__getitem__), dtype=np.uint32)


def ranks(order: Rows) -> Rows:
    """The inverse of a permutation: the place of each row.

    >>> ranks(np.array([2, 0, 1], dtype=np.uint32)).tolist()
    [1, 2, 0]
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=np.uint32)
    return places
