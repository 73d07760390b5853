"""A whole search by country and sector: exact counts, and rows deeper than any page.

A page ends at `query.DEEPEST`; here the rows go as deep as the caller wants. Without filters a count is a sum over
cells. With filters every matching row is counted, which takes up to tenths of a second: too long for a page, right
for an export.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shards.errors import translate_errors
from shards.kernel.types import BY_CELL
from shards.query import Query
from shards.search.result_page import MergedRow
from shards.search.search import UNLIMITED, ShardSet


class FacetRow(NamedTuple):
    """A country and one of its sectors (NACE division; None: companies without a sector)."""

    iso2: str
    secteur: str | None


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A whole search.

    Attributes:
        counts: the number of matches by country and sector, where there are any.
        rows: the first matches, in order.
    """

    counts: Mapping[FacetRow, int]
    rows: tuple[MergedRow, ...]

    @property
    def total(self) -> int:
        """The number of matches in the whole base (§8.2 rule 3)."""
        return sum(self.counts.values())


@translate_errors()
def count_facets(base: ShardSet, query: Query, *, limit: int) -> FacetCount:
    """Count all that match `query`, and find the first `limit` of them.

    Args:
        base: all countries of the generation; those of `query.pays` must be among them.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    census = base.own_session().census(query, (BY_CELL,), UNLIMITED, limit=limit)
    assert census is not None
    cells = ((iso2, cell) for iso2, shard in sorted(base.items()) for cell in shard.layout.cells)
    counts: Counter[FacetRow] = Counter()
    for (iso2, cell), number in zip(cells, census.counts[BY_CELL].tolist(), strict=True):
        if number:
            counts[FacetRow(iso2, cell.secteur)] += number
    return FacetCount(counts, census.rows)
