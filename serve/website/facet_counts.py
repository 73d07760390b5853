"""The companies of a search by country, sector and sub-sector: what the bars and the filters of the explorer show.

The counts are exact (shards/search/counts/distribution.py). Those that cost little come with the page. Otherwise every
matching row is read, so the page comes first and requests the counts afterwards. One such count runs at a time in a
process, in a thread of the generation, and few wait. Results are remembered by generation and query; the order of the
search does not matter.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import errors
from serve.data.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from shards.query import ORDERS, Query
from shards.search.counts.distribution import Distribution, distributions
from shards.search.search import UNLIMITED

_KEPT: Final = 512  # some 20 kB each
_WAITING: Final = 8
# Microseconds, by estimate, that a count may take before a page is answered.
BUDGET: Final = EXPENSIVE_MICROSECONDS
_DIMENSIONS: Final = ("pays", "secteur", "sous_secteur")

Counts = Mapping[str | None, int]


@dataclass(frozen=True, slots=True)
class FacetTotals:
    """Companies by country code, NACE division and NACE group; None: those without a sector or sub-sector."""

    total: int
    pays: Counts
    secteurs: Counts
    sous_secteurs: Counts


class FacetCounter:
    """The counts of recent searches."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Query], FacetTotals] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0

    def known(self, generation: OpenGeneration, query: Query) -> FacetTotals | None:
        """The counts where they cost little: remembered, sums over cells, or within the budget; else None."""
        found = self._known.get(_key(generation, query))
        if found is None:
            found = _count(generation, query, UNLIMITED if _is_scope(query) else BUDGET)
        return self._keep(_key(generation, query), found) if found else None

    async def of(self, generation: OpenGeneration, query: Query) -> FacetTotals:
        """The counts, whatever they cost.

        Raises:
            ApiError: 503: too many requests wait.
        """
        found = self.known(generation, query)
        if found is not None:
            return found
        if self._waiting >= _WAITING:
            raise errors.indisponible(
                (
                    "Trop de chiffres sont demandés à la fois",
                    "Too many figures are requested at once",
                )
            )
        self._waiting += 1
        try:
            async with self._turn:
                # Another request may have counted the same meanwhile.
                found = self.known(generation, query)
                if found is not None:
                    return found
                counts = await generation.aside(
                    EXPENSIVE_MICROSECONDS, lambda: _count(generation, query, UNLIMITED)
                )
                assert counts is not None  # nothing is over this budget
                return self._keep(_key(generation, query), counts)
        finally:
            self._waiting -= 1

    def _keep(self, key: tuple[str, Query], counts: FacetTotals) -> FacetTotals:
        self._known[key] = counts
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return counts


def _key(generation: OpenGeneration, query: Query) -> tuple[str, Query]:
    return generation.id, replace(query, tri=ORDERS[0])


def _is_scope(query: Query) -> bool:
    """Is the query only a scope: countries, sectors and sub-sectors?"""
    scope = Query(query.pays, query.secteurs, query.sous_secteurs, tri=query.tri)
    return query == scope


def _count(generation: OpenGeneration, query: Query, budget: float) -> FacetTotals | None:
    found = distributions(generation.shards, query, _DIMENSIONS, budget)
    if found is None:
        return None
    total, counted = found
    return FacetTotals(total, *(_by_value(counted[name]) for name in _DIMENSIONS))


def _by_value(found: Distribution) -> Counts:
    counts: dict[str | None, int] = dict(found.first())
    return {**counts, None: found.null} if found.null else counts
