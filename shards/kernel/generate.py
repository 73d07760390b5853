"""Generators: the ways to enumerate the rows of one shard that may match, and the cheapest of them.

A generator turns some conditions into places to look at: ranges of neighbouring rows, a stretch of an
order, the websites in it, the list of `q`. The rows found there are tested for the other conditions.
The estimated costs decide speed only: every generator finds the same rows.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import enter_cell, list_mask, mask_rows
    from shards.kernel.find import lower_bound, raise_damaged
    from shards.kernel.row_sets import count_bits
    from shards.kernel.rows import count_facts, emit, keep, list_facts, replace, take
    from shards.kernel.types import *


def choose(table: Table, question: KernelQuery, source: ShardSearch) -> i64:
    """Set the generator of a source to the one of least estimated cost, in nanoseconds."""
    shard = table.shards[source.shard]
    need: i64 = source.need
    count: f64
    best: f64
    if need & GIVEN:
        source.generator = BY_ID
        source.cost = question.listed_cost * source.given_count
        return 0
    if need & NAME and not source.bits:
        source.generator = BY_NAME
        best = question.listed_cost * source.name_count
    else:
        count = source.size
        spans: f64 = source.part_count if need & SCOPE else 1
        if need & TURNOVER:
            spans = 4 * source.cell_count
            count = source.turnover_end - source.turnover_first
            count = count * source.with_ca / (shard.known if shard.known else 1)
        source.generator = SPANS
        best = question.span_cost * spans + span_row_cost(shard, question, source) * count
    if need & TURNOVER:
        count = source.turnover_end - source.turnover_first
        each: f64 = question.along_cost
        if need & (SCOPE | NAME | CODES):
            share: f64 = 1.0
            if need & FACTS:
                share = source.sites
                if source.headcount_first >= 0:
                    share = source.headcount_end - source.headcount_first
                share = share / shard.rows
            each += question.listed_cost * share
        if each * count < best:
            best = each * count
            source.generator = BY_TURNOVER
    if need & FACTS and source.fact_low >= shard.site_bit:
        if need & TURNOVER:
            best = choose_sites(
                question, source, SITES_BY_TURNOVER, best, shard.sites_turnover,
                shard.sites_turnover_count, source.turnover_first, source.turnover_end,
            )  # fmt: skip
        if source.headcount_first >= 0:
            best = choose_sites(
                question, source, SITES_BY_HEADCOUNT, best, shard.sites_headcount,
                shard.sites_headcount_count, source.headcount_first, source.headcount_end,
            )  # fmt: skip
    elif source.headcount_first >= 0:
        count = source.headcount_end - source.headcount_first
        if question.listed_cost * count < best:
            best = question.listed_cost * count
            source.generator = BY_HEADCOUNT
    if (source.columns >> CREATION) & 1:
        count = source.code_high[CREATION] - source.code_low[CREATION]
        if question.listed_cost * count < best:
            best = question.listed_cost * count
            source.generator = BY_CREATION
    source.cost = best
    return 0


def span_row_cost(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> f64:
    """What a row costs that is tested beside its neighbours."""
    cost: f64 = question.along_cost if source.need & FACTS else 0.0
    if source.need & NAME:
        cost += question.along_cost
    for column in range(COLUMNS):
        if (source.columns >> column) & 1:
            cost += question.code_cost * shard.code_width[column]
            if source.code_table[column] >= 0:
                cost += question.along_cost
    return cost


def choose_sites(
    question: KernelQuery,
    source: ShardSearch,
    generator: i64,
    best: f64,
    places: u32s,
    size: i64,
    first: i64,
    end: i64,
) -> f64:
    """Set the generator to the websites within places [first, end), if that is cheaper."""
    start: i64 = lower_bound(places, 0, size, first)
    stop: i64 = lower_bound(places, start, size, end)
    cost: f64 = question.listed_cost * (stop - start)
    if cost >= best:
        return best
    source.generator = generator
    source.site_first = start
    source.site_end = stop
    return cost


def generate(table: Table, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """Count all matches of one shard; returns their number.

    They are listed, too, if they are at most `room`: `source.listed` says so.
    """
    shard = table.shards[source.shard]
    need: i64 = source.need
    start: i64 = scratch.used
    total: i64 = 0
    if source.generator == SPANS:
        total = spans(table, source, scratch, room)
    elif source.generator == BY_TURNOVER:
        total = along_turnover(shard, source, scratch, room)
    elif source.generator == BY_HEADCOUNT:
        total = emit_along(
            shard, source, scratch, room, need & ~FACTS, shard.order[EFFECTIF],
            shard.order_size[EFFECTIF], source.headcount_first, source.headcount_end,
        )  # fmt: skip
    elif source.generator == BY_CREATION:
        total = emit_along(
            shard, source, scratch, room, need, shard.order[RECENT], shard.order_size[RECENT],
            source.code_low[CREATION], source.code_high[CREATION],
        )  # fmt: skip
    elif source.generator == BY_ID:
        total = emit_along(
            shard, source, scratch, room, need & ~GIVEN, scratch.rows, scratch.used,
            source.given_first, source.given_first + source.given_count,
        )  # fmt: skip
    elif source.generator == SITES_BY_TURNOVER:
        left: i64 = need & ~TURNOVER
        if source.headcount_first < 0:
            left &= ~FACTS
        total = along_sites(
            shard, source, scratch, room, left, shard.order[0], shard.order_size[0],
            shard.sites_turnover,
        )  # fmt: skip
    elif source.generator == SITES_BY_HEADCOUNT:
        total = along_sites(
            shard, source, scratch, room, need & ~FACTS, shard.order[EFFECTIF],
            shard.order_size[EFFECTIF], shard.sites_headcount,
        )  # fmt: skip
    elif need == NAME:
        source.listed = 1
        source.list_first = source.name_first
        source.list_count = source.name_count
        return source.name_count
    else:
        total = emit_along(
            shard, source, scratch, room, need & ~NAME, scratch.rows, scratch.used,
            source.name_first, source.name_first + source.name_count,
        )  # fmt: skip
    source.listed = 1 if scratch.used - start == total else 0
    if not source.listed:
        scratch.used = start
    source.list_first = start
    source.list_count = scratch.used - start
    return total


def span_bound(shard: ShardArrays, first: i64, end: i64, place: i64) -> i64:
    """The first row of a cell's rows with a turnover that stands at `place` of `ca_desc` or later."""
    return lower_bound(shard.rank[0], first, end, place)


