"""The conditions of a query in one shard, the number of rows that meet them, and the census of these rows.

A source (`ShardSearch`) is the state of the search in one shard. Its scope is the rows that can match: some parts of
the shard, or all rows. A row of the scope matches if it meets the conditions whose bits are in `need`; every row of the
scope meets the conditions without a bit. If no row can meet a condition, the shard has no matches. The source records
which marks are set in the working memory, so that `search.clear_source` can reset the marks.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import code_at, count_allowed_rows, narrow_scope, set_codes
    from shards.kernel.find import cell_of, key_step, lower_bound, raise_damaged, turnover_place
    from shards.kernel.generate import choose_generator, generate
    from shards.kernel.names import find_name_matches
    from shards.kernel.rows import count_by_place, count_few, load_block
    from shards.kernel.types import *


def reset_source(source: ShardSearch, shard: i64) -> i64:
    """Prepare a source for a new search of a shard. Always returns 0."""
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


def set_cell_marks(table: Table, source: ShardSearch, scratch: Scratch, value: i64) -> i64:
    """Set the marks of the cells of the scope to `value`: 1 to mark the cells, 0 to remove the marks.

    Always returns 0.
    """
    shard = table.shards[source.shard]
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        for cell in range(part.first_cell, part.end_cell):
            scratch.cells[shard.first_cell + cell] = value
    source.scoped = value
    return 0


def set_scope(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, part_first: i64
) -> i64:
    """Select the parts of a shard (sectors or cells) that the query allows; returns 0 if these have no rows, else 1.

    The numbers of the parts are written to `scratch.selected` from `part_first` on. The source gets the sums of these
    parts: rows, cells, rows with a turnover, rows with a website.
    """
    shard = table.shards[source.shard]
    source.part_first = part_first
    source.size = shard.rows
    source.cell_count = shard.cell_count
    source.with_ca = shard.turnover_count
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
        if part_number < 0:  # the shard has no such sector or cell
            continue
        part = table.parts[part_number]
        scratch.selected[part_first + source.part_count] = part_number
        source.part_count += 1
        source.size += part.stop - part.start
        source.cell_count += part.end_cell - part.first_cell
        source.with_ca += part.with_ca
        source.sites += part.sites
    if source.size == shard.rows:  # the parts are the complete shard, so nothing is to be tested
        source.part_count = 0
    elif source.size:
        source.need |= SCOPE
    return 1 if source.size else 0


def set_bounds(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Set the conditions on turnover, headcount and website; returns 0 if no row is within the bounds.

    Bounds of turnover and headcount become places in the orders `ca_desc` and `effectif_desc`. Headcount and website
    also become a range of facts. The fact of a row is its headcount code, plus `site_bit` if it has a website; the mask
    removes `site_bit` if the query does not ask for a website.
    """
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
        # Headcount codes ascend from the least headcount, steps descend from the greatest (FORMAT.md §7), so the code
        # and the step of a headcount have a constant sum.
        code_sum: i64 = shard.step_count[EFFECTIF] + 1
        source.fact_mask = shard.site_bit - 1
        source.fact_low = code_sum - end
        source.fact_high = code_sum - first
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
    """How many of the `size` ascending places are in [first, end)."""
    start: i64 = lower_bound(places, 0, size, first)
    return lower_bound(places, start, size, end) - start


