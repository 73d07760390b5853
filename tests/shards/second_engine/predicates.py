"""A compiled query in one shard: cells, intervals of orders, and a test of the `facts` column.

Binding a query to a shard takes a few binary searches; no row is listed, tested or counted here.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.cells import CellScope, Span, Spans
from shards.codec.strings import Interval
from shards.format import website_bit
from shards.search.compiled_query import CompiledQuery
from shards.search.reader import Shard
from tests.shards.second_engine.row_sets import Mask, RowSet

# Facts are compared in blocks that fit into the processor's first cache.
_BLOCK: Final = 1 << 14
# From this many cells on, all are searched in one vectorised bisection instead of a call per cell.
_TOGETHER: Final = 40


class FactTest(NamedTuple):
    """Bounds of headcount and website as one unsigned comparison: (facts & mask) - low < width."""

    mask: int | None
    low: int
    width: int

    def test(self, facts: NDArray[Any]) -> Mask:
        """A mask of the `facts` within the bounds, for a few facts."""
        if self.mask is not None:
            facts = facts & self.mask
        passed: Mask = facts - self.low < self.width
        return passed

    def along(self, facts: NDArray[Any]) -> Mask:
        """A mask of the `facts` within the bounds, for many contiguous facts."""
        if len(facts) <= _BLOCK:
            return self.test(facts)
        passed = np.empty(len(facts), dtype=bool)
        scratch = np.empty(_BLOCK, dtype=facts.dtype)
        for start in range(0, len(facts), _BLOCK):
            block = facts[start : start + _BLOCK]
            buffer = scratch[: len(block)]
            if self.mask is not None:
                block = np.bitwise_and(block, self.mask, out=buffer)
            np.subtract(block, self.low, out=buffer)
            np.less(buffer, self.width, out=passed[start : start + _BLOCK])
        return passed


class BoundQuery(NamedTuple):
    """A query bound to one shard; a filter that is absent, or that every row passes, is None.

    Attributes:
        scope: the cells of the chosen sectors and sub-sectors.
        turnover: the interval of places in `ca_desc`.
        any_turnover: whether `turnover` is all places with a turnover.
        headcount: the interval of places in `effectif_desc`.
        facts: the test of `facts` that headcount and website amount to.
        q_rows: the rows that `q` finds; None before they are looked up, and without `q`.
    """

    shard: Shard
    query: CompiledQuery
    scope: CellScope | None = None
    turnover: Interval | None = None
    any_turnover: bool = False
    headcount: Interval | None = None
    website: bool = False
    facts: FactTest | None = None
    q_rows: RowSet | None = None

    @property
    def is_unfiltered(self) -> bool:
        """Whether there is no filter besides `q`."""
        return self.scope is None and self.turnover is None and self.facts is None


def bind(shard: Shard, query: CompiledQuery) -> BoundQuery | None:
    """Bind `query` to `shard`, without looking up `q`; None if its filters show that nothing matches."""
    if not query.has_scope and not query.has_bounds:
        return BoundQuery(shard, query)
    scope: CellScope | None = None
    if query.has_scope:
        scope = shard.layout.scope(query.secteurs, query.sous_secteurs)
        if not scope.size:
            return None
        if scope.size == shard.rows:
            scope = None
    turnover = _turnover(shard, query)
    headcount, codes = _headcount(shard, query)
    if turnover is not None and turnover.first >= turnover.end:
        return None
    if headcount is not None and headcount.first >= headcount.end:
        return None
    return BoundQuery(
        shard,
        query,
        scope,
        turnover,
        query.turnover == (-np.inf, np.inf),
        headcount,
        query.site_web,
        _fact_test(shard, codes, query.site_web),
    )


def cell_mask(shard: Shard, scope: CellScope) -> NDArray[np.bool_]:
    """A mask of the cells in the scope, over all cells of the shard."""
    return scope.mask(len(shard.layout.cells))


def spans(bound: BoundQuery) -> Spans:
    """The rows within scope and turnover, as ranges of rows; turnover descends in each range."""
    shard = bound.shard
    scope = bound.scope or shard.layout.whole
    if bound.turnover is None:
        ranges = scope.spans() if bound.scope else [Span(0, shard.rows)]
        starts, stops = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
        return Spans(starts, stops)
    starts, stops = _turnover_spans(bound, scope, bound.turnover)
    kept = starts < stops
    return Spans(starts[kept], stops[kept])


def website_interval(places: Rows, within: Interval) -> Interval:
    """The part of the ascending `places` of websites that lies within an interval of their order."""
    first, end = places.searchsorted(np.array(within, dtype=np.uint32)).tolist()
    return Interval(first, end)


def _turnover(shard: Shard, query: CompiledQuery) -> Interval | None:
    if query.turnover is None:
        return None
    return shard.steps("ca_desc").within(*query.turnover)


def _headcount(shard: Shard, query: CompiledQuery) -> tuple[Interval | None, Interval | None]:
    """The interval of places in `effectif_desc`, and the interval of codes in `facts`."""
    if query.headcount is None:
        return None, None
    steps, (low, high) = shard.steps("effectif_desc"), query.headcount
    # Codes count from the least headcount, steps from the greatest.
    last = len(steps.keys) + 1
    first, end = steps.keys.searchsorted(low), steps.keys.searchsorted(high, side="right")
    return steps.within(low, high), Interval(last - int(end), last - int(first))


def _fact_test(shard: Shard, codes: Interval | None, website: bool) -> FactTest | None:
    if codes is None and not website:
        return None
    bit = website_bit(shard.facts.dtype.str)
    if codes is None:
        return FactTest(None, bit, bit)
    if website:
        return FactTest(None, bit + codes.first, codes.end - codes.first)
    return FactTest(bit - 1, codes.first, codes.end - codes.first)


def _turnover_spans(
    bound: BoundQuery, scope: CellScope, turnover: Interval
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per cell of the scope, the range of rows whose places in `ca_desc` are within `turnover`."""
    layout, rank = bound.shard.layout, bound.shard.rank("ca_desc")
    chosen = np.array(scope.cells(), dtype=np.int64)
    starts, ends = layout.starts.take(chosen), layout.ends.take(chosen)
    if bound.any_turnover:
        return starts, ends
    first, end = np.uint32(turnover.first), np.uint32(turnover.end)
    if len(chosen) >= _TOGETHER:
        starts = _bisect(rank, starts, ends, first)
        return starts, _bisect(rank, starts, ends, end)
    firsts, stops = starts.copy(), starts.copy()
    for at, (start, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        cell_rank = rank[start:stop]
        firsts[at] += cell_rank.searchsorted(first)
        stops[at] += cell_rank.searchsorted(end)
    return firsts, stops


def _bisect(
    rank: Rows, low: NDArray[np.int64], high: NDArray[np.int64], least: np.uint32
) -> NDArray[np.int64]:
    """Per range [low, high) of rows, in which `rank` ascends: the first row of at least rank `least`."""
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        go_on = (rank.take(middle, mode="clip") < least) & (low < high)
        low = np.where(go_on, middle + 1, low)
        high = np.where(go_on, high, middle)
    return low
