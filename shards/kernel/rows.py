"""Tests of rows for the conditions of a query, and counts: in blocks, one condition at a time, without branches."""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import keep_codes
    from shards.kernel.find import cell_of, raise_damaged
    from shards.kernel.types import *


# -- adjacent rows -------------------------------------------------------------------------


def count_facts(
    shard: ShardArrays, source: ShardSearch, by_turnover: i64, first: i64, end: i64
) -> i64:
    """The number of rows in [first, end) that meet the conditions on headcount and website.

    If `by_turnover` is 1, `first` and `end` are places in `ca_desc`.
    """
    count: i64 = 0
    if shard.wide:
        wide = shard.wide_turnover_facts if by_turnover else shard.wide_facts
        for i in range(first, end):
            fact: i64 = wide[i] & source.fact_mask
            count += (fact >= source.fact_low) & (fact < source.fact_high)
        return count
    if source.fact_high <= source.fact_low:
        return 0
    facts = shard.turnover_facts if by_turnover else shard.facts
    mask: u16 = source.fact_mask
    low: u16 = source.fact_low
    greatest_offset: u16 = source.fact_high - source.fact_low - 1
    while first < end:
        stop: i64 = first + MOST_U16_ROWS if first + MOST_U16_ROWS < end else end
        block_count: u16 = 0
        for i in range(first, stop):
            offset: u16 = (
                (facts[i] & mask) - low
            ) & 0xFFFF  # values below `low` become great offsets
            block_count += offset <= greatest_offset
        count += block_count
        first = stop
    return count


def list_facts(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    by_turnover: i64,
    first: i64,
    end: i64,
) -> i64:
    """Write to the block the rows in [first, end) that meet the conditions on headcount and website.

    If `by_turnover` is 1, `first`, `end` and the written numbers are places in `ca_desc`. [first, end) has at most
    BLOCK rows. Returns the number of written rows. A row that does not pass is overwritten by the next row.
    """
    block = scratch.block
    mask: i64 = source.fact_mask
    low: i64 = source.fact_low
    high: i64 = source.fact_high
    count: i64 = 0
    if shard.wide:
        wide = shard.wide_turnover_facts if by_turnover else shard.wide_facts
        for i in range(first, end):
            fact: i64 = wide[i] & mask
            block[count] = i
            count += (fact >= low) & (fact < high)
        return count
    facts = shard.turnover_facts if by_turnover else shard.facts
    for i in range(first, end):
        fact = facts[i] & mask
        block[count] = i
        count += (fact >= low) & (fact < high)
    return count


def load_block(shard: ShardArrays, scratch: Scratch, numbers: u32s, first: i64, count: i64) -> i64:
    """Copy the rows numbers[first:][:count] to the block, and return `count`; raises if a row is outside the shard."""
    block = scratch.block
    greatest: i64 = 0
    for i in range(count):
        row: i64 = numbers[first + i]
        block[i] = row
        greatest = row if row > greatest else greatest
    if greatest >= shard.rows:
        raise_damaged()
    return count


def places_to_rows(
    shard: ShardArrays, scratch: Scratch, numbers: u32s, size: i64, count: i64
) -> i64:
    """Replace the `count` places in the block by the row numbers at these places of `numbers`, which has `size` rows.

    Returns `count`; raises if a place or a row does not exist.
    """
    block = scratch.block
    greatest: i64 = 0
    for i in range(count):
        place: i64 = block[i]
        if place >= size:
            raise_damaged()
        row: i64 = numbers[place]
        block[i] = row
        greatest = row if row > greatest else greatest
    if greatest >= shard.rows:
        raise_damaged()
    return count


# -- rows by number ------------------------------------------------------------------------


