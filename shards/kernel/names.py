"""`q` in one shard: the rows whose name contains it or whose identifier begins with it (B15).

Each of the two sides is a stored row set, or words, identifiers or rows that are united here. Sets of
bits stay where they are; all other rows go to one list, each once. Where nothing else is asked, the
heads of the sets answer the first page.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, first_id, first_suffix, last_id, last_suffix
    from shards.kernel.phrases import add_phrase, find_phrase, phrase_cost
    from shards.kernel.row_sets import (
        add_rows,
        add_set,
        add_words,
        count_common,
        heads_of,
        kind_of,
        rows_of,
        set_of,
        size_of,
    )  # fmt: skip
    from shards.kernel.types import *


def look_ahead(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Ask for the memory that `find_named` will read in all shards, so that the waits for it overlap.

    One after the other, the binary searches of 25 countries wait a thousand times. Here each does a step in
    turn, and asks for what it will compare next; the places that they find are not used.
    """
    if not cython.compiled or 4 * question.shard_count > scratch.width:
        return 0
    heap = scratch.heap  # two numbers a search, four searches a shard: the bounds of what is left
    first: i64
    end: i64
    going: i64 = 1
    for i in range(4 * question.shard_count):
        heap[2 * i] = 0
        heap[2 * i + 1] = key_count(table.shards[question.shards[i >> 2]], question, i & 3)
    while going:
        going = 0
        for i in range(4 * question.shard_count):
            first = heap[2 * i]
            end = heap[2 * i + 1]
            if first >= end:
                continue
            going = 1
            shard = table.shards[question.shards[i >> 2]]
            keys = shard.id_keys if i & 2 else shard.suffix_keys
            low: u64 = question.prefix_low if i & 2 else question.suffix_low
            high: u64 = question.prefix_high if i & 2 else question.suffix_high
            middle: i64 = (first + end) >> 1
            if keys[middle] < (high if i & 1 else low):
                first = middle + 1
            else:
                end = middle
            heap[2 * i] = first
            heap[2 * i + 1] = end
            if first < end:
                prefetch(cython.address(keys[(first + end) >> 1]))
            elif i & 2:
                ask_for_ids(shard, first)
            else:
                prefetch(cython.address(shard.suffixes[SAMPLED * first]))
                prefetch(cython.address(shard.suffixes[SAMPLED * first - SAMPLED]))
    for i in range(4 * question.shard_count):
        if not i & 2 and heap[2 * i]:
            ask_for_words(table.shards[question.shards[i >> 2]], SAMPLED * (heap[2 * i] - 1))
    return 0


def key_count(shard: ShardArrays, question: KernelQuery, search: i64) -> i64:
    """How many keys a search of `look_ahead` goes through: of suffixes (0, 1) or identifiers (2, 3)."""
    if search & 2:
        return (shard.rows + SAMPLED - 1) // SAMPLED if question.prefix_size else 0
    return (shard.suffix_count + SAMPLED - 1) // SAMPLED if question.word_count == 1 else 0


def ask_for_ids(shard: ShardArrays, key: i64) -> i64:
    """Ask for the identifiers before a key, among which a search ends."""
    if shard.id_width and key:
        for i in range(0, SAMPLED, 4):
            prefetch(cython.address(shard.ids[(SAMPLED * (key - 1) + i) * shard.id_width]))
    return 0


def ask_for_words(shard: ShardArrays, suffix: i64) -> i64:
    """Ask for the words of the suffixes from this one on, among which a search ends."""
    for i in range(suffix, suffix + SAMPLED):
        if i < shard.suffix_count:
            prefetch(cython.address(shard.words[shard.suffixes[i]]))
    return 0


def find_named(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, count: i64
) -> i64:
    """Find the rows of `q` and set their number as the total of the source.

    `count` rows will be asked for at most. Where `source.need` is 0, nothing else is asked; a census
    needs the rows all the same.
    """
    find_names(shard, question, source)
    find_ids(shard, question, source)
    alone: i64 = source.need == 0 and (source.names == NOTHING or source.ids == NOTHING)
    if alone and source.names + source.ids == STORED:
        source.heads = heads_of(source.name_set + source.id_set)
        if source.heads:
            source.headed = ALONE
            if count <= question.head_rows and not question.census:
                source.total = size_of(source.name_set + source.id_set)
                return 0
    if source.names == STORED and kind_of(source.name_set) == COUNTED:
        source.names = WORDS if question.word_count == 1 else PHRASE
    scratch.spent += question.listed_cost * named_rows(shard, question, source)
    if scratch.spent > question.budget:
        return TOO_DEAR
    take_bits(shard, question, source)
    source.name_first = scratch.used
    list_rows(shard, question, source, scratch)
    source.name_count = scratch.used - source.name_first
    source.total += source.name_count
    return 0


