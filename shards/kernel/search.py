"""One search over all chosen shards: an exact total, and the first rows of all of them, in order.

All shards are counted before rows are put in order, as the total bounds how many; only those with matches stay
sources. What a search marked in the working memory is zero again at its end, also where it is given up as too dear.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.codes import clear_codes
    from shards.kernel.conditions import count_matches, reset, set_cells, take_census
    from shards.kernel.heads import head
    from shards.kernel.merge import merge
    from shards.kernel.row_sets import clear_marks
    from shards.kernel.types import *


def search(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Answer a question; returns the total, and leaves the rows in the working memory.

    Returns TOO_DEAR where that would cost more than the budget of the question.
    """
    count: i64 = question.offset + question.limit
    # A census needs every row, so no head of a stored set will do.
    needed: i64 = scratch.rows_size if question.census else count
    total: i64 = 0
    parts: i64 = 0
    source_count: i64 = 0
    source: ShardSearch
    scratch.used = 0
    scratch.spent = 0.0
    scratch.result[0] = 0
    for i in range(question.shard_count):
        source = scratch.sources[source_count]
        reset(source, question.shards[i])
        source_count += 1
        if count_matches(table, question, source, scratch, parts, needed) == TOO_DEAR:
            total = TOO_DEAR
            break
        counted: i64 = 0
        if source.total and question.census:
            counted = take_census(table, question, source, scratch)
        if counted == TOO_DEAR:
            total = TOO_DEAR
            break
        if source.total:
            total += source.total
            parts = source.part_first + source.part_count
        else:
            clear(table, scratch, source)
            source_count -= 1
    if question.limit and total > question.offset:
        count = count if count < total else total
        if source_count == 1:
            source = scratch.sources[0]
            if head(table, question, source, scratch, count, 0) == TOO_DEAR:
                total = TOO_DEAR
            else:
                copy_head(source, scratch, count)
        elif merge(table, question, scratch, source_count, total, count) == TOO_DEAR:
            total = TOO_DEAR
        copy_page(question, scratch)
    for i in range(source_count):
        source = scratch.sources[i]
        if question.census & LISTED:
            scratch.found_shard[i] = source.shard
            scratch.found_row[i] = source.list_first
            scratch.found_tie[i] = source.list_count
            scratch.result[0] = source_count
        clear(table, scratch, source)
    return total


def copy_head(source: ShardSearch, scratch: Scratch, count: i64) -> i64:
    """Make the head of the only source the rows that are found."""
    for i in range(count):
        scratch.found_shard[i] = source.shard
        scratch.found_row[i] = scratch.heads[i]
        scratch.found_tie[i] = 0
    scratch.result[0] = count
    return count


def copy_page(question: KernelQuery, scratch: Scratch) -> i64:
    """Write the rows of the page as pairs, and whether some have equal folded names, which Python then orders."""
    found: i64 = scratch.result[0]
    count: i64 = question.offset + question.limit
    ties: i64 = 0
    for i in range(question.offset, found):
        ties |= scratch.found_tie[i]
        if i < count:
            scratch.page[2 * (i - question.offset)] = scratch.found_shard[i]
            scratch.page[2 * (i - question.offset) + 1] = scratch.found_row[i]
    scratch.result[1] = ties
    return ties


def clear(table: Table, scratch: Scratch, source: ShardSearch) -> i64:
    """Make the working memory that a source has marked zero again."""
    if source.scoped:
        set_cells(table, source, scratch, 0)
    if source.tables:
        clear_codes(table.shards[source.shard], source, scratch)
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
    """`search` for Python: takes what `memory.py` has placed, and frees Python's lock.

    `text`, `endings`, `prefix` and `values` are the fields of these names, which no placed record holds.

    Raises:
        CorruptError: a shard refers to what it does not have; the working memory is spoilt.
    """
    generation: Table = cython.cast(Table, table)
    asked: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    total: i64 = 0
    asked.text = text
    asked.endings = endings
    asked.prefix = prefix
    asked.values = values
    with cython.nogil:
        total = search(generation, asked, memory)
    return total  # noqa: RET504 (with the lock, into a Python number)
