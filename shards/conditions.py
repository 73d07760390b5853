"""What a question asks of one shard: ranges of rows, stretches of orders, a test of facts.

Everything here is found by a few binary searches; nothing is listed or counted yet.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.cells import Scope, Span
from shards.format import website_bit
from shards.question import Question
from shards.reader import Shard
from shards.sets import Mask, Rows, RowSet
from shards.texts import Interval

# Facts are compared in blocks that stay in the processor's nearest cache.
_BLOCK: Final = 1 << 14
# From this many cells on, they are searched all at once: a step for all instead of a call for each.
_TOGETHER: Final = 40


class Facts(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a question in one shard; None where it does not ask.

    Attributes:
        turnover: places in `ca_desc`.
        every_turnover: any turnover will do.
        headcount: places in `effectif_desc`.
        facts: what headcount and website together ask of `facts`.
        named: the rows that `q` finds.
    """

    scope: Scope | None
    turnover: Interval | None
    every_turnover: bool
    headcount: Interval | None
    website: bool
    facts: Facts | None
    named: RowSet | None = None


def conditions(shard: Shard, question: Question) -> Conditions | None:
    """The conditions of `question`, `q` left aside; None where they show that nothing matches."""
    scope: Scope | None = None
    if question.secteurs or question.sous_secteurs is not None:
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
    return Conditions(
        scope,
        turnover,
        question.turnover == (-np.inf, np.inf),
        headcount,
        question.site_web,
        _facts(shard, codes, question.site_web),
    )


def _turnover(shard: Shard, question: Question) -> Interval | None:
    if question.turnover is None:
        return None
    keys = shard.turnover_keys
    low, high = question.turnover
    return Interval(int(keys.searchsorted(low)), int(keys.searchsorted(high, side="right")))


def _headcount(shard: Shard, question: Question) -> tuple[Interval | None, Interval | None]:
    """Places in `effectif_desc`, and codes of `facts`."""
    if question.headcount is None:
        return None, None
    least, most = question.headcount
    first = int(shard.headcounts.searchsorted(least))
    end = int(shard.headcounts.searchsorted(most, side="right"))
    places = shard.headcount_places
    return Interval(int(places[end]), int(places[first])), Interval(first + 1, end + 1)


def _facts(shard: Shard, codes: Interval | None, website: bool) -> Facts | None:
    if codes is None and not website:
        return None
    bit = website_bit(shard.facts.dtype.str)
    if codes is None:
        return Facts(None, bit, bit)
    if website:
        return Facts(None, bit + codes.first, codes.end - codes.first)
    return Facts(bit - 1, codes.first, codes.end - codes.first)


def cell_mask(shard: Shard, scope: Scope) -> NDArray[np.bool_]:
    """Which cells of the shard are in the scope."""
    return scope.mask(len(shard.layout.cells))


def spans(shard: Shard, asked: Conditions, question: Question) -> list[Span]:
    """The rows within scope and turnover, as ranges; in each, turnover descends."""
    scope = asked.scope or shard.layout.whole
    if asked.turnover is None:
        return scope.spans() if asked.scope else [Span(0, shard.rows)]
    cells = shard.layout.cells
    chosen = scope.cells()
    if asked.every_turnover:
        bounds = [(cells[at].start, cells[at].with_ca) for at in chosen]
    else:
        assert question.turnover is not None
        bounds = _within(shard, chosen, *question.turnover)
    return [Span(first, end) for first, end in bounds if first < end]


def _within(shard: Shard, chosen: list[int], low: float, high: float) -> list[tuple[int, int]]:
    """The rows of each of these cells whose key of `ca_desc` is from `low` to `high`."""
    key, layout = shard.key("ca_desc"), shard.layout
    if len(chosen) >= _TOGETHER:
        starts, ends = layout.starts[chosen], layout.ends[chosen]
        firsts = _bisected(key, starts, ends, lambda keys: keys < low)
        stops = _bisected(key, firsts, ends, lambda keys: keys <= high)
        return list(zip(firsts.tolist(), stops.tolist(), strict=True))
    found = []
    for at in chosen:
        start, stop = layout.cells[at].start, layout.cells[at].with_ca
        held = key[start:stop]
        first = start + int(held.searchsorted(low))
        found.append((first, start + int(held.searchsorted(high, side="right"))))
    return found


def _bisected(
    key: NDArray[np.float64], low: NDArray[np.int64], high: NDArray[np.int64], before: Any
) -> NDArray[np.int64]:
    """In each range [low, high) of the sorted `key`, the first place that is not `before`."""
    low, high = low.copy(), high.copy()
    if not len(key):
        return low
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        go_on = before(key.take(middle, mode="clip")) & (low < high)
        low = np.where(go_on, middle + 1, low)
        high = np.where(go_on, high, middle)
    return low


def website_interval(places: Rows, within: Interval) -> Interval:
    """Which of the ascending `places` of websites lie within a stretch of their order."""
    first, end = places.searchsorted(np.array(within, dtype=np.uint32)).tolist()
    return Interval(first, end)
