"""How many companies a search finds by country and by sector: what the bars of the explorer draw.

The counts are exact (shards/search/facets.py). Without `q` and bounds they are sums over cells and come
with the page; else every matching row is looked at, so the page comes first and asks for them. One
census runs at a time in a process, in a thread of the edition, and few wait. What was counted is
kept, by generation and query; the order does not count.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import errors
from serve.data.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from shards.query import ORDERS, Query
from shards.search.facets import count_facets

_KEPT: Final = 512  # some 10 kB each
_WAITING: Final = 8


@dataclass(frozen=True, slots=True)
class FacetTotals:
    """Companies by country code, and by sector (NACE division, None: none)."""

    pays: Mapping[str, int]
    secteurs: Mapping[str | None, int]


class FacetCounter:
    """The counts of recent searches."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Query], FacetTotals] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0

    def known(self, edition: OpenGeneration, query: Query) -> FacetTotals | None:
        """The counts, where they cost nothing: known already, or sums over cells."""
        key = _key(edition, query)
        found = self._known.get(key)
        if found is None and _is_cheap(query):
            found = self._keep(key, _count(edition, query))
        return found

    async def of(self, edition: OpenGeneration, query: Query) -> FacetTotals:
        """The counts, whatever they cost.

        Raises:
            ApiError: 503: too many wait.
        """
        found = self.known(edition, query)
        if found is not None:
            return found
        if self._waiting >= _WAITING:
            raise errors.indisponible("Trop de chiffres sont demandés à la fois")
        self._waiting += 1
        try:
            async with self._turn:
                # Meanwhile another may have asked for the same.
                found = self.known(edition, query)
                if found is not None:
                    return found
                counts = await edition.aside(EXPENSIVE_MICROSECONDS, lambda: _count(edition, query))
                return self._keep(_key(edition, query), counts)
        finally:
            self._waiting -= 1

    def _keep(self, key: tuple[str, Query], counts: FacetTotals) -> FacetTotals:
        self._known[key] = counts
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return counts


def _key(edition: OpenGeneration, query: Query) -> tuple[str, Query]:
    return edition.id, replace(query, tri=ORDERS[0])


def _is_cheap(query: Query) -> bool:
    """Is it a scope: countries, sectors and sub-sectors, and nothing else?"""
    scope = Query(query.pays, query.secteurs, query.sous_secteurs, tri=query.tri)
    return query == scope


def _count(edition: OpenGeneration, query: Query) -> FacetTotals:
    pays: Counter[str] = Counter()
    secteurs: Counter[str | None] = Counter()
    for place, number in count_facets(edition.shards, query, limit=0).counts.items():
        pays[place.iso2] += number
        secteurs[place.secteur] += number
    return FacetTotals(pays, secteurs)
