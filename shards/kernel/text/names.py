"""`q` in one shard: the rows whose name contains it or whose identifier begins with it (B15).

Each of the two sides is a stored row set, or words, identifiers or rows that are united here. Sets of
bits stay where they are; all other rows go to one list, each once. Where nothing else is asked, the
heads of the sets answer the first page.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, first_id, first_suffix, last_id, last_suffix
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
    from shards.kernel.text.phrases import add_phrase, find_phrase, phrase_cost
    from shards.kernel.types import *


def find_named(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, count: i64
) -> i64:
    """Find the rows of `q` and set their number as the total of the source.

    `count` rows will be asked for at most. Where `source.need` is 0, nothing else is asked; a census
    needs the rows all the same.
    """
    alone: i64 = source.need == 0
    names: i64 = NOTHING
    names_set: i64 = 0
    first: i64 = 0
    end: i64 = 0
    ids: i64 = NOTHING
    ids_set: i64 = 0
    ids_first: i64 = 0
    ids_end: i64 = 0
    one: i64 = 1
    key: u64
    if question.word_count > 1:
        names_set = find_phrase(shard, question)
        if names_set > 0:
            names = STORED
        elif names_set < 0:
            names = PHRASE
            names_set = 0
    else:
        size: i64 = question.text_size if question.text_size < SUFFIX_BYTES else SUFFIX_BYTES
        first = first_suffix(shard, question.suffix_low, question.text, 0, size)
        if first < shard.suffix_count and not compare(
            shard.words, shard.words_size, shard.suffixes[first], question.text, 0, size
        ):
            end = last_suffix(shard, first, question.suffix_high, question.text, 0, size)
            names = WORDS
            if question.text_size <= SUFFIX_BYTES:
                key = first * (one << 32) + end
                names_set = set_of(
                    shard,
                    shard.heavy_keys,
                    shard.heavy_places,
                    shard.heavy_count,
                    key,
                    question.head_rows,
                )
                if names_set:
                    names = STORED
    if question.prefix_size:
        ids_first = first_id(shard, question.prefix_low, question.prefix, question.prefix_size)
        ids_end = last_id(
            shard, ids_first, question.prefix_high, question.prefix, question.prefix_size
        )
        if ids_first < ids_end:
            ids = IDENTIFIERS
            key = ids_first * (one << 32) + ids_end
            ids_set = set_of(
                shard,
                shard.prefix_keys,
                shard.prefix_places,
                shard.prefix_count,
                key,
                question.head_rows,
            )
            if ids_set:
                ids = STORED
    if alone and (names == NOTHING or ids == NOTHING) and names + ids == STORED:
        source.heads = heads_of(names_set + ids_set)
        if source.heads:
            source.headed = ALONE
            if count <= question.head_rows and not question.census:
                source.total = size_of(names_set + ids_set)
                return 0
    if names == STORED and kind_of(names_set) == COUNTED:
        names = WORDS
    if names == WORDS:
        scratch.spent += UNITED * question.listed_cost * (end - first)
    elif names == PHRASE:
        scratch.spent += question.listed_cost * phrase_cost(shard, question)
    elif names == STORED and kind_of(names_set) != BITS:
        scratch.spent += question.listed_cost * size_of(names_set)
    if ids:
        scratch.spent += question.listed_cost * (ids_end - ids_first)
    if scratch.spent > question.budget:
        return TOO_DEAR
    take_bits(shard, question, source, names, names_set, ids, ids_set)
    source.name_first = scratch.used
    if names == STORED:
        if kind_of(names_set) != BITS:
            add_set(shard, source, scratch, names_set, question.head_rows)
    elif names == WORDS:
        add_words(shard, source, scratch, first, end, question)
    elif names == PHRASE:
        add_phrase(shard, question, source, scratch)
    if ids == STORED:
        if kind_of(ids_set) != BITS:
            add_set(shard, source, scratch, ids_set, question.head_rows)
    elif ids == IDENTIFIERS:
        add_rows(shard, source, scratch, shard.id_rows, ids_first, ids_end)
    source.name_count = scratch.used - source.name_first
    source.total += source.name_count
    return 0


def take_bits(
    shard: ShardArrays,
    question: KernelQuery,
    source: ShardSearch,
    names: i64,
    names_set: i64,
    ids: i64,
    ids_set: i64,
) -> i64:
    """Let the source use the sets of bits among the two, and count their rows."""
    headed: i64 = 1
    source.total = 0
    if names == STORED and kind_of(names_set) == BITS:
        source.bits = rows_of(names_set, question.head_rows)
        source.total = size_of(names_set)
        source.heads = heads_of(names_set)
        headed = source.heads != 0
    if ids == STORED and kind_of(ids_set) == BITS:
        held: i64 = rows_of(ids_set, question.head_rows)
        source.total += size_of(ids_set)
        if source.bits:
            source.more_bits = held
            source.total -= count_common(shard, source.bits, held)
            source.more_heads = heads_of(ids_set)
            headed &= source.more_heads != 0
        else:
            source.bits = held
            source.heads = heads_of(ids_set)
            headed = source.heads != 0
    if source.need == 0 and source.headed == UNKNOWN and source.bits and headed:
        source.headed = TOGETHER
    return 0
