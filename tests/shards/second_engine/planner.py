"""Which companies of one shard match a question, and the first of them in its order.

What the cells, the sorted bounds and the lists of websites say is known without looking at a row;
everything else is found by the cheapest path. Either way the number is exact.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np

from shards import format
from shards.codec import row_sets
from shards.codec.arrays import Rows, distinct
from shards.codec.row_sets import EMPTY, NONE, Counted, Lookup, RowSet
from shards.query import ORDERS
from shards.search import id_lookup, name_lookup
from shards.search.compiled_query import CompiledQuery, NameTerm
from shards.search.reader import Shard
from tests.shards.second_engine import access_paths, phrase_lookup, predicates, top_rows
from tests.shards.second_engine.access_paths import FoundRows
from tests.shards.second_engine.predicates import Predicates

# Microseconds that a country takes at least, with its page.
_PLAIN: Final = 25.0


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows of a shard that match: how many, and which."""

    total: int
    first: Callable[[int], Rows]  # at most that many rows, in the order asked for
    rows: Callable[[], Rows]  # all of them, in no order


@dataclass(frozen=True, slots=True)
class RowPlan:
    """How a question will be answered by one shard, and the microseconds that it may take."""

    cost: float
    find: Callable[[], Matches]


NOTHING: Final = Matches(0, lambda count: EMPTY.rows(), EMPTY.rows)


def plans(
    shards: Mapping[str, Shard], pays: Collection[str], question: CompiledQuery, count: int
) -> list[tuple[Shard, RowPlan]]:
    """How each country will answer, in their order: those of `pays`, all where it is empty."""
    scope = [shards[iso2] for iso2 in sorted(set(pays) or shards)]
    return [(shard, plan(shard, question, count)) for shard in scope]


def plan(shard: Shard, question: CompiledQuery, count: int) -> RowPlan:
    """Find a way to answer `question`, by a few binary searches.

    Args:
        count: the rows that will be asked for, at most: it decides what the way costs.
    """
    asked = predicates.conditions(shard, question)
    if asked is None:
        return RowPlan(_PLAIN, lambda: NOTHING)
    if question.named is not None:
        return _named_plan(shard, question, asked, question.named, count)
    total = counted(shard, asked)
    if total is None:
        path = access_paths.cheapest(shard, asked)
        return RowPlan(
            _PLAIN + path.cost / 1e3, lambda: _matches(shard, question, asked, path.run())
        )
    # How they would be listed is only thought of when a page needs it.
    found = FoundRows(
        total,
        lambda: access_paths.cheapest(shard, asked).run().rows(),
        lambda: access_paths.cheapest(shard, asked).cost,
    )
    return RowPlan(_PLAIN, lambda: _matches(shard, question, asked, found))


def counted(shard: Shard, asked: Predicates) -> int | None:
    """How many rows match, where no row has to be looked at for that."""
    scope, turnover, headcount = asked.scope, asked.turnover, asked.headcount
    if asked.named is not None or (scope is not None and headcount is not None):
        return None
    if scope is not None:
        if turnover is None:
            return scope.with_site if asked.website else scope.size
        return scope.with_ca if asked.every_turnover and not asked.website else None
    if turnover is not None and headcount is not None:
        return None
    if turnover is None and headcount is None:
        return shard.layout.whole.with_site if asked.website else shard.rows
    within = turnover or headcount
    assert within is not None
    if asked.website:
        places = shard.website_headcount if turnover is None else shard.website_turnover
        within = predicates.website_interval(places, within)
    return within.end - within.first


