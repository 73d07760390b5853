"""The seven orders of `tri` (§4.4), as keys to compare and as permutations of rows.

Every order but `nom` is a number: the key is the value, negated where the order descends, and a
null is the greatest key there is, so that it is last in both directions (contract B27). Ties go by
identifier within a country and by country across them (B28), so an order is total and a page never
depends on chance. `nom` compares texts: shards/build/name_index.py sorts them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.strings import Interval
from shards.query import ORDERS

Keys = NDArray[Any]  # float64, NaN for null, or a signed integer, its greatest for null

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


def sort_by_key(keys: Keys, by_id: Rows) -> Rows:
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


# MERGED shards/steps.py
# The values along an order: where each begins, and hence which value stands at a place.
#
# Many companies share a headcount, a date, a capital; the order has them side by side. So an order
# needs no value a row: its distinct keys and the places where they begin say it all.


@dataclass(frozen=True)
class KeyRuns:
    """The rows of keys[i] stand at places[i] … places[i + 1] - 1 of the order; then come nulls.

    `keys` ascend, each once; `places` has one entry more.
    """

    keys: Keys
    places: Rows

    @cached_property
    def known(self) -> int:
        """How many rows are not null: the place where nulls begin."""
        return int(self.places[-1])

    def within(self, low: Any, high: Any) -> Interval:
        """The places whose keys are from `low` to `high`, both of the type of the keys."""
        first = self.keys.searchsorted(low)
        end = self.keys.searchsorted(high, side="right")
        return Interval(int(self.places[first]), int(self.places[end]))

    def step_at(self, places: Rows) -> Rows:
        """Which key stands at each of these places; one that does not exist where it is null."""
        return (self.places.searchsorted(places, side="right") - 1).astype(np.uint32)

    def key_at(self, places: Rows) -> Keys:
        """The key at each of these places, as `orders.descending` makes it."""
        if not len(self.keys):
            return np.full(len(places), null_of(self.keys.dtype), dtype=self.keys.dtype)
        found = self.keys.take(self.step_at(places), mode="clip")
        if int(places.max(initial=0)) >= self.known:
            found[places >= self.known] = null_of(self.keys.dtype)
        return found


def key_runs(keys: Keys) -> KeyRuns:
    """The steps of `keys`, which ascend and have no null among them.

    >>> key_runs(np.array([-7, -3, -3])).places.tolist()
    [0, 1, 3]
    """
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]
    places = np.append(np.flatnonzero(begins), len(keys)).astype(np.uint32)
    return KeyRuns(keys[begins], places)
