"""Rows tested for the conditions of a question, and counted: by blocks, a stage a condition, no branch a row."""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import keep_codes
    from shards.kernel.find import cell_of, raise_damaged
    from shards.kernel.types import *


# -- neighbours ----------------------------------------------------------------------------


def count_facts(shard: ShardArrays, source: ShardSearch, sorted_: i64, first: i64, end: i64) -> i64:
    """How many of the rows [first, end) meet the facts; `sorted_`: of the places in `ca_desc`."""
    count: i64 = 0
    if shard.wide:
        wide = shard.wide_turnover_facts if sorted_ else shard.wide_facts
        for i in range(first, end):
            fact: i64 = wide[i] & source.fact_mask
            count += (fact >= source.fact_low) & (fact < source.fact_high)
        return count
    if source.fact_high <= source.fact_low:
        return 0
    facts = shard.turnover_facts if sorted_ else shard.facts
    mask: u16 = source.fact_mask
    low: u16 = source.fact_low
    most: u16 = source.fact_high - source.fact_low - 1
    while first < end:
        stop: i64 = first + HALVES if first + HALVES < end else end
        part: u16 = 0
        for i in range(first, stop):
            above: u16 = ((facts[i] & mask) - low) & 0xFFFF  # what is below `low` wraps around
            part += above <= most
        count += part
        first = stop
    return count


def list_facts(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, sorted_: i64, first: i64, end: i64
) -> i64:
    """Put those of [first, end), at most BLOCK, that meet the facts into the block; their number."""
    block = scratch.block
    mask: i64 = source.fact_mask
    low: i64 = source.fact_low
    high: i64 = source.fact_high
    count: i64 = 0
    if shard.wide:
        wide = shard.wide_turnover_facts if sorted_ else shard.wide_facts
        for i in range(first, end):
            fact: i64 = wide[i] & mask
            block[count] = i
            count += (fact >= low) & (fact < high)
        return count
    facts = shard.turnover_facts if sorted_ else shard.facts
    for i in range(first, end):
        fact = facts[i] & mask
        block[count] = i
        count += (fact >= low) & (fact < high)
    return count


def take(shard: ShardArrays, scratch: Scratch, numbers: u32s, first: i64, count: i64) -> i64:
    """Put `count` row numbers of an array into the block; none may be outside the shard."""
    block = scratch.block
    greatest: i64 = 0
    for i in range(count):
        row: i64 = numbers[first + i]
        block[i] = row
        greatest = row if row > greatest else greatest
    if greatest >= shard.rows:
        raise_damaged()
    return count


def replace(shard: ShardArrays, scratch: Scratch, numbers: u32s, size: i64, count: i64) -> i64:
    """Replace places in the block by the row numbers that stand at these places of an array."""
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
    """Keep the rows of the block whose headcount and website meet the conditions; returns their number."""
    block = scratch.block
    left: i64 = 0
    mask: i64 = source.fact_mask
    low: i64 = source.fact_low
    high: i64 = source.fact_high
    if shard.wide:
        for i in range(count):
            row: i64 = block[i]
            fact: i64 = shard.wide_facts[row] & mask
            block[left] = row
            left += (fact >= low) & (fact < high)
    else:
        facts = shard.facts
        for i in range(count):
            row = block[i]
            fact = facts[row] & mask
            block[left] = row
            left += (fact >= low) & (fact < high)
    return left


def keep_named(shard: ShardArrays, source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Keep the rows of the block that `q` names, by its sets and its marks; returns their number."""
    block = scratch.block
    left: i64 = 0
    kept: i64 = 0
    sets = shard.sets
    marks = scratch.marks
    bits: i64 = source.bits
    more: i64 = source.more_bits
    first: i64 = shard.first_mark
    listed: i64 = source.name_count
    for i in range(count):
        row: i64 = block[i]
        kept = 0
        if bits:
            kept = (sets[bits + (row >> 5)] >> (row & 31)) & 1
        if more:
            kept |= (sets[more + (row >> 5)] >> (row & 31)) & 1
        if listed:
            kept |= (marks[first + (row >> 5)] >> (row & 31)) & 1
        block[left] = row
        left += kept
    return left


def keep(shard: ShardArrays, source: ShardSearch, scratch: Scratch, need: i64, count: i64) -> i64:
    """Keep the rows of the block that meet the conditions `need`; returns how many are left."""
    block = scratch.block
    left: i64 = count
    if need & FACTS:
        left = keep_facts(shard, source, scratch, left)
    if need & NAME:
        left = keep_named(shard, source, scratch, left)
    if need & TURNOVER:
        count = left
        left = 0
        rank = shard.rank[0]
        start: i64 = source.turnover_first
        end: i64 = source.turnover_end
        for i in range(count):
            row: i64 = block[i]
            place: i64 = rank[row]
            block[left] = row
            left += (place >= start) & (place < end)
    if need & SCOPE:
        count = left
        left = 0
        cells = scratch.cells
        base: i64 = shard.first_cell
        for i in range(count):
            row = block[i]
            block[left] = row
            left += cells[base + cell_of(shard, row)]
    if need & CODES:
        left = keep_codes(shard, source, scratch, left)
    return left


def emit(scratch: Scratch, count: i64, room: i64) -> i64:
    """List the rows of the block while there is room; returns the room that is left."""
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
    """Count the rows of the block by a column of few codes.

    Four tables behind the block are filled in turn: where a code follows itself, a count waits for the one before.
    """
    block = scratch.block
    small = shard.small[kind]
    mask: i64 = STATES - 1 if kind == ETAT else -1
    base: i64 = shard.first_count[kind]
    slots: i64 = shard.run_count[kind]
    width: i64 = slots + 1  # the last one is that of codes that do not exist
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
            scratch.counts[base + slot] += block[BLOCK + i * width + slot]
    return 0


def count_by_place(shard: ShardArrays, scratch: Scratch, kind: i64, count: i64) -> i64:
    """Count the rows of the block by their places in an order, of which each slot is a range."""
    block = scratch.block
    counts = scratch.counts
    base: i64 = shard.first_count[kind]
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
        counts[base + slot] += 1
    return 0