def _named_plan(
    shard: Shard, question: CompiledQuery, asked: Predicates, named: NameTerm, count: int
) -> RowPlan:
    lookup = (
        phrase_lookup.holding(shard.words, named.parts)
        if named.only is None
        else name_lookup.containing(shard.words, named.parts[0], named.only)
    )
    cost = lookup.cost
    if _is_free(asked):
        cost *= lookup.counted is None or count > format.HEAD_ROWS
    else:
        others = access_paths.cheapest(shard, asked).cost
        # A set that costs nothing to find is dense: as much is looked at as there is without it.
        cost += min(others, cost) if cost else others
    return RowPlan(_PLAIN + cost / 1e3, lambda: _with_names(shard, question, asked, named, lookup))


def _is_free(asked: Predicates) -> bool:
    """Whether nothing but a `q` is asked."""
    return asked.scope is None and asked.turnover is None and asked.facts is None


def _with_names(
    shard: Shard, question: CompiledQuery, asked: Predicates, named: NameTerm, by_name: Lookup
) -> Matches:
    """Names that contain `q`, and identifiers that begin with it (contract B15)."""
    by_id = NONE if named.prefix is None else id_lookup.beginning_with(shard.idents, named.prefix)
    if _is_free(asked) and (known := by_name.counted or by_id.counted):
        return _counted_matches(shard, question, asked, known, by_name, by_id)
    found = row_sets.union(by_name.find(), by_id.find())
    if not found.size:
        return NOTHING
    if _is_free(asked):
        return _all_of(shard, question, asked, found)
    asked = asked._replace(named=found)
    return _matches(shard, question, asked, access_paths.cheapest(shard, asked).run())


def _counted_matches(
    shard: Shard,
    question: CompiledQuery,
    asked: Predicates,
    known: Counted,
    by_name: Lookup,
    by_id: Lookup,
) -> Matches:
    """The rows of both lookups, of which `known` is what is known of one without finding it."""
    if by_name is NONE or by_id is NONE:
        head = known.heads[ORDERS.index(question.tri)]
        found = cache(by_id.find if by_name is NONE else by_name.find)
        return _headed(shard, question, asked, known.size, lambda: head, found)
    one, other = by_name.find(), by_id.find()
    return _headed(
        shard,
        question,
        asked,
        one.size + other.size - row_sets.common_size(one, other),
        lambda: _merged_head(shard, question.tri, ((by_name, one), (by_id, other))),
        cache(lambda: row_sets.union(one, other)),
    )


def _all_of(shard: Shard, question: CompiledQuery, asked: Predicates, found: RowSet) -> Matches:
    """A set of which nothing else is asked."""
    every = FoundRows(found.size, found.rows, _listing(found))
    return _matches(shard, question, asked._replace(named=found), every)


def _headed(
    shard: Shard,
    question: CompiledQuery,
    asked: Predicates,
    total: int,
    head: Callable[[], Rows],
    found: Callable[[], RowSet],
) -> Matches:
    """A set whose first rows are known; it is found for more of them only."""

    def first(count: int) -> Rows:
        if count <= format.HEAD_ROWS:
            return head()[:count]
        return _all_of(shard, question, asked, found()).first(count)

    return Matches(total, first, lambda: found().rows())


def _merged_head(shard: Shard, tri: str, parts: Sequence[tuple[Lookup, RowSet]]) -> Rows:
    """The first rows of several sets together, some of which are known."""
    place = ORDERS.index(tri)
    heads = [
        top_rows.least_ranked(shard, tri, found.rows(), format.HEAD_ROWS)
        if lookup.counted is None
        else lookup.counted.heads[place]
        for lookup, found in parts
    ]
    return top_rows.least_ranked(shard, tri, distinct(np.concatenate(heads)), format.HEAD_ROWS)


def _listing(found: RowSet) -> Callable[[], float]:
    if isinstance(found, row_sets.Listed):
        return access_paths.free
    return lambda: found.count * access_paths.LISTING


def _matches(shard: Shard, question: CompiledQuery, asked: Predicates, found: FoundRows) -> Matches:
    if not found.total:
        return NOTHING
    first = partial(top_rows.first, shard, question, asked, found)
    return Matches(found.total, first, found.rows)