def keep_facts(shard: ShardArrays, source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Keep the rows of the block whose headcount and website meet the conditions; returns the number of kept rows.

    Each row is written to the next place; a row that does not pass is overwritten by the next row.
    """
    block = scratch.block
    kept_count: i64 = 0
    mask: i64 = source.fact_mask
    low: i64 = source.fact_low
    high: i64 = source.fact_high
    if shard.wide:
        for i in range(count):
            row: i64 = block[i]
            fact: i64 = shard.wide_facts[row] & mask
            block[kept_count] = row
            kept_count += (fact >= low) & (fact < high)
    else:
        facts = shard.facts
        for i in range(count):
            row = block[i]
            fact = facts[row] & mask
            block[kept_count] = row
            kept_count += (fact >= low) & (fact < high)
    return kept_count


def keep_name_matches(shard: ShardArrays, source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Keep the rows of the block that match `q`, by its sets of bits and its list; returns the number of kept rows.

    Each row is written to the next place; a row that does not match is overwritten by the next row.
    """
    block = scratch.block
    kept_count: i64 = 0
    matches: i64 = 0
    sets = shard.sets
    marks = scratch.marks
    bits: i64 = source.bits
    second_bits: i64 = source.more_bits
    first_mark: i64 = shard.first_mark
    listed: i64 = source.name_count
    for i in range(count):
        row: i64 = block[i]
        matches = 0
        if bits:
            matches = (sets[bits + (row >> 5)] >> (row & 31)) & 1
        if second_bits:
            matches |= (sets[second_bits + (row >> 5)] >> (row & 31)) & 1
        if listed:
            matches |= (marks[first_mark + (row >> 5)] >> (row & 31)) & 1
        block[kept_count] = row
        kept_count += matches
    return kept_count


def keep_matches(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, need: i64, count: i64
) -> i64:
    """Keep the rows of the block that meet the conditions `need`; returns the number of kept rows.

    The conditions are tested one after the other, each on the rows that passed the earlier conditions.
    """
    block = scratch.block
    kept_count: i64 = count
    if need & FACTS:
        kept_count = keep_facts(shard, source, scratch, kept_count)
    if need & NAME:
        kept_count = keep_name_matches(shard, source, scratch, kept_count)
    if need & TURNOVER:
        count = kept_count
        kept_count = 0
        rank = shard.rank[0]
        start: i64 = source.turnover_first
        end: i64 = source.turnover_end
        for i in range(count):
            row: i64 = block[i]
            place: i64 = rank[row]
            block[kept_count] = row
            kept_count += (place >= start) & (place < end)
    if need & SCOPE:
        count = kept_count
        kept_count = 0
        cells = scratch.cells
        first_cell: i64 = shard.first_cell
        for i in range(count):
            row = block[i]
            block[kept_count] = row
            kept_count += cells[first_cell + cell_of(shard, row)]
    if need & CODES:
        kept_count = keep_codes(shard, source, scratch, kept_count)
    return kept_count


def list_block(scratch: Scratch, count: i64, room: i64) -> i64:
    """Append the rows of the block to `scratch.rows` if all fit into `room`; returns the remaining room, or 0."""
    if room < count or scratch.used + count > scratch.rows_size:
        return 0
    rows = scratch.rows
    used: i64 = scratch.used
    block = scratch.block
    for i in range(count):
        rows[used + i] = block[i]
    scratch.used = used + count
    return room - count


# -- counts ----------------------------------------------------------------------------------


def count_few(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block by a column of few codes, in `Scratch.counts`; always returns 0.

    Row i is counted in table i % 4 of four tables after the block, so that equal codes of adjacent rows do not wait for
    the same counter.
    """
    block = scratch.block
    small = shard.small[kind]
    mask: i64 = STATES - 1 if kind == ETAT else -1  # of `etat`, without the bit for statements
    first_slot: i64 = shard.first_count[kind]
    slots: i64 = shard.run_count[kind]
    width: i64 = slots + 1  # the last slot counts codes that do not exist
    for i in range(4 * width):
        block[BLOCK + i] = 0
    table: i64 = BLOCK
    for i in range(count):
        slot: i64 = small[block[i]] & mask
        slot = slot if slot < slots else slots
        block[table + slot] += 1
        table = table + width if i & 3 != 3 else BLOCK
    for i in range(4):
        if block[BLOCK + i * width + slots]:
            raise_damaged()
        for slot in range(slots):
            scratch.counts[first_slot + slot] += block[BLOCK + i * width + slot]
    return 0


def count_by_place(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block by their places in an order; each slot is a range of places.

    `marks` has the slot of every 64th place, from which the slot of a place is searched upwards. Always returns 0.
    """
    block = scratch.block
    counts = scratch.counts
    first_slot: i64 = shard.first_count[kind]
    rank = shard.rank[kind - COLUMNS]
    ends = shard.run_ends[kind]
    marks = shard.run_marks[kind]
    for i in range(count):
        place: i64 = rank[block[i]]
        if place >= shard.rows:
            raise_damaged()
        slot: i64 = marks[place >> 6]
        while place >= ends[slot + 1]:
            slot += 1
        counts[first_slot + slot] += 1
    return 0
