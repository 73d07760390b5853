"""Access paths: the ways in which one shard can find the rows that match a bound query.

A path takes some filters as the rows to look at (ranges of rows, an interval of an order, the rows of `q`) and tests
these rows for the other filters. Contiguous rows are tested without being listed, at a fraction of a nanosecond per
row; listed rows cost a few nanoseconds per test. `cheapest_path` takes the path of least estimated cost. All paths
lead to the same rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from shards.codec.arrays import Rows, ranges, where
from shards.codec.cells import Span, Spans
from shards.codec.strings import Interval
from tests.shards.second_engine import predicates
from tests.shards.second_engine.predicates import BoundQuery
from tests.shards.second_engine.row_sets import EMPTY, Bits, Listed, Mask

# Nanoseconds, measured on 2.8 million rows. Only their ratios matter.
SPAN: Final = 4_000  # a range of rows, whatever its size
COUNTED: Final = 150  # a range in which no row has to be tested
IN_WORDS: Final = 0.03  # a row, where the bits of `q` are counted 64 at a time
CALL: Final = 6_000  # a list of rows, whatever its size
LISTING: Final = 1.0  # a row that is listed from a mask or an order
ALONG: Final = 0.4  # facts or bits of a contiguous row
FACTS: Final = 3.0  # facts of a listed row; the next four are also per listed row
TURNOVER: Final = 3.0
SCOPE: Final = 3.5
IN_BITS: Final = 3.5
IN_LIST: Final = 60.0

Test = Callable[[Rows], Mask]


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows that match: their number, a function that lists them unordered, and its cost in nanoseconds."""

    total: int
    rows: Callable[[], Rows]
    cost: Callable[[], float]


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A function that finds the rows, and its estimated cost in nanoseconds."""

    cost: float
    run: Callable[[], FoundRows]


def no_cost() -> float:
    """The cost of rows that are already listed."""
    return 0.0


NOTHING: Final = FoundRows(0, EMPTY.rows, no_cost)


def cheapest_path(bound: BoundQuery) -> AccessPath:
    """The path of least estimated cost."""
    return min(_paths(bound), key=lambda path: path.cost)


def tests(
    bound: BoundQuery, *, facts: bool = True, turnover: bool = True, q: bool = True
) -> list[Test]:
    """A test per filter, the cheapest first; filters that the rows pass already may be left out."""
    found: list[Test] = []
    shard = bound.shard
    if facts and bound.facts is not None:
        values, bounds = shard.facts, bound.facts
        found.append(lambda rows: bounds.test(values.take(rows)))
    if turnover and bound.turnover is not None:
        rank, (first, end) = shard.rank("ca_desc"), bound.turnover
        # Unsigned: a rank below `first` wraps around to a great number.
        found.append(lambda rows: rank.take(rows) - first < end - first)
    if q and bound.q_rows is not None:
        found.append(bound.q_rows.test)
    if bound.scope is not None:
        cell_of, inside = shard.cell_of, predicates.cell_mask(shard, bound.scope)
        found.append(lambda rows: inside.take(cell_of.take(rows)))
    return found


def _paths(bound: BoundQuery) -> Iterator[AccessPath]:
    if isinstance(bound.q_rows, Listed):
        listed = bound.q_rows
        yield _listing(bound, listed.size, listed.rows, q=False)
    else:
        yield _by_spans(bound)
    if bound.turnover is not None:
        yield _by_turnover(bound, bound.turnover)
    if bound.headcount is not None:
        yield _by_headcount(bound, bound.headcount)


# -- listed rows -----------------------------------------------------------------------


def _listing(
    bound: BoundQuery,
    size: int,
    rows: Callable[[], Rows],
    *,
    facts: bool = True,
    turnover: bool = True,
    q: bool = True,
) -> AccessPath:
    """List `size` rows, then test each for the filters that are left."""
    each = LISTING
    each += FACTS * (facts and bound.facts is not None)
    each += TURNOVER * (turnover and bound.turnover is not None)
    each += SCOPE * (bound.scope is not None)
    if q and bound.q_rows is not None:
        each += IN_BITS if isinstance(bound.q_rows, Bits) else IN_LIST

    def run() -> FoundRows:
        left = rows()
        for test in tests(bound, facts=facts, turnover=turnover, q=q):
            left = left.take(where(test(left)))
        return FoundRows(len(left), lambda: left, no_cost)

    return AccessPath(CALL + each * size, run)


def _by_turnover(bound: BoundQuery, turnover: Interval) -> AccessPath:
    """Along `ca_desc`, with the facts that are stored in that order."""
    shard = bound.shard
    first, end = turnover
    order = shard.order("ca_desc")
    if bound.website:
        places = shard.website_turnover
        start, stop = predicates.website_interval(places, turnover)
        facts = bound.headcount is not None

        def with_site() -> Rows:
            return order.take(places[start:stop])

        by_site = _listing(bound, stop - start, with_site, facts=facts, turnover=False)
        if not facts or (stop - start) * FACTS < (end - first) * ALONG:
            return by_site
    if bound.facts is None:
        return _listing(bound, end - first, lambda: order[first:end], turnover=False)
    bounds, size = bound.facts, end - first

    def masked() -> Rows:
        return order[first:end].take(where(bounds.along(shard.turnover_facts[first:end])))

    if bound.scope is None and bound.q_rows is None:
        return AccessPath(CALL + ALONG * size, lambda: _along(order, first, bounds.along(
            shard.turnover_facts[first:end])))  # fmt: skip
    assert bound.headcount is not None
    share = (bound.headcount.end - bound.headcount.first) / max(1, shard.rows)
    left = _listing(bound, int(size * share), masked, facts=False, turnover=False)
    return AccessPath(left.cost + ALONG * size, left.run)


def _along(order: Rows, first: int, mask: Mask) -> FoundRows:
    """The rows at the places of `mask`, which begins at place `first` of the order."""

    def rows() -> Rows:
        return order[first : first + len(mask)].take(where(mask))

    total = int(np.count_nonzero(mask))
    return FoundRows(total, rows, lambda: LISTING * len(mask))


def _by_headcount(bound: BoundQuery, headcount: Interval) -> AccessPath:
    """Along `effectif_desc`."""
    first, end = headcount
    order = bound.shard.order("effectif_desc")
    if not bound.website:
        return _listing(bound, end - first, lambda: order[first:end], facts=False)
    places = bound.shard.website_headcount
    start, stop = predicates.website_interval(places, headcount)
    return _listing(bound, stop - start, lambda: order.take(places[start:stop]), facts=False)


# -- contiguous rows -------------------------------------------------------------------


def _by_spans(bound: BoundQuery) -> AccessPath:
    """Ranges of rows: those of the scope, cut to the bounds of turnover in each cell."""
    shard = bound.shard
    scope = bound.scope or shard.layout.whole
    number, size = (len(scope.parts) if bound.scope else 1), float(scope.size)
    if bound.turnover is not None:
        number = scope.cell_count
        known = max(1, shard.steps("ca_desc").known)
        share = (bound.turnover.end - bound.turnover.first) / known
        size = scope.with_ca * share
    if bound.facts is None:
        cost = COUNTED * number + (bound.q_rows is not None) * IN_WORDS * shard.rows
        return AccessPath(CALL + cost, lambda: _count_spans(bound))
    each = ALONG * (1 + (bound.q_rows is not None))
    return AccessPath(
        SPAN * number + each * size, lambda: _test_spans(bound, predicates.spans(bound))
    )


def _count_spans(bound: BoundQuery) -> FoundRows:
    """Ranges in which every row matches, or every row of `q`, whose bits are counted by words."""
    spans = predicates.spans(bound)
    if bound.q_rows is None:
        return FoundRows(spans.size, lambda: _list_spans(spans), lambda: LISTING * spans.size)
    assert isinstance(bound.q_rows, Bits)
    total = bound.q_rows.within(*spans)
    return FoundRows(total, lambda: _test_spans(bound, spans).rows(), lambda: ALONG * spans.size)


def _test_spans(bound: BoundQuery, spans: Spans) -> FoundRows:
    """Ranges in which facts and `q` are tested row by row."""
    each = spans.each()
    if not each:
        return NOTHING
    extent, size = Span(each[0].start, each[-1].stop), spans.size
    if len(each) > 1 and SPAN * len(each) > ALONG * (extent.stop - extent.start - size):
        # The gaps are small: testing them as well is cheaper than one call per range.
        mask = _mask(bound, extent)
        for before, after in pairwise(each):
            mask[before.stop - extent.start : after.start - extent.start] = False
        masks = [(extent, mask)]
    else:
        masks = [(span, _mask(bound, span)) for span in each]

    def rows() -> Rows:
        found = [where(mask) + span.start for span, mask in masks]
        return np.concatenate(found).astype(np.uint32)

    return FoundRows(
        sum(int(np.count_nonzero(mask)) for _, mask in masks), rows, lambda: LISTING * size
    )


def _mask(bound: BoundQuery, span: Span) -> Mask:
    """A mask of the rows that pass facts and `q`, over the rows of `span`."""
    mask: Mask | None = None
    if bound.facts is not None:
        mask = bound.facts.along(bound.shard.facts[span.start : span.stop])
    if bound.q_rows is not None:
        assert isinstance(bound.q_rows, Bits)
        bits = bound.q_rows.mask(*span)
        mask = bits if mask is None else np.logical_and(mask, bits, out=mask)
    assert mask is not None
    return mask


def _list_spans(spans: Spans) -> Rows:
    return ranges(spans.starts, spans.stops - spans.starts).astype(np.uint32)
