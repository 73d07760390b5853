"""The plan of a query in one shard: how many rows match, and the first of them in an order.

Numbers that follow from cells, bounds of orders and lists of websites are known without looking at a row. Everything
else is found by the cheapest access path. The number is exact either way.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np

from shards import format
from shards.codec.arrays import Rows, distinct
from shards.query import ORDERS
from shards.search.compiled_query import CompiledQuery, NameTerm
from shards.search.reader import Shard
from tests.shards.second_engine import (
    access_paths,
    id_lookup,
    name_lookup,
    phrase_lookup,
    predicates,
    row_sets,
    top_rows,
)
from tests.shards.second_engine.access_paths import FoundRows
from tests.shards.second_engine.predicates import BoundQuery
from tests.shards.second_engine.row_sets import EMPTY, NO_LOOKUP, Counted, Lookup, RowSet

# Microseconds that a country takes at least, its share of the page included.
_PLAIN: Final = 25.0


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows of a shard that match: how many, and which.

    Attributes:
        first: at most that many rows, in the order of the query.
        rows: all rows, in no order.
    """

    total: int
    first: Callable[[int], Rows]
    rows: Callable[[], Rows]


@dataclass(frozen=True, slots=True)
class RowPlan:
    """A function that finds the matches in one shard, and its estimated cost in microseconds."""

    cost: float
    find: Callable[[], Matches]


NOTHING: Final = Matches(0, lambda count: EMPTY.rows(), EMPTY.rows)


def plans(
    shards: Mapping[str, Shard], pays: Collection[str], query: CompiledQuery, count: int
) -> list[tuple[Shard, RowPlan]]:
    """A plan per country of `pays` (all if empty), in the order of their codes.

    Args:
        count: as in `plan`.
    """
    scope = [shards[iso2] for iso2 in sorted(set(pays) or shards)]
    return [(shard, plan(shard, query, count)) for shard in scope]


def plan(shard: Shard, query: CompiledQuery, count: int) -> RowPlan:
    """Plan `query` in `shard`, by a few binary searches.

    Args:
        count: the most rows that `Matches.first` will be asked for; the cost depends on it.
    """
    bound = predicates.bind(shard, query)
    if bound is None:
        return RowPlan(_PLAIN, lambda: NOTHING)
    if query.q is not None:
        return _q_plan(bound, query.q, count)
    total = count_without_rows(bound)
    if total is None:
        path = access_paths.cheapest_path(bound)
        return RowPlan(_PLAIN + path.cost / 1e3, lambda: _matches(bound, path.run()))
    # A page may never need to list the rows, so the path is chosen only then.
    found = FoundRows(
        total,
        lambda: access_paths.cheapest_path(bound).run().rows(),
        lambda: access_paths.cheapest_path(bound).cost,
    )
    return RowPlan(_PLAIN, lambda: _matches(bound, found))


def count_without_rows(bound: BoundQuery) -> int | None:
    """The number of matches, if it is known without looking at a row."""
    shard, scope, turnover, headcount = bound.shard, bound.scope, bound.turnover, bound.headcount
    if bound.q_rows is not None or (scope is not None and headcount is not None):
        return None
    if scope is not None:
        if turnover is None:
            return scope.with_site if bound.website else scope.size
        return scope.with_ca if bound.any_turnover and not bound.website else None
    if turnover is not None and headcount is not None:
        return None
    if turnover is None and headcount is None:
        return shard.layout.whole.with_site if bound.website else shard.rows
    within = turnover or headcount
    assert within is not None
    if bound.website:
        places = shard.website_headcount if turnover is None else shard.website_turnover
        within = predicates.website_interval(places, within)
    return within.end - within.first


def _matches(bound: BoundQuery, found: FoundRows) -> Matches:
    if not found.total:
        return NOTHING
    return Matches(found.total, partial(top_rows.first_rows, bound, found), found.rows)


# -- with `q` --------------------------------------------------------------------------


def _q_plan(bound: BoundQuery, q: NameTerm, count: int) -> RowPlan:
    shard = bound.shard
    lookup = (
        phrase_lookup.rows_with_phrase(shard, q.parts)
        if q.only is None
        else name_lookup.rows_containing(shard, q.parts[0], q.only)
    )
    cost = lookup.cost
    if bound.is_unfiltered:
        cost *= lookup.counted is None or count > format.HEAD_ROWS
    else:
        others = access_paths.cheapest_path(bound).cost
        # A set that costs nothing to find is dense: the filters look at as many rows as without it.
        cost += min(others, cost) if cost else others
    return RowPlan(_PLAIN + cost / 1e3, lambda: _find_q(bound, q, lookup))


def _find_q(bound: BoundQuery, q: NameTerm, by_name: Lookup) -> Matches:
    """Names that contain `q`, and identifiers that begin with it (contract B15)."""
    by_id = NO_LOOKUP if q.prefix is None else id_lookup.rows_beginning_with(bound.shard, q.prefix)
    if bound.is_unfiltered and (counted := by_name.counted or by_id.counted):
        return _counted_matches(bound, counted, by_name, by_id)
    found = row_sets.union(by_name.find(), by_id.find())
    if not found.size:
        return NOTHING
    if bound.is_unfiltered:
        return _set_matches(bound, found)
    bound = bound._replace(q_rows=found)
    return _matches(bound, access_paths.cheapest_path(bound).run())


def _counted_matches(
    bound: BoundQuery, counted: Counted, by_name: Lookup, by_id: Lookup
) -> Matches:
    """The rows of both lookups; `counted` is the size and the heads of one of them."""
    if by_name is NO_LOOKUP or by_id is NO_LOOKUP:
        head = counted.heads[ORDERS.index(bound.query.tri)]
        found = cache(by_id.find if by_name is NO_LOOKUP else by_name.find)
        return _head_matches(bound, counted.size, lambda: head, found)
    names, ids = by_name.find(), by_id.find()
    return _head_matches(
        bound,
        names.size + ids.size - row_sets.common_size(names, ids),
        lambda: _merged_head(bound, ((by_name, names), (by_id, ids))),
        cache(lambda: row_sets.union(names, ids)),
    )


def _set_matches(bound: BoundQuery, found: RowSet) -> Matches:
    """A set of rows that is the whole result."""
    every = FoundRows(found.size, found.rows, _listing_cost(found))
    return _matches(bound._replace(q_rows=found), every)


def _head_matches(
    bound: BoundQuery, total: int, head: Callable[[], Rows], found: Callable[[], RowSet]
) -> Matches:
    """A set whose first HEAD_ROWS rows are known; the set itself is found only for more of them."""

    def first(count: int) -> Rows:
        if count <= format.HEAD_ROWS:
            return head()[:count]
        return _set_matches(bound, found()).first(count)

    return Matches(total, first, lambda: found().rows())


def _merged_head(bound: BoundQuery, parts: Sequence[tuple[Lookup, RowSet]]) -> Rows:
    """The first HEAD_ROWS rows of several sets together, some of which have heads."""
    shard, tri = bound.shard, bound.query.tri
    place = ORDERS.index(tri)
    heads = [
        top_rows.first_of(shard, tri, found.rows(), format.HEAD_ROWS)
        if lookup.counted is None
        else lookup.counted.heads[place]
        for lookup, found in parts
    ]
    return top_rows.first_of(shard, tri, distinct(np.concatenate(heads)), format.HEAD_ROWS)


def _listing_cost(found: RowSet) -> Callable[[], float]:
    if isinstance(found, row_sets.Listed):
        return access_paths.no_cost
    return lambda: found.count * access_paths.LISTING
