"""A whole search by country and sector: exact counts, and rows deeper than any page.

A page ends at `query.DEEPEST`; here the rows go as deep as the caller wants. Without filters a count is a sum over
cells. With filters every matching row is looked at, which takes milliseconds to tenths of a second: too long for a
page, right for an export.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from shards.codec.arrays import Rows
from shards.query import Query
from shards.search.compiled_query import CompiledQuery, compile_query
from shards.search.merge import MergedRow, MergeSource, merge_page
from shards.search.planner import Matches, plans
from shards.search.reader import Shard

# Rows are counted in blocks, so that the copies made for counting stay within a few megabytes.
_BLOCK: Final = 1 << 18


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


def count_facets(shards: Mapping[str, Shard], query: Query, *, limit: int) -> FacetCount:
    """Count all matches of `query`, and find the first `limit` of them.

    Args:
        shards: all countries of the generation; the countries of `query.pays` must be among them.
    """
    compiled = compile_query(query)
    counts: Counter[FacetRow] = Counter()
    sources: list[MergeSource] = []
    if compiled is not None:
        for shard, plan in plans(shards, query.pays, compiled, limit):
            found = plan.find()
            if found.total:
                _add_counts(counts, shard, compiled, found)
                sources.append(MergeSource(shard, found.total, found.first))
    rows = merge_page(sources, query.tri, offset=0, limit=limit) if sources and limit else ()
    return FacetCount(counts, rows)


def _add_counts(
    counts: Counter[FacetRow], shard: Shard, query: CompiledQuery, found: Matches
) -> None:
    cells = shard.layout.cells
    for index, number in _cell_counts(shard, query, found):
        counts[FacetRow(shard.iso2, cells[index].secteur)] += number


def _cell_counts(shard: Shard, query: CompiledQuery, found: Matches) -> Iterable[tuple[int, int]]:
    """The cells with matching rows, and the number of these rows."""
    if query.q is None and not query.has_bounds:
        scope = shard.layout.scope(query.secteurs, query.sous_secteurs)
        cells = shard.layout.cells
        return [(index, cells[index].stop - cells[index].start) for index in scope.cells()]
    numbers = _tally(shard, found.rows())
    return [(int(index), int(numbers[index])) for index in np.flatnonzero(numbers)]


def _tally(shard: Shard, rows: Rows) -> Rows:
    """The number of `rows` in each cell."""
    numbers = np.zeros(len(shard.layout.cells), dtype=np.uint32)
    for start in range(0, len(rows), _BLOCK):
        cells = shard.cell_of.take(rows[start : start + _BLOCK])
        numbers += np.bincount(cells, minlength=len(numbers)).astype(np.uint32)
    return numbers
