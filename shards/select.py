"""Which companies of one shard match a question, and the first of them in its order.

What the cells, the sorted bounds and the lists of websites say is known without looking at a row;
everything else is found by the cheapest path. Either way the number is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from shards import across, conditions, idents, pages, paths, sets, words
from shards.conditions import Conditions
from shards.paths import Found
from shards.question import Named, Question
from shards.reader import Shard
from shards.sets import EMPTY, Rows, RowSet

# Microseconds: what a country takes at least, what looking up a `q` takes more, and each suffix
# whose rows have to be united; a `q` with a blank, of which nothing is known before it is searched.
_PLAIN: Final = 10.0
_LOOKUP: Final = 10.0
_SUFFIX: Final = 0.1
_ACROSS: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows of a shard that match: how many, and which."""

    total: int
    first: Callable[[int], Rows]  # at most that many rows, in the order asked for
    rows: Callable[[], Rows]  # all of them, in no order


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question will be answered by one shard, and the microseconds that it may take."""

    cost: float
    find: Callable[[], Matches]


NOTHING: Final = Matches(0, lambda count: EMPTY.rows(), EMPTY.rows)


def plan(shard: Shard, question: Question) -> Plan:
    """Find a way to answer `question`, by a few binary searches."""
    asked = conditions.conditions(shard, question)
    if asked is None:
        return Plan(_PLAIN, lambda: NOTHING)
    if question.named is not None:
        named = question.named
        cost = _PLAIN + _cost(shard, question, asked, named)
        return Plan(cost, lambda: _with_names(shard, question, asked, named))
    total = counted(shard, asked)
    path = paths.cheapest(shard, question, asked)
    if total is None:
        return Plan(_PLAIN + path.cost / 1e3, lambda: _matches(shard, question, asked, path.run()))
    found = Found(total, lambda: path.run().rows(), path.cost)
    return Plan(_PLAIN, lambda: _matches(shard, question, asked, found))


def counted(shard: Shard, asked: Conditions) -> int | None:
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
        within = conditions.website_interval(places, within)
    return within.end - within.first


def _cost(shard: Shard, question: Question, asked: Conditions, named: Named) -> float:
    """About the microseconds of finding a `q` and of testing the other conditions."""
    if named.only is None:
        return _ACROSS
    interval = shard.words.suffixes.beginning_with(named.only)
    if shard.heavy(interval) is None:
        return _LOOKUP + _SUFFIX * (interval.end - interval.first)
    if asked.scope is None and asked.turnover is None and asked.facts is None:
        return _LOOKUP
    return _LOOKUP + paths.cheapest(shard, question, asked).cost / 1e3


def _with_names(shard: Shard, question: Question, asked: Conditions, named: Named) -> Matches:
    found = rows_named(shard, named)
    if not found.size:
        return NOTHING
    asked = replace(asked, named=found)
    if asked.scope is None and asked.turnover is None and asked.facts is None:
        return _matches(shard, question, asked, Found(found.size, found.rows, _listing(found)))
    path = paths.cheapest(shard, question, asked)
    return _matches(shard, question, asked, path.run())


def _listing(found: RowSet) -> float:
    return 0.0 if isinstance(found, sets.Listed) else found.count * paths.LISTING


def rows_named(shard: Shard, named: Named) -> RowSet:
    """Names that contain `q`, identifiers that begin with it (contract B15)."""
    if named.only is None:
        by_name = across.holding(shard.words, named.parts)
    else:
        by_name = words.containing(shard.words, named.parts[0], named.only)
    if named.prefix is None:
        return by_name
    return sets.union(by_name, idents.beginning_with(shard.idents, named.prefix))


def _matches(shard: Shard, question: Question, asked: Conditions, found: Found) -> Matches:
    if not found.total:
        return NOTHING
    first = partial(pages.first, shard, question, asked, found)
    return Matches(found.total, first, found.rows)
