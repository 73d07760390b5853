"""The codes that the conditions of a question allow in a shard, and in a cell.

A condition is a range of codes or, where it is several, a range and a table of the codes within it that are allowed.
The codes of an activity are numbered within a cell (FORMAT.md §7), so its condition is another one in each cell.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, date_place, lower_bound
    from shards.kernel.types import *


def text_place(
    data: u8s, size: i64, starts: u32s, count: i64, text: u8s, start: i64, length: i64, after: i64
) -> i64:
    """The first text of a list that is not before this one, or that does not begin with it if `after`."""
    first: i64 = 0
    end: i64 = count
    while first < end:
        middle: i64 = (first + end) >> 1
        order: i64 = compare(data, size, starts[middle], text, start, length)
        if order < 0 or (after and order == 0):
            first = middle + 1
        else:
            end = middle
    return first


def allow(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, end: i64
) -> i64:
    """Add the codes [first, end) to those that a column may have."""
    if first >= end:
        return 0
    low: i64 = source.code_low[column]
    high: i64 = source.code_high[column]
    table: i64 = shard.first_code[column]
    if low >= high:
        source.code_low[column] = first
        source.code_high[column] = end
        return 0
    if source.code_table[column] < 0:
        if first <= high and end >= low:
            source.code_low[column] = first if first < low else low
            source.code_high[column] = end if end > high else high
            return 0
        source.code_table[column] = table
        source.tables |= 1 << column
        for code in range(low, high):
            scratch.allowed[table + code] = 1
    for code in range(first, end):
        scratch.allowed[table + code] = 1
    source.code_low[column] = first if first < low else low
    source.code_high[column] = end if end > high else high
    return 0


def clear_codes(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """Make the tables of allowed codes zero again."""
    for column in range(COLUMNS):
        if not (source.tables >> column) & 1:
            continue
        first: i64 = shard.first_code[column]
        count: i64 = shard.pair_count if column == NACE else shard.code_count[column]
        for code in range(count):
            scratch.allowed[first + code] = 0
    return 0


def allowed_rows(shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64) -> i64:
    """How many rows have a code that a column may have; of total assets about how many."""
    low: i64 = source.code_low[column]
    high: i64 = source.code_high[column]
    total: i64 = 0
    if column == CREATION:
        return high - low
    if column == ACTIF:
        size: i64 = shard.quantile_count
        if size < 2:
            return shard.assets
        first: i64 = lower_bound(shard.quantiles, 0, size, low)
        return shard.assets * (lower_bound(shard.quantiles, first, size, high) - first + 1) // size
    ends = shard.code_ends[column]
    if source.code_table[column] < 0:
        total = ends[high]
        return total - ends[low]
    for code in range(low, high):
        if scratch.allowed[source.code_table[column] + code]:
            total += ends[code + 1]
            total -= ends[code]
    return total


def set_codes(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Set the conditions on codes, but for activities; 0 if no row can meet them."""
    asked: i64 = question.columns & ~(1 << NACE)
    for i in range(COLUMNS):
        source.code_low[i] = 0
        source.code_high[i] = 0
        source.code_table[i] = -1
    if not asked:
        return 1
    source.columns = asked
    for state in range(STATES):
        if (asked >> ETAT) & 1 and (question.states >> state) & 1:
            allow(shard, source, scratch, ETAT, state, state + 1)
    if (asked >> COMPTES) & 1:
        source.code_low[COMPTES] = STATES
        source.code_high[COMPTES] = 2 * STATES
    if (asked >> ACTIF) & 1:
        source.code_low[ACTIF] = question.assets_low[source.shard]
        source.code_high[ACTIF] = question.assets_high[source.shard]
    if (asked >> CREATION) & 1:
        source.code_low[CREATION] = date_place(shard, question.least_keys[CREATION], 0)
        source.code_high[CREATION] = date_place(shard, question.greatest_keys[CREATION], 1)
    for i in range(question.value_count):
        column: i64 = question.value_columns[i]
        if column == NACE:
            continue
        first: i64 = find_value(shard, question, i, column, 0)
        end: i64 = find_value(shard, question, i, column, 1)
        allow(shard, source, scratch, column, 1 + first, 1 + end)
    source.code_share = 1.0
    rows: f64 = shard.rows
    for column in range(COLUMNS):
        if not (asked >> column) & 1:
            continue
        if source.code_low[column] >= source.code_high[column]:
            return 0
        held: f64 = allowed_rows(shard, source, scratch, column)
        source.code_share *= held / rows
    return 1


