"""Heads that are read: where a list of the shard has the first rows, or few lists have them together."""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import lower_bound, raise_damaged
    from shards.kernel.generate import span_bound
    from shards.kernel.heap import drain, push, push_row, push_rows
    from shards.kernel.types import *


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


def cell_fronts(
    table: Table,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    count: i64,
    start: i64,
) -> i64:
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
            return cell_fronts(table, question, source, scratch, count, start)
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
