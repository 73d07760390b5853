"""The words of a line in a shard: as they are written, with a typing error, and what each of them weighs.

A text is looked up once in a batch of lines: a table has, by text and shard, the number of a word and of its rows.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        first_suffix,
        first_word,
        last_suffix,
        owner_of,
        raise_damaged,
        suffix_key,
    )
    from shards.kernel.types import *


def word_of(shard: ShardArrays, text: u8s, start: i64, length: i64) -> i64:
    """The number of the word text[start:][:length], whose last byte is the END of a word; -1 if there is none."""
    word: i64 = first_word(shard, text, start, length, 0)
    if word >= shard.word_count or compare(
        shard.words, shard.words_size, shard.word_starts[word], text, start, length
    ):
        return -1
    return word


def postings_of(shard: ShardArrays, word: i64) -> i64:
    """The number of rows of a word, checked."""
    if word >= shard.word_count:
        raise_damaged()
    first: i64 = shard.posting_starts[word]
    return postings_end(shard, word, first) - first


def postings_end(shard: ShardArrays, word: i64, first: i64) -> i64:
    """Where the rows of a word end that begin at `first`, checked."""
    end: i64 = shard.posting_starts[word + 1]
    if end < first or end > shard.posting_count:
        raise_damaged()
    return end


# -- words that are nearly the same ----------------------------------------------------------


def is_near(data: u8s, place: i64, size: i64, text: u8s, start: i64, length: i64, unit: i64) -> i64:
    """1 if two texts differ by one character inserted, left out or replaced, or by two that changed places.

    A character has up to `unit` bytes. Equal texts are near.
    """
    same: i64 = 0
    least: i64 = size if size < length else length
    while same < least and data[place + same] == text[start + same]:
        same += 1
    tail: i64 = 0
    while tail < least - same and data[place + size - 1 - tail] == text[start + length - 1 - tail]:
        tail += 1
    one: i64 = size - same - tail
    other: i64 = length - same - tail
    if one <= unit and other <= unit:
        return 1
    if one != other or one != 2 * unit:
        return 0
    for i in range(unit):
        if data[place + same + i] != text[start + same + unit + i]:
            return 0
        if data[place + same + unit + i] != text[start + same + i]:
            return 0
    return 1


def add_near(
    shard: ShardArrays, word: i64, text: u8s, start: i64, length: i64, unit: i64, pool: Pool
) -> i64:
    """Put a word into the pool if it is near; returns 0 if the pool is full."""
    if word >= shard.word_count:
        raise_damaged()
    place: i64 = shard.word_starts[word]
    size: i64 = shard.word_starts[word + 1] - 1 - place
    if size < 0 or place + size > shard.words_size:
        raise_damaged()
    far: i64 = size > length + unit or length > size + unit
    if far or is_near(shard.words, place, size, text, start, length, unit) == 0:
        return 1
    for i in range(pool.count):
        if pool.rows[i] == word:
            return 1
    if pool.count == pool.room:
        return 0
    pool.rows[pool.count] = word
    pool.count += 1
    return 1


def begins_before(shard: ShardArrays, place: i64, length: i64, unit: i64) -> i64:
    """1 if a word begins about `length` bytes before a place in the words, `unit` more or less."""
    if place >= shard.words_size:
        raise_damaged()
    for before in range(length - unit, length + unit + 1):
        start: i64 = place - before
        if start == 0 or (start > 0 and shard.words[start - 1] == WORD_END):
            return 1
    return 0


def near_words(
    shard: ShardArrays, text: u8s, start: i64, length: i64, unit: i64, pool: Pool
) -> i64:
    """Collect the words that are near text[start:][:length]; an END follows the text.

    With one error, the first or the second half is still right: either the word begins with the first half, or it ends
    with the second: ranges of the sorted words and suffixes. Where two characters changed places across the middle, the
    caller looks for that one word.
    """
    half: i64 = length >> 1
    first: i64 = first_word(shard, text, start, half, 0)
    end: i64 = first_word(shard, text, start, half, 1)
    if end > first + NEAR_SCANNED:
        end = first + NEAR_SCANNED
    for word in range(first, end):
        if add_near(shard, word, text, start, length, unit, pool) == 0:
            return 0
    rest: i64 = length - half + 1  # the END of the word with it
    at: i64 = start + half
    low: u64 = suffix_key(text, at, rest)
    high: u64 = low + 1
    if rest < 8:
        high = low + (cython.cast(u64, 1) << (8 * (8 - rest)))
    first = first_suffix(shard, low, text, at, rest if rest < 24 else 24)
    end = last_suffix(shard, first, high, text, at, rest if rest < 24 else 24)
    if end > first + NEAR_SCANNED:
        end = first + NEAR_SCANNED
    for index in range(first, end):
        if cython.compiled and index + SUFFIXES_AHEAD < end:
            ahead: i64 = shard.suffixes[index + SUFFIXES_AHEAD]
            if ahead < shard.words_size:
                prefetch(cython.address(shard.words[ahead]))
        if begins_before(shard, shard.suffixes[index], half, unit) == 0:
            continue
        owner: i64 = owner_of(shard, shard.suffixes[index])
        if add_near(shard, owner, text, start, length, unit, pool) == 0:
            return 0
    return 0


# -- the words of a shard that a line is sought by ------------------------------------------------


def find_word(
    shard: ShardArrays, text: u8s, start: i64, length: i64, numbers: Ints, at: i64
) -> i64:
    """Look a text up as a word, unless numbers[at] is known: its number, -1 for none, and the number of its rows."""
    if numbers[at] != NOT_LOOKED_UP:
        return 0
    word: i64 = word_of(shard, text, start, length)
    numbers[at + 1] = postings_of(shard, word) if word >= 0 else 0
    numbers[at] = word
    return 1


def companies_of(rows: i64) -> i64:
    """As how many companies a shard with so many rows counts."""
    return rows if rows > LEAST_COMPANIES else LEAST_COMPANIES


def information(rows: i64, with_word: i64) -> f64:
    """What it tells that a name of a shard has a word, as `information` of `candidate_rows.py`."""
    return log((companies_of(rows) + 1) / (with_word + 0.5))


def seek_word(pool: Pool, word: i64, group: i64, weight: f64) -> i64:
    """Put a word behind those that are sought in the shard, unless it is there or they are too many."""
    if pool.end == pool.first + SOUGHT:
        return 0
    for i in range(pool.first, pool.end):
        if pool.words[i] == word:
            return 0
    pool.words[pool.end] = word
    pool.groups[pool.end] = group
    pool.weights[pool.end] = weight
    pool.end += 1
    if weight > pool.heaviest[group]:
        pool.heaviest[group] = weight
    return 1


def seek_words(
    shard: ShardArrays, text: u8s, numbers: Ints, column: i64, stride: i64, pool: Pool
) -> i64:
    """Find the words that are sought in a shard, with what each weighs: those from `pool.first` on.

    Args:
        numbers: of the shard, those of the text number `i` from `i * stride + column` on.
    """
    companies: i64 = companies_of(shard.rows)
    pool.end = pool.first
    for group in range(pool.group_count):
        pool.heaviest[group] = 0.0
    for i in range(pool.spelling_count):
        at: i64 = pool.text_places[i] * stride + column
        start: i64 = pool.text_starts[i]
        find_word(shard, text, start, pool.text_starts[i + 1] - start, numbers, at)
        if numbers[at] >= 0:
            weight: f64 = pool.shares[i] * information(shard.rows, numbers[at + 1])
            seek_word(pool, numbers[at], pool.spelling_groups[i], weight)
    if pool.near == 0:
        return 0
    for i in range(pool.spelling_count):
        unit: i64 = pool.units[i]
        if unit == 0 or numbers[pool.text_places[i] * stride + column + 1] * RARE >= companies:
            continue
        begin: i64 = pool.text_starts[i]
        pool.count = 0
        near_words(shard, text, begin, pool.text_starts[i + 1] - begin - 1, unit, pool)
        for j in range(pool.count):
            word: i64 = pool.rows[j]
            told: f64 = pool.near_weight * information(shard.rows, postings_of(shard, word))
            seek_word(pool, word, pool.spelling_groups[i], told)
    return 0


# -- for Python ------------------------------------------------------------------------------------


def lookup(table: Address, shard: int, text: bytes, numbers: Address, at: int) -> int:
    """Do for `text`, which an END follows, what `find_word` does."""
    generation: Table = cython.cast(Table, table)
    given: u8s = text
    size: i64 = len(text)
    known: Ints = cython.cast(Ints, numbers)
    number: i64 = shard
    place: i64 = at
    return find_word(generation.shards[number], given, 0, size, known, place)
