"""The conditions of a question in one shard, how many rows meet them, and the census of these rows.

While a question is narrowed, every match lies in the scope of the source, and a row of the scope matches if it meets
the conditions whose bits are in `need`: all rows of the scope meet the others. A condition that no row can meet ends
the shard. What is marked meanwhile in the working memory is noted in the source, so that `search.clear` undoes it.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import allowed_rows, code_at, narrow_scope, set_codes
    from shards.kernel.find import cell_of, key_step, lower_bound, raise_damaged, turnover_place
    from shards.kernel.generate import choose, generate
    from shards.kernel.names import find_named
    from shards.kernel.rows import count_by_place, count_few, take
    from shards.kernel.types import *


def reset(source: ShardSearch, shard: i64) -> i64:
    """Make a source one of a shard of which nothing is known."""
    source.shard = shard
    source.total = 0
    source.need = 0
    source.headcount_first = -1
    source.headcount_end = -1
    source.fact_mask = 0
    source.fact_low = 0
    source.fact_high = 0
    source.part_count = 0
    source.listed = 0
    source.list_count = 0
    source.name_count = 0
    source.bits = 0
    source.more_bits = 0
    source.headed = 0
    source.heads = 0
    source.more_heads = 0
    source.scoped = 0
    source.columns = 0
    source.tables = 0
    source.code_share = 1.0
    source.given_count = 0
    return 0


def set_cells(table: Table, source: ShardSearch, scratch: Scratch, value: i64) -> i64:
    """Mark the cells of the scope, or unmark them."""
    shard = table.shards[source.shard]
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        for cell in range(part.first, part.end):
            scratch.cells[shard.first_cell + cell] = value
    source.scoped = value
    return 0


def set_scope(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, part_first: i64
) -> i64:
    """The parts of a shard that the sectors or cells of a question choose; 0 if there is none."""
    shard = table.shards[source.shard]
    source.part_first = part_first
    source.size = shard.rows
    source.cell_count = shard.cell_count
    source.with_ca = shard.known
    source.sites = shard.with_site
    if question.scope == EVERYWHERE:
        return 1
    source.size = 0
    source.cell_count = 0
    source.with_ca = 0
    source.sites = 0
    for i in range(question.scope_count):
        code: i64 = question.scope_codes[i]
        if question.scope == CELLS:
            part_number: i64 = table.cell_parts[source.shard * table.cell_count + code]
        else:
            part_number = table.sector_parts[source.shard * table.sector_count + code]
        if part_number < 0:
            continue
        part = table.parts[part_number]
        scratch.selected[part_first + source.part_count] = part_number
        source.part_count += 1
        source.size += part.stop - part.start
        source.cell_count += part.end - part.first
        source.with_ca += part.with_ca
        source.sites += part.sites
    if source.size == shard.rows:
        source.part_count = 0
    elif source.size:
        source.need |= SCOPE
    return 1 if source.size else 0


def set_bounds(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """The bounds of turnover and headcount as places of their orders; 0 if none lies between."""
    if question.has_turnover:
        source.need |= TURNOVER
        source.turnover_first = turnover_place(shard, question.turnover_low, 0)
        source.turnover_end = turnover_place(shard, question.turnover_high, 1)
        if source.turnover_first >= source.turnover_end:
            return 0
    if question.has_headcount:
        source.need |= FACTS
        steps: i64 = shard.step_count[EFFECTIF]
        first: i64 = key_step(shard.headcount_keys, steps, question.headcount_low, 0)
        end: i64 = key_step(shard.headcount_keys, steps, question.headcount_high, 1)
        source.headcount_first = shard.steps[EFFECTIF][first]
        source.headcount_end = shard.steps[EFFECTIF][end]
        if source.headcount_first >= source.headcount_end:
            return 0
        # The code of a headcount counts from the least one, a step from the greatest (FORMAT.md §7).
        last: i64 = shard.step_count[EFFECTIF] + 1
        source.fact_mask = shard.site_bit - 1
        source.fact_low = last - end
        source.fact_high = last - first
        if question.website:
            source.fact_mask += shard.site_bit
            source.fact_low += shard.site_bit
            source.fact_high += shard.site_bit
    elif question.website:
        source.need |= FACTS
        source.fact_mask = 2 * shard.site_bit - 1
        source.fact_low = shard.site_bit
        source.fact_high = 2 * shard.site_bit
    return 1


def count_within(places: u32s, size: i64, first: i64, end: i64) -> i64:
    """How many of the ascending places lie in [first, end)."""
    start: i64 = lower_bound(places, 0, size, first)
    return lower_bound(places, start, size, end) - start


def coded_total(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """How many rows match, where a count of the file says it; else -1."""
    if source.need == SCOPE | CODES and source.columns == 1 << NACE:
        return source.activities
    for column in range(COLUMNS):
        if source.need == CODES and source.columns == 1 << column and column != ACTIF:
            return allowed_rows(shard, source, scratch, column)
    return -1


def known_total(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """How many rows match, where no row has to be looked at for that; else -1."""
    need: i64 = source.need
    if need & (NAME | GIVEN) or (need & SCOPE and source.headcount_first >= 0):
        return -1
    if need & CODES:
        return coded_total(shard, source, scratch)
    if need & SCOPE:
        if not need & TURNOVER:
            return source.sites if question.website else source.size
        return source.with_ca if question.any_turnover and not question.website else -1
    if not need & TURNOVER and source.headcount_first < 0:
        return shard.with_site if question.website else shard.rows
    if need & TURNOVER and source.headcount_first >= 0:
        return -1
    if need & TURNOVER:
        if question.website:
            return count_within(
                shard.sites_turnover, shard.sites_turnover_count, source.turnover_first,
                source.turnover_end,
            )  # fmt: skip
        return source.turnover_end - source.turnover_first
    if question.website:
        return count_within(
            shard.sites_headcount, shard.sites_headcount_count, source.headcount_first,
            source.headcount_end,
        )  # fmt: skip
    return source.headcount_end - source.headcount_first


def take_given(question: KernelQuery, source: ShardSearch, scratch: Scratch) -> i64:
    """List the rows of `ids`; returns their number."""
    first: i64 = question.given_starts[source.shard]
    end: i64 = question.given_starts[source.shard + 1]
    source.need |= GIVEN
    if scratch.used + end - first > scratch.rows_size:
        raise_damaged()
    source.given_first = scratch.used
    source.given_count = end - first
    for i in range(first, end):
        scratch.rows[scratch.used] = question.given_rows[i]
        scratch.used += 1
    return source.given_count


def count_matches(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    part_first: i64,
    count: i64,
) -> i64:
    """Find how many rows of a shard match; `count` rows will be asked for at most."""
    shard = table.shards[source.shard]
    if not shard.rows:
        return 0
    if not set_scope(table, question, source, scratch, part_first):
        return 0
    if not set_bounds(shard, question, source):
        return 0
    if not set_codes(shard, question, source, scratch):
        return 0
    if (question.columns >> NACE) & 1 and not narrow_scope(table, shard, question, source, scratch):
        return 0
    if source.columns:
        source.need |= CODES
    if question.given and not take_given(question, source, scratch):
        return 0
    if question.word_count:
        if find_named(shard, question, source, scratch, count) == TOO_DEAR:
            return TOO_DEAR
        if not source.total:
            return 0
        source.need |= NAME
        if source.need == NAME:
            return source.total
    if source.need & SCOPE:
        set_cells(table, source, scratch, 1)
    known: i64 = known_total(shard, question, source, scratch)
    if known >= 0:
        source.total = known
        return known
    choose(table, question, source)
    scratch.spent += source.cost
    if scratch.spent > question.budget:
        return TOO_DEAR
    # What is counted faster than it is listed is listed only if a page needs it.
    room: i64 = question.room
    sparse: i64 = source.need & CODES and source.code_share < question.sparse
    if source.generator == SPANS and not sparse and source.need & (FACTS | NAME) != FACTS | NAME:
        room = 0
    if source.generator == BY_TURNOVER and not source.need & (SCOPE | NAME | CODES):
        room = 0
    source.total = generate(table, source, scratch, room)
    return source.total


def take_census(table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch) -> i64:
    """Add the matches of a source to the counts of each kind that is asked for, or leave them listed."""
    shard = table.shards[source.shard]
    whole: i64 = source.need & ~SCOPE == 0 and not question.census & LISTED
    start: i64 = scratch.used
    if not whole or source.need:
        scratch.spent += question.listed_cost * source.total
        if scratch.spent > question.budget:
            return TOO_DEAR
    if not whole and not source.listed:
        choose(table, question, source)
        generate(table, source, scratch, scratch.rows_size)
        if not source.listed:
            raise_damaged()
    for kind in range(KINDS):
        if not (question.census >> kind) & 1:
            continue
        if not whole:
            count_listed(shard, source, scratch, kind)
        elif not source.need:
            count_runs(shard, scratch, kind, 0, shard.run_count[kind])
        else:
            count_parts(table, source, scratch, kind)
    if not question.limit and not question.census & LISTED and scratch.used > start:
        source.listed = 0
        scratch.used = start
    return 0


def count_runs(shard: ShardArrays, scratch: Scratch, kind: i64, first: i64, end: i64) -> i64:
    """Count all rows of the slots [first, end) of a kind."""
    ends = shard.run_ends[kind]
    base: i64 = shard.first_count[kind]
    for slot in range(first, end):
        scratch.counts[base + slot] += ends[slot + 1]
        scratch.counts[base + slot] -= ends[slot]
    return 0


def count_parts(table: Table, source: ShardSearch, scratch: Scratch, kind: i64) -> i64:
    """Count all rows of the scope; those of cells and activities are known, others are looked at."""
    shard = table.shards[source.shard]
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if kind == BY_CELL:
            count_runs(shard, scratch, kind, part.first, part.end)
            continue
        if kind == NACE:
            count_runs(
                shard, scratch, kind, shard.pair_cells[part.first], shard.pair_cells[part.end]
            )
            continue
        first: i64 = part.start
        while first < part.stop:
            count: i64 = BLOCK if first + BLOCK < part.stop else part.stop - first
            for j in range(count):
                scratch.block[j] = first + j
            count_block(shard, scratch, kind, count)
            first += count
    return 0


def count_listed(shard: ShardArrays, source: ShardSearch, scratch: Scratch, kind: i64) -> i64:
    """Count the rows that are listed."""
    first: i64 = source.list_first
    end: i64 = first + source.list_count
    while first < end:
        count: i64 = BLOCK if first + BLOCK < end else end - first
        take(shard, scratch, scratch.rows, first, count)
        count_block(shard, scratch, kind, count)
        first += count
    return 0


def count_block(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block."""
    if kind in (BY_CELL, NACE):
        return count_by_cell(shard, scratch, kind, count)
    if kind >= COLUMNS:
        return count_by_place(shard, scratch, kind, count)
    block = scratch.block
    counts = scratch.counts
    base: i64 = shard.first_count[kind]
    slots: i64 = shard.run_count[kind]
    slot: i64
    if shard.code_width[kind] == 1 and slots <= FEW_SLOTS:
        return count_few(shard, scratch, kind, count)
    if shard.code_width[kind] == 1:
        small = shard.small[kind]
        for i in range(count):
            slot = small[block[i]]
            if slot >= slots:
                raise_damaged()
            counts[base + slot] += 1
    elif shard.code_width[kind] == 2:
        half = shard.half[kind]
        for i in range(count):
            slot = half[block[i]]
            if slot >= slots:
                raise_damaged()
            counts[base + slot] += 1
    else:
        for i in range(count):
            slot = shard.broad[kind][block[i]]
            if slot >= slots:
                raise_damaged()
            counts[base + slot] += 1
    return 0


def count_by_cell(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block by cell, or by the activities of their cells."""
    block = scratch.block
    counts = scratch.counts
    base: i64 = shard.first_count[kind]
    width: i64 = shard.code_width[NACE] if kind == NACE else 0
    slot: i64 = 0
    slots: i64 = 0
    first: i64 = 0
    stop: i64 = 0
    for i in range(count):
        row: i64 = block[i]
        if row < first or row >= stop:
            cell: i64 = cell_of(shard, row)
            first = shard.run_ends[BY_CELL][cell]
            stop = shard.run_ends[BY_CELL][cell + 1]
            slot = shard.pair_cells[cell] if width else cell
            slots = shard.pair_cells[cell + 1] if width else cell + 1
        code: i64 = 0
        if width == 1:
            code = shard.small[NACE][row]
        elif width:
            code = code_at(shard, NACE, row)
        if slot + code >= slots:
            raise_damaged()
        counts[base + slot + code] += 1
    return 0
