"""The companies of a search by country, sector, sub-sector and state, for the bars and filters of the explorer.

Counts are exact (shards/search/distribution.py). Cheap counts come with the page. Other counts read every matching row,
so the page is sent first and requests these counts afterwards. A process makes one expensive count at a time, in a
thread of the generation; at most 8 requests wait for one. Results are remembered by generation and query, whatever the
sort order.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from serve.access.context import ServerContext
from serve.contract.errors import ApiError
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from shards.query import ORDERS, Query
from shards.search.distribution import Distribution, distributions
from shards.search.search import UNLIMITED

_MOST_RESULTS: Final = 512  # remembered results, about 20 kB each
# Requests for expensive counts, the running one included; further requests get a 503.
_MOST_WAITING: Final = 8
# Largest estimate, in microseconds, of a count that is made before the page is sent.
BUDGET: Final = EXPENSIVE_MICROSECONDS
# Countries and sectors are counted together. States are counted separately, because their counts within a sector are
# not stored, so each company must be read.
COUNTRY_AND_SECTOR: Final = ("pays", "secteur", "sous_secteur")
STATE_ONLY: Final = ("etat",)

# Numbers of companies by value of a dimension; None: the companies without a value.
CountsByValue = Mapping[str | None, int]
Dimensions = tuple[str, ...]
# The key of a remembered result: the generation, the search, the dimensions.
_Key = tuple[str, Query, Dimensions]


@dataclass(frozen=True, slots=True)
class FacetTotals:
    """The companies of a search, in total and by dimension.

    Attributes:
        by: the counts of each dimension, by country code, NACE division, NACE group or state.
    """

    total: int
    by: Mapping[str, CountsByValue]


class FacetCounter:
    """Counts the companies of searches by dimension, and remembers recent results."""

    def __init__(self) -> None:
        """Begin without results."""
        self._results: OrderedDict[_Key, FacetTotals] = OrderedDict()  # the oldest first
        self._counting = asyncio.Lock()  # held during an expensive count
        self._waiting = 0  # requests for expensive counts, the running one included

    def cheap_counts(
        self, generation: OpenGeneration, query: Query, dimensions: Dimensions = COUNTRY_AND_SECTOR
    ) -> FacetTotals | None:
        """The counts, if they are remembered, are sums of stored counts or cost at most `BUDGET`; else None."""
        key = _key(generation, query, dimensions)
        counts = self._results.get(key)
        if counts is None:
            budget = UNLIMITED if _is_summed(query, dimensions) else BUDGET
            counts = _count(generation, query, dimensions, budget)
        return self._remember(key, counts) if counts else None

    async def counts_of(
        self, generation: OpenGeneration, query: Query, dimensions: Dimensions = COUNTRY_AND_SECTOR
    ) -> FacetTotals:
        """The counts, even if they are expensive.

        Raises:
            ApiError: 503: too many requests wait.
        """
        cheap = self.cheap_counts(generation, query, dimensions)
        if cheap is not None:
            return cheap
        if self._waiting >= _MOST_WAITING:
            raise ApiError("indisponible", "trop_de_chiffres")
        self._waiting += 1
        try:
            async with self._counting:
                # Another request may have made the same count meanwhile.
                cheap = self.cheap_counts(generation, query, dimensions)
                if cheap is not None:
                    return cheap
                counts = await generation.run(
                    EXPENSIVE_MICROSECONDS,
                    lambda: _count(generation, query, dimensions, UNLIMITED),
                )
                assert counts is not None  # no cost exceeds UNLIMITED
                return self._remember(_key(generation, query, dimensions), counts)
        finally:
            self._waiting -= 1

    def _remember(self, key: _Key, counts: FacetTotals) -> FacetTotals:
        """Remember a result; the oldest results beyond `_MOST_RESULTS` are dropped."""
        self._results[key] = counts
        while len(self._results) > _MOST_RESULTS:
            self._results.popitem(last=False)
        return counts


def counter_of(server: ServerContext) -> FacetCounter:
    """The counter of this process, which `open_search` has created."""
    counter = server.service(FacetCounter)
    assert counter is not None
    return counter


def _key(generation: OpenGeneration, query: Query, dimensions: Dimensions) -> _Key:
    """The key of a remembered result; the sort order does not change counts, so it is not part of the key."""
    return generation.id, replace(query, tri=ORDERS[0]), dimensions


def _is_summed(query: Query, dimensions: Dimensions) -> bool:
    """Whether the counts are sums of stored counts: of cells for countries and sectors, of countries for states."""
    scope = Query(query.pays, tri=query.tri)
    if dimensions == COUNTRY_AND_SECTOR:
        scope = replace(scope, secteurs=query.secteurs, sous_secteurs=query.sous_secteurs)
    return query == scope


def _count(
    generation: OpenGeneration, query: Query, dimensions: Dimensions, budget: float
) -> FacetTotals | None:
    """The counts; None if their estimated cost in microseconds exceeds `budget`."""
    result = distributions(generation.shards, query, dimensions, budget)
    if result is None:
        return None
    total, counted = result
    return FacetTotals(total, {name: _counts_by_value(counted[name]) for name in dimensions})


def _counts_by_value(distribution: Distribution) -> CountsByValue:
    """The counts of one dimension by value, with None for companies without a value."""
    counts: dict[str | None, int] = dict(distribution.top_values())
    return {**counts, None: distribution.null} if distribution.null else counts
