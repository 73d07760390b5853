"""A search over all shards of a generation: an exact total, and one page of rows.

Totals add up over countries, and a page needs only the first rows of each country. The server answers with this search
and the build checks a generation with it before publication.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from shards.codec.arrays import Rows
from shards.query import DEEPEST, Query
from shards.search.compiled_query import compile_query
from shards.search.merge import MergedRow, MergeSource, merge_page
from shards.search.planner import RowPlan, plans
from shards.search.reader import Shard

# Microseconds that merging the first rows of all countries in one order takes.
_MERGING: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of a search.

    Attributes:
        total: the number of matches in the whole base (§8.2 rule 3).
        rows: the rows of the page.
    """

    total: int
    rows: tuple[MergedRow, ...]


class Base(dict[str, Shard]):
    """The shards of a generation, by country.

    The first rows of all countries together are merged once per order, at the first request, and cached: the search
    without any filter is the most frequent one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, tuple[MergedRow, ...]] = {}

    def first(self, tri: str) -> tuple[MergedRow, ...]:
        """The first DEEPEST rows of the whole base in the order `tri`."""
        cached = self._first.get(tri)
        if cached is None:
            sources = [MergeSource(shard, shard.rows, partial(_first, shard, tri))
                       for _, shard in sorted(self.items()) if shard.rows]  # fmt: skip
            cached = merge_page(sources, tri, offset=0, limit=DEEPEST) if sources else ()
            self._first[tri] = cached
        return cached

    def has_first(self, tri: str) -> bool:
        """Whether `first` is cached for this order."""
        return tri in self._first


def _first(shard: Shard, tri: str, count: int) -> Rows:
    return shard.order(tri)[:count]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search that is planned but not run; any thread may run it.

    Attributes:
        cost: the estimated cost in microseconds.
        plans: a plan per country, in the order of their codes; None if every company matches.
    """

    base: Base
    tri: str
    cost: float
    plans: Sequence[tuple[Shard, RowPlan]] | None

    def page(self, *, offset: int, limit: int) -> ResultPage:
        """The total, and the matching rows [offset, offset + limit).

        Args:
            offset, limit: at least 0, together at most `query.DEEPEST`.
        """
        if self.plans is None:
            total = sum(shard.rows for shard in self.base.values())
            return ResultPage(
                total, self.base.first(self.tri)[offset : offset + limit] if limit else ()
            )
        matches = [(shard, plan.find()) for shard, plan in self.plans]
        total = sum(found.total for _, found in matches)
        if not limit or offset >= total:
            return ResultPage(total, ())
        sources = [MergeSource(shard, found.total, found.first)
                   for shard, found in matches if found.total]  # fmt: skip
        return ResultPage(total, merge_page(sources, self.tri, offset=offset, limit=limit))


def prepare(base: Base, query: Query, count: int = DEEPEST) -> Prepared:
    """Plan `query` in every country; cheap for any query.

    Args:
        base: all countries of the generation; the countries of `query.pays` must be among them.
        count: the greatest end of the page, offset + limit; `cost` is the cost of such a page.
    """
    compiled = compile_query(query)
    if compiled is None:
        return Prepared(base, query.tri, 0.0, ())
    if not query.pays and compiled.is_open:
        return Prepared(base, query.tri, 0.0 if base.has_first(query.tri) else _MERGING, None)
    found = plans(base, query.pays, compiled, count)
    return Prepared(base, query.tri, sum(plan.cost for _, plan in found), found)


def search(base: Base, query: Query, *, offset: int, limit: int) -> ResultPage:
    """Plan `query` and run it: `prepare`, then `Prepared.page`."""
    return prepare(base, query, offset + limit).page(offset=offset, limit=limit)
