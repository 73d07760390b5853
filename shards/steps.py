"""The values along an order: where each begins, and hence which value stands at a place.

Many companies share a headcount, a date, a capital; the order has them side by side. So an order
needs no value a row: its distinct keys and the places where they begin say it all.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shards import orders
from shards.orders import Keys, Rows
from shards.texts import Interval


@dataclass(frozen=True)
class Steps:
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
            return np.full(len(places), orders.null_of(self.keys.dtype), dtype=self.keys.dtype)
        found = self.keys.take(self.step_at(places), mode="clip")
        if int(places.max(initial=0)) >= self.known:
            found[places >= self.known] = orders.null_of(self.keys.dtype)
        return found


def of_order(keys: Keys) -> Steps:
    """The steps of `keys`, which ascend and have no null among them.

    >>> of_order(np.array([-7, -3, -3])).places.tolist()
    [0, 1, 3]
    """
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]
    places = np.append(np.flatnonzero(begins), len(keys)).astype(np.uint32)
    return Steps(keys[begins], places)
