"""Candidates for a name that is written differently: the rows whose names share the most weight with a line.

The words of a line are looked up in each shard as they are written and with a typing error, and weighed. A text is
looked up once in a batch of lines: a table has, by text and shard, the number of a word and of its rows.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        first_suffix,
        first_word,
        last_suffix,
        lower_bound,
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


# -- rows by their words -------------------------------------------------------------------


def place_of(pool: Pool, word: i64) -> i64:
    """The place of a word in the pool, -1 if it is not there."""
    for i in range(pool.first, pool.end):
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
            raise_damaged()
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


def floor_of(pool: Pool) -> f64:
    """No row that weighs so little is kept: there is no room, or the row is behind the best ones of all shards."""
    floor: f64 = pool.scores[pool.count - 1] if pool.count == pool.room else LIGHTEST
    if pool.best_count >= FIRST:
        behind: f64 = pool.best_scores[0] - BEHIND
        if pool.best_scores[FIRST - 1] < behind:
            behind = pool.best_scores[FIRST - 1]
        if pool.best_count == KEPT and pool.best_scores[KEPT - 1] > behind:
            behind = pool.best_scores[KEPT - 1]
        behind -= 1e-9  # rows with this weight are kept
        floor = behind if behind > floor else floor
    return floor


def keep(pool: Pool, shard: i64, row: i64, score: f64) -> i64:
    """Put a row among the best ones of all shards: those that weigh the same are in the order of shards and rows."""
    place: i64 = pool.best_count
    while place:
        before: i64 = place - 1
        if pool.best_scores[before] > score:
            break
        if pool.best_scores[before] == score and (
            pool.best_shards[before] < shard
            or (pool.best_shards[before] == shard and pool.best_rows[before] < row)
        ):
            break
        if place < KEPT:
            pool.best_scores[place] = pool.best_scores[before]
            pool.best_shards[place] = pool.best_shards[before]
            pool.best_rows[place] = pool.best_rows[before]
        place = before
    if place == KEPT:
        return 0
    pool.best_scores[place] = score
    pool.best_shards[place] = shard
    pool.best_rows[place] = row
    if pool.best_count < KEPT:
        pool.best_count += 1
    return 1


def consider(shard: ShardArrays, pool: Pool, row: i64) -> i64:
    """Weigh a row by the best of its names, present and former, and keep it if it is among the best."""
    if row >= shard.rows:
        raise_damaged()
    first: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    if end < first or end > shard.token_count:
        raise_damaged()
    least: f64 = floor_of(pool)
    score: f64 = LIGHTEST
    pool.weighed += 1
    while first <= end:
        stop: i64 = first
        while stop < end and shard.tokens[stop] != FORMER_NAME:
            stop += 1
        name: f64 = weigh_name(shard, pool, first, stop, score if score > least else least)
        score = name if name > score else score
        first = stop + 1
    if score <= least:
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
    return keep(pool, pool.number, row, score)


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
    """`lower_bound`, found in growing steps: the place is not far from `first`."""
    step: i64 = 1
    while first + step < end and numbers[first + step] < least:
        first += step
        step <<= 1
    if first + step < end:
        end = first + step + 1
    return lower_bound(numbers, first, end, least)


def consider_both(shard: ShardArrays, pool: Pool, word: i64, other: i64) -> i64:
    """Weigh the rows that two words have in common."""
    if postings_of(shard, word) > postings_of(shard, other):
        word, other = other, word
    first: i64 = shard.posting_starts[word]
    at: i64 = shard.posting_starts[other]
    end: i64 = postings_end(shard, other, at)
    for i in range(first, postings_end(shard, word, first)):
        if at >= end or pool.weighed >= POOLED:
            return 0
        row: i64 = shard.postings[i]
        at = place_after(shard.postings, at, end, row)
        if at < end and shard.postings[at] == row:
            consider(shard, pool, row)
    return 0


def measure_groups(shard: ShardArrays, pool: Pool) -> f64:
    """Find how many rows each group has, which is below 0 until it is taken, and what it weighs; returns the sum."""
    for group in range(pool.group_count):
        pool.sizes[group] = 0
        pool.heaviest[group] = 0.0
    for i in range(pool.first, pool.end):
        own: i64 = pool.groups[i]
        pool.sizes[own] -= postings_of(shard, pool.words[i])
        if pool.weights[i] > pool.heaviest[own]:
            pool.heaviest[own] = pool.weights[i]
    weight: f64 = 0.0
    for group in range(pool.group_count):
        weight += pool.heaviest[group]
    return weight


def gather_rows(shard: ShardArrays, pool: Pool) -> i64:
    """Keep the rows of the best weight: all rows of rare words, and those that frequent words have in common.

    The words of a group stand for the same word of the line. Groups are taken from the rarest one on, until there are
    `allowed` rows; then the rows that two of the next groups share. It ends where no other row can weigh enough: a row
    with a word of a group that was taken has been weighed.
    """
    used: i64 = 0
    frequent: i64 = 0
    left: f64 = measure_groups(shard, pool)
    pool.count = 0
    pool.weighed = 0
    for _ in range(pool.group_count):
        best: i64 = -1
        for group in range(pool.group_count):
            if pool.sizes[group] < 0 and (best < 0 or pool.sizes[group] > pool.sizes[best]):
                best = group
        if best < 0 or left <= floor_of(pool):
            break
        least: i64 = -pool.sizes[best]
        pool.sizes[best] = least
        if used + least <= pool.allowed:
            used += least
            consider_group(shard, pool, best)
            left -= pool.heaviest[best]
        elif frequent < FREQUENT_GROUPS:
            pool.chosen[frequent] = best
            frequent += 1
    consider_shared(shard, pool, frequent, left)
    if frequent and pool.weighed == 0 and left > floor_of(pool):
        for k in range(pool.first, pool.end):
            if pool.groups[k] == pool.chosen[0]:
                consider_all(shard, pool, pool.words[k])
    return pool.count


def consider_group(shard: ShardArrays, pool: Pool, group: i64) -> i64:
    """Weigh the rows of a group: all of them, or those with a word of another one where no others can weigh enough."""
    shared: i64 = pool.heaviest[group] <= floor_of(pool) and is_less_to_share(shard, pool, group)
    for i in range(pool.first, pool.end):
        if pool.groups[i] != group:
            continue
        if not shared:
            consider_all(shard, pool, pool.words[i])
            continue
        for k in range(pool.first, pool.end):
            if pool.sizes[pool.groups[k]] < 0:
                consider_both(shard, pool, pool.words[i], pool.words[k])
    return 0


def is_less_to_share(shard: ShardArrays, pool: Pool, group: i64) -> i64:
    """1 if weighing all rows of a group takes longer than finding those that it shares with groups not taken yet."""
    steps: i64 = 0
    most: i64 = WEIGHING * pool.sizes[group]
    for i in range(pool.first, pool.end):
        if pool.groups[i] != group:
            continue
        one: i64 = postings_of(shard, pool.words[i])
        for k in range(pool.first, pool.end):
            if pool.sizes[pool.groups[k]] >= 0:
                continue
            other: i64 = postings_of(shard, pool.words[k])
            least: i64 = one if one < other else other
            ratio: i64 = (one + other) // (least + 1)
            while ratio > 1:
                steps += least
                ratio >>= 1
            steps += PAIRED
            if steps >= most:
                return 0
    return 1


def consider_shared(shard: ShardArrays, pool: Pool, frequent: i64, left: f64) -> i64:
    """Weigh the rows that two of the frequent groups share; no row weighs over `left` that was not weighed before."""
    for j in range(1, frequent):
        left -= pool.heaviest[pool.chosen[j - 1]]
        for i in range(j):
            # A row with another group before `j` was weighed with it.
            if left + pool.heaviest[pool.chosen[i]] <= floor_of(pool):
                continue
            for k in range(pool.first, pool.end):
                if pool.groups[k] == pool.chosen[i]:
                    for m in range(pool.first, pool.end):
                        if pool.groups[m] == pool.chosen[j]:
                            consider_both(shard, pool, pool.words[k], pool.words[m])
    return 0


def gather_best(
    generation: Table, chosen: Ints, count: i64, text: u8s, numbers: Ints, pool: Pool
) -> i64:
    """Keep the best rows of some shards.

    The shards whose rows may weigh most come first: those after one that has no row to keep have none either.
    """
    stride: i64 = 2 * generation.shard_count
    pool.best_count = 0
    for at in range(count):
        pool.first = at * SOUGHT
        seek_words(generation.shards[chosen[at]], text, numbers, 2 * chosen[at], stride, pool)
        pool.ends[at] = pool.end
        pool.most[at] = 0.0 if pool.end > pool.first else LIGHTEST
        for group in range(pool.group_count):
            pool.most[at] += pool.heaviest[group]
    for _ in range(count):
        best: i64 = 0
        for at in range(count):
            if pool.most[at] > pool.most[best]:
                best = at
        pool.count = 0
        if pool.most[best] <= floor_of(pool):
            break
        pool.most[best] = LIGHTEST
        pool.number = chosen[best]
        pool.first = best * SOUGHT
        pool.end = pool.ends[best]
        gather_rows(generation.shards[pool.number], pool)
    while pool.best_count > FIRST and (
        pool.best_scores[pool.best_count - 1] < pool.best_scores[0] - BEHIND
    ):
        pool.best_count -= 1
    return pool.best_count


# -- for Python ------------------------------------------------------------------------------------


def gather(
    table: Address, shards: Address, count: int, text: bytes, numbers: Address, pool: Address
) -> int:
    """Fill the pool with the best rows of some shards; returns how many there are.

    Args:
        text: the spellings of the pool, each followed by an END.
        numbers: by text and shard, what `find_word` writes.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    chosen: Ints = cython.cast(Ints, shards)
    chosen_count: i64 = count
    given: u8s = text
    known: Ints = cython.cast(Ints, numbers)
    kept: Pool = cython.cast(Pool, pool)
    found: i64 = 0
    with cython.nogil:
        found = gather_best(generation, chosen, chosen_count, given, known, kept)
    return found  # noqa: RET504 (with the lock, into a Python number)


def lookup(table: Address, shard: int, text: bytes, numbers: Address, at: int) -> int:
    """Do for `text`, which an END follows, what `find_word` does."""
    generation: Table = cython.cast(Table, table)
    given: u8s = text
    size: i64 = len(text)
    known: Ints = cython.cast(Ints, numbers)
    number: i64 = shard
    place: i64 = at
    return find_word(generation.shards[number], given, 0, size, known, place)
