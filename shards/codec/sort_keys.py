"""The seven orders of `tri` (§4.4): the keys that they compare, and the rows in the order of these keys.

Every order except `nom` compares numbers. The key is the value, negated if the order descends. The key of null is the
greatest possible key, so nulls come last in both directions (contract B27). Ties are ordered by identifier within a
country and by country across countries (B28), so an order is total and pages are deterministic. `nom` compares texts,
which `writing/name_index.py` sorts.

Many companies have the same headcount, date or capital, and are adjacent in the order. So keys are not stored by row
but as `KeyRuns`: the distinct keys, and the place where each begins.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.strings import Interval
from shards.query import ORDERS

# Keys of an order: float64 with NaN for null, or signed integers with the greatest one for null.
SortKeys = NDArray[Any]

# For each `tri`, the order whose stored key it uses, and the factor of this key (contract B30 to B32). The two orders
# of turnover share one stored key; they differ in the sign and in the order of ties.
KEY_OF: Final = {
    "ca_desc": ("ca_desc", 1),
    "ca_asc": ("ca_desc", -1),
    "effectif_desc": ("effectif_desc", 1),
    "recent": ("recent", 1),
    "capital_desc": ("capital_desc", 1),
    "score": ("score", 1),
}
# The orders with stored ranks; the ranks of `ca_asc` follow from the ranks of `ca_desc`.
RANKED: Final = frozenset(ORDERS) - {"ca_asc"}


def descending_keys(values: NDArray[Any], dtype: str, null: int | None = None) -> SortKeys:
    """The keys of an order that begins with the greatest of `values`.

    Args:
        null: the integer that means null; in floats it is NaN.

    >>> descending_keys(np.array([3, 0, 7]), "<i2", null=0).tolist()
    [-3, 32767, -7]
    """
    if np.dtype(dtype).kind == "f":
        return np.asarray(np.negative(values), dtype=dtype)
    keys = -values.astype(np.int64)
    if null is not None:
        keys[values == null] = null_of(np.dtype(dtype))
    return keys.astype(dtype)


def is_null(keys: SortKeys) -> NDArray[np.bool_]:
    """A mask of the keys of null."""
    if keys.dtype.kind == "f":
        return np.isnan(keys)
    return np.asarray(keys == null_of(keys.dtype))


def null_of(dtype: np.dtype[Any]) -> float:
    """The key of null among keys of this type."""
    return np.nan if dtype.kind == "f" else int(np.iinfo(dtype).max)


def date_key(date: str | None) -> int:
    """A date as a number yyyymmdd that sorts like the ISO text (contract C8); 0 for null.

    >>> [date_key(d) for d in ("2024-02-29", "2024-02", "2024", None)]
    [20240229, 20240200, 20240000, 0]
    """
    return int(date.replace("-", "").ljust(8, "0")) if date else 0


def ranks(order: Rows) -> Rows:
    """The inverse of a permutation: the place of each row.

    >>> ranks(np.array([2, 0, 1], dtype=np.uint32)).tolist()
    [1, 2, 0]
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=np.uint32)
    return places


@dataclass(frozen=True)
class KeyRuns:
    """The distinct keys of an order, and the place where each begins.

    The rows with keys[i] are at the places [places[i], places[i + 1]) of the order. Nulls follow after the last key.

    Attributes:
        keys: distinct keys, ascending, without null.
        places: the place where each key begins, and the place after the last key: one more entry than `keys`.
    """

    keys: SortKeys
    places: Rows

    @cached_property
    def non_null_count(self) -> int:
        """The number of rows that are not null, which is the place where nulls begin."""
        return int(self.places[-1])

    def places_within(self, low: Any, high: Any) -> Interval:
        """The places whose keys are between `low` and `high`, inclusive; both have the type of the keys."""
        first = self.keys.searchsorted(low)
        end = self.keys.searchsorted(high, side="right")
        return Interval(int(self.places[first]), int(self.places[end]))

    def step_at(self, places: Rows) -> Rows:
        """The index in `keys` of the key at each of these places; `len(keys)` at the place of a null."""
        return (self.places.searchsorted(places, side="right") - 1).astype(np.uint32)

    def key_at(self, places: Rows) -> SortKeys:
        """The key at each of these places of the order; at the place of a null, the key that stands for null."""
        if not len(self.keys):
            return np.full(len(places), null_of(self.keys.dtype), dtype=self.keys.dtype)
        keys = self.keys.take(self.step_at(places), mode="clip")
        if int(places.max(initial=0)) >= self.non_null_count:
            keys[places >= self.non_null_count] = null_of(self.keys.dtype)
        return keys


def key_runs(keys: SortKeys) -> KeyRuns:
    """The runs of `keys`, which ascend and contain no null.

    >>> key_runs(np.array([-7, -3, -3])).places.tolist()
    [0, 1, 3]
    """
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]
    places = np.append(np.flatnonzero(begins), len(keys)).astype(np.uint32)
    return KeyRuns(keys[begins], places)
