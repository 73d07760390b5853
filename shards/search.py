"""A search over a whole generation: an exact total, and one page of it.

Counts add up over countries, and the page needs only the first rows of each. The batch job checks a
generation with it before publication, the server answers with it: there is one search.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shards.merge import Row, Source, page
from shards.query import Query
from shards.question import ask
from shards.reader import Shard
from shards.select import Plan, plan


@dataclass(frozen=True, slots=True)
class Page:
    """`total` companies match in the whole base (§8.2 rule 3); `rows` are the ones asked for."""

    total: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search that is understood but not made; any thread may make it.

    Attributes:
        cost: about how many microseconds it will take.
    """

    tri: str
    plans: tuple[tuple[Shard, Plan], ...]
    cost: float

    def page(self, *, offset: int, limit: int) -> Page:
        """Rows [offset, offset + limit) of the companies that match, and how many match.

        `offset` and `limit` are at least 0, at most `query.DEEPEST` together.
        """
        matches = [(shard, plan.find()) for shard, plan in self.plans]
        total = sum(found.total for _, found in matches)
        if not limit or offset >= total:
            return Page(total, ())
        sources = [Source(shard, found.total, found.first)
                   for shard, found in matches if found.total]  # fmt: skip
        return Page(total, page(sources, self.tri, offset=offset, limit=limit))


def prepare(shards: Mapping[str, Shard], query: Query) -> Prepared:
    """Find the ways to answer `query`: cheap, whatever the query is.

    Args:
        shards: all countries of the generation; those of `query.pays` must be among them.
    """
    question = ask(query)
    if question is None:
        return Prepared(query.tri, (), 0.0)
    scope = [shards[iso2] for iso2 in sorted(set(query.pays) or shards)]
    plans = tuple((shard, plan(shard, question)) for shard in scope)
    return Prepared(query.tri, plans, sum(plan.cost for _, plan in plans))


def search(shards: Mapping[str, Shard], query: Query, *, offset: int, limit: int) -> Page:
    """`prepare` and its page at once."""
    return prepare(shards, query).page(offset=offset, limit=limit)