def find_value(
    shard: ShardArrays, question: KernelQuery, value: i64, column: i64, after: i64
) -> i64:
    """The place of a text of the question among those of a column: its first one, or its end if `after`."""
    start: i64 = question.value_starts[value]
    return text_place(
        shard.code_texts[column], shard.code_sizes[column], shard.code_starts[column],
        shard.code_count[column] - 1, question.values, start,
        question.value_starts[value + 1] - start, after,
    )  # fmt: skip


def narrow_scope(
    table: Table, shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Make the scope the cells that have an activity of the question; returns 0 if none has.

    Sets the condition on activities, too, where a cell has others; `source.activities` is the number
    of rows that meet both.
    """
    base: i64 = shard.first_code[NACE]
    source.tables |= 1 << NACE
    for i in range(question.value_count):
        if question.value_columns[i] != NACE:
            continue
        first: i64 = 1 + find_value(shard, question, i, NACE, 0)
        end: i64 = 1 + find_value(shard, question, i, NACE, 1)
        for pair in range(shard.pair_count):
            if first <= shard.pair_codes[pair] < end:
                scratch.allowed[base + pair] = 1
    spans: i64 = source.part_count if source.need & SCOPE else 1
    before: i64 = source.part_first
    chosen: i64 = before + source.part_count
    source.part_first = chosen
    source.size = 0
    source.with_ca = 0
    source.sites = 0
    source.activities = 0
    whole: i64 = 1
    for i in range(spans):
        start: i64 = 0
        stop: i64 = shard.cell_count
        if source.need & SCOPE:
            part = table.parts[scratch.selected[before + i]]
            start = part.first
            stop = part.end
        for cell in range(start, stop):
            held: i64 = rows_within(shard, scratch, cell)
            if not held:
                continue
            part = table.parts[shard.first_part + cell]
            scratch.selected[chosen] = shard.first_part + cell
            chosen += 1
            source.activities += held
            source.size += part.stop - part.start
            source.with_ca += part.with_ca
            source.sites += part.sites
            if held != part.stop - part.start:
                whole = 0
    source.need |= SCOPE
    source.part_count = chosen - source.part_first
    source.cell_count = source.part_count
    if not whole:
        source.columns |= 1 << NACE
        source.code_share *= 1.0 * source.activities / source.size
    return source.part_count


def rows_within(shard: ShardArrays, scratch: Scratch, cell: i64) -> i64:
    """How many rows of a cell have an allowed activity."""
    base: i64 = shard.first_code[NACE]
    total: i64 = 0
    for pair in range(shard.pair_cells[cell], shard.pair_cells[cell + 1]):
        if scratch.allowed[base + pair]:
            total += shard.pair_ends[pair + 1]
            total -= shard.pair_ends[pair]
    return total


def enter_cell(shard: ShardArrays, source: ShardSearch, scratch: Scratch, cell: i64) -> i64:
    """Set the condition on activities to that of a cell."""
    first: i64 = shard.pair_cells[cell]
    end: i64 = shard.pair_cells[cell + 1]
    table: i64 = shard.first_code[NACE] + first
    low: i64 = 0
    high: i64 = end - first
    while low < high and not scratch.allowed[table + low]:
        low += 1
    while high > low and not scratch.allowed[table + high - 1]:
        high -= 1
    source.code_low[NACE] = low
    source.code_high[NACE] = high
    source.code_table[NACE] = -1
    for code in range(low, high):
        if not scratch.allowed[table + code]:
            source.code_table[NACE] = table
    return 0
