"""The first rows by rank: a heap of the least places of an order, each with its row."""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import ascending_place, raise_damaged
    from shards.kernel.types import *


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
