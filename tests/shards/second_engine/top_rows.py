"""The first matching rows of one shard in an order, once the number of matches is known.

Three ways, by cost. If the filters are an interval of the order itself, or a scope whose first rows the build has
listed, the rows are read. Otherwise the order is walked until enough rows have passed the filters, or all matches are
ranked: walking is cheap where many rows match, ranking where few do. A walk that finds fewer matches than expected
stops when it has cost as much as ranking.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.arrays import Rows, ranges, where
from shards.codec.cells import CellScope
from shards.codec.sort_keys import KeyRuns
from shards.codec.strings import Interval
from shards.search.reader import Shard
from tests.shards.second_engine import access_paths, predicates
from tests.shards.second_engine.access_paths import FoundRows
from tests.shards.second_engine.predicates import BoundQuery
from tests.shards.second_engine.row_sets import EMPTY, Listed

# Nanoseconds, measured on 2.8 million rows. Only their ratios matter.
RANKING: Final = 5.0  # a match: its rank, and its share of the partition
WALKING: Final = 6.0  # a row of the order
STARTING: Final = 8_000  # a walk, whatever its length
HEAD: Final = 2_000  # a list of `top`, whatever its length

# The first block of a walk is as many rows as should suffice; each further block is twice as long.
_LEAST_BLOCK: Final = 64
_LARGEST_BLOCK: Final = 1 << 15


def first_rows(bound: BoundQuery, found: FoundRows, count: int) -> Rows:
    """The first `count` rows that match, or all if there are fewer, in the order of the query."""
    shard, tri = bound.shard, bound.query.tri
    count = min(count, found.total)
    if not count:
        return EMPTY.rows()
    if found.total == count and bound.q_rows is not None:
        return first_of(shard, tri, found.rows(), count)
    listed = _listed_first(bound, count)
    if listed is not None and len(listed) == count:  # an order is stored without most of its nulls
        return listed
    interval = _interval(bound)
    by_rank = STARTING + found.cost() + RANKING * found.total
    expected = count * (interval.end - interval.first) / found.total
    each = WALKING + (access_paths.IN_LIST if isinstance(bound.q_rows, Listed) else 0.0)
    if STARTING + each * expected < by_rank:
        budget = int(max(by_rank / each, 2 * expected))
        walked = _walk(bound, interval, count, int(expected), budget)
        if walked is not None:
            return walked
    return first_of(shard, tri, found.rows(), count)


def first_of(shard: Shard, tri: str, rows: Rows, count: int) -> Rows:
    """The first `count` of `rows` in the order `tri`, or all if there are fewer.

    The cost per row is one rank and its share of a partition.
    """
    if tri == "ca_asc":
        return _first_ascending(shard, rows, count)
    return _least(rows, shard.rank(tri).take(rows), count)


# -- stored lists ----------------------------------------------------------------------


def _listed_first(bound: BoundQuery, count: int) -> Rows | None:
    """The first rows if a list of the shard has them, fewer if that list ends; None without such a list."""
    shard, tri = bound.shard, bound.query.tri
    order = shard.order(tri)
    if bound.q_rows is not None:
        return None
    if bound.scope is not None:
        if bound.turnover is None and bound.facts is None:
            return _scope_heads(shard, tri, bound.scope, count)
        if tri == "ca_desc" and bound.facts is None:
            return _span_fronts(bound, count)
        return None
    if bound.headcount is None and tri in ("ca_desc", "ca_asc"):
        if bound.website:
            return _with_site(shard.website_turnover, bound.turnover, tri, order, count)
        start = _interval(bound).first
        return order[start : start + count]
    if bound.turnover is None and tri == "effectif_desc":
        if bound.website:
            return _with_site(shard.website_headcount, bound.headcount, tri, order, count)
        start = bound.headcount.first if bound.headcount else 0
        return order[start : start + count]
    if bound.turnover is None and bound.facts is None:
        return order[:count]
    return None


def _with_site(
    places: Rows, within: Interval | None, tri: str, order: Rows, count: int
) -> Rows | None:
    """From the list of places with a website, which has no nulls."""
    if tri == "ca_asc":
        return None
    start = 0 if within is None else predicates.website_interval(places, within).first
    return order.take(places[start : start + count])


def _scope_heads(shard: Shard, tri: str, scope: CellScope, count: int) -> Rows | None:
    """From the `top` lists of sectors and cells; None if a walk would cost less."""
    listed = [part for part in scope.parts if part.stop - part.start >= format.TOP_LEAST]
    few = [part for part in scope.parts if part.stop - part.start < format.TOP_LEAST]
    walk = STARTING + WALKING * count * shard.rows / scope.size
    by_rank = HEAD * len(listed) + RANKING * (
        count * len(listed) + sum(part.stop - part.start for part in few)
    )
    if by_rank > walk or (listed and count > format.TOP_ROWS):
        return None
    heads = [shard.top(part, tri)[:count] for part in listed]
    if len(heads) == 1 and not few:
        return heads[0]
    heads += [np.arange(part.start, part.stop, dtype=np.uint32) for part in few]
    return first_of(shard, tri, np.concatenate(heads), count)


def _span_fronts(bound: BoundQuery, count: int) -> Rows:
    """From the first rows of each range, because turnover descends in each cell."""
    starts, stops = predicates.spans(bound)
    fronts = ranges(starts, np.minimum(stops - starts, count)).astype(np.uint32)
    return first_of(bound.shard, bound.query.tri, fronts, count)


def _interval(bound: BoundQuery) -> Interval:
    """The part of the order outside which no row matches."""
    tri = bound.query.tri
    if bound.turnover is not None and tri == "ca_desc":
        return bound.turnover
    if bound.turnover is not None and tri == "ca_asc":
        known = bound.shard.steps("ca_desc").known
        return Interval(known - bound.turnover.end, known - bound.turnover.first)
    if bound.headcount is not None and tri == "effectif_desc":
        return bound.headcount
    return Interval(0, bound.shard.rows)


# -- walking an order ------------------------------------------------------------------


def _walk(
    bound: BoundQuery, interval: Interval, count: int, expected: int, budget: int
) -> Rows | None:
    """The first `count` matches in an interval of the order.

    None if the first `budget` rows have fewer, or if the stored order ends before (its tail of nulls is not stored).
    """
    step = _walk_step(bound)
    found: list[Rows] = []
    missing, start = count, interval.first
    block = max(_LEAST_BLOCK, expected + expected // 4)
    last = min(interval.end, len(bound.shard.order(bound.query.tri)))
    while missing and start < last:
        if start - interval.first >= budget:
            return None
        block = min(block, _LARGEST_BLOCK)
        end = min(start + block, last)
        rows = step(start, end)
        found.append(rows[:missing])
        missing -= len(found[-1])
        start, block = end, 2 * block
    if missing:
        return None
    return found[0] if len(found) == 1 else np.concatenate(found)


def _walk_step(bound: BoundQuery) -> Callable[[int, int], Rows]:
    """A function that returns the matching rows between two places of the order."""
    shard, tri = bound.shard, bound.query.tri
    order = shard.order(tri)
    passed = bound.facts is None or (
        tri == "effectif_desc" and bound.headcount and not bound.website
    )
    turnover = tri not in ("ca_desc", "ca_asc")
    tests = access_paths.tests(bound, facts=not passed, turnover=turnover)
    known = shard.steps("ca_desc").known if tri == "ca_desc" and not passed else 0
    others = access_paths.tests(bound, facts=False, turnover=turnover) if known else tests

    def step(start: int, end: int) -> Rows:
        rows = order[start:end]
        if end <= known and bound.facts is not None:  # facts are stored in this very order
            rows = rows.take(where(bound.facts.along(shard.turnover_facts[start:end])))
            left = others
        else:
            left = tests
        for test in left:
            rows = rows.take(where(test(rows)))
        return rows

    return step


# -- ranking ---------------------------------------------------------------------------


def _least(rows: Rows, places: NDArray[np.unsignedinteger], count: int) -> Rows:
    """The `count` rows of the least places, in the order of their places."""
    if len(rows) > count:
        cut = np.partition(places, count - 1)[count - 1]
        kept = np.flatnonzero(places <= cut)
        rows, places = rows.take(kept), places.take(kept)
    return rows.take(np.argsort(places))


def _first_ascending(shard: Shard, rows: Rows, count: int) -> Rows:
    """The first rows in `ca_asc`: its ranks are those of `ca_desc` backwards, except for ties and nulls.

    Backwards, a cut may fall inside a group of ties, so the whole group of the last row is kept.
    """
    steps = shard.steps("ca_desc")
    places = shard.rank("ca_desc").take(rows)
    if not steps.known:
        return _least(rows, places, count)
    known = places < np.uint32(steps.known)
    backwards = np.where(known, np.uint32(steps.known - 1) - places, places)
    if len(rows) > count:
        cut = int(np.partition(backwards, count - 1)[count - 1])
        if cut < steps.known:
            group = int(steps.step_at(np.array([steps.known - 1 - cut], dtype=np.uint32))[0])
            cut = steps.known - 1 - int(steps.places[group])
        kept = np.flatnonzero(backwards <= np.uint32(cut))
        rows, places = rows.take(kept), places.take(kept)
    return _least(rows, _ascending_places(steps, places), count)


def _ascending_places(steps: KeyRuns, places: Rows) -> Rows:
    """The places in `ca_asc` of the rows at these places of `ca_desc`.

    Rows of equal key have the same sequence in both orders, and nulls have the same places.
    """
    step = steps.step_at(places)
    first = steps.places.take(step, mode="clip")
    stop = steps.places.take(step + 1, mode="clip")
    ascending = np.uint32(steps.known) - stop + (places - first)
    return np.where(places < np.uint32(steps.known), ascending, places)
