"""A whole search: how many companies match in each country and sector, and the first of them.

A page is never deeper than `query.DEEPEST`; here the rows go as deep as they are asked for, and the
counts are exact whatever the filters. Without filters a count is a sum over cells; with some, every
matching row is looked at: milliseconds to tenths of a second, so this is not for a page.
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

# Rows are counted so many at a time: what counting copies of them stays in a few megabytes.
_BLOCK: Final = 1 << 18


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


def count_facets(shards: Mapping[str, Shard], query: Query, *, limit: int) -> FacetCount:
    """Count all that match `query`, and find the first `limit` of them.

    Args:
        shards: all countries of the generation; those of `query.pays` must be among them.
    """
    question = compile_query(query)
    counts: Counter[FacetRow] = Counter()
    sources: list[MergeSource] = []
    if question is not None:
        for shard, plan in plans(shards, query.pays, question, limit):
            found = plan.find()
            if found.total:
                _count(counts, shard, question, found)
                sources.append(MergeSource(shard, found.total, found.first))
    rows = merge_page(sources, query.tri, offset=0, limit=limit) if sources and limit else ()
    return FacetCount(counts, rows)


def _count(
    counts: Counter[FacetRow], shard: Shard, question: CompiledQuery, found: Matches
) -> None:
    cells = shard.layout.cells
    for index, number in _by_cell(shard, question, found):
        counts[FacetRow(shard.iso2, cells[index].secteur)] += number


def _by_cell(shard: Shard, question: CompiledQuery, found: Matches) -> Iterable[tuple[int, int]]:
    """The cells with matching rows, and how many of these each has."""
    if question.named is None and not question.has_bounds:
        scope = shard.layout.scope(question.secteurs, question.sous_secteurs)
        cells = shard.layout.cells
        return [(index, cells[index].stop - cells[index].start) for index in scope.cells()]
    numbers = _tally(shard, found.rows())
    return [(int(index), int(numbers[index])) for index in np.flatnonzero(numbers)]


def _tally(shard: Shard, rows: Rows) -> Rows:
    numbers = np.zeros(len(shard.layout.cells), dtype=np.uint32)
    for start in range(0, len(rows), _BLOCK):
        cells = shard.cell_of.take(rows[start : start + _BLOCK])
        numbers += np.bincount(cells, minlength=len(numbers)).astype(np.uint32)
    return numbers