def find_names(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Set how names that contain `q` are found: by a stored set, by suffixes of words, or as a phrase."""
    one: i64 = 1
    source.names = NOTHING
    source.name_set = 0
    if question.word_count > 1:
        source.name_set = find_phrase(shard, question)
        if source.name_set > 0:
            source.names = STORED
        elif source.name_set < 0:
            source.names = PHRASE
            source.name_set = 0
        return 0
    size: i64 = question.text_size if question.text_size < SUFFIX_BYTES else SUFFIX_BYTES
    first: i64 = first_suffix(shard, question.suffix_low, question.text, 0, size)
    if first >= shard.suffix_count or compare(
        shard.words, shard.words_size, shard.suffixes[first], question.text, 0, size
    ):
        return 0
    end: i64 = last_suffix(shard, first, question.suffix_high, question.text, 0, size)
    source.names = WORDS
    source.suffix_first = first
    source.suffix_end = end
    if question.text_size <= SUFFIX_BYTES:
        key: u64 = first * (one << 32) + end
        source.name_set = set_of(
            shard, shard.heavy_keys, shard.heavy_places, shard.heavy_count, key, question.head_rows
        )
        if source.name_set:
            source.names = STORED
    return 0


def find_ids(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Set how identifiers that begin with `q` are found: by a stored set, or in the sorted identifiers."""
    one: i64 = 1
    source.ids = NOTHING
    source.id_set = 0
    if not question.prefix_size:
        return 0
    first: i64 = first_id(shard, question.prefix_low, question.prefix, question.prefix_size)
    end: i64 = last_id(shard, first, question.prefix_high, question.prefix, question.prefix_size)
    source.id_first = first
    source.id_end = end
    if first < end:
        source.ids = IDENTIFIERS
        key: u64 = first * (one << 32) + end
        source.id_set = set_of(
            shard, shard.prefix_keys, shard.prefix_places, shard.prefix_count, key,
            question.head_rows,
        )  # fmt: skip
        if source.id_set:
            source.ids = STORED
    return 0


def named_rows(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """How many rows it costs as much to test as to list those of `q`, by estimate."""
    rows: i64 = 0
    if source.names == WORDS:
        rows = UNITED * (source.suffix_end - source.suffix_first)
    elif source.names == PHRASE:
        rows = phrase_cost(shard, question)
    elif source.names == STORED and kind_of(source.name_set) != BITS:
        rows = size_of(source.name_set)
    if source.ids:
        rows += source.id_end - source.id_first
    return rows


def list_rows(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """List the rows of `q` that are in no set of bits."""
    if source.names == STORED:
        if kind_of(source.name_set) != BITS:
            add_set(shard, source, scratch, source.name_set, question.head_rows)
    elif source.names == WORDS:
        add_words(shard, source, scratch, source.suffix_first, source.suffix_end, question)
    elif source.names == PHRASE:
        add_phrase(shard, question, source, scratch)
    if source.ids == STORED:
        if kind_of(source.id_set) != BITS:
            add_set(shard, source, scratch, source.id_set, question.head_rows)
    elif source.ids == IDENTIFIERS:
        add_rows(shard, source, scratch, shard.id_rows, source.id_first, source.id_end)
    return 0


def take_bits(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Let the source use the sets of bits among the two, and count their rows."""
    headed: i64 = 1
    source.total = 0
    if source.names == STORED and kind_of(source.name_set) == BITS:
        source.bits = rows_of(source.name_set, question.head_rows)
        source.total = size_of(source.name_set)
        source.heads = heads_of(source.name_set)
        headed = source.heads != 0
    if source.ids == STORED and kind_of(source.id_set) == BITS:
        held: i64 = rows_of(source.id_set, question.head_rows)
        source.total += size_of(source.id_set)
        if source.bits:
            source.more_bits = held
            source.total -= count_common(shard, source.bits, held)
            source.more_heads = heads_of(source.id_set)
            headed &= source.more_heads != 0
        else:
            source.bits = held
            source.heads = heads_of(source.id_set)
            headed = source.heads != 0
    if source.need == 0 and source.headed == UNKNOWN and source.bits and headed:
        source.headed = TOGETHER
    return 0
