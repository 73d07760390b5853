"""Row sets of the file (FORMAT.md §8), and the list that unites several of them.

A set lies at a position in `ShardArrays.sets`: its kind, its size, the heads of a large one, then its
rows. It is known by one number that holds the position, the kind and the size: these are read from the
map once, where they are checked (`set_at`), so a file that changes later moves no bound. The rows of a
list are each there once: `Scratch.marks` has a bit for each, which also answers whether a row is listed.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, lower_key, owner_of, raise_damaged
    from shards.kernel.types import *


def kind_of(row_set: i64) -> i64:
    """LIST, BITS, GAPS, or COUNTED for a set that has no rows, only their number and heads."""
    kind: i64 = (row_set >> 32) & COUNTED
    return kind if kind == COUNTED else kind & ~HEADED


def size_of(row_set: i64) -> i64:
    """How many rows the set has."""
    return row_set >> 35


def heads_of(row_set: i64) -> i64:
    """The position of the heads; 0 if the set has none."""
    one: i64 = 1
    return 2 * (row_set & ((one << 32) - 1)) + 2 if (row_set >> 32) & HEADED else 0


def rows_of(row_set: i64, head_rows: i64) -> i64:
    """The position of the rows, behind the heads."""
    one: i64 = 1
    start: i64 = 2 * (row_set & ((one << 32) - 1)) + 2
    return start + 7 * head_rows if (row_set >> 32) & HEADED else start


def set_of(
    shard: ShardArrays, keys: u64s, places: u32s, count: i64, key: u64, head_rows: i64
) -> i64:
    """The set with this key; 0 if there is none."""
    index: i64 = lower_key(keys, count, key)
    if index < count and keys[index] == key:
        return set_at(shard, places[index], head_rows)
    return 0


def set_at(shard: ShardArrays, place: i64, head_rows: i64) -> i64:
    """The set at a place of an index, checked: it is whole, its gaps excepted.

    The place is in the lowest 32 bits of the number, then 3 bits of the kind, then the size, which is at most
    MOST_ROWS.
    """
    position: i64 = 2 * place
    if place == 0 or position + 2 > shard.sets_size:
        raise_damaged()
    stored: i64 = shard.sets[position]
    size: i64 = shard.sets[position + 1]
    if stored > COUNTED or size > shard.rows:
        raise_damaged()
    row_set: i64 = place | stored << 32 | size << 35
    kind: i64 = kind_of(row_set)
    words: i64 = size
    if kind == BITS:
        words = ((shard.rows + 63) >> 6) << 1
    elif kind == GAPS:
        words = (size + 3) >> 2
    elif kind == COUNTED:
        words = 0
    elif kind != LIST:
        raise_damaged()
    if rows_of(row_set, head_rows) + words > shard.sets_size:
        raise_damaged()
    return row_set


def has_bit(sets: u32s, position: i64, row: i64) -> i64:
    """1 where the set of bits at `position` has the row."""
    return (sets[position + (row >> 5)] >> (row & 31)) & 1


def is_listed(shard: ShardArrays, scratch: Scratch, row: i64) -> i64:
    """1 where the row is in the list of `q`."""
    return (scratch.marks[shard.first_mark + (row >> 5)] >> (row & 31)) & 1


def add(shard: ShardArrays, source: ShardSearch, scratch: Scratch, row: i64) -> i64:
    """List a row, unless it is listed or in one of the sets of bits of the source."""
    if row >= shard.rows:
        raise_damaged()
    if source.bits and has_bit(shard.sets, source.bits, row):
        return 0
    if source.more_bits and has_bit(shard.sets, source.more_bits, row):
        return 0
    one: i64 = 1
    bit: i64 = one << (row & 31)
    word: i64 = shard.first_mark + (row >> 5)
    held: i64 = scratch.marks[word]
    if held & bit:
        return 0
    scratch.marks[word] = held | bit
    scratch.rows[scratch.used] = row
    scratch.used += 1
    return 1


def add_rows(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, rows: u32s, first: i64, end: i64
) -> i64:
    """List the rows rows[first:end]."""
    if scratch.used + end - first > scratch.rows_size:
        raise_damaged()
    for i in range(first, end):
        row: i64 = rows[i]
        add(shard, source, scratch, row)
    return 0


def add_gaps(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, size: i64
) -> i64:
    """List the rows of a set of gaps, whose bytes begin at position `first`."""
    sets = shard.sets
    row: i64 = 0
    i: i64 = 0
    left: i64 = size
    if scratch.used + size > scratch.rows_size:
        raise_damaged()
    while left > 0:
        if first + (i >> 2) >= shard.sets_size:
            raise_damaged()
        gap: i64 = (sets[first + (i >> 2)] >> (8 * (i & 3))) & 255
        i += 1
        row += gap
        if gap != FURTHER:
            left -= 1
            add(shard, source, scratch, row)
    return 0


def add_set(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, row_set: i64, head_rows: i64
) -> i64:
    """List the rows of a set that is no set of bits."""
    first: i64 = rows_of(row_set, head_rows)
    size: i64 = size_of(row_set)
    if kind_of(row_set) == GAPS:
        return add_gaps(shard, source, scratch, first, size)
    return add_rows(shard, source, scratch, shard.sets, first, first + size)


def add_postings(shard: ShardArrays, source: ShardSearch, scratch: Scratch, word: i64) -> i64:
    """List the rows whose name has a word."""
    first: i64 = shard.posting_starts[word]
    end: i64 = shard.posting_starts[word + 1]
    if first > end or end > shard.posting_count:
        raise_damaged()
    return add_rows(shard, source, scratch, shard.postings, first, end)


def add_words(
    shard: ShardArrays,
    source: ShardSearch,
    scratch: Scratch,
    first: i64,
    end: i64,
    question: KernelQuery,
) -> i64:
    """List the rows of the words in which the suffixes [first, end) lie.

    Suffixes are sorted by SUFFIX_BYTES bytes: of a longer `q` the rest is compared here.
    """
    long: i64 = question.text_size > SUFFIX_BYTES
    for i in range(first, end):
        place: i64 = shard.suffixes[i]
        if long and compare(
            shard.words, shard.words_size, place, question.text, 0, question.text_size
        ):
            continue
        word: i64 = owner_of(shard, place)
        add_postings(shard, source, scratch, word)
    return 0


def clear_marks(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """Make the marks of a source zero again."""
    for i in range(source.name_first, source.name_first + source.name_count):
        row: i64 = scratch.rows[i]
        scratch.marks[shard.first_mark + (row >> 5)] = 0
    return 0


def popcount(word: i64) -> i64:
    """How many of the 32 bits of `word` are one."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 255


def count_common(shard: ShardArrays, bits: i64, other: i64) -> i64:
    """How many rows two sets of bits share."""
    sets = shard.sets
    total: i64 = 0
    for i in range((shard.rows + 31) >> 5):
        held: i64 = sets[bits + i] & sets[other + i]
        total += popcount(held)
    return total


def count_bits(shard: ShardArrays, source: ShardSearch, first: i64, end: i64) -> i64:
    """How many rows of [first, end) are in the sets of bits of a source."""
    sets = shard.sets
    bits: i64 = source.bits
    more: i64 = source.more_bits
    total: i64 = 0
    one: i64 = 1
    word: i64 = first >> 5
    last: i64 = (end - 1) >> 5
    if first >= end:
        return 0
    # The words at both ends count in part.
    held: i64 = sets[bits + word] | (sets[more + word] if more else 0)
    held &= ~((one << (first & 31)) - 1)
    while word < last:
        total += popcount(held)
        word += 1
        held = sets[bits + word] | (sets[more + word] if more else 0)
    left: i64 = ((end - 1) & 31) + 1
    held &= (one << left) - 1
    return total + popcount(held)
