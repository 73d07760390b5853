"""A whole search: how many companies match in each country and sector, and the first of them.

A page is never deeper than `query.DEEPEST`; here the rows go as deep as they are asked for, and the
counts are exact whatever the filters. Without filters a count is a sum over cells; with some, every
matching row is looked at: milliseconds to tenths of a second, so this is not for a page.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shards.query import Query
from shards.search.result_page import MergedRow
from shards.search.search import Base


class FacetRow(NamedTuple):
    """A sector (NACE division, None: none) of a country."""

    iso2: str
    secteur: str | None


@dataclass(frozen=True, slots=True)
class FacetCount:
    """The companies that match by place, where there are any, and the first of them in order."""

    counts: Mapping[FacetRow, int]
    rows: tuple[MergedRow, ...]

    @property
    def total(self) -> int:
        """How many match in the whole base (§8.2 rule 3)."""
        return sum(self.counts.values())


def count_facets(base: Base, query: Query, *, limit: int) -> FacetCount:
    """Count all that match `query`, and find the first `limit` of them.

    Args:
        base: all countries of the generation; those of `query.pays` must be among them.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
    """
    numbers, rows = base.own_worker().census(query, limit)
    cells = ((iso2, cell) for iso2, shard in sorted(base.items()) for cell in shard.layout.cells)
    counts: Counter[FacetRow] = Counter()
    for (iso2, cell), number in zip(cells, numbers.tolist(), strict=True):
        if number:
            counts[FacetRow(iso2, cell.secteur)] += number
    return FacetCount(counts, rows)
