"""One search over all chosen shards: an exact total, and the first rows of all of them, in order.

All shards are counted first, because the total bounds the number of rows to sort. Shards without matches are dropped.
At the end of a search all marks in the working memory are zero again, even if the search was too expensive.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import clear_allowed_codes
    from shards.kernel.conditions import count_matches, reset_source, set_cell_marks, take_census
    from shards.kernel.heads import find_head
    from shards.kernel.merge import merge_heads
    from shards.kernel.row_sets import clear_marks
    from shards.kernel.types import *


def search(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Run a query; returns the number of matches, and leaves the rows of the page in the working memory.

    Returns TOO_DEAR if the estimated cost exceeds the budget of the query.
    """
    count: i64 = question.offset + question.limit
    # A census needs every row, so the head of a stored set is not enough.
    rows_needed: i64 = scratch.rows_size if question.census else count
    total: i64 = 0
    selected_count: i64 = 0
    source_count: i64 = 0
    source: ShardSearch
    scratch.used = 0
    scratch.spent = 0.0
    scratch.result[0] = 0
    for i in range(question.shard_count):
        source = scratch.sources[source_count]
        reset_source(source, question.shards[i])
        source_count += 1
        if count_matches(table, question, source, scratch, selected_count, rows_needed) == TOO_DEAR:
            total = TOO_DEAR
            break
        census_result: i64 = 0
        if source.total and question.census:
            census_result = take_census(table, question, source, scratch)
        if census_result == TOO_DEAR:
            total = TOO_DEAR
            break
        if source.total:
            total += source.total
            selected_count = source.part_first + source.part_count
        else:
            clear_source(table, scratch, source)
            source_count -= 1
    if question.limit and total > question.offset:
        count = count if count < total else total
        if source_count == 1:
            source = scratch.sources[0]
            if find_head(table, question, source, scratch, count, 0) == TOO_DEAR:
                total = TOO_DEAR
            else:
                copy_head(source, scratch, count)
        elif merge_heads(table, question, scratch, source_count, total, count) == TOO_DEAR:
            total = TOO_DEAR
        copy_page(question, scratch)
    for i in range(source_count):
        source = scratch.sources[i]
        # With LISTED, the result is the list of matches of each shard, by its start and length.
        if question.census & LISTED:
            scratch.found_shard[i] = source.shard
            scratch.found_row[i] = source.list_first
            scratch.found_tie[i] = source.list_count
            scratch.result[0] = source_count
        clear_source(table, scratch, source)
    return total


def copy_head(source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Copy the `count` rows of the head of the only source to the found rows, and return `count`."""
    for i in range(count):
        scratch.found_shard[i] = source.shard
        scratch.found_row[i] = scratch.heads[i]
        scratch.found_tie[i] = 0
    scratch.result[0] = count
    return count


def copy_page(question: KernelQuery, scratch: Scratch) -> i64:
    """Write the rows of the page to `page` as pairs of shard and row.

    `result[1]` becomes 1 if any rows of the page, or after it, have the folded name of the row before them, because
    Python sorts rows of equal folded names afterwards; else 0. This number is also returned.
    """
    row_count: i64 = scratch.result[0]
    count: i64 = question.offset + question.limit
    ties: i64 = 0
    for i in range(question.offset, row_count):
        ties |= scratch.found_tie[i]
        if i < count:
            scratch.page[2 * (i - question.offset)] = scratch.found_shard[i]
            scratch.page[2 * (i - question.offset) + 1] = scratch.found_row[i]
    scratch.result[1] = ties
    return ties


def clear_source(table: Table, scratch: Scratch, source: ShardSearch) -> i64:
    """Reset the marks of a source in the working memory to zero. Always returns 0."""
    if source.scoped:
        set_cell_marks(table, source, scratch, 0)
    if source.tables:
        clear_allowed_codes(table.shards[source.shard], source, scratch)
    if source.name_count:
        clear_marks(table.shards[source.shard], source, scratch)
    return 0


def run(
    table: Address,
    question: Address,
    scratch: Address,
    text: bytes,
    endings: bytes,
    prefix: bytes,
    values: bytes,
) -> int:
    """`search` for Python: takes the addresses from `memory.py`, and releases Python's lock.

    `text`, `endings`, `prefix` and `values` become the fields of these names; the placed record does not hold them.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have; do not reuse the working memory.
    """
    generation: Table = cython.cast(Table, table)
    query: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    total: i64 = 0
    query.text = text
    query.endings = endings
    query.prefix = prefix
    query.values = values
    with cython.nogil:
        total = search(generation, query, memory)
    return total  # noqa: RET504 (with the lock, into a Python number)