def total_by_codes(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """The number of matches if only codes are tested and stored counts give this number; else -1."""
    if source.need == SCOPE | CODES and source.columns == 1 << NACE:
        return source.activities
    for column in range(COLUMNS):
        if source.need == CODES and source.columns == 1 << column and column != ACTIF:
            return count_allowed_rows(shard, source, scratch, column)
    return -1


def total_without_scan(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """The number of matches if stored sizes and counts give this number, so that no row is tested; else -1."""
    need: i64 = source.need
    # These conditions need a test of rows: `q`, `ids`, and bounds of headcount within a scope.
    if need & (NAME | GIVEN) or (need & SCOPE and source.headcount_first >= 0):
        return -1
    if need & CODES:
        return total_by_codes(shard, source, scratch)
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


def list_given_rows(question: KernelQuery, source: ShardSearch, scratch: Scratch) -> i64:
    """Append the rows of the companies in `ids` to `scratch.rows`; returns the number of these rows."""
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
    """Set `source.total` to the number of matches of a shard; the caller will read at most `count` rows.

    Returns the total, or TOO_DEAR if the search exceeds its budget.
    """
    shard = table.shards[source.shard]
    # Prepare one condition after the other, as long as rows can meet them all.
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
    if question.has_ids and not list_given_rows(question, source, scratch):
        return 0
    if question.word_count:
        if find_name_matches(shard, question, source, scratch, count) == TOO_DEAR:
            return TOO_DEAR
        if not source.total:
            return 0
        source.need |= NAME
        if source.need == NAME:  # no other condition
            return source.total
    if source.need & SCOPE:
        set_cell_marks(table, source, scratch, 1)
    total: i64 = total_without_scan(shard, question, source, scratch)
    if total >= 0:
        source.total = total
        return total
    choose_generator(table, question, source)
    scratch.spent += source.cost
    if scratch.spent > question.budget:
        return TOO_DEAR
    # If counting is faster than listing, `room` is 0, and rows are listed only when a page needs them.
    room: i64 = question.room
    is_sparse: i64 = source.need & CODES and source.code_share < question.sparse
    if source.generator == SPANS and not is_sparse and source.need & (FACTS | NAME) != FACTS | NAME:
        room = 0
    if source.generator == BY_TURNOVER and not source.need & (SCOPE | NAME | CODES):
        room = 0
    source.total = generate(table, source, scratch, room)
    return source.total


def take_census(table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch) -> i64:
    """Add the matches of a source to the counts of each kind of the census; with LISTED, leave the matches listed.

    Returns TOO_DEAR if the search exceeds its budget, else 0.
    """
    shard = table.shards[source.shard]
    # Every row of the scope matches, and no list is wanted, so the scope is counted without a list.
    is_whole_scope: i64 = source.need & ~SCOPE == 0 and not question.census & LISTED
    list_start: i64 = scratch.used
    if not is_whole_scope or source.need:
        scratch.spent += question.listed_cost * source.total
        if scratch.spent > question.budget:
            return TOO_DEAR
    if not is_whole_scope and not source.listed:
        choose_generator(table, question, source)
        generate(table, source, scratch, scratch.rows_size)
        if not source.listed:
            raise_damaged()
    for kind in range(KINDS):
        if not (question.census >> kind) & 1:
            continue
        if not is_whole_scope:
            count_listed(shard, source, scratch, kind)
        elif not source.need:
            add_slot_sizes(shard, scratch, kind, 0, shard.run_count[kind])
        else:
            count_scope(table, source, scratch, kind)
    # Neither a page nor a list is wanted, so the rows of this shard make room for those of the next.
    if not question.limit and not question.census & LISTED and scratch.used > list_start:
        source.listed = 0
        scratch.used = list_start
    return 0


def add_slot_sizes(shard: ShardArrays, scratch: Scratch, kind: i64, first: i64, end: i64) -> i64:
    """Add the sizes of the slots [first, end) of a kind to their counts, because all rows of these slots match.

    Always returns 0.
    """
    ends = shard.run_ends[kind]
    first_slot: i64 = shard.first_count[kind]
    for slot in range(first, end):
        scratch.counts[first_slot + slot] += ends[slot + 1]
        scratch.counts[first_slot + slot] -= ends[slot]
    return 0


def count_scope(table: Table, source: ShardSearch, scratch: Scratch, kind: i64) -> i64:
    """Count all rows of the scope by slot of a kind, in `Scratch.counts`, because every row of the scope matches.

    Cells and activities have stored sizes; for other kinds each row is read. Always returns 0.
    """
    shard = table.shards[source.shard]
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if kind == BY_CELL:
            add_slot_sizes(shard, scratch, kind, part.first_cell, part.end_cell)
            continue
        if kind == NACE:
            add_slot_sizes(
                shard,
                scratch,
                kind,
                shard.pair_cells[part.first_cell],
                shard.pair_cells[part.end_cell],
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
    """Count the rows in the list of a source by slot of a kind, as `count_block`; always returns 0."""
    first: i64 = source.list_first
    end: i64 = first + source.list_count
    while first < end:
        count: i64 = BLOCK if first + BLOCK < end else end - first
        load_block(shard, scratch, scratch.rows, first, count)
        count_block(shard, scratch, kind, count)
        first += count
    return 0


def count_block(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the `count` rows of the block by slot of a kind, in `Scratch.counts`; always returns 0.

    The slots of a kind are the codes of a column, the bands of an order, or the cells (`types.BY_CELL`).
    """
    if kind in (BY_CELL, NACE):
        return count_by_cell(shard, scratch, kind, count)
    if kind >= COLUMNS:
        return count_by_place(shard, scratch, kind, count)
    block = scratch.block
    counts = scratch.counts
    first_slot: i64 = shard.first_count[kind]
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
            counts[first_slot + slot] += 1
    elif shard.code_width[kind] == 2:
        half = shard.half[kind]
        for i in range(count):
            slot = half[block[i]]
            if slot >= slots:
                raise_damaged()
            counts[first_slot + slot] += 1
    else:
        for i in range(count):
            slot = shard.broad[kind][block[i]]
            if slot >= slots:
                raise_damaged()
            counts[first_slot + slot] += 1
    return 0


def count_by_cell(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block by cell (`kind` BY_CELL), or by cell and activity (`kind` NACE), in `Scratch.counts`.

    Always returns 0.
    """
    block = scratch.block
    counts = scratch.counts
    first_slot: i64 = shard.first_count[kind]
    width: i64 = shard.code_width[NACE] if kind == NACE else 0
    slot: i64 = 0
    slots: i64 = 0
    first: i64 = 0
    stop: i64 = 0
    # The rows [first, stop) are in the same cell as the last row; the slots of this cell are [slot, slots).
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
        counts[first_slot + slot + code] += 1
    return 0
