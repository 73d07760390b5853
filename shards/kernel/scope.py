"""All matches of a search, one bit per row: marked, counted in the slots of a census, read along orders.

The parameter `market` has the marks, and the arrays for results. The test of adjacent rows gives one byte per row
(`codes.py`); eight bytes become eight bits at once. The matches of `q` are combined with these bits, 32 rows at a time.
So adjacent matches are marked without a list. All kinds of slots are counted in one pass over the marked rows. If more
than half of the shard is marked, the pass counts the unmarked rows, and these counts are subtracted from the sizes of
the slots.

In an order the rows of a band are adjacent, and turnovers are sorted. So nothing needs sorting: a pass along an order
counts the marked rows, or writes their turnovers.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import clear_allowed_codes, mask_rows, set_cell_activities
    from shards.kernel.conditions import (
        count_block,
        count_matches,
        reset_source,
        set_cell_marks,
        take_census,
    )
    from shards.kernel.find import raise_damaged
    from shards.kernel.generate import choose_generator, generate
    from shards.kernel.row_sets import clear_marks, popcount
    from shards.kernel.types import *


def mark_all(
    table: Table, question: KernelQuery, scratch: Scratch, market: MarketArrays, must_mark: i64
) -> i64:
    """Count the matches in the slots of the census, and mark the matches; returns the number of matches.

    If `must_mark` is 0, the matches of a shard are marked only if that counts them faster. `market.chosen`
    receives the number of marked rows of each shard.
    """
    total: i64 = 0
    source: ShardSearch = scratch.sources[0]
    scratch.spent = 0.0
    scratch.result[0] = 0
    for i in range(question.shard_count):
        scratch.used = 0
        reset_source(source, question.shards[i])
        count_matches(table, question, source, scratch, 0, scratch.rows_size)
        shard = table.shards[source.shard]
        is_faster_marked: i64 = source.need & ~SCOPE and source.total * MARKED_FROM > shard.rows
        if source.total and (must_mark or is_faster_marked):
            total += mark_source(table, question, source, scratch, market)
            count_kinds(table, question, source, scratch, market)
        elif source.total:
            total += source.total
            take_census(table, question, source, scratch)
        # Set the working memory to zero for the next shard.
        if source.scoped:
            set_cell_marks(table, source, scratch, 0)
        if source.tables:
            clear_allowed_codes(shard, source, scratch)
        if source.name_count:
            clear_marks(shard, source, scratch)
    scratch.used = 0
    return total


# -- marks -----------------------------------------------------------------------------------


def mark_source(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, market: MarketArrays
) -> i64:
    """Mark the matches of a shard in `market.bits`, and return their number, which `market.chosen` also gets.

    The matches are marked from their list or, in ranges of rows, without a list.
    """
    total: i64 = 0
    if not source.listed:
        choose_generator(table, question, source)
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
    first_mark: i64 = shard.first_mark
    unit: u32 = 1
    for i in range(source.list_first, source.list_first + source.list_count):
        row: i64 = rows[i]
        if row >= shard.rows:
            raise_damaged()
        bits[first_mark + (row >> 5)] |= unit << (row & 31)
    market.chosen[source.shard] = source.list_count
    return source.list_count


def mark_spans(table: Table, source: ShardSearch, scratch: Scratch, market: MarketArrays) -> i64:
    """Mark the matches in the parts of a scope, or in the complete shard; returns the number of matches."""
    shard = table.shards[source.shard]
    total: i64 = 0
    if not source.need & SCOPE:
        if (source.columns >> NACE) & 1:
            set_cell_activities(shard, source, scratch, 0)
        return mark_span(shard, source, scratch, market, 0, shard.rows)
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if (source.columns >> NACE) & 1:
            set_cell_activities(shard, source, scratch, part.first_cell)
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
    """Mark the matches among the rows [first, stop); returns the number of matches."""
    to_test: i64 = source.need & (FACTS | NAME | CODES)
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    total: i64 = 0
    # Of the first 32 rows, only those from `first` on count.
    valid_bits: i64 = ~((wide_one << (first & 31)) - 1)
    first &= ~31  # as the marks are written in words of 32 rows
    while first < stop:
        end: i64 = first + MASKED if first + MASKED < stop else stop
        mask_rows(shard, source, scratch, to_test, first, end)
        # 32 rows at a time: four words of the mask, of eight bytes each.
        for i in range((end - first + 31) >> 5):
            matches: i64 = pack_words(scratch, 4 * i, (end - first + 7) >> 3) & valid_bits
            valid_bits = -1
            if matches:
                total += mark_matches(shard, source, scratch, market, (first >> 5) + i, matches)
        first = end
    return total


def pack_words(scratch: Scratch, first: i64, end: i64) -> i64:
    """The 32 bytes of the mask words [first, first + 4) as 32 bits; words from `end` on count as zero."""
    packed: i64 = 0
    multiplier: u64 = 0x01020408
    multiplier = (multiplier << 32) | 0x10204080
    for i in range(4):
        if first + i < end:
            word: u64 = scratch.mask_words[first + i]
            # The product has the lowest bits of the eight bytes in its uppermost byte.
            bits: i64 = ((word * multiplier) >> 56) & 0xFF
            packed |= bits << (8 * i)
    return packed


def mark_matches(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    market: MarketArrays,
    word: i64,
    matches: i64,
) -> i64:
    """Mark those of the 32 rows from row 32 × `word` on that match; returns the number of marks.

    The bits of `matches` are the rows that meet all conditions except `q`; rows that do not match `q` are left out.
    """
    if source.need & NAME:
        name_matches: i64 = 0
        if source.name_count:
            name_matches = scratch.marks[shard.first_mark + word]
        if source.bits:
            name_matches |= shard.sets[source.bits + word]
        if source.more_bits:
            name_matches |= shard.sets[source.more_bits + word]
        matches &= name_matches
    market.bits[shard.first_mark + word] |= matches
    return popcount(matches)


# -- counts ----------------------------------------------------------------------------------


def count_kinds(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, market: MarketArrays
) -> i64:
    """Count the marked rows of a shard in the slots of each kind of the census; always returns 0."""
    shard = table.shards[source.shard]
    total: i64 = market.chosen[source.shard]
    # If fewer rows are unmarked, these are counted, and `complement_counts` turns the counts into those of marked rows.
    count_unmarked: i64 = shard.rows - total < total
    counted_rows: i64 = shard.rows - total if count_unmarked else total
    row_kinds: i64 = 0  # one bit per kind that is counted row by row
    for kind in range(KINDS):
        if not (question.census >> kind) & 1:
            continue
        if kind == BY_CELL:
            count_cells(shard, scratch, market)
        # The bands of an order: reading all its places can be faster than looking up the place of each counted row.
        elif (
            COLUMNS <= kind < BY_CELL
            and LOOKUP_PLACES * counted_rows > shard.order_size[kind - COLUMNS]
        ):
            count_bands(shard, market, kind, total)
        else:
            row_kinds |= 1 << kind
    if not row_kinds:
        return 0
    count_marks_by_kinds(
        shard,
        scratch,
        market,
        row_kinds,
        count_unmarked,
        32 * counted_rows > FEW_MARKS * shard.rows,
    )
    if count_unmarked:
        for kind in range(KINDS):
            if (row_kinds >> kind) & 1:
                complement_counts(shard, scratch, kind)
    return 0


def count_cells(shard: ShardArrays, scratch: Scratch, market: MarketArrays) -> i64:
    """Count the marked rows of each cell; the rows of a cell are adjacent. Always returns 0."""
    first_slot: i64 = shard.first_count[BY_CELL]
    first: i64 = 0
    for cell in range(shard.cell_count):
        end: i64 = shard.run_ends[BY_CELL][cell + 1]
        scratch.counts[first_slot + cell] += marked_within(shard, market, first, end)
        first = end
    return 0


def marked_within(shard: ShardArrays, market: MarketArrays, first: i64, end: i64) -> i64:
    """The number of marked rows in [first, end), whose bits are counted 32 at a time."""
    bits = market.bits
    first_mark: i64 = shard.first_mark
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    total: i64 = 0
    word: i64 = first >> 5
    last_word: i64 = (end - 1) >> 5
    if first >= end:
        return 0
    marks: i64 = bits[first_mark + word]
    marks &= ~((wide_one << (first & 31)) - 1)
    while word < last_word:
        total += popcount(marks)
        word += 1
        marks = bits[first_mark + word]
    marks &= (wide_one << (((end - 1) & 31) + 1)) - 1
    return total + popcount(marks)


def count_marks_by_kinds(
    shard: ShardArrays,
    scratch: Scratch,
    market: MarketArrays,
    kinds: i64,
    count_unmarked: i64,
    many_marks: i64,
) -> i64:
    """Count the marked rows in the slots of the kinds whose bits are in `kinds`, a block of rows at a time.

    If `count_unmarked` is 1, the unmarked rows are counted instead. If `many_marks` is 1, the loop that is faster for
    many rows runs.
    """
    bits = market.bits
    block = scratch.block
    first_mark: i64 = shard.first_mark
    full: i64 = 0xFFFFFFFF
    count: i64 = 0
    for word in range((shard.rows + 31) >> 5):
        marks: i64 = bits[first_mark + word]
        row: i64 = word << 5
        if count_unmarked:
            marks ^= full
            if shard.rows - row < 32:
                marks &= full >> (32 - (shard.rows - row))
        if marks == full:
            for i in range(32):
                block[count + i] = row + i
            count += 32
        elif many_marks:
            for i in range(32):
                block[count] = row + i
                count += (marks >> i) & 1
        else:
            while marks:
                block[count] = row + lowest_bit(marks)
                count += 1
                marks &= marks - 1
        if count > BLOCK - 32:  # no room for the rows of another word
            count_block_by_kinds(shard, scratch, kinds, count)
            count = 0
    count_block_by_kinds(shard, scratch, kinds, count)
    return 0


def count_block_by_kinds(shard: ShardArrays, scratch: Scratch, kinds: i64, count: i64) -> i64:
    """Count the `count` rows of the block in the slots of the kinds whose bits are in `kinds`. Always returns 0."""
    for kind in range(KINDS):
        if (kinds >> kind) & 1:
            count_block(shard, scratch, kind, count)
    return 0


def complement_counts(shard: ShardArrays, scratch: Scratch, kind: i64) -> i64:
    """Turn counts of unmarked rows into counts of marked rows: the size of each slot minus its count.

    Always returns 0.
    """
    ends = shard.run_ends[kind]
    first_slot: i64 = shard.first_count[kind]
    for slot in range(shard.run_count[kind]):
        size: i64 = ends[slot + 1]
        size -= ends[slot]
        scratch.counts[first_slot + slot] = size - scratch.counts[first_slot + slot]
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
    """`mark_all` for Python, with arguments as in `search.run`; releases Python's lock.

    The budget of the query must be infinite, and `market.counts` must be the array `scratch.counts`.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have; do not reuse the working memory.
    """
    generation: Table = cython.cast(Table, table)
    query: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    marks: MarketArrays = cython.cast(MarketArrays, market)
    all_marked: i64 = needed
    total: i64 = 0
    query.text = text
    query.endings = endings
    query.prefix = prefix
    query.values = values
    with cython.nogil:
        total = mark_all(generation, query, memory, marks, all_marked)
    return total  # noqa: RET504 (with the lock, into a Python number)


# -- marked rows along an order -----------------------------------------------------------------


def count_marked(
    shard: ShardArrays, market: MarketArrays, order: u32s, first: i64, end: i64
) -> i64:
    """The number of marked rows in order[first:end], where `order` lists the rows in an order."""
    bits = market.bits
    first_mark: i64 = shard.first_mark
    rows: i64 = shard.rows
    total: i64 = 0
    is_outside: i64 = 0
    for i in range(first, end):
        row: i64 = order[i]
        is_outside |= row >= rows  # tested once at the end, so that the loop has no branches
        row = row if row < rows else 0
        total += (bits[first_mark + (row >> 5)] >> (row & 31)) & 1
    if is_outside:
        raise_damaged()
    return total


def count_bands(shard: ShardArrays, market: MarketArrays, kind: i64, unbanded: i64) -> i64:
    """Count the marked rows of a shard in each band of an order.

    `unbanded` is the number of marked rows at first; the rows that no other band has are in the last band, null. Always
    returns 0.
    """
    tri: i64 = kind - COLUMNS
    ends = shard.run_ends[kind]
    slots: i64 = shard.run_count[kind]
    first_slot: i64 = shard.first_count[kind]
    if ends[slots - 1] > shard.order_size[tri]:
        raise_damaged()
    for slot in range(slots - 1):
        count: i64 = count_marked(shard, market, shard.order[tri], ends[slot], ends[slot + 1])
        market.counts[first_slot + slot] += count
        unbanded -= count
    market.counts[first_slot + slots - 1] += unbanded
    return 0


def write_turnovers(table: Table, market: MarketArrays, first: i64, lesser: i64) -> i64:
    """Write the turnovers of the marked rows, in one half of the sorted turnovers of all shards; returns their number.

    `market.sequence` has the shard of each turnover of the half in order, and NEXT_STEP where the amounts of
    a shard change, so the loop only tests whether the row is marked. Both halves begin at the middle of all turnovers.
    If `lesser` is 0, the turnovers of the greater half are written from figures[first] upwards, ascending; if it is 1,
    the turnovers of the lesser half are written from there downwards, descending.
    """
    sequence = market.sequence
    cursors = market.cursors
    bits = market.bits
    figures = market.figures
    figure_place: i64 = first
    for i in range(market.sequence_size):
        entry: i64 = sequence[i]
        shard_number: i64 = entry & (NEXT_STEP - 1)
        next_step: i64 = entry // NEXT_STEP
        if not market.chosen[shard_number]:
            continue
        shard = table.shards[shard_number]
        # The cursors begin at the lesser half's first turnover, so in the greater half they move before each use.
        step: i64 = cursors[2 * shard_number]
        place: i64 = cursors[2 * shard_number + 1]
        if lesser:
            cursors[2 * shard_number] = step + next_step
            cursors[2 * shard_number + 1] = place + 1
            if step >= shard.step_count[0] or place >= shard.order_size[0]:
                raise_damaged()
        else:
            step -= next_step
            place -= 1
            cursors[2 * shard_number] = step
            cursors[2 * shard_number + 1] = place
            if step < 0 or place < 0:
                raise_damaged()
        if cython.compiled:
            # The processor does not prefetch as many streams by itself: there are two for each country. The factor
            # 2 * lesser - 1 is the direction: 1 in the lesser half, -1 in the greater half.
            prefetch(cython.address(shard.turnover_keys[step + TURNOVERS_AHEAD * (2 * lesser - 1)]))
            prefetch(cython.address(shard.order[0][place + 2 * TURNOVERS_AHEAD * (2 * lesser - 1)]))
        row: i64 = shard.order[0][place]
        if row >= shard.rows:
            raise_damaged()
        # Keys are negated turnovers. The figure of a row that is not marked is overwritten by the next figure.
        figures[figure_place] = -shard.turnover_keys[step]
        marked: i64 = (bits[shard.first_mark + (row >> 5)] >> (row & 31)) & 1
        figure_place += marked * (1 - 2 * lesser)
    return first - figure_place if lesser else figure_place - first


def gather_known(source: f64s, size: i64, numbers: Ints, count: i64, target: Reals) -> i64:
    """Write the figures source[numbers[i]] that are not NaN to `target`; returns the number of written figures."""
    written: i64 = 0
    for i in range(count):  # NaN is not equal to itself
        number: i64 = numbers[i]
        if number >= size:
            raise_damaged()
        figure: f64 = source[number]
        target[written] = figure
        written += figure == figure
    return written


def run_known(source: Address, size: int, numbers: Address, count: int, target: Address) -> int:
    """`gather_known` for Python: arrays by address; releases Python's lock.

    Args:
        source: `size` figures, 8 bytes each.
        numbers: `count` indexes into `source`, 8 bytes each, at least 0.
        target: room for `count` figures.

    Raises:
        CorruptError: an index is not below `size`.
    """
    figures: f64s = cython.cast(f64s, source)
    chosen: Ints = cython.cast(Ints, numbers)
    known_figures: Reals = cython.cast(Reals, target)
    room: i64 = size
    number_count: i64 = count
    used: i64 = 0
    with cython.nogil:
        used = gather_known(figures, room, chosen, number_count, known_figures)
    return used  # noqa: RET504 (with the lock, into a Python number)


def gather_marked(order: u32s, count: i64, bits: u8s, size: i64, target: Words) -> i64:
    """Write the numbers of order[:count] whose bits are 1 in `bits` (`size` bits) to `target`; returns how many."""
    written: i64 = 0
    is_outside: i64 = 0
    for i in range(count):
        number: i64 = order[i]
        is_outside |= number >= size
        number = number if number < size else 0
        target[written] = number
        written += (bits[number >> 3] >> (number & 7)) & 1
    if is_outside:
        raise_damaged()
    return written


def run_marked(order: Address, count: int, bits: Address, size: int, target: Address) -> int:
    """`gather_marked` for Python: arrays by address; releases Python's lock.

    Args:
        order: `count` numbers, 4 bytes each.
        bits: `size` bits, at least 1, the lowest bit of each byte first.
        target: room for `count` numbers.

    Raises:
        CorruptError: a number is not below `size`.
    """
    ordered: u32s = cython.cast(u32s, order)
    marks: u8s = cython.cast(u8s, bits)
    marked_numbers: Words = cython.cast(Words, target)
    room: i64 = size
    number_count: i64 = count
    used: i64 = 0
    with cython.nogil:
        used = gather_marked(ordered, number_count, marks, room, marked_numbers)
    return used  # noqa: RET504 (with the lock, into a Python number)


def add_moments(figures: f64s, count: i64, sums: Reals) -> i64:
    """Add to three sums the figures, their squares, and the figures × their indexes; always returns 0.

    The sums give the concentration of a market. Partial sums of blocks are added, because they lose less precision.
    """
    first: i64 = 0
    while first < count:
        end: i64 = first + PARTIAL_SUM if first + PARTIAL_SUM < count else count
        # Two partial sums of each, because an addition waits for the previous addition to the same sum.
        total: f64 = 0.0
        squares: f64 = 0.0
        ranked: f64 = 0.0
        second_total: f64 = 0.0
        second_squares: f64 = 0.0
        second_ranked: f64 = 0.0
        index: f64 = 0.0
        for i in range(first, end - 1, 2):
            figure: f64 = figures[i]
            next_figure: f64 = figures[i + 1]
            total += figure
            second_total += next_figure
            squares += figure * figure
            second_squares += next_figure * next_figure
            ranked += index * figure
            second_ranked += index * next_figure
            index += 2.0
        # Each second figure was ranked one too low, with the index of the figure before it: `second_total` corrects it.
        ranked += second_ranked + second_total
        total += second_total
        squares += second_squares
        if (end - first) & 1:
            figure = figures[end - 1]
            total += figure
            squares += figure * figure
            ranked += (end - 1 - first) * figure
        sums[0] += total
        sums[1] += squares
        # The indexes of a block begin at 0, so each of its figures was ranked too low by `first`.
        sums[2] += ranked + first * total
        first = end
    return 0


def moments(figures: Address, count: int, sums: Address) -> None:
    """`add_moments` for Python: arrays by address; `sums` has three numbers. Releases Python's lock."""
    values: f64s = cython.cast(f64s, figures)
    room: Reals = cython.cast(Reals, sums)
    size: i64 = count
    with cython.nogil:
        add_moments(values, size, room)


def turnovers(table: Address, market: Address, first: int, lesser: bool) -> int:
    """`write_turnovers` for Python, with the records by address; releases Python's lock.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
    """
    generation: Table = cython.cast(Table, table)
    marks: MarketArrays = cython.cast(MarketArrays, market)
    start: i64 = first
    downwards: i64 = lesser
    written: i64 = 0
    with cython.nogil:
        # Each call has a constant, so that the C compiler can make a loop for each half, without tests of the half.
        if downwards:
            written = write_turnovers(generation, marks, start, 1)
        else:
            written = write_turnovers(generation, marks, start, 0)
    return written
