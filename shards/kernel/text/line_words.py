"""The words of a line in a shard: as they are written (`lookup`), and with a typing error (`nearby`)."""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import compare, damaged, first_suffix, first_word, last_suffix, owner_of
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
        damaged()
    first: i64 = shard.posting_starts[word]
    return postings_end(shard, word, first) - first


def postings_end(shard: ShardArrays, word: i64, first: i64) -> i64:
    """Where the rows of a word end that begin at `first`, checked."""
    end: i64 = shard.posting_starts[word + 1]
    if end < first or end > shard.posting_count:
        damaged()
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
        damaged()
    place: i64 = shard.word_starts[word]
    size: i64 = shard.word_starts[word + 1] - 1 - place
    if size < 0 or place + size > shard.words_size:
        damaged()
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


def suffix_key(text: u8s, start: i64, length: i64) -> u64:
    """The first 8 bytes from `start` on as a number, filled up with zeros."""
    key: u64 = 0
    for i in range(8):
        key = key << 8
        if i < length:
            key = key | text[start + i]
    return key


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
        owner: i64 = owner_of(shard, shard.suffixes[index])
        if add_near(shard, owner, text, start, length, unit, pool) == 0:
            return 0
    return 0


# -- for Python ------------------------------------------------------------------------------------


def lookup(
    table: Address,
    shards: Address,
    shard_count: int,
    text: bytes,
    starts: Address,
    count: int,
    words: Address,
) -> int:
    """Find texts as words of shards; writes the number of each, -1 for none, and of its rows, shard by shard.

    Args:
        text: the texts, each followed by an END.
        starts: where the texts begin in `text`, and where the last one ends.
        words: room for two numbers of each text in each shard.
    """
    generation: Table = cython.cast(Table, table)
    chosen: Ints = cython.cast(Ints, shards)
    chosen_count: i64 = shard_count
    given: u8s = text
    places: Ints = cython.cast(Ints, starts)
    out: Ints = cython.cast(Ints, words)
    number: i64 = count
    found: i64 = 0
    at: i64 = 0
    word: i64 = 0
    shard: ShardArrays
    with cython.nogil:
        for i in range(chosen_count):
            shard = generation.shards[chosen[i]]
            for j in range(number):
                word = word_of(shard, given, places[j], places[j + 1] - places[j])
                out[at] = word
                out[at + 1] = 0
                if word >= 0:
                    out[at + 1] = postings_of(shard, word)
                    found += 1
                at += 2
    return found


def nearby(table: Address, shard: int, text: bytes, unit: int, pool: Address) -> int:
    """Put the words near `text`, which an END follows, into the rows of the pool; returns how many there are."""
    generation: Table = cython.cast(Table, table)
    given: u8s = text
    size: i64 = len(text) - 1
    number: i64 = shard
    bytes_each: i64 = unit
    kept: Pool = cython.cast(Pool, pool)
    found: i64 = 0
    with cython.nogil:
        kept.count = 0
        near_words(generation.shards[number], given, 0, size, bytes_each, kept)
        found = kept.count
    return found  # noqa: RET504 (with the lock, into a Python number)
