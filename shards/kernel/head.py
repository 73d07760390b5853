"""Heads that are looked for, where none can be read.

Either the order is walked until enough rows have met the conditions, or all matches are ranked: a walk is cheap where
many match, ranking where few do.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged
    from shards.kernel.generate import choose, generate
    from shards.kernel.heap import drain, push_rows
    from shards.kernel.rows import keep, list_facts, replace, take
    from shards.kernel.stored_heads import read
    from shards.kernel.types import *


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
        generate(table, question, source, scratch, scratch.rows_size)
        if not source.listed:
            raise_damaged()
    size: i64 = push_rows(
        shard, tri, scratch.heap, 0, count, scratch.rows, source.list_first,
        source.list_first + source.list_count,
    )  # fmt: skip
    if drain(scratch, size, start, count) < count:
        raise_damaged()
    return count
