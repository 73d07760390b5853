"""Conditions on columns of codes: the codes that a query allows in a shard and in a cell, and rows with these codes.

A condition is a range of codes. If it consists of several ranges, a table marks the allowed codes within the range from
the first to the last. Codes of activities are numbered within a cell (FORMAT.md §7), so each cell has its own condition
on activities.

Adjacent rows are tested with a mask of one byte per row, which each condition narrows; compiled code tests many
rows in one instruction. The offset of a code from the lower bound is a number without a sign, so a code below the bound
has a great offset, and one comparison tests both bounds. Other rows are tested one by one.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import cell_of, compare, date_place, lower_bound
    from shards.kernel.types import *


# -- the codes that a query allows: found by text, marked, counted; for a shard and for a cell ---


def text_place(
    data: u8s, size: i64, starts: u32s, count: i64, text: u8s, start: i64, length: i64, after: i64
) -> i64:
    """The number of texts in a sorted list that sort before text[start:][:length].

    If `after` is 1, the texts that begin with this text are counted, too.
    """
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


def allow_codes(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, end: i64
) -> i64:
    """Add the codes [first, end) to the allowed codes of a column.

    The range of the column is extended. If a code within the new range is not allowed, a table marks the allowed codes.
    Always returns 0.
    """
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
        if first <= high and end >= low:  # the ranges touch, so one range is enough
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


def clear_allowed_codes(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """Reset the tables of allowed codes to zero. Always returns 0."""
    for column in range(COLUMNS):
        if not (source.tables >> column) & 1:
            continue
        first: i64 = shard.first_code[column]
        count: i64 = shard.pair_count if column == NACE else shard.code_count[column]
        for code in range(count):
            scratch.allowed[first + code] = 0
    return 0


def count_allowed_rows(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64
) -> i64:
    """The number of rows with an allowed code in a column, for estimates of cost and for totals.

    For total assets (ACTIF), the number is an estimate.
    """
    low: i64 = source.code_low[column]
    high: i64 = source.code_high[column]
    total: i64 = 0
    # The codes of CREATION are places in `recent`, one row each.
    if column == CREATION:
        return high - low
    # An estimate: one quantile more, because a range between two quantiles also has rows.
    if column == ACTIF:
        size: i64 = shard.quantile_count
        if size < 2:
            return shard.assets
        first: i64 = lower_bound(shard.quantiles, 0, size, low)
        return shard.assets * (lower_bound(shard.quantiles, first, size, high) - first + 1) // size
    # The ends are unsigned, so differences are computed in `total`, which has a sign.
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
    """Set the conditions on codes, except activities; returns 0 if no row can meet the conditions, else 1.

    Each column gets its range of allowed codes, with a table if codes between are not allowed. `code_share` becomes the
    estimated share of rows that meet all these conditions.
    """
    conditions: i64 = question.columns & ~(1 << NACE)
    for i in range(COLUMNS):
        source.code_low[i] = 0
        source.code_high[i] = 0
        source.code_table[i] = -1
    if not conditions:
        return 1
    source.columns = conditions
    for state in range(STATES):
        if (conditions >> ETAT) & 1 and (question.states >> state) & 1:
            allow_codes(shard, source, scratch, ETAT, state, state + 1)
    if (conditions >> COMPTES) & 1:  # with statements, STATES is added to the code of the state
        source.code_low[COMPTES] = STATES
        source.code_high[COMPTES] = 2 * STATES
    if (conditions >> ACTIF) & 1:
        source.code_low[ACTIF] = question.assets_low[source.shard]
        source.code_high[ACTIF] = question.assets_high[source.shard]
    if (conditions >> CREATION) & 1:
        source.code_low[CREATION] = date_place(shard, question.least_keys[CREATION], 0)
        source.code_high[CREATION] = date_place(shard, question.greatest_keys[CREATION], 1)
    for i in range(question.value_count):
        column: i64 = question.value_columns[i]
        if column == NACE:
            continue
        first: i64 = find_value(shard, question, i, column, 0)
        end: i64 = find_value(shard, question, i, column, 1)
        # Code 0 is null, so the text at place i has code i + 1.
        allow_codes(shard, source, scratch, column, 1 + first, 1 + end)
    source.code_share = 1.0
    rows: f64 = shard.rows
    for column in range(COLUMNS):
        if not (conditions >> column) & 1:
            continue
        if source.code_low[column] >= source.code_high[column]:
            return 0
        allowed: f64 = count_allowed_rows(shard, source, scratch, column)
        source.code_share *= allowed / rows
    return 1


def find_value(
    shard: ShardArrays, question: KernelQuery, value: i64, column: i64, after: i64
) -> i64:
    """The place of text `value` of the query in the texts of a column: its first match, or if `after`, the end."""
    start: i64 = question.value_starts[value]
    return text_place(
        shard.code_texts[column], shard.code_sizes[column], shard.code_starts[column],
        shard.code_count[column] - 1, question.values, start,
        question.value_starts[value + 1] - start, after,
    )  # fmt: skip


def narrow_scope(
    table: Table, shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Narrow the scope to the cells with an activity of the query; returns the number of these cells.

    If a cell of the new scope has other activities, too, the condition on activities remains. `source.activities`
    becomes the number of rows with an activity of the query.
    """
    # Mark each pair of a cell and an activity of the query.
    table_start: i64 = shard.first_code[NACE]
    source.tables |= 1 << NACE
    for i in range(question.value_count):
        if question.value_columns[i] != NACE:
            continue
        first: i64 = 1 + find_value(shard, question, i, NACE, 0)
        end: i64 = 1 + find_value(shard, question, i, NACE, 1)
        for pair in range(shard.pair_count):
            if first <= shard.pair_codes[pair] < end:
                scratch.allowed[table_start + pair] = 1
    # The cells of the new scope are written to `scratch.selected` after the parts of the old scope.
    span_count: i64 = source.part_count if source.need & SCOPE else 1
    old_first: i64 = source.part_first
    next_selected: i64 = old_first + source.part_count
    source.part_first = next_selected
    source.size = 0
    source.with_ca = 0
    source.sites = 0
    source.activities = 0
    is_exact: i64 = 1  # until a cell has a row without an activity of the query
    for i in range(span_count):
        start: i64 = 0
        stop: i64 = shard.cell_count
        if source.need & SCOPE:
            part = table.parts[scratch.selected[old_first + i]]
            start = part.first_cell
            stop = part.end_cell
        for cell in range(start, stop):
            row_count: i64 = rows_with_activity(shard, scratch, cell)
            if not row_count:
                continue
            part = table.parts[shard.first_part + cell]
            scratch.selected[next_selected] = shard.first_part + cell
            next_selected += 1
            source.activities += row_count
            source.size += part.stop - part.start
            source.with_ca += part.with_ca
            source.sites += part.sites
            if row_count != part.stop - part.start:
                is_exact = 0
    source.need |= SCOPE
    source.part_count = next_selected - source.part_first
    source.cell_count = source.part_count
    if not is_exact:
        source.columns |= 1 << NACE
        source.code_share *= 1.0 * source.activities / source.size
    return source.part_count


