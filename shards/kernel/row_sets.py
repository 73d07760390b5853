"""Row sets of the file (FORMAT.md §8), and the list that unites several of them.

A set begins at a position in `ShardArrays.sets`: its kind, its size, the heads of a large set, then its rows. Here one
number represents a set; the number contains the place, the kind and the size. `read_set` reads and checks these values
once, so a file that changes later cannot change the bounds. The list of `q` contains each row once: `Scratch.marks` has
one bit per row, which is 1 if the row is in the list.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, lower_key, raise_damaged, word_at
    from shards.kernel.types import *


def kind_of_set(row_set: i64) -> i64:
    """The kind in the number of a set: LIST, BITS, GAPS, or COUNTED for a set that stores only its size and heads.

    HEADED is removed from the kind; `heads_position` uses it. `read_set` describes the bits of the number of a set.
    """
    kind: i64 = (row_set >> 32) & COUNTED
    return kind if kind == COUNTED else kind & ~HEADED


def size_of_set(row_set: i64) -> i64:
    """The number of rows of the set, in the bits from 35 on of its number (`read_set`)."""
    return row_set >> 35


def heads_position(row_set: i64) -> i64:
    """The position in `ShardArrays.sets` of the heads of a set; 0 if the set has no heads."""
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    return 2 * (row_set & ((wide_one << 32) - 1)) + 2 if (row_set >> 32) & HEADED else 0


def rows_position(row_set: i64, head_rows: i64) -> i64:
    """The position in `ShardArrays.sets` of the rows of a set, after its kind, its size and its heads."""
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    start: i64 = 2 * (row_set & ((wide_one << 32) - 1)) + 2
    return start + 7 * head_rows if (row_set >> 32) & HEADED else start


def find_set(
    shard: ShardArrays, keys: u64s, places: u32s, count: i64, key: u64, head_rows: i64
) -> i64:
    """The number of the set with this key; 0 if no set has the key."""
    index: i64 = lower_key(keys, count, key)
    if index < count and keys[index] == key:
        return read_set(shard, places[index], head_rows)
    return 0


def read_set(shard: ShardArrays, place: i64, head_rows: i64) -> i64:
    """The number of the set at a place of an index, after a check that the set ends within the array.

    The end of a set of gaps is known only when its rows are read, and is checked then. In the number of a set, the
    lowest 32 bits are the place, the next 3 bits the kind, the remaining bits the size, at most MOST_ROWS.
    """
    position: i64 = 2 * place
    if place == 0 or position + 2 > shard.sets_size:
        raise_damaged()
    stored: i64 = shard.sets[position]
    size: i64 = shard.sets[position + 1]
    if stored > COUNTED or size > shard.rows:
        raise_damaged()
    row_set: i64 = place | stored << 32 | size << 35
    kind: i64 = kind_of_set(row_set)
    words: i64 = size
    if kind == BITS:
        words = ((shard.rows + 63) >> 6) << 1
    elif kind == GAPS:
        words = (size + 3) >> 2
    elif kind == COUNTED:
        words = 0
    elif kind != LIST:
        raise_damaged()
    if rows_position(row_set, head_rows) + words > shard.sets_size:
        raise_damaged()
    return row_set


def has_bit(sets: u32s, position: i64, row: i64) -> i64:
    """1 if the set of bits at `position` contains the row."""
    return (sets[position + (row >> 5)] >> (row & 31)) & 1


def is_listed(shard: ShardArrays, scratch: Scratch, row: i64) -> i64:
    """1 if the row is in the list of `q`, else 0."""
    return (scratch.marks[shard.first_mark + (row >> 5)] >> (row & 31)) & 1


def add_row(shard: ShardArrays, source: ShardSearch, scratch: Scratch, row: i64) -> i64:
    """Append a row to the list of `q` if neither the list nor a set of bits contains it; returns 1 if appended."""
    if row >= shard.rows:
        raise_damaged()
    if source.bits and has_bit(shard.sets, source.bits, row):
        return 0
    if source.more_bits and has_bit(shard.sets, source.more_bits, row):
        return 0
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    bit: i64 = wide_one << (row & 31)
    mark_place: i64 = shard.first_mark + (row >> 5)
    row_marks: i64 = scratch.marks[mark_place]
    if row_marks & bit:
        return 0
    scratch.marks[mark_place] = row_marks | bit
    scratch.rows[scratch.used] = row
    scratch.used += 1
    return 1


def add_rows(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, rows: u32s, first: i64, end: i64
) -> i64:
    """Append rows[first:end] to the list of `q`, without rows that the list or a set of bits contains.

    Always returns 0.
    """
    if scratch.used + end - first > scratch.rows_size:
        raise_damaged()
    for i in range(first, end):
        row: i64 = rows[i]
        add_row(shard, source, scratch, row)
    return 0


def add_gaps(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, first: i64, size: i64
) -> i64:
    """Append the `size` rows of a set of gaps to the list of `q`; the bytes of the gaps begin at position `first`.

    A gap is the difference between a row and the row before it. Always returns 0.
    """
    sets = shard.sets
    row: i64 = 0
    byte_index: i64 = 0
    rows_left: i64 = size
    if scratch.used + size > scratch.rows_size:
        raise_damaged()
    while rows_left > 0:
        if first + (byte_index >> 2) >= shard.sets_size:
            raise_damaged()
        gap: i64 = (sets[first + (byte_index >> 2)] >> (8 * (byte_index & 3))) & 255
        byte_index += 1
        row += gap
        if gap != FURTHER:  # FURTHER is only a part of the gap before the next row
            rows_left -= 1
            add_row(shard, source, scratch, row)
    return 0


def add_set(
    shard: ShardArrays, source: ShardSearch, scratch: Scratch, row_set: i64, head_rows: i64
) -> i64:
    """Append the rows of a set to the list of `q`; not for sets of bits, which are used in place."""
    first: i64 = rows_position(row_set, head_rows)
    size: i64 = size_of_set(row_set)
    if kind_of_set(row_set) == GAPS:
        return add_gaps(shard, source, scratch, first, size)
    return add_rows(shard, source, scratch, shard.sets, first, first + size)


def add_postings(shard: ShardArrays, source: ShardSearch, scratch: Scratch, word: i64) -> i64:
    """Append the rows whose names contain a word, given by its number, to the list of `q`."""
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
    """Append the rows of the words that contain the suffixes [first, end) to the list of `q`.

    Suffixes are sorted only by their first SUFFIX_BYTES bytes, so a longer `q` is compared with each suffix here.
    Always returns 0.
    """
    is_long: i64 = question.text_size > SUFFIX_BYTES
    for i in range(first, end):
        place: i64 = shard.suffixes[i]
        if is_long and compare(
            shard.words, shard.words_size, place, question.text, 0, question.text_size
        ):
            continue
        word: i64 = word_at(shard, place)
        add_postings(shard, source, scratch, word)
    return 0


def clear_marks(shard: ShardArrays, source: ShardSearch, scratch: Scratch) -> i64:
    """Reset the bits of the list of `q` to zero. Always returns 0."""
    for i in range(source.name_first, source.name_first + source.name_count):
        row: i64 = scratch.rows[i]
        scratch.marks[shard.first_mark + (row >> 5)] = 0
    return 0


def popcount(word: i64) -> i64:
    """The number of ones in the 32 bits of `word`."""
    # The ones are added in pairs of bits, then in groups of four and eight bits; the product adds the four bytes.
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 255


def count_common(shard: ShardArrays, first_set: i64, second_set: i64) -> i64:
    """The number of rows that two sets of bits share; a set is its position in `ShardArrays.sets`."""
    sets = shard.sets
    total: i64 = 0
    for i in range((shard.rows + 31) >> 5):
        common: i64 = sets[first_set + i] & sets[second_set + i]
        total += popcount(common)
    return total


def count_bits(shard: ShardArrays, source: ShardSearch, first: i64, end: i64) -> i64:
    """The number of rows in [first, end) that match `q` by the sets of bits of a source, `bits` and `more_bits`."""
    sets = shard.sets
    bits: i64 = source.bits
    second_bits: i64 = source.more_bits
    total: i64 = 0
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    word: i64 = first >> 5
    last_word: i64 = (end - 1) >> 5
    if first >= end:
        return 0
    # Of the first and the last word, only the bits of rows in [first, end) are counted.
    union: i64 = sets[bits + word] | (sets[second_bits + word] if second_bits else 0)
    union &= ~((wide_one << (first & 31)) - 1)
    while word < last_word:
        total += popcount(union)
        word += 1
        union = sets[bits + word] | (sets[second_bits + word] if second_bits else 0)
    bits_in_last: i64 = ((end - 1) & 31) + 1
    union &= (wide_one << bits_in_last) - 1
    return total + popcount(union)
