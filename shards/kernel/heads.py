"""Heads: the first rows of one shard that match, in an order; their number is known before.

Where the conditions are a stretch of the very order, the build has listed the rows, or few lists have them together,
the rows are read. Else the order is walked until enough rows have met the conditions, or all matches are ranked by a
heap: a walk is cheap where many match, ranking where few do.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import ascending_place, lower_bound, raise_damaged
    from shards.kernel.generate import choose, generate, span_bound
    from shards.kernel.rows import keep, list_facts, replace, take
    from shards.kernel.types import *


# -- a heap of the least places of an order, each with its row ---------------------------------


def sink(heap: Ints, place: i64, size: i64) -> i64:
    """Move the entry at `place` down until no child is greater."""
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


def push(heap: Ints, size: i64, most: i64, value: i64) -> i64:
    """Add a value to a heap of the `most` least ones; returns its size."""
    if size < most:
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
        sink(heap, 0, most)
    return size


def push_row(shard: ShardArrays, tri: i64, heap: Ints, size: i64, most: i64, row: i64) -> i64:
    """Add a row by its place in the order; returns the size of the heap."""
    place: i64 = shard.rank[tri][row]
    if place >= shard.rows:
        raise_damaged()
    if tri == CA_ASC and place < shard.known:
        # Backwards in `ca_desc` a row stands less than `longest` places from its place in `ca_asc`.
        least: i64 = shard.known - place - shard.longest
        if size == most and least > heap[0] >> 32:
            return size
        place = ascending_place(shard, place)
    value: i64 = (place << 32) | row
    if size == most and value >= heap[0]:
        return size
    return push(heap, size, most, value)


def push_rows(
    shard: ShardArrays,
    tri: i64,
    heap: Ints,
    size: i64,
    most: i64,
    numbers: u32s,
    first: i64,
    end: i64,
) -> i64:
    """Add the rows numbers[first:end]; returns the size of the heap."""
    for i in range(first, end):
        row: i64 = numbers[i]
        if row >= shard.rows:
            raise_damaged()
        size = push_row(shard, tri, heap, size, most, row)
    return size


def drain(scratch: Scratch, size: i64, start: i64, most: i64) -> i64:
    """Write the first `most` rows of the heap to heads[start:], each once; returns their number."""
    heap = scratch.heap
    last: i64 = size - 1
    while last > 0:
        value: i64 = heap[0]
        heap[0] = heap[last]
        sink(heap, 0, last)
        heap[last] = value
        last -= 1
    count: i64 = 0
    one: i64 = 1
    for i in range(size):
        if count < most and (i == 0 or heap[i] != heap[i - 1]):
            scratch.heads[start + count] = heap[i] & ((one << 32) - 1)
            count += 1
    return count


# -- heads that are read ----------------------------------------------------------------------


def copy(
    shard: ShardArrays,
    scratch: Scratch,
    numbers: u32s,
    size: i64,
    first: i64,
    count: i64,
    start: i64,
) -> i64:
    """Copy numbers[first:][:count] to heads[start:]; returns 0 if the array ends before."""
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
    """Copy the rows at places[first:][:count] of an order; returns 0 if there are fewer places."""
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


def stored_heads(
    shard: ShardArrays,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """The first rows of `q` alone, by the heads of its sets and its list; at most `head_rows`."""
    tri: i64 = question.tri
    rows: i64 = question.head_rows
    size: i64 = 0
    # A row may be in both heads, and is drained once: the heap has room for it twice.
    most: i64 = 2 * count
    if source.heads:
        first: i64 = source.heads + rows * tri
        if source.headed == ALONE:
            return copy(shard, scratch, shard.sets, shard.sets_size, first, count, start)
        size = push_rows(shard, tri, scratch.heap, size, most, shard.sets, first, first + rows)
    if source.more_heads:
        first = source.more_heads + rows * tri
        size = push_rows(shard, tri, scratch.heap, size, most, shard.sets, first, first + rows)
    first = source.name_first
    size = push_rows(
        shard, tri, scratch.heap, size, most, scratch.rows, first, first + source.name_count
    )
    return drain(scratch, size, start, count)


def listed_parts(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """The first rows of a scope, by the lists of its large parts; 0 if a walk is cheaper."""
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    lists: i64 = 0
    few: i64 = 0
    part: Part
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if part.listed:
            lists += 1
        else:
            few += part.stop - part.start
    each: f64 = question.listed_cost
    walk: f64 = question.start_cost + each * count * shard.rows / source.size
    if question.span_cost * lists + each * (count * lists + few) > walk:
        return 0
    if lists and count > question.top_rows:
        return 0
    size: i64 = 0
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        if part.listed:
            length: i64 = part.listed
            first: i64 = part.top + length * tri
            if source.part_count == 1:
                return copy(shard, scratch, shard.top, shard.top_size, first, count, start)
            for j in range(first, first + (count if count < length else length)):
                row: i64 = shard.top[j]
                if row >= shard.rows:
                    raise_damaged()
                if size == count and tri != CA_ASC and shard.rank[tri][row] > scratch.heap[0] >> 32:
                    break
                size = push_row(shard, tri, scratch.heap, size, count, row)
        else:
            for row in range(part.start, part.stop):
                size = push_row(shard, tri, scratch.heap, size, count, row)
    return drain(scratch, size, start, count)


def cell_fronts(table: Table, source: ShardSearch, scratch: Scratch, count: i64, start: i64) -> i64:
    """The first rows of a scope within a stretch of `ca_desc`: in each cell turnover descends."""
    shard = table.shards[source.shard]
    heap = scratch.heap
    size: i64 = 0
    part: Part
    for i in range(source.part_count):
        part = table.parts[scratch.selected[source.part_first + i]]
        for cell in range(part.first, part.end):
            held = table.parts[shard.first_part + cell]
            row: i64 = span_bound(shard, held.start, held.known_stop, source.turnover_first)
            stop: i64 = held.known_stop if held.known_stop < row + count else row + count
            while row < stop:
                place: i64 = shard.rank[CA_DESC][row]
                if place >= source.turnover_end:
                    break
                value: i64 = (place << 32) | row
                if size == count and value > heap[0]:
                    break
                size = push(heap, size, count, value)
                row += 1
    return drain(scratch, size, start, count)


def read(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """The first rows where a list of the shard has them; 0 where none does."""
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    need: i64 = source.need
    first: i64 = 0
    if need & (CODES | GIVEN):
        if need != CODES or source.columns != 1 << CREATION or tri != RECENT:
            return 0
        first = source.code_low[CREATION]
    elif need & NAME:
        if source.headed and count <= question.head_rows:
            return stored_heads(shard, question, source, scratch, count, start)
        return 0
    elif need & SCOPE:
        if need == SCOPE:
            return listed_parts(table, question, source, scratch, count, start)
        if need == SCOPE | TURNOVER and tri == CA_DESC and count < source.total:
            return cell_fronts(table, source, scratch, count, start)
        return 0
    sites: i64 = need & FACTS and source.fact_low >= shard.site_bit
    if need & CODES:
        pass
    elif source.headcount_first < 0 and tri <= CA_ASC:
        if sites:
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
                first = shard.known - source.turnover_end
    elif not need & TURNOVER and tri == EFFECTIF:
        if source.headcount_first >= 0:
            first = source.headcount_first
        if sites:
            first = lower_bound(shard.sites_headcount, 0, shard.sites_headcount_count, first)
            return copy_sites(
                shard, scratch, shard.sites_headcount, shard.sites_headcount_count, tri, first,
                count, start,
            )  # fmt: skip
    elif need:
        return 0
    return copy(shard, scratch, shard.order[tri], shard.order_size[tri], first, count, start)


# -- heads that are looked for ----------------------------------------------------------------


def walk(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    tri: i64,
    first: i64,
    end: i64,
    count: i64,
    start: i64,
) -> i64:
    """The first `count` matches among the places [first, end) of an order; 0 if there are fewer."""
    order = shard.order[tri]
    need: i64 = source.need
    if tri <= CA_ASC:
        need &= ~TURNOVER
    if tri == EFFECTIF and source.headcount_first >= 0 and source.fact_low < shard.site_bit:
        need &= ~FACTS
    if end > shard.order_size[tri]:
        end = shard.order_size[tri]
    kept: i64 = 0
    size: i64 = 64
    while first < end:
        stop: i64 = first + size if first + size < end else end
        size = BLOCK
        left: i64
        if need & FACTS and tri == CA_DESC and first < shard.known:
            if stop > shard.known:
                stop = shard.known
            left = list_facts(shard, source, scratch, 1, first, stop)
            replace(shard, scratch, order, shard.order_size[tri], left)
            left = keep(shard, source, scratch, need & ~FACTS, left)
        else:
            left = take(shard, scratch, order, first, stop - first)
            left = keep(shard, source, scratch, need, left)
        if left > count - kept:
            left = count - kept
        for i in range(left):
            scratch.heads[start + kept + i] = scratch.block[i]
        kept += left
        if kept == count:
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
    """`walk` where it is cheaper than ranking all matches, by estimates that both share; TOO_DEAR if neither is cheap.

    A walk that finds less than was to be expected ends when it has cost as much.
    """
    by_rank: f64 = question.listed_cost * source.total + question.start_cost
    if not source.listed:
        by_rank += source.cost
    expected: f64 = count
    expected = expected * (end - first) / source.total
    by_walk: f64 = question.listed_cost * expected
    scratch.spent += by_walk if by_walk < by_rank else by_rank
    if scratch.spent > question.budget:
        return TOO_DEAR
    if by_walk >= by_rank:
        return 0
    budget: f64 = by_rank / question.listed_cost if question.listed_cost else expected
    if budget < 2 * expected:
        budget = 2 * expected
    stop: i64 = end
    if budget < end - first:
        most: i64 = int(budget)
        stop = first + most
    return walk(shard, source, scratch, question.tri, first, stop, count, start)


def head(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
    """Write the first `count` matches of a source, which has as many, to heads[start:]."""
    shard = table.shards[source.shard]
    tri: i64 = question.tri
    if count <= 0 or count > source.total:
        raise_damaged()
    if read(table, question, source, scratch, count, start) >= count:
        return count
    first: i64 = 0
    end: i64 = shard.rows
    if source.need & TURNOVER and tri == CA_DESC:
        first = source.turnover_first
        end = source.turnover_end
    elif source.need & TURNOVER and tri == CA_ASC:
        first = shard.known - source.turnover_end
        end = shard.known - source.turnover_first
    elif source.headcount_first >= 0 and tri == EFFECTIF:
        first = source.headcount_first
        end = source.headcount_end
    elif (source.columns >> CREATION) & 1 and tri == RECENT:
        first = source.code_low[CREATION]
        end = source.code_high[CREATION]
    if source.need & GIVEN:
        choose(table, question, source)
    elif count < source.total or not source.listed:
        if not source.listed:
            choose(table, question, source)
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
    if drain(scratch, size, start, count) < count:
        raise_damaged()
    return count
