"""The figures of a market: all rows that a search found, as a bit a row, read along the orders of the shards.

An order has the rows of a band side by side, and turnovers in their order. So nothing is sorted: along an
order, the rows that are marked are counted, or their turnovers are written down.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import damaged
    from shards.kernel.types import *


def count_marked(
    shard: ShardArrays, market: MarketArrays, order: u32s, first: i64, end: i64
) -> i64:
    """How many of the rows order[first:end] are marked."""
    bits = market.bits
    base: i64 = shard.first_mark
    rows: i64 = shard.rows
    total: i64 = 0
    outside: i64 = 0
    for i in range(first, end):
        row: i64 = order[i]
        outside |= row >= rows
        row = row if row < rows else 0
        total += (bits[base + (row >> 5)] >> (row & 31)) & 1
    if outside:
        damaged()
    return total


def count_bands(shard: ShardArrays, market: MarketArrays, kind: i64, marked: i64) -> i64:
    """Count the marked rows of a shard, `marked` in all, in each band of an order; the last band is null."""
    tri: i64 = kind - COLUMNS
    ends = shard.run_ends[kind]
    slots: i64 = shard.run_count[kind]
    base: i64 = shard.first_count[kind]
    if ends[slots - 1] > shard.order_size[tri]:
        damaged()
    for slot in range(slots - 1):
        found: i64 = count_marked(shard, market, shard.order[tri], ends[slot], ends[slot + 1])
        market.counts[base + slot] += found
        marked -= found
    market.counts[base + slots - 1] += marked
    return 0


def write_turnovers(table: Table, market: MarketArrays) -> i64:
    """Write the turnovers of the marked rows, ascending; returns how many there are.

    `market.sequence` says from which country each next distinct turnover comes.
    """
    sequence = market.sequence
    used: i64 = 0
    for i in range(market.sequence_size):
        number: i64 = sequence[i]
        if number >= table.shard_count:
            damaged()
        step: i64 = market.cursors[number] - 1
        if step < 0:
            damaged()
        market.cursors[number] = step
        if market.chosen[number]:
            used = write_step(table.shards[number], market, step, used)
    return used


def write_step(shard: ShardArrays, market: MarketArrays, step: i64, used: i64) -> i64:
    """Write one turnover as often as rows that have it are marked; returns how many figures there are now."""
    bits = market.bits
    figures = market.figures
    order = shard.order[0]
    base: i64 = shard.first_mark
    rows: i64 = shard.rows
    room: i64 = market.room
    euros: f64 = -shard.turnover_keys[step]
    first: i64 = shard.steps[0][step]
    end: i64 = shard.steps[0][step + 1]
    if end > shard.order_size[0]:
        damaged()
    if cython.compiled:
        # More streams than a processor reads ahead by itself: three of each country, from their ends.
        prefetch(cython.address(shard.turnover_keys[step - 24]))
        prefetch(cython.address(shard.steps[0][step - 32]))
        prefetch(cython.address(order[first - 48]))
    for place in range(first, end):
        row: i64 = order[place]
        if row >= rows:
            damaged()
        if used < room:  # what follows the last figure belongs to another thread
            figures[used] = euros
        used += (bits[base + (row >> 5)] >> (row & 31)) & 1
    if used > room:
        damaged()
    return used


def gather_known(source: f64s, size: i64, numbers: Ints, count: i64, target: Reals) -> i64:
    """Write the figures source[numbers[i]] that are not NaN to `target`; returns how many these are."""
    used: i64 = 0
    for i in range(count):  # NaN is not equal to itself
        number: i64 = numbers[i]
        if number >= size:
            damaged()
        figure: f64 = source[number]
        target[used] = figure
        used += figure == figure
    return used


def known(source: Address, size: int, numbers: Address, count: int, target: Address) -> int:
    """`gather_known` for Python: arrays by address; frees its lock.

    Args:
        source: `size` figures, 8 bytes each.
        numbers: of these figures, `count`, 8 bytes each, none below 0.
        target: room for as many figures.

    Raises:
        CorruptError: a number is not below `size`.
    """
    figures: f64s = cython.cast(f64s, source)
    chosen: Ints = cython.cast(Ints, numbers)
    found: Reals = cython.cast(Reals, target)
    room: i64 = size
    asked: i64 = count
    used: i64 = 0
    with cython.nogil:
        used = gather_known(figures, room, chosen, asked, found)
    return used  # noqa: RET504 (with the lock, into a Python number)


def turnovers_from(table: Address, market: Address, shard: int, first: int) -> int:
    """How many marked rows of a shard have a turnover, from a place of the order of turnovers on.

    Raises:
        CorruptError: the shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    kept: MarketArrays = cython.cast(MarketArrays, market)
    number: i64 = shard
    start: i64 = first
    found: i64 = 0
    of_shard: ShardArrays
    with cython.nogil:
        of_shard = generation.shards[number]
        found = count_marked(of_shard, kept, of_shard.order[0], start, of_shard.known)
    return found  # noqa: RET504 (with the lock, into a Python number)


def turnovers(table: Address, market: Address) -> int:
    """`write_turnovers` for Python; frees its lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    kept: MarketArrays = cython.cast(MarketArrays, market)
    found: i64 = 0
    with cython.nogil:
        found = write_turnovers(generation, kept)
    return found  # noqa: RET504 (with the lock, into a Python number)
