"""Conditions on columns of codes: the codes that a question allows in a shard and in a cell, and rows with these codes.

A condition is a range of codes or, where it is several, a range and a table of the codes within it that are allowed.
The codes of an activity are numbered within a cell (FORMAT.md §7), so its condition is another one in each cell.

Neighbouring rows are tested with a byte a row, which each condition narrows: the compiler tests many rows in one
instruction. Others are tested one by one.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import cell_of, compare, date_place, lower_bound
    from shards.kernel.types import *


# -- allowed codes ---------------------------------------------------------------------------


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


# -- neighbours ------------------------------------------------------------------------------


def mask_rows(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, left: i64, first: i64, end: i64
) -> i64:
    """Set a byte for each of the rows [first, end), at most MASKED: 1 where codes and facts are met.

    Facts are tested if `left` says so. Returns how many rows met all.
    """
    mask = scratch.mask
    count: i64 = end - first
    words = scratch.mask_words
    for i in range(count >> 3):
        words[i] = ALL_MET
    for i in range(count & ~7, (count + 7) & ~7):
        mask[i] = i < count
    if left & FACTS:
        mask_facts(shard, source, scratch, first, count)
    for column in range(COLUMNS):
        if not (source.columns >> column) & 1:
            continue
        if source.code_table[column] >= 0 and column == ETAT:
            mask_states(shard, source, scratch, first, count)
        elif source.code_table[column] >= 0:
            mask_table(shard, source, scratch, column, first, count)
        elif shard.code_width[column] == 1:
            mask_small(shard, source, scratch, column, first, count)
        elif shard.code_width[column] == 2:
            mask_half(shard, source, scratch, column, first, count)
        else:
            mask_wide(shard, source, scratch, column, first, count)
    return count_mask(scratch, count)


def count_mask(scratch: Scratch, count: i64) -> i64:
    """How many of the first bytes of the mask are 1: eight are added at once."""
    words = scratch.mask_words
    sums: u64 = 0  # of each of the eight bytes, at most 128
    for i in range((count + 7) >> 3):
        sums += words[i]
    total: i64 = 0
    for i in range(8):
        total += (sums >> (8 * i)) & 0xFF
    return total


def mask_facts(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, count: i64
) -> i64:
    """Narrow the mask to the rows that meet the facts."""
    mask = scratch.mask
    if shard.wide:
        wide = shard.wide_facts
        for i in range(count):
            fact: i64 = wide[first + i] & source.fact_mask
            mask[i] &= (fact >= source.fact_low) & (fact < source.fact_high)
        return 0
    facts = shard.facts
    kept: u16 = source.fact_mask
    low: u16 = source.fact_low
    most: u16 = source.fact_high - source.fact_low - 1
    for i in range(count):
        above: u16 = ((facts[first + i] & kept) - low) & 0xFFFF
        mask[i] &= above <= most
    return 0


def mask_small(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 8 bits."""
    mask = scratch.mask
    codes = shard.small[column]
    kept: u8 = 0xFF
    if column == ETAT:
        kept = STATES - 1
    low: u8 = source.code_low[column]
    most: u8 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        above: u8 = ((codes[first + i] & kept) - low) & 0xFF
        mask[i] &= above <= most
    return 0


def mask_half(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 16 bits."""
    mask = scratch.mask
    codes = shard.half[column]
    low: u16 = source.code_low[column]
    most: u16 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        above: u16 = (codes[first + i] - low) & 0xFFFF
        mask[i] &= above <= most
    return 0


def mask_wide(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 32 bits."""
    mask = scratch.mask
    codes = shard.broad[column]
    one: i64 = 1
    full: u32 = (one << 32) - 1
    low: u32 = source.code_low[column]
    most: u32 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        above: u32 = (codes[first + i] - low) & full
        mask[i] &= above <= most
    return 0


def mask_states(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, count: i64
) -> i64:
    """Narrow the mask by some of the four states, without a look into the table for each row."""
    mask = scratch.mask
    codes = shard.small[ETAT]
    table: i64 = source.code_table[ETAT]
    active: u8 = scratch.allowed[table]
    procedure: u8 = scratch.allowed[table + 1]
    closed: u8 = scratch.allowed[table + 2]
    unknown: u8 = scratch.allowed[table + 3]
    for i in range(count):
        code: u8 = codes[first + i] & (STATES - 1)
        mask[i] &= (
            ((code == 0) & active)
            | ((code == 1) & procedure)
            | ((code == 2) & closed)
            | ((code == 3) & unknown)
        )
    return 0


def mask_table(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a table of codes."""
    mask = scratch.mask
    for i in range(count):
        if mask[i]:
            mask[i] = passes(shard, source, scratch, column, first + i)
    return 0


def list_mask(scratch: Scratch, first: i64, count: i64) -> i64:
    """Put the rows whose byte is 1 into the block, of the `count` rows from `first` on; their number."""
    block = scratch.block
    mask = scratch.mask
    left: i64 = 0
    for i in range(count):
        block[left] = first + i
        left += mask[i]
    return left


# -- rows by number ----------------------------------------------------------------------------


def code_at(shard: ShardArrays, column: i64, row: i64) -> i64:
    """The code of a row."""
    if shard.code_width[column] == 1:
        code: i64 = shard.small[column][row]
        return code & (STATES - 1) if column == ETAT else code
    if shard.code_width[column] == 2:
        return shard.half[column][row]
    return shard.broad[column][row]


def passes(shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, row: i64) -> i64:
    """1 where the code of a row is allowed."""
    code: i64 = code_at(shard, column, row)
    if code < source.code_low[column] or code >= source.code_high[column]:
        return 0
    if source.code_table[column] < 0:
        return 1
    found: i64 = scratch.allowed[source.code_table[column] + code]
    return found


def keep_codes(shard: ShardArrays, source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Keep the rows of the block, at most BLOCK, that meet the conditions on codes; returns their number."""
    block = scratch.block
    left: i64 = count
    for column in range(COLUMNS):
        if not (source.columns >> column) & 1:
            continue
        count = left
        left = 0
        if column == NACE:
            for i in range(count):
                row: i64 = block[i]
                cell: i64 = cell_of(shard, row)
                code: i64 = code_at(shard, NACE, row)
                pair: i64 = shard.pair_cells[cell] + code
                block[left] = row
                if pair < shard.pair_cells[cell + 1]:
                    left += scratch.allowed[shard.first_code[NACE] + pair]
        else:
            for i in range(count):
                row = block[i]
                block[left] = row
                left += passes(shard, source, scratch, column, row)
    return left
