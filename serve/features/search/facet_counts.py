"""The companies of a search by country, sector, sub-sector and state: what the bars and filters of the explorer show.

The counts are exact (shards/search/distribution.py). Those that cost little come with the page. Otherwise every
matching row is read, so the page comes first and requests the counts afterwards. One such count runs at a time in a
process, in a thread of the generation, and few wait. Results are remembered by generation and query; the order of the
search does not matter.
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

_KEPT: Final = 512  # some 20 kB each
_WAITING: Final = 8
# Microseconds, by estimate, that a count may take before a page is answered.
BUDGET: Final = EXPENSIVE_MICROSECONDS
# Dimensions that are counted together. States are apart: in a sector they need a look at each company.
PLACES: Final = ("pays", "secteur", "sous_secteur")
STATES: Final = ("etat",)

Counts = Mapping[str | None, int]
Dimensions = tuple[str, ...]
_Key = tuple[str, Query, Dimensions]


@dataclass(frozen=True, slots=True)
class FacetTotals:
    """Companies by dimension: by country code, NACE division, NACE group or state; None: those without a value."""

    total: int
    by: Mapping[str, Counts]


class FacetCounter:
    """The counts of recent searches."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, FacetTotals] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0

    def cheap_counts(
        self, generation: OpenGeneration, query: Query, dimensions: Dimensions = PLACES
    ) -> FacetTotals | None:
        """The counts where they cost little: remembered, known sums, or within the budget; else None."""
        key = _key(generation, query, dimensions)
        found = self._known.get(key)
        if found is None:
            budget = UNLIMITED if _is_summed(query, dimensions) else BUDGET
            found = _count(generation, query, dimensions, budget)
        return self._keep(key, found) if found else None

    async def counts_of(
        self, generation: OpenGeneration, query: Query, dimensions: Dimensions = PLACES
    ) -> FacetTotals:
        """The counts, whatever they cost.

        Raises:
            ApiError: 503: too many requests wait.
        """
        cheap = self.cheap_counts(generation, query, dimensions)
        if cheap is not None:
            return cheap
        if self._waiting >= _WAITING:
            raise ApiError("indisponible", "trop_de_chiffres")
        self._waiting += 1
        try:
            async with self._turn:
                # Another request may have counted the same meanwhile.
                cheap = self.cheap_counts(generation, query, dimensions)
                if cheap is not None:
                    return cheap
                counts = await generation.in_thread(
                    EXPENSIVE_MICROSECONDS,
                    lambda: _count(generation, query, dimensions, UNLIMITED),
                )
                assert counts is not None  # nothing is over this budget
                return self._keep(_key(generation, query, dimensions), counts)
        finally:
            self._waiting -= 1

    def _keep(self, key: _Key, counts: FacetTotals) -> FacetTotals:
        self._known[key] = counts
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return counts


def counter_of(server: ServerContext) -> FacetCounter:
    """The counts of this process, which the feature has opened."""
    counter = server.service(FacetCounter)
    assert counter is not None
    return counter


def _key(generation: OpenGeneration, query: Query, dimensions: Dimensions) -> _Key:
    return generation.id, replace(query, tri=ORDERS[0]), dimensions


def _is_summed(query: Query, dimensions: Dimensions) -> bool:
    """Are the counts sums of known ones: places of whole cells, states of whole countries?"""
    scope = Query(query.pays, tri=query.tri)
    if dimensions == PLACES:
        scope = replace(scope, secteurs=query.secteurs, sous_secteurs=query.sous_secteurs)
    return query == scope


def _count(
    generation: OpenGeneration, query: Query, dimensions: Dimensions, budget: float
) -> FacetTotals | None:
    found = distributions(generation.shards, query, dimensions, budget)
    if found is None:
        return None
    total, counted = found
    return FacetTotals(total, {name: _by_value(counted[name]) for name in dimensions})


def _by_value(distribution: Distribution) -> Counts:
    counts: dict[str | None, int] = dict(distribution.top_values())
    return {**counts, None: distribution.null} if distribution.null else counts
