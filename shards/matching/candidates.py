"""Candidates for a name that is written differently: the rows whose names share the most weight with a line.

A line of a list has a few words, which stand in the index of words (`line_words`).
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import lower_bound, raise_damaged
    from shards.kernel.types import *
    from shards.matching.line_words import postings_end, postings_of, seek_words


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
