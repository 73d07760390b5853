"""The seven orders of `tri` (§4.4), as keys to compare and as permutations of rows.

Every order but `nom` is a number: the key is the value, negated where the order descends, and a
null is the greatest key there is, so that it is last in both directions (contract B27). Ties go by
identifier within a country and by country across them (B28), so an order is total and a page never
depends on chance. `nom` compares texts: shards/vocabulary.py sorts them.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.query import ORDERS

Keys = NDArray[Any]  # float64, NaN for null, or a signed integer, its greatest for null
Rows = NDArray[np.uint32]

# tri -> the key that is stored, and what it is multiplied by (contract B30 to B32). The two orders
# of turnover share one: they differ in their sign, and in nothing else but their ties.
KEY_OF: Final = {
    "ca_desc": ("ca_desc", 1),
    "ca_asc": ("ca_desc", -1),
    "effectif_desc": ("effectif_desc", 1),
    "recent": ("recent", 1),
    "capital_desc": ("capital_desc", 1),
    "score": ("score", 1),
}
# The orders in which the place of a row is stored; that in `ca_asc` follows from `ca_desc`.
RANKED: Final = frozenset(ORDERS) - {"ca_asc"}


def descending(values: NDArray[Any], dtype: str, null: int | None = None) -> Keys:
    """The key of an order that begins with the greatest of `values`.

    Args:
        null: what stands for null among integers; NaN does among floats.

    >>> descending(np.array([3, 0, 7]), "<i2", null=0).tolist()
    [-3, 32767, -7]
    """
    if np.dtype(dtype).kind == "f":
        return np.asarray(np.negative(values), dtype=dtype)
    keys = -values.astype(np.int64)
    if null is not None:
        keys[values == null] = null_of(np.dtype(dtype))
    return keys.astype(dtype)


def is_null(keys: Keys) -> NDArray[np.bool_]:
    """Which keys stand for null."""
    if keys.dtype.kind == "f":
        return np.isnan(keys)
    return np.asarray(keys == null_of(keys.dtype))


def null_of(dtype: np.dtype[Any]) -> float:
    """What stands for null among keys of this type."""
    return np.nan if dtype.kind == "f" else int(np.iinfo(dtype).max)


def date_key(date: str | None) -> int:
    """A date as a number that sorts as its text does (contract C8); 0 for null.

    >>> [date_key(d) for d in ("2024-02-29", "2024-02", "2024", None)]
    [20240229, 20240200, 20240000, 0]
    """
    return int(date.replace("-", "").ljust(8, "0")) if date else 0


def by_number(keys: Keys, by_id: Rows) -> Rows:
    """Rows by key, ties in the order of `by_id`."""
    return by_id[np.argsort(keys[by_id], kind="stable")]


def ranks(order: Rows) -> Rows:
    """The inverse of a permutation: the place of each row.

    >>> ranks(np.array([2, 0, 1], dtype=np.uint32)).tolist()
    [1, 2, 0]
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=np.uint32)
    return places
