"""The figures of a market: all rows that a search found, as a bit a row, read along the orders of the shards.

An order has the rows of a band side by side, and turnovers in their order. So nothing is sorted: along an
order, the rows that are marked are counted, or their turnovers are written down.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged
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
        raise_damaged()
    return total


def count_bands(shard: ShardArrays, market: MarketArrays, kind: i64, marked: i64) -> i64:
    """Count the marked rows of a shard, `marked` in all, in each band of an order; the last band is null."""
    tri: i64 = kind - COLUMNS
    ends = shard.run_ends[kind]
    slots: i64 = shard.run_count[kind]
    base: i64 = shard.first_count[kind]
    if ends[slots - 1] > shard.order_size[tri]:
        raise_damaged()
    for slot in range(slots - 1):
        found: i64 = count_marked(shard, market, shard.order[tri], ends[slot], ends[slot + 1])
        market.counts[base + slot] += found
        marked -= found
    market.counts[base + slots - 1] += marked
    return 0


def write_turnovers(table: Table, market: MarketArrays, first: i64, lesser: i64) -> i64:
    """Write the turnovers of the marked rows of a half, one after the other from `first` on; returns how many.

    `market.sequence` says from which country each next one comes, as that of a row: so nothing is asked but whether it
    is marked. The greater half ascends from the middle of all turnovers; the `lesser` one descends from there.
    """
    sequence = market.sequence
    cursors = market.cursors
    bits = market.bits
    figures = market.figures
    at: i64 = first
    for i in range(market.sequence_size):
        held: i64 = sequence[i]
        number: i64 = held & (NEXT_STEP - 1)
        next_step: i64 = held // NEXT_STEP
        if not market.chosen[number]:
            continue
        shard = table.shards[number]
        step: i64 = cursors[2 * number]
        place: i64 = cursors[2 * number + 1]
        if lesser:
            cursors[2 * number] = step + next_step
            cursors[2 * number + 1] = place + 1
            if step >= shard.step_count[0] or place >= shard.order_size[0]:
                raise_damaged()
        else:
            step -= next_step
            place -= 1
            cursors[2 * number] = step
            cursors[2 * number + 1] = place
            if step < 0 or place < 0:
                raise_damaged()
        if cython.compiled:
            # More streams than a processor reads ahead by itself: two of each country.
            prefetch(cython.address(shard.turnover_keys[step + TURNOVERS_AHEAD * (2 * lesser - 1)]))
            prefetch(cython.address(shard.order[0][place + 2 * TURNOVERS_AHEAD * (2 * lesser - 1)]))
        row: i64 = shard.order[0][place]
        if row >= shard.rows:
            raise_damaged()
        figures[at] = -shard.turnover_keys[step]
        marked: i64 = (bits[shard.first_mark + (row >> 5)] >> (row & 31)) & 1
        at += marked * (1 - 2 * lesser)
    return first - at if lesser else at - first


def gather_known(source: f64s, size: i64, numbers: Ints, count: i64, target: Reals) -> i64:
    """Write the figures source[numbers[i]] that are not NaN to `target`; returns how many these are."""
    used: i64 = 0
    for i in range(count):  # NaN is not equal to itself
        number: i64 = numbers[i]
        if number >= size:
            raise_damaged()
        figure: f64 = source[number]
        target[used] = figure
        used += figure == figure
    return used


def run_known(source: Address, size: int, numbers: Address, count: int, target: Address) -> int:
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


def gather_marked(order: u32s, count: i64, bits: u8s, size: i64, target: Words) -> i64:
    """Write those of the numbers order[:count] that are marked, of `size` bits, to `target`; returns how many."""
    used: i64 = 0
    outside: i64 = 0
    for i in range(count):
        number: i64 = order[i]
        outside |= number >= size
        number = number if number < size else 0
        target[used] = number
        used += (bits[number >> 3] >> (number & 7)) & 1
    if outside:
        raise_damaged()
    return used


def run_marked(order: Address, count: int, bits: Address, size: int, target: Address) -> int:
    """`gather_marked` for Python: arrays by address; frees its lock.

    Args:
        order: `count` numbers, 4 bytes each.
        bits: one or more, the lowest of each byte first.
        target: room for as many numbers.

    Raises:
        CorruptError: a number is not below `size`.
    """
    ordered: u32s = cython.cast(u32s, order)
    marks: u8s = cython.cast(u8s, bits)
    found: Words = cython.cast(Words, target)
    room: i64 = size
    asked: i64 = count
    used: i64 = 0
    with cython.nogil:
        used = gather_marked(ordered, asked, marks, room, found)
    return used  # noqa: RET504 (with the lock, into a Python number)


def add_moments(figures: f64s, count: i64, sums: Reals) -> i64:
    """Add to three sums: the figures, their squares, and the figures times their places; a few at a time, exactly."""
    first: i64 = 0
    while first < count:
        end: i64 = first + SUMMED if first + SUMMED < count else count
        # Two sums of each: an addition waits for the one before.
        total: f64 = 0.0
        squares: f64 = 0.0
        ranked: f64 = 0.0
        other_total: f64 = 0.0
        other_squares: f64 = 0.0
        other_ranked: f64 = 0.0
        place: f64 = 0.0
        for i in range(first, end - 1, 2):
            figure: f64 = figures[i]
            next_figure: f64 = figures[i + 1]
            total += figure
            other_total += next_figure
            squares += figure * figure
            other_squares += next_figure * next_figure
            ranked += place * figure
            other_ranked += place * next_figure
            place += 2.0
        ranked += other_ranked + other_total
        total += other_total
        squares += other_squares
        if (end - first) & 1:
            figure = figures[end - 1]
            total += figure
            squares += figure * figure
            ranked += (end - 1 - first) * figure
        sums[0] += total
        sums[1] += squares
        sums[2] += ranked + first * total
        first = end
    return 0


def moments(figures: Address, count: int, sums: Address) -> None:
    """`add_moments` for Python: arrays by address; frees its lock."""
    held: f64s = cython.cast(f64s, figures)
    room: Reals = cython.cast(Reals, sums)
    size: i64 = count
    with cython.nogil:
        add_moments(held, size, room)


def turnovers(table: Address, market: Address, first: int, lesser: bool) -> int:
    """`write_turnovers` for Python; frees its lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    kept: MarketArrays = cython.cast(MarketArrays, market)
    start: i64 = first
    downwards: i64 = lesser
    found: i64 = 0
    with cython.nogil:
        if downwards:
            found = write_turnovers(generation, kept, start, 1)
        else:
            found = write_turnovers(generation, kept, start, 0)
    return found