def spans(table: Table, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """Ranges of rows: the parts of a scope; with a bound of turnover a stretch of each cell."""
    shard = table.shards[source.shard]
    need: i64 = source.need
    left: i64 = need & (FACTS | NAME | CODES)
    total: i64 = 0
    count: i64 = source.part_count if need & SCOPE else 1
    first: i64
    stop: i64
    cell: i64
    for i in range(count):
        if need & SCOPE:
            part = table.parts[scratch.selected[source.part_first + i]]
            first = part.start
            stop = part.stop
            cell = part.first
            end: i64 = part.end
        else:
            first = 0
            stop = shard.rows
            cell = 0
            end = shard.cell_count
        if (source.columns >> NACE) & 1:
            enter_cell(shard, source, scratch, cell)
        if not need & TURNOVER:
            matches: i64 = span(shard, source, scratch, left, first, stop, room)
            total += matches
            room = room - matches if room >= matches else 0
            continue
        while cell < end:
            part = table.parts[shard.first_part + cell]
            first = span_bound(shard, part.start, part.known_stop, source.turnover_first)
            stop = span_bound(shard, first, part.known_stop, source.turnover_end)
            if first < stop:
                matches = span(shard, source, scratch, left, first, stop, room)
                total += matches
                room = room - matches if room >= matches else 0
            cell += 1
    return total


def span(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    left: i64,
    first: i64,
    stop: i64,
    room: i64,
) -> i64:
    """Count the rows [first, stop) that meet `left`, and list them if they are at most `room`."""
    total: i64 = 0
    if left & CODES:
        return coded_span(shard, source, scratch, left, first, stop, room)
    if room <= 0:
        if left == 0:
            return stop - first
        if left == FACTS:
            return count_facts(shard, source, 0, first, stop)
        if left == NAME and not source.name_count:
            return count_bits(shard, source, first, stop)
    while first < stop:
        end: i64 = first + BLOCK if first + BLOCK < stop else stop
        count: i64 = end - first
        if left & FACTS:
            count = count_facts(shard, source, 0, first, end)
            if count and (room > 0 or left & NAME):
                list_facts(shard, source, scratch, 0, first, end)
        else:
            for i in range(count):
                scratch.block[i] = first + i
        if count and left & NAME:
            count = keep(shard, source, scratch, NAME, count)
        total += count
        if count and room > 0:
            room = emit(scratch, count, room)
        first = end
    return total


def coded_span(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    left: i64,
    first: i64,
    stop: i64,
    room: i64,
) -> i64:
    """`span` where codes are among the conditions."""
    total: i64 = 0
    while first < stop:
        listing: i64 = room > 0 or left & NAME
        size: i64 = BLOCK if listing else MASKED
        end: i64 = first + size if first + size < stop else stop
        count: i64 = mask_rows(shard, source, scratch, left, first, end)
        if count and listing:
            list_mask(scratch, first, end - first)
            if left & NAME:
                count = keep(shard, source, scratch, NAME, count)
            if room > 0:
                room = emit(scratch, count, room)
        total += count
        first = end
    return total


def along_turnover(shard: ShardArrays, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """A stretch of `ca_desc`, with the facts that lie in that order."""
    left: i64 = source.need & (SCOPE | NAME | CODES)
    facts: i64 = source.need & FACTS
    order = shard.order[0]
    total: i64 = 0
    first: i64 = source.turnover_first
    while first < source.turnover_end:
        if left == 0 and room <= 0:
            rest: i64 = source.turnover_end - first
            if facts:
                rest = count_facts(shard, source, 1, first, source.turnover_end)
            return total + rest
        end: i64 = first + BLOCK if first + BLOCK < source.turnover_end else source.turnover_end
        count: i64 = end - first
        if facts:
            count = count_facts(shard, source, 1, first, end)
            if count:
                list_facts(shard, source, scratch, 1, first, end)
                replace(shard, scratch, order, shard.order_size[0], count)
        else:
            take(shard, scratch, order, first, count)
        if count and left:
            count = keep(shard, source, scratch, left, count)
        total += count
        if count and room > 0:
            room = emit(scratch, count, room)
        first = end
    return total


def emit_along(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    room: i64,
    left: i64,
    numbers: u32s,
    size: i64,
    first: i64,
    end: i64,
) -> i64:
    """The rows numbers[first:end], tested for `left`."""
    total: i64 = 0
    if end > size:
        raise_damaged()
    while first < end:
        count: i64 = BLOCK if first + BLOCK < end else end - first
        take(shard, scratch, numbers, first, count)
        first += count
        count = keep(shard, source, scratch, left, count)
        total += count
        if room > 0:
            room = emit(scratch, count, room)
    return total


def along_sites(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    room: i64,
    left: i64,
    order: u32s,
    size: i64,
    places: u32s,
) -> i64:
    """The rows at places[site_first:site_end] of an order, tested for `left`."""
    total: i64 = 0
    first: i64 = source.site_first
    while first < source.site_end:
        count: i64 = BLOCK if first + BLOCK < source.site_end else source.site_end - first
        for i in range(count):
            scratch.block[i] = places[first + i]
        replace(shard, scratch, order, size, count)
        first += count
        count = keep(shard, source, scratch, left, count)
        total += count
        if room > 0:
            room = emit(scratch, count, room)
    return total
