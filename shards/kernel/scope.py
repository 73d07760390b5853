"""All rows that a search finds, as a bit a row, and how many of them each slot of a census has.

The conditions on neighbouring rows make a byte a row (`codes.py`), of which eight become eight bits at once; what `q`
finds is joined to them 32 rows at a time. So nothing is listed that is found side by side. All kinds of slots are
counted in one pass over the rows that are marked or, where these are more than half of a shard, over those that are
not: what is left of the slots, whose sizes are known, is the answer.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.allowed_rows import clear_codes, enter_cell
    from shards.kernel.coded_rows import mask_rows
    from shards.kernel.conditions import (
        count_block,
        count_matches,
        reset,
        set_cells,
        take_census,
    )
    from shards.kernel.find import raise_damaged
    from shards.kernel.generate import choose, generate
    from shards.kernel.market import count_bands
    from shards.kernel.row_sets import clear_marks, popcount
    from shards.kernel.types import *


def mark_all(
    table: Table, question: KernelQuery, scratch: Scratch, market: MarketArrays, needed: i64
) -> i64:
    """Count the matches by the kinds of the question, and mark them; returns their number.

    Where they are not `needed`, those of a shard are only marked if that counts them faster. `market.chosen` is how
    many rows of each shard are marked.
    """
    total: i64 = 0
    source: ShardSearch = scratch.sources[0]
    scratch.spent = 0.0
    scratch.result[0] = 0
    for i in range(question.shard_count):
        scratch.used = 0
        reset(source, question.shards[i])
        count_matches(table, question, source, scratch, 0, scratch.rows_size)
        shard = table.shards[source.shard]
        dense: i64 = source.need & ~SCOPE and source.total * COMMON > shard.rows
        if source.total and (needed or dense):
            total += mark_source(table, question, source, scratch, market)
            count_kinds(table, question, source, scratch, market)
        elif source.total:
            total += source.total
            take_census(table, question, source, scratch)
        if source.scoped:
            set_cells(table, source, scratch, 0)
        if source.tables:
            clear_codes(shard, source, scratch)
        if source.name_count:
            clear_marks(shard, source, scratch)
    scratch.used = 0
    return total


# -- marks -----------------------------------------------------------------------------------


def mark_source(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, market: MarketArrays
) -> i64:
    """Mark the matches of a shard; returns their number."""
    total: i64 = 0
    if not source.listed:
        choose(table, question, source)
        if source.generator == SPANS and not source.need & TURNOVER:
            total = mark_spans(table, source, scratch, market)
            market.chosen[source.shard] = total
            return total
        generate(table, question, source, scratch, scratch.rows_size)
        if not source.listed:
            raise_damaged()
    bits = market.bits
    rows = scratch.rows
    shard = table.shards[source.shard]
    base: i64 = shard.first_mark
    one: u32 = 1
    for i in range(source.list_first, source.list_first + source.list_count):
        row: i64 = rows[i]
        if row >= shard.rows:
            raise_damaged()
        bits[base + (row >> 5)] |= one << (row & 31)
    market.chosen[source.shard] = source.list_count
    return source.list_count


def mark_spans(table: Table, source: ShardSearch, scratch: Scratch, market: MarketArrays) -> i64:
    """Mark the matches in the parts of a scope, or in the whole shard."""
    shard = table.shards[source.shard]
    total: i64 = 0
    if not source.need & SCOPE:
        if (source.columns >> NACE) & 1:
            enter_cell(shard, source, scratch, 0)
        return mark_span(shard, source, scratch, market, 0, shard.rows)
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if (source.columns >> NACE) & 1:
            enter_cell(shard, source, scratch, part.first)
        total += mark_span(shard, source, scratch, market, part.start, part.stop)
    return total


def mark_span(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    market: MarketArrays,
    first: i64,
    stop: i64,
) -> i64:
    """Mark those of the rows [first, stop) that match."""
    left: i64 = source.need & (FACTS | NAME | CODES)
    one: i64 = 1
    total: i64 = 0
    within: i64 = ~((one << (first & 31)) - 1)  # what of the first 32 rows is asked for
    first &= ~31
    while first < stop:
        end: i64 = first + MASKED if first + MASKED < stop else stop
        mask_rows(shard, source, scratch, left, first, end)
        for i in range((end - first + 31) >> 5):
            held: i64 = pack_words(scratch, 4 * i, (end - first + 7) >> 3) & within
            within = -1
            if held:
                total += put(shard, source, scratch, market, (first >> 5) + i, held)
        first = end
    return total


def pack_words(scratch: Scratch, first: i64, end: i64) -> i64:
    """Four words of the mask, from `first` on and before `end`, as a bit a byte."""
    held: i64 = 0
    joined: u64 = 0x01020408
    joined = (joined << 32) | 0x10204080
    for i in range(4):
        if first + i < end:
            word: u64 = scratch.mask_words[first + i]
            # Brings the lowest bits of the eight bytes side by side, to the upper end.
            bits: i64 = ((word * joined) >> 56) & 0xFF
            held |= bits << (8 * i)
    return held


def put(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    market: MarketArrays,
    word: i64,
    held: i64,
) -> i64:
    """Mark those of 32 rows that `q`, too, finds; returns their number."""
    if source.need & NAME:
        named: i64 = 0
        if source.name_count:
            named = scratch.marks[shard.first_mark + word]
        if source.bits:
            named |= shard.sets[source.bits + word]
        if source.more_bits:
            named |= shard.sets[source.more_bits + word]
        held &= named
    market.bits[shard.first_mark + word] |= held
    return popcount(held)


# -- counts ----------------------------------------------------------------------------------


def count_kinds(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, market: MarketArrays
) -> i64:
    """Add the marked rows of a shard to the slots of each kind that the question asks for."""
    shard = table.shards[source.shard]
    total: i64 = market.chosen[source.shard]
    others: i64 = shard.rows - total < total
    least: i64 = shard.rows - total if others else total
    kinds: i64 = 0  # what is counted row by row
    for kind in range(KINDS):
        if not (question.census >> kind) & 1:
            continue
        if kind == BY_CELL:
            count_cells(shard, scratch, market)
        elif COLUMNS <= kind < BY_CELL and RANKED * least > shard.order_size[kind - COLUMNS]:
            count_bands(shard, market, kind, total)
        else:
            kinds |= 1 << kind
    if not kinds:
        return 0
    count_rows(shard, scratch, market, kinds, others, 32 * least > FEW * shard.rows)
    if others:
        for kind in range(KINDS):
            if (kinds >> kind) & 1:
                leave_others(shard, scratch, kind)
    return 0


def count_cells(shard: ShardArrays, scratch: Scratch, market: MarketArrays) -> i64:
    """Count the marked rows of each cell, which are neighbours."""
    base: i64 = shard.first_count[BY_CELL]
    first: i64 = 0
    for cell in range(shard.cell_count):
        end: i64 = shard.run_ends[BY_CELL][cell + 1]
        scratch.counts[base + cell] += marked_within(shard, market, first, end)
        first = end
    return 0


def marked_within(shard: ShardArrays, market: MarketArrays, first: i64, end: i64) -> i64:
    """How many of the rows [first, end) are marked."""
    bits = market.bits
    base: i64 = shard.first_mark
    one: i64 = 1
    total: i64 = 0
    word: i64 = first >> 5
    last: i64 = (end - 1) >> 5
    if first >= end:
        return 0
    held: i64 = bits[base + word]
    held &= ~((one << (first & 31)) - 1)
    while word < last:
        total += popcount(held)
        word += 1
        held = bits[base + word]
    held &= (one << (((end - 1) & 31) + 1)) - 1
    return total + popcount(held)


def count_rows(
    shard: ShardArrays,
    scratch: Scratch,
    market: MarketArrays,
    kinds: i64,
    others: i64,
    many: i64,
) -> i64:
    """Count the marked rows by each of these kinds, or all `others`, `many` or few: a block of them at a time."""
    bits = market.bits
    block = scratch.block
    base: i64 = shard.first_mark
    full: i64 = 0xFFFFFFFF
    count: i64 = 0
    for word in range((shard.rows + 31) >> 5):
        held: i64 = bits[base + word]
        row: i64 = word << 5
        if others:
            held ^= full
            if shard.rows - row < 32:
                held &= full >> (32 - (shard.rows - row))
        if held == full:
            for i in range(32):
                block[count + i] = row + i
            count += 32
        elif many:
            for i in range(32):
                block[count] = row + i
                count += (held >> i) & 1
        else:
            while held:
                block[count] = row + lowest_bit(held)
                count += 1
                held &= held - 1
        if count > BLOCK - 32:
            count_each(shard, scratch, kinds, count)
            count = 0
    count_each(shard, scratch, kinds, count)
    return 0


def count_each(shard: ShardArrays, scratch: Scratch, kinds: i64, count: i64) -> i64:
    """Count the rows of the block by each of these kinds."""
    for kind in range(KINDS):
        if (kinds >> kind) & 1:
            count_block(shard, scratch, kind, count)
    return 0


def leave_others(shard: ShardArrays, scratch: Scratch, kind: i64) -> i64:
    """Make the counts of a shard those of the rows that were not counted."""
    ends = shard.run_ends[kind]
    base: i64 = shard.first_count[kind]
    for slot in range(shard.run_count[kind]):
        size: i64 = ends[slot + 1]
        size -= ends[slot]
        scratch.counts[base + slot] = size - scratch.counts[base + slot]
    return 0


def run(
    table: Address,
    question: Address,
    scratch: Address,
    market: Address,
    needed: bool,
    text: bytes,
    endings: bytes,
    prefix: bytes,
    values: bytes,
) -> int:
    """`mark_all` for Python, as `search.run`; frees its lock.

    The budget of the question must be infinite, and `market.counts` be the counts of the working memory.

    Raises:
        CorruptError: a shard refers to what it does not have; the working memory is spoilt.
    """
    generation: Table = cython.cast(Table, table)
    asked: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    kept: MarketArrays = cython.cast(MarketArrays, market)
    all_marked: i64 = needed
    total: i64 = 0
    asked.text = text
    asked.endings = endings
    asked.prefix = prefix
    asked.values = values
    with cython.nogil:
        total = mark_all(generation, asked, memory, kept, all_marked)
    return total  # noqa: RET504 (with the lock, into a Python number)
