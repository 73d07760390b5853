"""Generators: the ways to enumerate the rows of one shard that may match, and the choice of the cheapest.

A generator turns some conditions into rows to test: ranges of adjacent row numbers, a range of places in an order, the
rows with a website in such a range, or the list of `q`. These rows are tested for the other conditions. The estimated
costs only affect speed: every generator finds the same matches. The parameter `to_test` has the bits of the conditions
that a generator does not meet by itself, and `room` is the most rows that it lists.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import list_masked_rows, mask_rows, set_cell_activities
    from shards.kernel.find import lower_bound, raise_damaged
    from shards.kernel.row_sets import count_bits
    from shards.kernel.rows import (
        count_facts,
        keep_matches,
        list_block,
        list_facts,
        load_block,
        places_to_rows,
    )
    from shards.kernel.types import *


def choose_generator(table: Table, question: KernelQuery, source: ShardSearch) -> i64:
    """Set `source.generator` to the cheapest way to enumerate the rows that may match, and `source.cost` to its cost.

    The cost is an estimate in nanoseconds. Always returns 0.
    """
    shard = table.shards[source.shard]
    need: i64 = source.need
    count: f64
    least_cost: f64
    # If the query has `ids`, their rows are few, so no other generator is tried. A list of `q` replaces ranges of rows.
    if need & GIVEN:
        source.generator = BY_ID
        source.cost = question.listed_cost * source.given_count
        return 0
    if need & NAME and not source.bits:
        source.generator = BY_NAME
        least_cost = question.listed_cost * source.name_count
    else:
        # Without a list: each range costs `span_cost`, each of its `count` rows `span_row_cost`.
        count = source.size
        range_count: f64 = source.part_count if need & SCOPE else 1
        if need & TURNOVER:
            range_count = 4 * source.cell_count  # in each cell the bounds are searched, too
            count = source.turnover_end - source.turnover_first
            # Of the rows within the bounds, the part that the sectors of the query probably have.
            count = count * source.with_ca / (shard.turnover_count if shard.turnover_count else 1)
        source.generator = SPANS
        least_cost = (
            question.span_cost * range_count + span_row_cost(shard, question, source) * count
        )
    if need & TURNOVER:
        # A pass through the places in `ca_desc`; facts are stored by place, other conditions need each row that passes.
        count = source.turnover_end - source.turnover_first
        row_cost: f64 = question.adjacent_cost
        if need & (SCOPE | NAME | CODES):
            listed_share: f64 = 1.0
            if need & FACTS:
                listed_share = source.sites
                if source.headcount_first >= 0:
                    listed_share = source.headcount_end - source.headcount_first
                listed_share = listed_share / shard.rows
            row_cost += question.listed_cost * listed_share
        if row_cost * count < least_cost:
            least_cost = row_cost * count
            source.generator = BY_TURNOVER
    if need & FACTS and source.fact_low >= shard.site_bit:  # only rows with a website match
        if need & TURNOVER:
            least_cost = choose_sites(
                question, source, SITES_BY_TURNOVER, least_cost, shard.sites_turnover,
                shard.sites_turnover_count, source.turnover_first, source.turnover_end,
            )  # fmt: skip
        if source.headcount_first >= 0:
            least_cost = choose_sites(
                question, source, SITES_BY_HEADCOUNT, least_cost, shard.sites_headcount,
                shard.sites_headcount_count, source.headcount_first, source.headcount_end,
            )  # fmt: skip
    elif source.headcount_first >= 0:
        count = source.headcount_end - source.headcount_first
        if question.listed_cost * count < least_cost:
            least_cost = question.listed_cost * count
            source.generator = BY_HEADCOUNT
    if (source.columns >> CREATION) & 1:
        count = source.code_high[CREATION] - source.code_low[CREATION]
        if question.listed_cost * count < least_cost:
            least_cost = question.listed_cost * count
            source.generator = BY_CREATION
    source.cost = least_cost
    return 0


def span_row_cost(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> f64:
    """The estimated nanoseconds to test one row in a sequential scan."""
    cost: f64 = question.adjacent_cost if source.need & FACTS else 0.0
    if source.need & NAME:
        cost += question.adjacent_cost
    for column in range(COLUMNS):
        if (source.columns >> column) & 1:
            cost += question.code_cost * shard.code_width[column]
            if source.code_table[column] >= 0:
                cost += question.adjacent_cost
    return cost


def choose_sites(
    question: KernelQuery,
    source: ShardSearch,
    generator: i64,
    least_cost: f64,
    places: u32s,
    size: i64,
    first: i64,
    end: i64,
) -> f64:
    """Use a generator of rows with a website, at the places [first, end) of an order, if cheaper than `least_cost`.

    `places` has the places of all rows with a website. Returns the lower cost.
    """
    start: i64 = lower_bound(places, 0, size, first)
    stop: i64 = lower_bound(places, start, size, end)
    cost: f64 = question.listed_cost * (stop - start)
    if cost >= least_cost:
        return least_cost
    source.generator = generator
    source.site_first = start
    source.site_end = stop
    return cost


def generate(table: Table, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """Count all matches of one shard with the generator of the source; returns the number of matches.

    If there are at most `room` matches, the matches are also listed, and `source.listed` becomes 1; else it becomes 0.
    """
    shard = table.shards[source.shard]
    need: i64 = source.need
    list_start: i64 = scratch.used
    total: i64 = 0
    if source.generator == SPANS:
        total = count_in_scope(table, source, scratch, room)
    elif source.generator == BY_TURNOVER:
        total = count_by_turnover(shard, source, scratch, room)
    elif source.generator == BY_HEADCOUNT:
        total = count_listed_rows(
            shard, source, scratch, room, need & ~FACTS, shard.order[EFFECTIF],
            shard.order_size[EFFECTIF], source.headcount_first, source.headcount_end,
        )  # fmt: skip
    elif source.generator == BY_CREATION:
        total = count_listed_rows(
            shard, source, scratch, room, need, shard.order[RECENT], shard.order_size[RECENT],
            source.code_low[CREATION], source.code_high[CREATION],
        )  # fmt: skip
    elif source.generator == BY_ID:
        total = count_listed_rows(
            shard, source, scratch, room, need & ~GIVEN, scratch.rows, scratch.used,
            source.given_first, source.given_first + source.given_count,
        )  # fmt: skip
    elif source.generator == SITES_BY_TURNOVER:
        to_test: i64 = need & ~TURNOVER
        if source.headcount_first < 0:
            to_test &= ~FACTS
        total = count_site_rows(
            shard, source, scratch, room, to_test, shard.order[0], shard.order_size[0],
            shard.sites_turnover,
        )  # fmt: skip
    elif source.generator == SITES_BY_HEADCOUNT:
        total = count_site_rows(
            shard, source, scratch, room, need & ~FACTS, shard.order[EFFECTIF],
            shard.order_size[EFFECTIF], shard.sites_headcount,
        )  # fmt: skip
    elif need == NAME:  # the list of `q` is the list of all matches
        source.listed = 1
        source.list_first = source.name_first
        source.list_count = source.name_count
        return source.name_count
    else:
        total = count_listed_rows(
            shard, source, scratch, room, need & ~NAME, scratch.rows, scratch.used,
            source.name_first, source.name_first + source.name_count,
        )  # fmt: skip
    # If there are more matches than `room`, the list is incomplete and is dropped.
    source.listed = 1 if scratch.used - list_start == total else 0
    if not source.listed:
        scratch.used = list_start
    source.list_first = list_start
    source.list_count = scratch.used - list_start
    return total


def first_row_from(shard: ShardArrays, first: i64, end: i64, place: i64) -> i64:
    """The first of the rows [first, end) of one cell that is at `place` of `ca_desc` or later; `end` if no row is."""
    return lower_bound(shard.rank[0], first, end, place)


def count_in_scope(table: Table, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """Count the matches in the parts of the scope, or in the complete shard, and list at most `room` of them.

    With bounds on turnover, only a range of rows of each cell is tested. Returns the number of matches.
    """
    shard = table.shards[source.shard]
    need: i64 = source.need
    to_test: i64 = need & (FACTS | NAME | CODES)
    total: i64 = 0
    range_count: i64 = source.part_count if need & SCOPE else 1
    first: i64
    stop: i64
    cell: i64
    for i in range(range_count):
        # The rows [first, stop) and the cells [cell, end) of a part of the scope, or of the shard.
        if need & SCOPE:
            part = table.parts[scratch.selected[source.part_first + i]]
            first = part.start
            stop = part.stop
            cell = part.first_cell
            end: i64 = part.end_cell
        else:
            first = 0
            stop = shard.rows
            cell = 0
            end = shard.cell_count
        # A condition on activities has a scope, of which each part is one cell (`narrow_scope`).
        if (source.columns >> NACE) & 1:
            set_cell_activities(shard, source, scratch, cell)
        if not need & TURNOVER:
            matches: i64 = count_span(shard, source, scratch, to_test, first, stop, room)
            total += matches
            room = room - matches if room >= matches else 0
            continue
        # The rows of a cell descend by turnover, so bounds on turnover are a range of its rows.
        while cell < end:
            part = table.parts[shard.first_part + cell]
            first = first_row_from(shard, part.start, part.known_stop, source.turnover_first)
            stop = first_row_from(shard, first, part.known_stop, source.turnover_end)
            if first < stop:
                matches = count_span(shard, source, scratch, to_test, first, stop, room)
                total += matches
                room = room - matches if room >= matches else 0
            cell += 1
    return total


def count_span(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    to_test: i64,
    first: i64,
    stop: i64,
    room: i64,
) -> i64:
    """Count the rows [first, stop) that meet the conditions `to_test`, and list at most `room` of these rows.

    Returns the number of these rows, including the rows that are not listed.
    """
    total: i64 = 0
    if to_test & CODES:
        return count_coded_span(shard, source, scratch, to_test, first, stop, room)
    # `count_facts` and `list_facts` get `by_turnover` = 0, because [first, stop) are rows.
    if room <= 0:  # the rows are only counted
        if to_test == 0:
            return stop - first
        if to_test == FACTS:
            return count_facts(shard, source, 0, first, stop)
        if to_test == NAME and not source.name_count:
            return count_bits(shard, source, first, stop)
    while first < stop:
        end: i64 = first + BLOCK if first + BLOCK < stop else stop
        count: i64 = end - first
        if to_test & FACTS:
            count = count_facts(shard, source, 0, first, end)
            if count and (room > 0 or to_test & NAME):
                list_facts(shard, source, scratch, 0, first, end)
        else:
            for i in range(count):
                scratch.block[i] = first + i
        if count and to_test & NAME:
            count = keep_matches(shard, source, scratch, NAME, count)
        total += count
        if count and room > 0:
            room = list_block(scratch, count, room)
        first = end
    return total


def count_coded_span(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    to_test: i64,
    first: i64,
    stop: i64,
    room: i64,
) -> i64:
    """Count the rows [first, stop) that meet the conditions `to_test`, and list at most `room` of these rows.

    `to_test` has CODES: codes are tested by a mask with one byte per row, many rows in one instruction.
    """
    total: i64 = 0
    while first < stop:
        # Rows that are only counted need no row numbers, so a longer mask is used.
        needs_rows: i64 = room > 0 or to_test & NAME
        size: i64 = BLOCK if needs_rows else MASKED
        end: i64 = first + size if first + size < stop else stop
        count: i64 = mask_rows(shard, source, scratch, to_test, first, end)
        if count and needs_rows:
            list_masked_rows(scratch, first, end - first)
            if to_test & NAME:
                count = keep_matches(shard, source, scratch, NAME, count)
            if room > 0:
                room = list_block(scratch, count, room)
        total += count
        first = end
    return total


def count_by_turnover(shard: ShardArrays, source: ShardSearch, scratch: Scratch, room: i64) -> i64:
    """Count the matches within the bounds on turnover, and list at most `room` of them.

    Headcount and website are also stored in the order `ca_desc`, so they are tested before rows are looked up:
    `count_facts` and `list_facts` get `by_turnover` = 1, and places in the order instead of rows.
    """
    to_test: i64 = source.need & (SCOPE | NAME | CODES)
    tests_facts: i64 = source.need & FACTS
    order = shard.order[0]  # of CA_DESC
    total: i64 = 0
    first: i64 = source.turnover_first
    while first < source.turnover_end:
        if to_test == 0 and room <= 0:
            remaining_matches: i64 = source.turnover_end - first
            if tests_facts:
                remaining_matches = count_facts(shard, source, 1, first, source.turnover_end)
            return total + remaining_matches
        end: i64 = first + BLOCK if first + BLOCK < source.turnover_end else source.turnover_end
        count: i64 = end - first
        if tests_facts:
            count = count_facts(shard, source, 1, first, end)
            if count:
                list_facts(shard, source, scratch, 1, first, end)
                places_to_rows(shard, scratch, order, shard.order_size[0], count)
        else:
            load_block(shard, scratch, order, first, count)
        if count and to_test:
            count = keep_matches(shard, source, scratch, to_test, count)
        total += count
        if count and room > 0:
            room = list_block(scratch, count, room)
        first = end
    return total


def count_listed_rows(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    room: i64,
    to_test: i64,
    numbers: u32s,
    size: i64,
    first: i64,
    end: i64,
) -> i64:
    """Count the rows numbers[first:end] that meet the conditions `to_test`, and list at most `room` of these rows.

    `numbers` is an array of `size` rows. Returns the number of rows that meet the conditions, including the rows that
    are not listed.
    """
    total: i64 = 0
    if end > size:
        raise_damaged()
    while first < end:
        count: i64 = BLOCK if first + BLOCK < end else end - first
        load_block(shard, scratch, numbers, first, count)
        first += count
        count = keep_matches(shard, source, scratch, to_test, count)
        total += count
        if room > 0:
            room = list_block(scratch, count, room)
    return total


def count_site_rows(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    room: i64,
    to_test: i64,
    order: u32s,
    size: i64,
    places: u32s,
) -> i64:
    """Count the rows at places[site_first:site_end] of an order that meet conditions `to_test`; list at most `room`."""
    total: i64 = 0
    first: i64 = source.site_first
    while first < source.site_end:
        count: i64 = BLOCK if first + BLOCK < source.site_end else source.site_end - first
        for i in range(count):
            scratch.block[i] = places[first + i]
        places_to_rows(shard, scratch, order, size, count)
        first += count
        count = keep_matches(shard, source, scratch, to_test, count)
        total += count
        if room > 0:
            room = list_block(scratch, count, room)
    return total
