"""The first of the matching rows of one shard, in an order.

Their number is known before. Where the conditions are a stretch of the very order, the rows stand
there. Else either the order is walked until enough rows have met the conditions, or all matches
are ranked: walking is cheap where many match, ranking where few do. A walk that finds less than
was to be expected gives up when it has cost as much as ranking.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.arrays import Rows, ranges, where
from shards.codec.cells import CellScope
from shards.codec.row_sets import EMPTY, Listed
from shards.codec.sort_keys import KeyRuns
from shards.codec.strings import Interval
from shards.search.compiled_query import CompiledQuery
from shards.search.reader import Shard
from tests.shards.second_engine import access_paths, predicates
from tests.shards.second_engine.access_paths import FoundRows
from tests.shards.second_engine.predicates import Predicates

# MERGED shards/ranking.py
# The first of some rows in an order, by looking at the rank of each.


def least_ranked(shard: Shard, tri: str, rows: Rows, count: int) -> Rows:
    """The first `count` of `rows` in the order `tri`, or all if there are fewer.

    Cost: a rank and a part in finding the least ones for each row.
    """
    if tri == "ca_asc":
        return _ascending(shard, rows, count)
    return _least(rows, shard.rank(tri).take(rows), count)


def _least(rows: Rows, places: NDArray[np.unsignedinteger], count: int) -> Rows:
    """The `count` rows of the least places, in the order of these."""
    if len(rows) > count:
        cut = np.partition(places, count - 1)[count - 1]
        kept = np.flatnonzero(places <= cut)
        rows, places = rows.take(kept), places.take(kept)
    return rows.take(np.argsort(places))


def _ascending(shard: Shard, rows: Rows, count: int) -> Rows:
    """In `ca_asc`, whose ranks are those of `ca_desc` backwards but for ties and nulls.

    Backwards a tie may be cut in the wrong place, so the whole group of the last one is kept.
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

    The rows of a key stand in the same sequence in both, and nulls at the same places.
    """
    held = steps.places
    step = steps.step_at(places)
    first = held.take(step, mode="clip")
    stop = held.take(step + 1, mode="clip")
    found = np.uint32(steps.known) - stop + (places - first)
    return np.where(places < np.uint32(steps.known), found, places)


# Nanoseconds, measured on 2.8 million rows; only their ratios matter.
RANKING: Final = 5.0  # a match: its rank, and a part in finding the least ones
WALKING: Final = 6.0  # a row that is walked over
STARTING: Final = 8_000  # a walk
HEAD: Final = 2_000  # a list of `top`, whatever its size

# A walk goes on by blocks: of as many rows as may suffice, then of twice as many each time.
_LEAST_BLOCK: Final = 64
_LARGEST_BLOCK: Final = 1 << 15


def first(
    shard: Shard, question: CompiledQuery, asked: Predicates, found: FoundRows, count: int
) -> Rows:
    """The first `count` rows that match, or all if there are fewer."""
    count = min(count, found.total)
    if not count:
        return EMPTY.rows()
    if found.total == count and asked.named is not None:
        return least_ranked(shard, question.tri, found.rows(), count)
    direct = _direct(shard, question, asked, count)
    if direct is not None and len(direct) == count:  # an order may end before that among nulls
        return direct
    stretch = _stretch(shard, question.tri, asked)
    by_rank = STARTING + found.cost() + RANKING * found.total
    expected = count * (stretch.end - stretch.first) / found.total
    each = WALKING + (access_paths.IN_LIST if isinstance(asked.named, Listed) else 0.0)
    if STARTING + each * expected < by_rank:
        budget = int(max(by_rank / each, 2 * expected))
        walked = _walk(shard, question.tri, asked, stretch, count, int(expected), budget)
        if walked is not None:
            return walked
    return least_ranked(shard, question.tri, found.rows(), count)


# -- without looking at a row -------------------------------------------------------------


def _direct(shard: Shard, question: CompiledQuery, asked: Predicates, count: int) -> Rows | None:
    """The first rows where they stand in a list of the shard, None where they do not."""
    tri, order = question.tri, shard.order(question.tri)
    if asked.named is not None:
        return None
    if asked.scope is not None:
        if asked.turnover is None and asked.facts is None:
            return _heads(shard, tri, asked.scope, count)
        if tri == "ca_desc" and asked.facts is None:
            return _fronts(shard, tri, asked, count)
        return None
    if asked.headcount is None and tri in ("ca_desc", "ca_asc"):
        if asked.website:
            return _with_site(shard.website_turnover, asked.turnover, tri, order, count)
        start = _stretch(shard, tri, asked).first
        return order[start : start + count]
    if asked.turnover is None and tri == "effectif_desc":
        if asked.website:
            return _with_site(shard.website_headcount, asked.headcount, tri, order, count)
        start = asked.headcount.first if asked.headcount else 0
        return order[start : start + count]
    if asked.turnover is None and asked.facts is None:
        return order[:count]
    return None


def _with_site(
    places: Rows, within: Interval | None, tri: str, order: Rows, count: int
) -> Rows | None:
    """By the list of places with a website, as far as it goes: nulls are not in it."""
    if tri == "ca_asc":
        return None
    start = 0 if within is None else predicates.website_interval(places, within).first
    chosen = places[start : start + count]
    return order.take(chosen)


def _heads(shard: Shard, tri: str, scope: CellScope, count: int) -> Rows | None:
    """From the lists that the build has made of each sector and cell."""
    listed = [part for part in scope.parts if part.stop - part.start >= format.TOP_LEAST]
    few = [part for part in scope.parts if part.stop - part.start < format.TOP_LEAST]
    walk = STARTING + WALKING * count * shard.rows / scope.size
    by_rank = HEAD * len(listed) + RANKING * (
        count * len(listed) + sum(part.stop - part.start for part in few)
    )
    if by_rank > walk or (listed and count > format.TOP_ROWS):
        return None
    heads = [shard.top(part.place, tri)[:count] for part in listed]
    if len(heads) == 1 and not few:
        return heads[0]
    heads += [np.arange(part.start, part.stop, dtype=np.uint32) for part in few]
    return least_ranked(shard, tri, np.concatenate(heads), count)


def _fronts(shard: Shard, tri: str, asked: Predicates, count: int) -> Rows:
    """In a cell turnover descends, so the first rows of each range are the first of it."""
    starts, stops = predicates.spans(shard, asked)
    fronts = ranges(starts, np.minimum(stops - starts, count)).astype(np.uint32)
    return least_ranked(shard, tri, fronts, count)


def _stretch(shard: Shard, tri: str, asked: Predicates) -> Interval:
    """The part of the order outside which no row matches."""
    if asked.turnover is not None and tri == "ca_desc":
        return asked.turnover
    if asked.turnover is not None and tri == "ca_asc":
        known = shard.steps("ca_desc").known
        return Interval(known - asked.turnover.end, known - asked.turnover.first)
    if asked.headcount is not None and tri == "effectif_desc":
        return asked.headcount
    return Interval(0, shard.rows)


# -- by looking at rows --------------------------------------------------------------------


def _walk(
    shard: Shard,
    tri: str,
    asked: Predicates,
    stretch: Interval,
    count: int,
    expected: int,
    budget: int,
) -> Rows | None:
    """The first `count` matches of a stretch of the order; None if `budget` rows, or all that the
    order lists, hold fewer."""
    step = _step(shard, tri, asked)
    found: list[Rows] = []
    missing, start = count, stretch.first
    block = max(_LEAST_BLOCK, expected + expected // 4)
    last = min(stretch.end, len(shard.order(tri)))
    while missing and start < last:
        if start - stretch.first >= budget:
            return None
        block = min(block, _LARGEST_BLOCK)
        end = min(start + block, last)
        rows = step(start, end)
        found.append(rows[:missing])
        missing -= len(found[-1])
        start, block = end, 2 * block
    if missing:  # further rows are null in this order, which does not list them
        return None
    return found[0] if len(found) == 1 else np.concatenate(found)


def _step(shard: Shard, tri: str, asked: Predicates) -> Callable[[int, int], Rows]:
    """What finds the matching rows between two places of the order."""
    order = shard.order(tri)
    met = asked.facts is None or (tri == "effectif_desc" and asked.headcount and not asked.website)
    turnover = tri not in ("ca_desc", "ca_asc")
    tests = access_paths.tests(shard, asked, facts=not met, turnover=turnover)
    known = shard.steps("ca_desc").known if tri == "ca_desc" and not met else 0
    others = access_paths.tests(shard, asked, facts=False, turnover=turnover) if known else tests

    def step(start: int, end: int) -> Rows:
        rows = order[start:end]
        if end <= known and asked.facts is not None:  # the facts lie in this very order
            rows = rows.take(where(asked.facts.along(shard.turnover_facts[start:end])))
            left = others
        else:
            left = tests
        for test in left:
            rows = rows.take(where(test(rows)))
        return rows

    return step
