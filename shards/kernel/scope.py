"""All rows that a search finds, as a bit a row: marked, counted in the slots of a census, read along orders.

The conditions on neighbouring rows make a byte a row (`codes.py`), of which eight become eight bits at once; what `q`
finds is joined to them 32 rows at a time. So nothing is listed that is found side by side. All kinds of slots are
counted in one pass over the rows that are marked or, where these are more than half of a shard, over those that are
not: what is left of the slots, whose sizes are known, is the answer.

An order has the rows of a band side by side, and turnovers in their order. So nothing is sorted: along an order, the
marked rows are counted, or their turnovers are written down.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import clear_codes, enter_cell, mask_rows
    from shards.kernel.conditions import count_block, count_matches, reset, set_cells, take_census
    from shards.kernel.find import raise_damaged
    from shards.kernel.generate import choose, generate
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
        generate(table, source, scratch, scratch.rows_size)
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


# -- marked rows along an order -----------------------------------------------------------------


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
