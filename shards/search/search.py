"""A search over a whole generation: an exact total, and one page of it.

Counts add up over countries, and the page needs only the first rows of each. The batch job checks a
generation with it before publication, the server answers with it: there is one search.
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

# Microseconds: the first pages of all countries in one order, merged.
_MERGING: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class ResultPage:
    """`total` companies match in the whole base (§8.2 rule 3); `rows` are the ones asked for."""

    total: int
    rows: tuple[MergedRow, ...]


class Base(dict[str, Shard]):
    """The shards of a generation, by country.

    Its first rows in each order, of all countries together, are merged when they are asked for
    first, and kept: what everybody looks at before anything is chosen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, tuple[MergedRow, ...]] = {}

    def first(self, tri: str) -> tuple[MergedRow, ...]:
        """The rows that any page of the whole base may show in the order `tri`."""
        known = self._first.get(tri)
        if known is None:
            sources = [MergeSource(shard, shard.rows, partial(_first, shard, tri))
                       for _, shard in sorted(self.items()) if shard.rows]  # fmt: skip
            known = merge_page(sources, tri, offset=0, limit=DEEPEST) if sources else ()
            self._first[tri] = known
        return known

    def known_first(self, tri: str) -> bool:
        """Whether `first` costs nothing any more."""
        return tri in self._first


def _first(shard: Shard, tri: str, count: int) -> Rows:
    return shard.order(tri)[:count]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search that is understood but not made; any thread may make it.

    Attributes:
        cost: about how many microseconds it will take.
        plans: how each country will answer, in their order; None where every company matches.
    """

    base: Base
    tri: str
    cost: float
    plans: Sequence[tuple[Shard, RowPlan]] | None

    def page(self, *, offset: int, limit: int) -> ResultPage:
        """Rows [offset, offset + limit) of the companies that match, and how many match.

        `offset` and `limit` are at least 0, at most `query.DEEPEST` together.
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
    """Find the ways to answer `query`: cheap, whatever the query is.

    Args:
        base: all countries of the generation; those of `query.pays` must be among them.
        count: where the page will end, at most: `cost` is that of such a page.
    """
    question = compile_query(query)
    if question is None:
        return Prepared(base, query.tri, 0.0, ())
    if not query.pays and question.is_open:
        return Prepared(base, query.tri, 0.0 if base.known_first(query.tri) else _MERGING, None)
    found = plans(base, query.pays, question, count)
    return Prepared(base, query.tri, sum(plan.cost for _, plan in found), found)


def search(base: Base, query: Query, *, offset: int, limit: int) -> ResultPage:
    """`prepare` and its page at once."""
    return prepare(base, query, offset + limit).page(offset=offset, limit=limit)