def rows_with_activity(shard: ShardArrays, scratch: Scratch, cell: i64) -> i64:
    """The number of rows of a cell with an allowed activity."""
    table_start: i64 = shard.first_code[NACE]
    total: i64 = 0
    for pair in range(shard.pair_cells[cell], shard.pair_cells[cell + 1]):
        if scratch.allowed[table_start + pair]:
            total += shard.pair_ends[pair + 1]
            total -= shard.pair_ends[pair]
    return total


def set_cell_activities(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, cell: i64
) -> i64:
    """Set the range and the table of allowed activities for one cell, whose activities have their own codes.

    Always returns 0.
    """
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
    # The table is used only if an activity within the range is not allowed.
    source.code_table[NACE] = -1
    for code in range(low, high):
        if not scratch.allowed[table + code]:
            source.code_table[NACE] = table
    return 0


# -- adjacent rows ---------------------------------------------------------------------------


def mask_rows(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, to_test: i64, first: i64, end: i64
) -> i64:
    """Set one byte of the mask for each of the rows [first, end), at most MASKED: 1 if the row meets the conditions.

    The codes are tested, and also the facts if `to_test` has the bit FACTS. Returns the number of bytes that are 1.
    """
    mask = scratch.mask
    count: i64 = end - first
    words = scratch.mask_words
    # At first every row passes; the bytes after the last row are 0.
    for i in range(count >> 3):
        words[i] = ALL_MET
    for i in range(count & ~7, (count + 7) & ~7):
        mask[i] = i < count
    if to_test & FACTS:
        mask_facts(shard, source, scratch, first, count)
    for column in range(COLUMNS):
        if not (source.columns >> column) & 1:
            continue
        if source.code_table[column] >= 0 and column == ETAT:
            mask_states(shard, source, scratch, first, count)
        elif source.code_table[column] >= 0:
            mask_by_table(shard, source, scratch, column, first, count)
        elif shard.code_width[column] == 1:
            mask_8_bit_codes(shard, source, scratch, column, first, count)
        elif shard.code_width[column] == 2:
            mask_16_bit_codes(shard, source, scratch, column, first, count)
        else:
            mask_32_bit_codes(shard, source, scratch, column, first, count)
    return count_mask(scratch, count)


def count_mask(scratch: Scratch, count: i64) -> i64:
    """The number of rows, of the first `count` of the mask, that meet the conditions; eight bytes are added at once."""
    words = scratch.mask_words
    sums: u64 = 0  # eight sums of one byte each, at most 128
    for i in range((count + 7) >> 3):
        sums += words[i]
    total: i64 = 0
    for i in range(8):
        total += (sums >> (8 * i)) & 0xFF
    return total


