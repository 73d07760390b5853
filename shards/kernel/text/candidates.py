"""Candidates for a name that is written differently: words that are nearly the same, and rows that share words.

A line of a list has a few words. `lookup` finds them in every shard, `nearby` the words that differ from one of
them by a typing error, and `gather` the rows whose names share the most weight with the line; by the index of words.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        damaged,
        first_suffix,
        first_word,
        last_suffix,
        lower,
        owner_of,
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


# -- rows that share words -----------------------------------------------------------------------


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


def place_of(pool: Pool, word: i64) -> i64:
    """The place of a word in the pool, -1 if it is not there."""
    for i in range(pool.word_count):
        if pool.words[i] == word:
            return i
    return -1


def penalty_of(shard: ShardArrays, pool: Pool, word: i64) -> f64:
    """What a word that the line does not have counts against a name: nothing if it is as widespread as legal forms."""
    return pool.penalty if postings_of(shard, word) * WIDESPREAD < shard.rows else 0.0


def weigh_name(shard: ShardArrays, pool: Pool, first: i64, end: i64, least: f64) -> f64:
    """The weight of the name whose words are tokens[first:end]; anything up to `least` if it is not over `least`.

    What the name shares with the line comes first: for most rows that decides, and the other words, each of them far
    away in memory, are not looked at.
    """
    score: f64 = 0.0
    seen: i64 = 0
    others: u64 = 0
    for index in range(first, end):
        token: i64 = shard.tokens[index]
        if token >= shard.word_count:
            damaged()
        found: i64 = place_of(pool, token)
        if found >= 0:
            if seen & (cython.cast(i64, 1) << pool.groups[found]) == 0:
                seen |= cython.cast(i64, 1) << pool.groups[found]
                score += pool.weights[found]
        elif index - first < 64:
            others |= cython.cast(u64, 1) << (index - first)
        else:
            score -= penalty_of(shard, pool, token)
    at: i64 = first
    while others and score > least:
        if others & 1:
            score -= penalty_of(shard, pool, shard.tokens[at])
        others >>= 1
        at += 1
    return score


def consider(shard: ShardArrays, pool: Pool, row: i64) -> i64:
    """Weigh a row by the best of its names, present and former, and keep it if it is among the best."""
    if row >= shard.rows:
        damaged()
    first: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    if end < first or end > shard.token_count:
        damaged()
    full: i64 = pool.count == pool.room
    least: f64 = pool.scores[pool.count - 1] if full else LIGHTEST
    score: f64 = LIGHTEST
    pool.weighed += 1
    while first <= end:
        stop: i64 = first
        while stop < end and shard.tokens[stop] != FORMER_NAME:
            stop += 1
        name: f64 = weigh_name(shard, pool, first, stop, score if score > least else least)
        score = name if name > score else score
        first = stop + 1
    if full and score <= least:
        return 0
    for i in range(pool.count):
        if pool.rows[i] == row:
            return 0
    if pool.count < pool.room:
        pool.count += 1
    place: i64 = pool.count - 1
    while place and pool.scores[place - 1] < score:
        pool.scores[place] = pool.scores[place - 1]
        pool.rows[place] = pool.rows[place - 1]
        place -= 1
    pool.scores[place] = score
    pool.rows[place] = row
    return 1


def consider_all(shard: ShardArrays, pool: Pool, word: i64) -> i64:
    """Weigh the rows of a word, as many as are allowed."""
    first: i64 = shard.posting_starts[word]
    end: i64 = postings_end(shard, word, first)
    for i in range(first, end):
        if pool.weighed >= POOLED:
            return 0
        if cython.compiled and i + FAR_AHEAD < end:
            prefetch(cython.address(shard.token_starts[shard.postings[i + FAR_AHEAD]]))
            if shard.postings[i + AHEAD] < shard.rows:
                token: i64 = shard.token_starts[shard.postings[i + AHEAD]]
                prefetch(cython.address(shard.tokens[token]))
        consider(shard, pool, shard.postings[i])
    return 0


def place_after(numbers: u32s, first: i64, end: i64, least: i64) -> i64:
    """`lower`, found in growing steps: the place is not far from `first`."""
    step: i64 = 1
    while first + step < end and numbers[first + step] < least:
        first += step
        step <<= 1
    if first + step < end:
        end = first + step + 1
    return lower(numbers, first, end, least)


def consider_both(shard: ShardArrays, pool: Pool, one: i64, other: i64) -> i64:
    """Weigh the rows that two words have in common."""
    if postings_of(shard, one) > postings_of(shard, other):
        one, other = other, one
    first: i64 = shard.posting_starts[one]
    at: i64 = shard.posting_starts[other]
    end: i64 = postings_end(shard, other, at)
    for i in range(first, postings_end(shard, one, first)):
        if at >= end or pool.weighed >= POOLED:
            return 0
        row: i64 = shard.postings[i]
        at = place_after(shard.postings, at, end, row)
        if at < end and shard.postings[at] == row:
            consider(shard, pool, row)
    return 0


def group_size(shard: ShardArrays, pool: Pool, group: i64) -> i64:
    """The number of rows of the words of a group."""
    size: i64 = 0
    for i in range(pool.word_count):
        if pool.groups[i] == group:
            size += postings_of(shard, pool.words[i])
    return size


def gather_rows(shard: ShardArrays, pool: Pool) -> i64:
    """Keep the rows of the best weight: all rows of rare words, and those that frequent words have in common.

    The words of a group stand for the same word of the line. Groups are taken from the rarest one on, until there are
    `allowed` rows; then the rows that two of the next groups share.
    """
    used: i64 = 0
    frequent: i64 = 0
    pool.count = 0
    pool.weighed = 0
    for group in range(pool.group_count):
        pool.sizes[group] = 0
    for _ in range(pool.group_count):
        best: i64 = -1
        least: i64 = 0
        for group in range(pool.group_count):
            if pool.sizes[group] == 0:
                size: i64 = group_size(shard, pool, group)
                if size and (best < 0 or size < least):
                    best = group
                    least = size
        if best < 0:
            break
        pool.sizes[best] = least
        if used + least <= pool.allowed:
            used += least
            for i in range(pool.word_count):
                if pool.groups[i] == best:
                    consider_all(shard, pool, pool.words[i])
        elif frequent < FREQUENT_GROUPS:
            pool.chosen[frequent] = best
            frequent += 1
    for i in range(frequent):
        for j in range(i + 1, frequent):
            for k in range(pool.word_count):
                if pool.groups[k] == pool.chosen[i]:
                    for m in range(pool.word_count):
                        if pool.groups[m] == pool.chosen[j]:
                            consider_both(shard, pool, pool.words[k], pool.words[m])
    if frequent and pool.count == 0 and used == 0:
        for k in range(pool.word_count):
            if pool.groups[k] == pool.chosen[0]:
                consider_all(shard, pool, pool.words[k])
    return pool.count


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


def gather(table: Address, shard: int, pool: Address) -> int:
    """Fill the pool with the best rows of a shard; returns how many there are.

    Raises:
        CorruptError: the shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    number: i64 = shard
    kept: Pool = cython.cast(Pool, pool)
    found: i64 = 0
    with cython.nogil:
        found = gather_rows(generation.shards[number], kept)
    return found  # noqa: RET504 (with the lock, into a Python number)
