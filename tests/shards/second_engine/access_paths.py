"""Access paths: the ways in which one shard can find the rows that meet some conditions.

A path takes some conditions as places to look at (ranges of rows, a stretch of an order, the list
of a `q`) and tests what it finds there for the others. Neighbours are tested without being listed,
at a fraction of a nanosecond each; listed rows cost some nanoseconds a test. The cheapest path by
estimate is taken; each leads to the same rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from shards.codec.arrays import Rows, ranges, where
from shards.codec.cells import Span, Spans
from shards.codec.row_sets import EMPTY, Bits, Listed, Mask
from shards.search.reader import Shard
from tests.shards.second_engine import predicates
from tests.shards.second_engine.predicates import Predicates

# Nanoseconds, measured on 2.8 million rows; only their ratios matter.
SPAN: Final = 4_000  # a range of rows that is looked at, whatever its size
COUNTED: Final = 150  # one in which nothing has to be looked at
IN_WORDS: Final = 0.03  # a row, where the bits of a `q` are counted 64 at a time
CALL: Final = 6_000  # a list of rows, whatever its size
LISTING: Final = 1.0  # a row that is listed from a mask or an order
ALONG: Final = 0.4  # facts or bits of neighbours
FACTS: Final = 3.0  # facts of listed rows, and so on
TURNOVER: Final = 3.0
SCOPE: Final = 3.5
IN_BITS: Final = 3.5
IN_LIST: Final = 60.0

Test = Callable[[Rows], Mask]


@dataclass(frozen=True, slots=True)
class FoundRows:
    """How many rows match, all of them in no order, and the nanoseconds it takes to list them."""

    total: int
    rows: Callable[[], Rows]
    cost: Callable[[], float]


@dataclass(frozen=True, slots=True)
class AccessPath:
    """What a path will cost, in nanoseconds, and the way itself."""

    cost: float
    run: Callable[[], FoundRows]


def free() -> float:
    """The cost of what is listed already."""
    return 0.0


NOTHING: Final = FoundRows(0, EMPTY.rows, free)


def cheapest(shard: Shard, asked: Predicates) -> AccessPath:
    """The path of least estimated cost."""
    return min(_paths(shard, asked), key=lambda path: path.cost)


def tests(
    shard: Shard,
    asked: Predicates,
    *,
    facts: bool = True,
    turnover: bool = True,
    named: bool = True,
) -> list[Test]:
    """A test for each condition, the cheapest first; those that are met already may be left out."""
    found: list[Test] = []
    if facts and asked.facts is not None:
        values, bounds = shard.facts, asked.facts
        found.append(lambda rows: bounds.test(values.take(rows)))
    if turnover and asked.turnover is not None:
        rank, (first, end) = shard.rank("ca_desc"), asked.turnover
        found.append(lambda rows: rank.take(rows) - first < end - first)
    if named and asked.named is not None:
        found.append(asked.named.test)
    if asked.scope is not None:
        cell_of, inside = shard.cell_of, predicates.cell_mask(shard, asked.scope)
        found.append(lambda rows: inside.take(cell_of.take(rows)))
    return found


def _paths(shard: Shard, asked: Predicates) -> Iterator[AccessPath]:
    if isinstance(asked.named, Listed):
        listed = asked.named
        yield _listing(shard, asked, listed.size, listed.rows, named=False)
    else:
        yield _by_spans(shard, asked)
    if asked.turnover is not None:
        yield _by_turnover(shard, asked)
    if asked.headcount is not None:
        yield _by_headcount(shard, asked)


# -- listed rows -----------------------------------------------------------------------


def _listing(
    shard: Shard,
    asked: Predicates,
    size: int,
    rows: Callable[[], Rows],
    *,
    facts: bool = True,
    turnover: bool = True,
    named: bool = True,
) -> AccessPath:
    """Lists `size` rows, and tests each for what is left."""
    each = LISTING
    each += FACTS * (facts and asked.facts is not None)
    each += TURNOVER * (turnover and asked.turnover is not None)
    each += SCOPE * (asked.scope is not None)
    if named and asked.named is not None:
        each += IN_BITS if isinstance(asked.named, Bits) else IN_LIST

    def run() -> FoundRows:
        left = rows()
        for test in tests(shard, asked, facts=facts, turnover=turnover, named=named):
            left = left.take(where(test(left)))
        return FoundRows(len(left), lambda: left, free)

    return AccessPath(CALL + each * size, run)


def _by_turnover(shard: Shard, asked: Predicates) -> AccessPath:
    """Along `ca_desc`, with the facts that lie in that order."""
    assert asked.turnover is not None
    first, end = asked.turnover
    order = shard.order("ca_desc")
    if asked.website:
        places = shard.website_turnover
        start, stop = predicates.website_interval(places, asked.turnover)
        facts = asked.headcount is not None

        def with_site() -> Rows:
            return order.take(places[start:stop])

        by_site = _listing(shard, asked, stop - start, with_site, facts=facts, turnover=False)
        if not facts or (stop - start) * FACTS < (end - first) * ALONG:
            return by_site
    if asked.facts is None:
        return _listing(shard, asked, end - first, lambda: order[first:end], turnover=False)
    bounds, size = asked.facts, end - first

    def masked() -> Rows:
        return order[first:end].take(where(bounds.along(shard.turnover_facts[first:end])))

    if asked.scope is None and asked.named is None:
        return AccessPath(CALL + ALONG * size, lambda: _along(order, first, bounds.along(
            shard.turnover_facts[first:end])))  # fmt: skip
    assert asked.headcount is not None
    share = (asked.headcount.end - asked.headcount.first) / max(1, shard.rows)
    left = _listing(shard, asked, int(size * share), masked, facts=False, turnover=False)
    return AccessPath(left.cost + ALONG * size, left.run)


def _along(order: Rows, first: int, mask: Mask) -> FoundRows:
    """The rows at the places of `mask`, which begins at place `first` of the order."""

    def rows() -> Rows:
        return order[first : first + len(mask)].take(where(mask))

    total = int(np.count_nonzero(mask))
    return FoundRows(total, rows, lambda: LISTING * len(mask))


def _by_headcount(shard: Shard, asked: Predicates) -> AccessPath:
    assert asked.headcount is not None
    first, end = asked.headcount
    order = shard.order("effectif_desc")
    if not asked.website:
        return _listing(shard, asked, end - first, lambda: order[first:end], facts=False)
    places = shard.website_headcount
    start, stop = predicates.website_interval(places, asked.headcount)
    return _listing(shard, asked, stop - start, lambda: order.take(places[start:stop]), facts=False)


# -- neighbours ------------------------------------------------------------------------


def _by_spans(shard: Shard, asked: Predicates) -> AccessPath:
    """Ranges of rows: a scope, of each cell the stretch that a bound of turnover leaves."""
    scope = asked.scope or shard.layout.whole
    number, size = (len(scope.parts) if asked.scope else 1), float(scope.size)
    if asked.turnover is not None:
        number = scope.cell_count
        known = max(1, shard.steps("ca_desc").known)
        share = (asked.turnover.end - asked.turnover.first) / known
        size = scope.with_ca * share
    if asked.facts is None:
        cost = COUNTED * number + (asked.named is not None) * IN_WORDS * shard.rows
        return AccessPath(CALL + cost, lambda: _counted(shard, asked))
    each = ALONG * (1 + (asked.named is not None))
    return AccessPath(SPAN * number + each * size, lambda: _in_spans(shard, asked))


def _counted(shard: Shard, asked: Predicates) -> FoundRows:
    """Ranges in which all rows match, or those of a `q`, which its bits tell word by word."""
    spans = predicates.spans(shard, asked)
    if asked.named is None:
        return FoundRows(spans.size, lambda: _listed(spans), lambda: LISTING * spans.size)
    assert isinstance(asked.named, Bits)
    total = asked.named.within(*spans)
    return FoundRows(total, lambda: _masked(shard, asked, spans).rows(), lambda: ALONG * spans.size)


def _in_spans(shard: Shard, asked: Predicates) -> FoundRows:
    return _masked(shard, asked, predicates.spans(shard, asked))


def _masked(shard: Shard, asked: Predicates, spans: Spans) -> FoundRows:
    """Ranges in which facts and `q` are looked at row by row."""
    each = spans.each()
    if not each:
        return NOTHING
    extent, size = Span(each[0].start, each[-1].stop), spans.size
    if len(each) > 1 and SPAN * len(each) > ALONG * (extent.stop - extent.start - size):
        # The gaps are small: looking at them, too, is cheaper than stopping before each.
        mask = _mask(shard, asked, extent)
        for before, after in pairwise(each):
            mask[before.stop - extent.start : after.start - extent.start] = False
        masks = [(extent, mask)]
    else:
        masks = [(span, _mask(shard, asked, span)) for span in each]

    def rows() -> Rows:
        found = [where(mask) + span.start for span, mask in masks]
        return np.concatenate(found).astype(np.uint32)

    return FoundRows(
        sum(int(np.count_nonzero(mask)) for _, mask in masks), rows, lambda: LISTING * size
    )


def _mask(shard: Shard, asked: Predicates, span: Span) -> Mask:
    """Which rows of `span` meet facts and `q`."""
    mask: Mask | None = None
    if asked.facts is not None:
        mask = asked.facts.along(shard.facts[span.start : span.stop])
    if asked.named is not None:
        assert isinstance(asked.named, Bits)
        bits = asked.named.mask(*span)
        mask = bits if mask is None else np.logical_and(mask, bits, out=mask)
    assert mask is not None
    return mask


def _listed(spans: Spans) -> Rows:
    return ranges(spans.starts, spans.stops - spans.starts).astype(np.uint32)