def mask_facts(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, count: i64
) -> i64:
    """Narrow the mask (one byte per row) to the rows that meet the conditions on headcount and website.

    Byte i of the mask is for row `first` + i. Always returns 0.
    """
    mask = scratch.mask
    if shard.wide:
        wide = shard.wide_facts
        for i in range(count):
            fact: i64 = wide[first + i] & source.fact_mask
            mask[i] &= (fact >= source.fact_low) & (fact < source.fact_high)
        return 0
    facts = shard.facts
    bits: u16 = source.fact_mask
    low: u16 = source.fact_low
    greatest_offset: u16 = source.fact_high - source.fact_low - 1
    for i in range(count):
        offset: u16 = (
            (facts[first + i] & bits) - low
        ) & 0xFFFF  # values below `low` become great offsets
        mask[i] &= offset <= greatest_offset
    return 0


def mask_8_bit_codes(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 8 bits. Always returns 0."""
    mask = scratch.mask
    codes = shard.small[column]
    bits: u8 = 0xFF
    if column == ETAT:  # without the bit for statements
        bits = STATES - 1
    low: u8 = source.code_low[column]
    greatest_offset: u8 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        offset: u8 = (
            (codes[first + i] & bits) - low
        ) & 0xFF  # codes below `low` become great offsets
        mask[i] &= offset <= greatest_offset
    return 0


def mask_16_bit_codes(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 16 bits. Always returns 0."""
    mask = scratch.mask
    codes = shard.half[column]
    low: u16 = source.code_low[column]
    greatest_offset: u16 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        offset: u16 = (codes[first + i] - low) & 0xFFFF  # codes below `low` become great offsets
        mask[i] &= offset <= greatest_offset
    return 0


def mask_32_bit_codes(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask by a range of codes of 32 bits. Always returns 0."""
    mask = scratch.mask
    codes = shard.broad[column]
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    full: u32 = (wide_one << 32) - 1
    low: u32 = source.code_low[column]
    greatest_offset: u32 = source.code_high[column] - source.code_low[column] - 1
    for i in range(count):
        offset: u32 = (codes[first + i] - low) & full  # codes below `low` become great offsets
        mask[i] &= offset <= greatest_offset
    return 0


def mask_states(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, count: i64
) -> i64:
    """Narrow the mask to the rows with one of the allowed states (`query.STATES`).

    Four comparisons replace a look-up in the table for each row, so that compiled code tests many rows in one
    instruction. Always returns 0.
    """
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


def mask_by_table(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, first: i64, count: i64
) -> i64:
    """Narrow the mask to the rows whose codes a table marks as allowed. Always returns 0."""
    mask = scratch.mask
    for i in range(count):
        if mask[i]:
            mask[i] = is_code_allowed(shard, source, scratch, column, first + i)
    return 0


def list_masked_rows(scratch: Scratch, first: i64, count: i64) -> i64:
    """Write to the block the rows of the mask whose byte is 1; the mask has `count` rows from `first` on.

    Returns the number of written rows.
    """
    block = scratch.block
    mask = scratch.mask
    written: i64 = 0
    for i in range(count):  # a row that does not pass is overwritten by the next row
        block[written] = first + i
        written += mask[i]
    return written


# -- rows by number ----------------------------------------------------------------------------


def code_at(shard: ShardArrays, column: i64, row: i64) -> i64:
    """The code of a row in a column; for `etat` without the bit for statements."""
    if shard.code_width[column] == 1:
        code: i64 = shard.small[column][row]
        return code & (STATES - 1) if column == ETAT else code
    if shard.code_width[column] == 2:
        return shard.half[column][row]
    return shard.broad[column][row]


def is_code_allowed(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, column: i64, row: i64
) -> i64:
    """1 if the code of a row in a column is allowed by the query, else 0."""
    code: i64 = code_at(shard, column, row)
    if code < source.code_low[column] or code >= source.code_high[column]:
        return 0
    if source.code_table[column] < 0:
        return 1
    is_allowed: i64 = scratch.allowed[source.code_table[column] + code]
    return is_allowed


def keep_codes(shard: ShardArrays, source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Keep the rows of the block, at most BLOCK, that meet the conditions on codes; returns their number.

    Each row is written to the next place; a row that does not pass is overwritten by the next row.
    """
    block = scratch.block
    kept_count: i64 = count
    for column in range(COLUMNS):
        if not (source.columns >> column) & 1:
            continue
        count = kept_count
        kept_count = 0
        if column == NACE:
            for i in range(count):
                row: i64 = block[i]
                cell: i64 = cell_of(shard, row)
                code: i64 = code_at(shard, NACE, row)
                pair: i64 = shard.pair_cells[cell] + code
                block[kept_count] = row
                if pair < shard.pair_cells[cell + 1]:
                    kept_count += scratch.allowed[shard.first_code[NACE] + pair]
        else:
            for i in range(count):
                row = block[i]
                block[kept_count] = row
                kept_count += is_code_allowed(shard, source, scratch, column, row)
    return kept_count
