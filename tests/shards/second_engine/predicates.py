"""What a question asks of one shard: ranges of rows, stretches of orders, a test of facts.

Everything here is found by a few binary searches; nothing is listed or counted yet.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.cells import CellScope, Span, Spans
from shards.codec.row_sets import Mask, RowSet
from shards.codec.strings import Interval
from shards.format import website_bit
from shards.search.compiled_query import CompiledQuery
from shards.search.reader import Shard

# Facts are compared in blocks that stay in the processor's nearest cache.
_BLOCK: Final = 1 << 14
# From this many cells on, they are searched all at once: a step for all instead of a call for each.
_TOGETHER: Final = 40


class FactTest(NamedTuple):
    """Facts within bounds of headcount and website: (facts & mask) - low < width, unsigned."""

    mask: int | None
    low: int
    width: int

    def test(self, facts: NDArray[Any]) -> Mask:
        """Which of a few `facts` are met."""
        if self.mask is not None:
            facts = facts & self.mask
        met: Mask = facts - self.low < self.width
        return met

    def along(self, facts: NDArray[Any]) -> Mask:
        """Which of many neighbouring `facts` are met."""
        if len(facts) <= _BLOCK:
            return self.test(facts)
        met = np.empty(len(facts), dtype=bool)
        scratch = np.empty(_BLOCK, dtype=facts.dtype)
        for start in range(0, len(facts), _BLOCK):
            block = facts[start : start + _BLOCK]
            held = scratch[: len(block)]
            if self.mask is not None:
                block = np.bitwise_and(block, self.mask, out=held)
            np.subtract(block, self.low, out=held)
            np.less(held, self.width, out=met[start : start + _BLOCK])
        return met


class Predicates(NamedTuple):
    """The conditions of a question in one shard; None where it does not ask.

    Attributes:
        turnover: places in `ca_desc`.
        every_turnover: any turnover will do.
        headcount: places in `effectif_desc`.
        facts: what headcount and website together ask of `facts`.
        named: the rows that `q` finds.
    """

    scope: CellScope | None
    turnover: Interval | None
    every_turnover: bool
    headcount: Interval | None
    website: bool
    facts: FactTest | None
    named: RowSet | None = None


_NONE: Final = Predicates(None, None, False, None, False, None)


def conditions(shard: Shard, question: CompiledQuery) -> Predicates | None:
    """The conditions of `question`, `q` left aside; None where they show that nothing matches."""
    if not question.has_scope and not question.has_bounds:
        return _NONE
    scope: CellScope | None = None
    if question.has_scope:
        scope = shard.layout.scope(question.secteurs, question.sous_secteurs)
        if not scope.size:
            return None
        if scope.size == shard.rows:
            scope = None
    turnover = _turnover(shard, question)
    headcount, codes = _headcount(shard, question)
    if turnover is not None and turnover.first >= turnover.end:
        return None
    if headcount is not None and headcount.first >= headcount.end:
        return None
    return Predicates(
        scope,
        turnover,
        question.turnover == (-np.inf, np.inf),
        headcount,
        question.site_web,
        _facts(shard, codes, question.site_web),
    )


def _turnover(shard: Shard, question: CompiledQuery) -> Interval | None:
    if question.turnover is None:
        return None
    return shard.steps("ca_desc").within(*question.turnover)


def _headcount(shard: Shard, question: CompiledQuery) -> tuple[Interval | None, Interval | None]:
    """Places in `effectif_desc`, and codes of `facts`."""
    if question.headcount is None:
        return None, None
    steps, (low, high) = shard.steps("effectif_desc"), question.headcount
    # The code of a headcount counts from the least one, a step from the greatest.
    last = len(steps.keys) + 1
    first, end = steps.keys.searchsorted(low), steps.keys.searchsorted(high, side="right")
    return steps.within(low, high), Interval(last - int(end), last - int(first))


def _facts(shard: Shard, codes: Interval | None, website: bool) -> FactTest | None:
    if codes is None and not website:
        return None
    bit = website_bit(shard.facts.dtype.str)
    if codes is None:
        return FactTest(None, bit, bit)
    if website:
        return FactTest(None, bit + codes.first, codes.end - codes.first)
    return FactTest(bit - 1, codes.first, codes.end - codes.first)


def cell_mask(shard: Shard, scope: CellScope) -> NDArray[np.bool_]:
    """Which cells of the shard are in the scope."""
    return scope.mask(len(shard.layout.cells))


def spans(shard: Shard, asked: Predicates) -> Spans:
    """The rows within scope and turnover, as ranges; in each, turnover descends."""
    scope = asked.scope or shard.layout.whole
    if asked.turnover is None:
        found = scope.spans() if asked.scope else [Span(0, shard.rows)]
        starts, stops = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return Spans(starts, stops)
    starts, stops = _within(shard, scope, asked)
    kept = starts < stops
    return Spans(starts[kept], stops[kept])


def _within(
    shard: Shard, scope: CellScope, asked: Predicates
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of each cell of the scope whose places in `ca_desc` are in the stretch."""
    assert asked.turnover is not None
    layout, rank = shard.layout, shard.rank("ca_desc")
    chosen = np.array(scope.cells(), dtype=np.int64)
    starts, ends = layout.starts.take(chosen), layout.ends.take(chosen)
    if asked.every_turnover:
        return starts, ends
    first, end = np.uint32(asked.turnover.first), np.uint32(asked.turnover.end)
    if len(chosen) >= _TOGETHER:
        starts = _bisected(rank, starts, ends, first)
        return starts, _bisected(rank, starts, ends, end)
    firsts, stops = starts.copy(), starts.copy()
    for at, (start, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        held = rank[start:stop]
        firsts[at] += held.searchsorted(first)
        stops[at] += held.searchsorted(end)
    return firsts, stops


def _bisected(
    rank: Rows, low: NDArray[np.int64], high: NDArray[np.int64], least: np.uint32
) -> NDArray[np.int64]:
    """In each range [low, high) of rows, where `rank` ascends, the first of at least that rank."""
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        go_on = (rank.take(middle, mode="clip") < least) & (low < high)
        low = np.where(go_on, middle + 1, low)
        high = np.where(go_on, high, middle)
    return low


def website_interval(places: Rows, within: Interval) -> Interval:
    """Which of the ascending `places` of websites lie within a stretch of their order."""
    first, end = places.searchsorted(np.array(within, dtype=np.uint32)).tolist()
    return Interval(first, end)
