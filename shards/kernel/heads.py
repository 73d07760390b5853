"""Heads: the first matches of one shard in an order, after the matches are counted.

A head is read if the conditions select a range of places in the same order, or if stored lists contain the rows.
Otherwise a walk tests the rows of the order one after the other until enough rows match, or all matches are ranked: a
heap sorts them by their places in the order. A walk is cheap if many rows match, ranking is cheap if few rows match.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import ascending_place, lower_bound, raise_damaged
    from shards.kernel.generate import choose_generator, first_row_from, generate
    from shards.kernel.rows import keep_matches, list_facts, load_block, places_to_rows
    from shards.kernel.types import *


# -- a heap of the least places of an order, each with its row ---------------------------------


def sink_entry(heap: Ints, place: i64, size: i64) -> i64:
    """Move the entry at `place` of a heap down until no child is greater, so that heap[0] is the greatest again.

    Always returns 0.
    """
    value: i64 = heap[place]
    while True:
        child: i64 = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value
    return 0


def push_value(heap: Ints, size: i64, capacity: i64, value: i64) -> i64:
    """Add a value to a heap of the `capacity` least values, the greatest of them first; returns the new size."""
    if size < capacity:
        place: i64 = size
        while place > 0:
            parent: i64 = (place - 1) >> 1
            if heap[parent] >= value:
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = value
        return size + 1
    if value < heap[0]:
        heap[0] = value
        sink_entry(heap, 0, capacity)
    return size


def push_row(shard: ShardArrays, tri: i64, heap: Ints, size: i64, capacity: i64, row: i64) -> i64:
    """Add a row to a heap by its place in the order; returns the new size of the heap.

    An entry of the heap has the place in its upper 32 bits and the row in its lower 32 bits.
    """
    place: i64 = shard.rank[tri][row]
    if place >= shard.rows:
        raise_damaged()
    if tri == CA_ASC and place < shard.turnover_count:
        # `ca_asc` is `ca_desc` backwards, except that equal turnovers keep their order: a row can be up to `longest`
        # places away. This bound saves an exact look-up.
        least: i64 = shard.turnover_count - place - shard.longest
        if size == capacity and least > heap[0] >> 32:
            return size
        place = ascending_place(shard, place)
    value: i64 = (place << 32) | row
    if size == capacity and value >= heap[0]:
        return size
    return push_value(heap, size, capacity, value)


def push_rows(
    shard: ShardArrays,
    tri: i64,
    heap: Ints,
    size: i64,
    capacity: i64,
    numbers: u32s,
    first: i64,
    end: i64,
) -> i64:
    """Add the rows numbers[first:end] to a heap of the `capacity` first rows of an order; returns its new size."""
    for i in range(first, end):
        row: i64 = numbers[i]
        if row >= shard.rows:
            raise_damaged()
        size = push_row(shard, tri, heap, size, capacity, row)
    return size


def drain_heap(scratch: Scratch, size: i64, start: i64, max_rows: i64) -> i64:
    """Sort the heap, and write its first `max_rows` rows to heads[start:], each row once; returns their number."""
    heap = scratch.heap
    end: i64 = size - 1
    while end > 0:
        value: i64 = heap[0]
        heap[0] = heap[end]
        sink_entry(heap, 0, end)
        heap[end] = value
        end -= 1
    count: i64 = 0
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    for i in range(size):  # equal entries are adjacent
        if count < max_rows and (i == 0 or heap[i] != heap[i - 1]):
            scratch.heads[start + count] = heap[i] & ((wide_one << 32) - 1)
            count += 1
    return count


# -- heads read from stored lists --------------------------------------------------------------


def copy_rows(
    shard: ShardArrays,
    scratch: Scratch,
    numbers: u32s,
    size: i64,
    first: i64,
    count: i64,
    start: i64,
) -> i64:
    """Copy the rows numbers[first:][:count] to heads[start:].

    Returns `count`, or 0 if the array has fewer than `first` + `count` rows.
    """
    if first + count > size:
        return 0
    for i in range(count):
        row: i64 = numbers[first + i]
        if row >= shard.rows:
            raise_damaged()
        scratch.heads[start + i] = row
    return count


def copy_sites(
    shard: ShardArrays,
    scratch: Scratch,
    places: u32s,
    size: i64,
    tri: i64,
    first: i64,
    count: i64,
    start: i64,
) -> i64:
    """Copy the rows at places[first:][:count] of an order to heads[start:]; `places` are those of rows with a website.

    Returns `count`, or 0 if the array has fewer than `first` + `count` places.
    """
    if first + count > size:
        return 0
    order = shard.order[tri]
    for i in range(count):
        place: i64 = places[first + i]
        if place >= shard.order_size[tri]:
            raise_damaged()
        row: i64 = order[place]
        if row >= shard.rows:
            raise_damaged()
        scratch.heads[start + i] = row
    return count


def head_of_q(
    shard: ShardArrays,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """Write the first `count` rows of a query whose only condition is `q`, from the heads of its sets and its list.

    The heads of a set are its first rows in each order, which the file stores; `count` is at most `head_rows`, the rows
    in each head. Returns the number of written rows.
    """
    tri: i64 = question.tri
    head_rows: i64 = question.head_rows
    size: i64 = 0
    # A row can be in the heads of both sets but is written once, so the heap has room for two entries per row.
    capacity: i64 = 2 * count
    if source.heads:
        first: i64 = source.heads + head_rows * tri
        if source.headed == ALONE:
            return copy_rows(shard, scratch, shard.sets, shard.sets_size, first, count, start)
        size = push_rows(
            shard, tri, scratch.heap, size, capacity, shard.sets, first, first + head_rows
        )
    if source.more_heads:
        first = source.more_heads + head_rows * tri
        size = push_rows(
            shard, tri, scratch.heap, size, capacity, shard.sets, first, first + head_rows
        )
    first = source.name_first
    size = push_rows(
        shard, tri, scratch.heap, size, capacity, scratch.rows, first, first + source.name_count
    )
    return drain_heap(scratch, size, start, count)


def head_from_lists(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """Write the first `count` rows of a scope, from stored lists of its large parts and all rows of its small parts.

    Returns the number of written rows; 0 if reading the order (`walk_order`) is cheaper, or if the lists are too short.
    """
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    list_count: i64 = 0
    unlisted_rows: i64 = 0
    part: Part
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if part.listed:
            list_count += 1
        else:
            unlisted_rows += part.stop - part.start
    # Reading the order, one row in shard.rows / source.size is in the scope.
    row_cost: f64 = question.listed_cost
    walk_cost: f64 = question.start_cost + row_cost * count * shard.rows / source.size
    if (
        question.span_cost * list_count + row_cost * (count * list_count + unlisted_rows)
        > walk_cost
    ):
        return 0
    if list_count and count > question.top_rows:
        return 0
    # The heap has the first `size` rows of the parts so far, with the last of these rows at heap[0].
    size: i64 = 0
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if part.listed:
            length: i64 = part.listed
            first: i64 = part.top + length * tri
            if source.part_count == 1:
                return copy_rows(shard, scratch, shard.top, shard.top_size, first, count, start)
            for j in range(first, first + (count if count < length else length)):
                row: i64 = shard.top[j]
                if row >= shard.rows:
                    raise_damaged()
                # The list is in order, so no later row can be among the first. (`ca_asc` has no ranks of its own.)
                if size == count and tri != CA_ASC and shard.rank[tri][row] > scratch.heap[0] >> 32:
                    break
                size = push_row(shard, tri, scratch.heap, size, count, row)
        else:
            for row in range(part.start, part.stop):
                size = push_row(shard, tri, scratch.heap, size, count, row)
    return drain_heap(scratch, size, start, count)


def head_from_cells(
    table: Table, source: ShardSearch, scratch: Scratch, count: i64, start: i64
) -> i64:
    """Write the first `count` rows of a scope with bounds on turnover, from the first such rows of each cell.

    Within a cell, rows are in descending order of turnover. Returns the number of written rows.
    """
    shard = table.shards[source.shard]
    heap = scratch.heap
    size: i64 = 0
    part: Part
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        for cell in range(part.first_cell, part.end_cell):
            cell_part = table.parts[shard.first_part + cell]
            row: i64 = first_row_from(
                shard, cell_part.start, cell_part.known_stop, source.turnover_first
            )
            stop: i64 = cell_part.known_stop if cell_part.known_stop < row + count else row + count
            while row < stop:
                place: i64 = shard.rank[CA_DESC][row]
                if place >= source.turnover_end:
                    break
                value: i64 = (place << 32) | row
                if size == count and value > heap[0]:
                    break
                size = push_value(heap, size, count, value)
                row += 1
    return drain_heap(scratch, size, start, count)


def read_stored_head(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """Write the first `count` matches to scratch.heads[start:] if stored lists contain them, so that no row is tested.

    Returns the number of written rows; less than `count` if the stored lists do not have these matches.
    """
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    need: i64 = source.need
    first: i64 = 0
    # Of conditions on codes, only a range of dates has its matches in a stored list: the order `recent`.
    if need & (CODES | GIVEN):
        if need != CODES or source.columns != 1 << CREATION or tri != RECENT:
            return 0
        first = source.code_low[CREATION]
    elif need & NAME:
        if source.headed and count <= question.head_rows:
            return head_of_q(shard, question, source, scratch, count, start)
        return 0
    elif need & SCOPE:
        if need == SCOPE:
            return head_from_lists(table, question, source, scratch, count, start)
        if need == SCOPE | TURNOVER and tri == CA_DESC and count < source.total:
            return head_from_cells(table, source, scratch, count, start)
        return 0
    needs_site: i64 = need & FACTS and source.fact_low >= shard.site_bit
    if need & CODES:
        pass  # `first` is the start of the range of dates
    elif source.headcount_first < 0 and tri <= CA_ASC:
        if needs_site:
            if tri == CA_ASC:
                return 0
            if need & TURNOVER:
                first = lower_bound(
                    shard.sites_turnover, 0, shard.sites_turnover_count, source.turnover_first
                )
            return copy_sites(
                shard, scratch, shard.sites_turnover, shard.sites_turnover_count, tri, first, count,
                start,
            )  # fmt: skip
        if need & TURNOVER:
            first = source.turnover_first
            if tri == CA_ASC:
                first = shard.turnover_count - source.turnover_end
    elif not need & TURNOVER and tri == EFFECTIF:
        if source.headcount_first >= 0:
            first = source.headcount_first
        if needs_site:
            first = lower_bound(shard.sites_headcount, 0, shard.sites_headcount_count, first)
            return copy_sites(
                shard, scratch, shard.sites_headcount, shard.sites_headcount_count, tri, first,
                count, start,
            )  # fmt: skip
    elif need:
        return 0
    return copy_rows(shard, scratch, shard.order[tri], shard.order_size[tri], first, count, start)


# -- heads found by a walk or by rank ----------------------------------------------------------


def walk_order(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    tri: i64,
    first: i64,
    end: i64,
    count: i64,
    start: i64,
) -> i64:
    """Test the rows at the places [first, end) of an order, and write the first `count` matches to heads[start:].

    Returns 0 if there are fewer matches.
    """
    order = shard.order[tri]
    # A condition that defines [first, end) is met by all these rows: bounds on turnover or, alone, on headcount.
    need: i64 = source.need
    if tri <= CA_ASC:
        need &= ~TURNOVER
    if tri == EFFECTIF and source.headcount_first >= 0 and source.fact_low < shard.site_bit:
        need &= ~FACTS
    if end > shard.order_size[tri]:
        end = shard.order_size[tri]
    written: i64 = 0
    block_size: i64 = 64  # of the first block only: a few rows can fill the head
    while first < end:
        stop: i64 = first + block_size if first + block_size < end else end
        block_size = BLOCK
        kept_count: i64
        # Facts are also stored by place in `ca_desc`, for the rows with a turnover.
        if need & FACTS and tri == CA_DESC and first < shard.turnover_count:
            if stop > shard.turnover_count:
                stop = shard.turnover_count
            kept_count = list_facts(shard, source, scratch, 1, first, stop)
            places_to_rows(shard, scratch, order, shard.order_size[tri], kept_count)
            kept_count = keep_matches(shard, source, scratch, need & ~FACTS, kept_count)
        else:
            kept_count = load_block(shard, scratch, order, first, stop - first)
            kept_count = keep_matches(shard, source, scratch, need, kept_count)
        if kept_count > count - written:
            kept_count = count - written
        for i in range(kept_count):
            scratch.heads[start + written + i] = scratch.block[i]
        written += kept_count
        if written == count:
            return count
        first = stop
    return 0


def walk_if_cheaper(
    question: KernelQuery,
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    first: i64,
    end: i64,
    count: i64,
    start: i64,
) -> i64:
    """Read rows in the requested order until the head is full (`walk_order`), if that is cheaper than ranking.

    Returns `count`, 0 if the matches must be ranked, or TOO_DEAR if the search exceeds its budget.
    A walk that finds fewer rows than expected stops when it has cost as much as ranking,
    but not before it has read twice the expected rows.
    """
    rank_cost: f64 = question.listed_cost * source.total + question.start_cost
    if not source.listed:
        rank_cost += source.cost
    expected_rows: f64 = count
    expected_rows = expected_rows * (end - first) / source.total
    walk_cost: f64 = question.listed_cost * expected_rows
    scratch.spent += walk_cost if walk_cost < rank_cost else rank_cost
    if scratch.spent > question.budget:
        return TOO_DEAR
    if walk_cost >= rank_cost:
        return 0
    row_limit: f64 = rank_cost / question.listed_cost if question.listed_cost else expected_rows
    if row_limit < 2 * expected_rows:
        row_limit = 2 * expected_rows
    stop: i64 = end
    if row_limit < end - first:
        whole_limit: i64 = int(row_limit)
        stop = first + whole_limit
    return walk_order(shard, source, scratch, question.tri, first, stop, count, start)


def find_head(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """Write the first `count` matches of a source to heads[start:]; the source must have `count` matches or more.

    Returns `count`, or TOO_DEAR if the search exceeds its budget.
    """
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    if count <= 0 or count > source.total:
        raise_damaged()
    if read_stored_head(table, question, source, scratch, count, start) >= count:
        return count
    # The places of the order that the conditions allow.
    first: i64 = 0
    end: i64 = shard.rows
    if source.need & TURNOVER and tri == CA_DESC:
        first = source.turnover_first
        end = source.turnover_end
    elif source.need & TURNOVER and tri == CA_ASC:
        first = shard.turnover_count - source.turnover_end
        end = shard.turnover_count - source.turnover_first
    elif source.headcount_first >= 0 and tri == EFFECTIF:
        first = source.headcount_first
        end = source.headcount_end
    elif (source.columns >> CREATION) & 1 and tri == RECENT:
        first = source.code_low[CREATION]
        end = source.code_high[CREATION]
    if source.need & GIVEN:
        choose_generator(table, question, source)
    elif count < source.total or not source.listed:
        if not source.listed:
            choose_generator(table, question, source)
        walked: i64 = walk_if_cheaper(question, shard, source, scratch, first, end, count, start)
        if walked:
            return walked
    if not source.listed:
        generate(table, source, scratch, scratch.rows_size)
        if not source.listed:
            raise_damaged()
    size: i64 = push_rows(
        shard, tri, scratch.heap, 0, count, scratch.rows, source.list_first,
        source.list_first + source.list_count,
    )  # fmt: skip
    if drain_heap(scratch, size, start, count) < count:
        raise_damaged()
    return count
