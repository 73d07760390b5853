"""Rows that are tested by their codes.

Neighbouring rows are tested with a byte a row, which each condition narrows: the compiler tests many rows in one
instruction. Others are tested one by one.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import cell_of
    from shards.kernel.types import *


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
