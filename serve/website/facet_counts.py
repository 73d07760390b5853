"""The companies of a search by country and by sector: what the bars of the explorer draw.

The counts are exact (shards/search/counts/facets.py). Without `q` and bounds they are sums over cells and
come with the page. Otherwise every matching row is read, so the page comes first and requests the
counts afterwards. One such count runs at a time in a process, in a thread of the generation, and few
wait. Results are remembered by generation and query; the order of the search does not matter.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import errors
from serve.data.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from shards.query import ORDERS, Query
from shards.search.counts.facets import count_facets

_KEPT: Final = 512  # some 10 kB each
_WAITING: Final = 8


@dataclass(frozen=True, slots=True)
class FacetTotals:
    """Companies by country code, and by sector (NACE division; None: without a sector)."""

    pays: Mapping[str, int]
    secteurs: Mapping[str | None, int]


class FacetCounter:
    """The counts of recent searches."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Query], FacetTotals] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0

    def known(self, generation: OpenGeneration, query: Query) -> FacetTotals | None:
        """The counts where they cost nothing: remembered, or sums over cells; else None."""
        key = _key(generation, query)
        found = self._known.get(key)
        if found is None and _is_cheap(query):
            found = self._keep(key, _count(generation, query))
        return found

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
                    EXPENSIVE_MICROSECONDS, lambda: _count(generation, query)
                )
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


def _is_cheap(query: Query) -> bool:
    """Is the query only a scope: countries, sectors and sub-sectors?"""
    scope = Query(query.pays, query.secteurs, query.sous_secteurs, tri=query.tri)
    return query == scope


def _count(generation: OpenGeneration, query: Query) -> FacetTotals:
    pays: Counter[str] = Counter()
    secteurs: Counter[str | None] = Counter()
    for cell, number in count_facets(generation.shards, query, limit=0).counts.items():
        pays[cell.iso2] += number
        secteurs[cell.secteur] += number
    return FacetTotals(pays, secteurs)
