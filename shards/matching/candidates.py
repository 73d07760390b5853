"""Candidates for the name of a line, also misspelt: the rows whose names share the most weight with the line.

The words of a line are looked up in each shard, as written and with a typing error, and weighed. The look-ups of a
batch of lines are in a table: by text and shard, the number of a word and the number of its rows.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        end_of_suffixes,
        first_suffix,
        first_word,
        lower_bound,
        raise_damaged,
        suffix_key,
        word_at,
    )
    from shards.kernel.types import *


def word_of(shard: ShardArrays, text: u8s, start: i64, length: i64) -> i64:
    """The number of the word text[start:][:length], which ends with the END of a word; -1 if the shard lacks it."""
    word: i64 = first_word(shard, text, start, length, 0)
    if word >= shard.word_count or compare(
        shard.words, shard.words_size, shard.word_starts[word], text, start, length
    ):
        return -1
    return word


def row_count_of(shard: ShardArrays, word: i64) -> i64:
    """The number of rows whose names contain a word; the bounds that the shard stores are checked."""
    if word >= shard.word_count:
        raise_damaged()
    first: i64 = shard.posting_starts[word]
    return postings_end(shard, word, first) - first


def postings_end(shard: ShardArrays, word: i64, first: i64) -> i64:
    """The end of the rows of a word, which begin at `first`; the bounds that the shard stores are checked."""
    end: i64 = shard.posting_starts[word + 1]
    if end < first or end > shard.posting_count:
        raise_damaged()
    return end


# -- words that are nearly the same ----------------------------------------------------------


def is_near(data: u8s, place: i64, size: i64, text: u8s, start: i64, length: i64, unit: i64) -> i64:
    """1 if two texts differ by one character inserted, left out or replaced, or by two that changed places; else 0.

    The texts are data[place:][:size] and text[start:][:length]; equal texts are near. A letter has up to `unit` bytes.
    """
    common_head: i64 = 0
    least: i64 = size if size < length else length
    while common_head < least and data[place + common_head] == text[start + common_head]:
        common_head += 1
    common_tail: i64 = 0
    while (
        common_tail < least - common_head
        and data[place + size - 1 - common_tail] == text[start + length - 1 - common_tail]
    ):
        common_tail += 1
    size_between: i64 = size - common_head - common_tail
    length_between: i64 = length - common_head - common_tail
    if size_between <= unit and length_between <= unit:
        return 1
    if size_between != length_between or size_between != 2 * unit:
        return 0
    # Two characters are left in each text: are they swapped?
    for i in range(unit):
        if data[place + common_head + i] != text[start + common_head + unit + i]:
            return 0
        if data[place + common_head + unit + i] != text[start + common_head + i]:
            return 0
    return 1


def add_misspelling(
    shard: ShardArrays, word: i64, text: u8s, start: i64, length: i64, unit: i64, pool: Pool
) -> i64:
    """Add a word of the shard to the pool if the word is near the text; return 0 if the pool is full, else 1."""
    if word >= shard.word_count:
        raise_damaged()
    place: i64 = shard.word_starts[word]
    size: i64 = shard.word_starts[word + 1] - 1 - place
    if size < 0 or place + size > shard.words_size:
        raise_damaged()
    is_far: i64 = size > length + unit or length > size + unit
    if is_far or is_near(shard.words, place, size, text, start, length, unit) == 0:
        return 1
    for i in range(pool.count):  # `pool.rows` has words until rows are weighed
        if pool.rows[i] == word:
            return 1
    if pool.count == pool.room:
        return 0
    pool.rows[pool.count] = word
    pool.count += 1
    return 1


def begins_before(shard: ShardArrays, place: i64, length: i64, unit: i64) -> i64:
    """1 if a word begins `length` bytes before a place in the words, or up to `unit` bytes more or less; else 0."""
    if place >= shard.words_size:
        raise_damaged()
    for distance in range(length - unit, length + unit + 1):
        start: i64 = place - distance
        if start == 0 or (start > 0 and shard.words[start - 1] == WORD_END):
            return 1
    return 0


def collect_misspellings(
    shard: ShardArrays, text: u8s, start: i64, length: i64, unit: i64, pool: Pool
) -> i64:
    """Collect the words of a shard that are near text[start:][:length], in `pool.rows`; an END follows the text.

    With one error, one half is still right: the word begins with the first half or ends with the second half, which are
    ranges of the sorted words and suffixes. A swap of two characters across the middle is left out: the caller looks
    that spelling up. Always returns 0.
    """
    half_length: i64 = length >> 1
    first: i64 = first_word(shard, text, start, half_length, 0)
    end: i64 = first_word(shard, text, start, half_length, 1)
    if end > first + NEAR_SCANNED:
        end = first + NEAR_SCANNED
    for word in range(first, end):
        if add_misspelling(shard, word, text, start, length, unit, pool) == 0:
            return 0
    ending_size: i64 = length - half_length + 1  # with the END of the word
    ending_start: i64 = start + half_length
    low: u64 = suffix_key(text, ending_start, ending_size)
    high: u64 = low + 1
    if ending_size < 8:
        high = low + (cython.cast(u64, 1) << (8 * (8 - ending_size)))
    # Suffixes are sorted by their first 24 bytes (SUFFIX_BYTES).
    first = first_suffix(shard, low, text, ending_start, ending_size if ending_size < 24 else 24)
    end = end_of_suffixes(
        shard, first, high, text, ending_start, ending_size if ending_size < 24 else 24
    )
    if end > first + NEAR_SCANNED:
        end = first + NEAR_SCANNED
    for index in range(first, end):
        if cython.compiled and index + SUFFIXES_AHEAD < end:
            ahead: i64 = shard.suffixes[index + SUFFIXES_AHEAD]
            if ahead < shard.words_size:
                prefetch(cython.address(shard.words[ahead]))
        if begins_before(shard, shard.suffixes[index], half_length, unit) == 0:
            continue
        owner: i64 = word_at(shard, shard.suffixes[index])
        if add_misspelling(shard, owner, text, start, length, unit, pool) == 0:
            return 0
    return 0


# -- the words of a shard by which a line is looked up ------------------------------------------------


def find_word(
    shard: ShardArrays, text: u8s, start: i64, length: i64, numbers: Ints, table_index: i64
) -> i64:
    """Look up a word once: write its number (-1 if the shard lacks it) and how many rows have it.

    These two numbers are written to numbers[table_index:][:2]. Returns 1, or 0 if an earlier look-up has written them.
    """
    if numbers[table_index] != NOT_LOOKED_UP:
        return 0
    word: i64 = word_of(shard, text, start, length)
    numbers[table_index + 1] = row_count_of(shard, word) if word >= 0 else 0
    numbers[table_index] = word
    return 1


def companies_of(rows: i64) -> i64:
    """The number of companies that weights assume for a shard with `rows` rows."""
    return rows if rows > LEAST_COMPANIES else LEAST_COMPANIES


def information(rows: i64, with_word: i64) -> f64:
    """The information of a word that `with_word` rows have, as `information` of `candidate_rows.py`."""
    return log((companies_of(rows) + 1) / (with_word + 0.5))


def add_sought_word(pool: Pool, word: i64, group: i64, weight: f64) -> i64:
    """Add a word of the shard to the words to look for; returns 1, or 0 if it is already there or the pool is full."""
    if pool.end == pool.first + MOST_SPELLINGS:
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


def collect_sought_words(
    shard: ShardArrays, text: u8s, numbers: Ints, column: i64, stride: i64, pool: Pool
) -> i64:
    """Collect the words to look for in a shard, with their weights, from `pool.first` on.

    Args:
        numbers: the table of look-ups; from `i * stride + column` on, it has the two numbers that `find_word` writes
            for text number `i` in this shard.
    """
    companies: i64 = companies_of(shard.rows)
    pool.end = pool.first
    for group in range(pool.group_count):
        pool.heaviest[group] = 0.0
    for i in range(pool.spelling_count):
        number_place: i64 = pool.text_places[i] * stride + column
        start: i64 = pool.text_starts[i]
        find_word(shard, text, start, pool.text_starts[i + 1] - start, numbers, number_place)
        if numbers[number_place] >= 0:
            # numbers[number_place + 1] is how many rows have the word.
            weight: f64 = pool.shares[i] * information(shard.rows, numbers[number_place + 1])
            add_sought_word(pool, numbers[number_place], pool.spelling_groups[i], weight)
    if pool.near == 0:
        return 0
    for i in range(pool.spelling_count):
        # A spelling that is not to be looked up with errors, or that is a frequent word, is skipped.
        unit: i64 = pool.units[i]
        if (
            unit == 0
            or numbers[pool.text_places[i] * stride + column + 1] * TYPO_RARITY >= companies
        ):
            continue
        text_start: i64 = pool.text_starts[i]
        pool.count = 0
        collect_misspellings(
            shard, text, text_start, pool.text_starts[i + 1] - text_start - 1, unit, pool
        )
        for j in range(pool.count):
            word: i64 = pool.rows[j]
            near_weight: f64 = pool.near_weight * information(shard.rows, row_count_of(shard, word))
            add_sought_word(pool, word, pool.spelling_groups[i], near_weight)
    return 0


# -- rows by their words -------------------------------------------------------------------


def pool_place(pool: Pool, word: i64) -> i64:
    """The place of a word in the pool, -1 if it is not there."""
    for i in range(pool.first, pool.end):
        if pool.words[i] == word:
            return i
    return -1


def penalty_of(shard: ShardArrays, pool: Pool, word: i64) -> f64:
    """The penalty of a word that the line does not have: 0 if the word is as frequent as legal forms."""
    return pool.penalty if row_count_of(shard, word) * WIDESPREAD < shard.rows else 0.0


def weigh_name(shard: ShardArrays, pool: Pool, first: i64, end: i64, dropped_weight: f64) -> f64:
    """The weight of the name with words tokens[first:end]. If it is ≤ `dropped_weight`, an upper bound is returned.

    The words that the name shares with the line are weighed first: they decide for most rows, and the other words, each
    far away in memory, are not read.
    """
    score: f64 = 0.0
    weighed_groups: i64 = 0  # one bit per group: spellings of the same word count once
    unshared_words: u64 = 0  # one bit per word that the line does not have, of the first 64 words
    for index in range(first, end):
        token: i64 = shard.tokens[index]
        if token >= shard.word_count:
            raise_damaged()
        place: i64 = pool_place(pool, token)
        if place >= 0:
            if weighed_groups & (cython.cast(i64, 1) << pool.groups[place]) == 0:
                weighed_groups |= cython.cast(i64, 1) << pool.groups[place]
                score += pool.weights[place]
        elif index - first < 64:
            unshared_words |= cython.cast(u64, 1) << (index - first)
        else:
            score -= penalty_of(shard, pool, token)
    token_index: i64 = first
    while unshared_words and score > dropped_weight:
        if unshared_words & 1:
            score -= penalty_of(shard, pool, shard.tokens[token_index])
        unshared_words >>= 1
        token_index += 1
    return score


def least_kept_weight(pool: Pool) -> f64:
    """The weight up to which a row is dropped, because the pool is full of better rows or the best weigh far more.

    `pool.scores` are the weights of the rows of the current shard, `pool.best_scores` those of all shards, descending.
    """
    least: f64 = pool.scores[pool.count - 1] if pool.count == pool.room else LIGHTEST
    if pool.best_count >= ALWAYS_COMPARED:
        # A row far below the best is kept only if it is one of the first ALWAYS_COMPARED rows.
        gap_limit: f64 = pool.best_scores[0] - MOST_WEIGHT_GAP
        if pool.best_scores[ALWAYS_COMPARED - 1] < gap_limit:
            gap_limit = pool.best_scores[ALWAYS_COMPARED - 1]
        # At most MOST_CANDIDATES rows are kept.
        if pool.best_count == MOST_CANDIDATES and pool.best_scores[MOST_CANDIDATES - 1] > gap_limit:
            gap_limit = pool.best_scores[MOST_CANDIDATES - 1]
        gap_limit -= 1e-9  # keep rows with exactly this weight
        least = gap_limit if gap_limit > least else least
    return least


def add_to_best(pool: Pool, shard: i64, row: i64, score: f64) -> i64:
    """Insert a row into the best rows of all shards, by descending weight, then shard and row.

    Returns 1, or 0 if MOST_CANDIDATES rows come before it, so that it is left out.
    """
    place: i64 = pool.best_count
    while place:
        previous: i64 = place - 1
        if pool.best_scores[previous] > score:
            break
        if pool.best_scores[previous] == score and (
            pool.best_shards[previous] < shard
            or (pool.best_shards[previous] == shard and pool.best_rows[previous] < row)
        ):
            break
        if place < MOST_CANDIDATES:
            pool.best_scores[place] = pool.best_scores[previous]
            pool.best_shards[place] = pool.best_shards[previous]
            pool.best_rows[place] = pool.best_rows[previous]
        place = previous
    if place == MOST_CANDIDATES:
        return 0
    pool.best_scores[place] = score
    pool.best_shards[place] = shard
    pool.best_rows[place] = row
    if pool.best_count < MOST_CANDIDATES:
        pool.best_count += 1
    return 1


def weigh_row(shard: ShardArrays, pool: Pool, row: i64) -> i64:
    """Weigh a row by the best of its present and former names, and keep it if it is among the best rows.

    Rows are kept twice: in `pool.rows` for the shard, and in the best rows of all shards. Returns 1 if the best rows of
    all shards contain the row, else 0.
    """
    if row >= shard.rows:
        raise_damaged()
    first: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    if end < first or end > shard.token_count:
        raise_damaged()
    dropped_weight: f64 = least_kept_weight(pool)
    score: f64 = LIGHTEST
    pool.weighed += 1
    while first <= end:  # the words [first, stop) of each name, up to the next FORMER_NAME
        stop: i64 = first
        while stop < end and shard.tokens[stop] != FORMER_NAME:
            stop += 1
        name_weight: f64 = weigh_name(
            shard, pool, first, stop, score if score > dropped_weight else dropped_weight
        )
        score = name_weight if name_weight > score else score
        first = stop + 1
    if score <= dropped_weight:
        return 0
    for i in range(pool.count):
        if pool.rows[i] == row:  # it also has another word that was looked for
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
    return add_to_best(pool, pool.number, row, score)


def weigh_rows_of_word(shard: ShardArrays, pool: Pool, word: i64) -> i64:
    """Weigh the rows whose names have a word, until the pool has weighed MOST_WEIGHED rows. Always returns 0."""
    first: i64 = shard.posting_starts[word]
    end: i64 = postings_end(shard, word, first)
    for i in range(first, end):
        if pool.weighed >= MOST_WEIGHED:
            return 0
        if cython.compiled and i + STARTS_AHEAD < end:
            prefetch(cython.address(shard.token_starts[shard.postings[i + STARTS_AHEAD]]))
            if shard.postings[i + TOKENS_AHEAD] < shard.rows:
                token: i64 = shard.token_starts[shard.postings[i + TOKENS_AHEAD]]
                prefetch(cython.address(shard.tokens[token]))
        weigh_row(shard, pool, shard.postings[i])
    return 0


def place_after(numbers: u32s, first: i64, end: i64, least: i64) -> i64:
    """The first place in [first, end) whose number is at least `least`; faster than `lower_bound` near `first`.

    Each step is twice as long as the step before it; a binary search within the last step follows.
    """
    jump: i64 = 1
    while first + jump < end and numbers[first + jump] < least:
        first += jump
        jump <<= 1
    if first + jump < end:
        end = first + jump + 1
    return lower_bound(numbers, first, end, least)


def weigh_rows_of_both(shard: ShardArrays, pool: Pool, word: i64, other_word: i64) -> i64:
    """Weigh the rows that have both words, until the pool has weighed MOST_WEIGHED rows. Always returns 0.

    Each row of the rarer word is looked up among the rows of the other word, which ascend.
    """
    if row_count_of(shard, word) > row_count_of(shard, other_word):
        word, other_word = other_word, word
    first: i64 = shard.posting_starts[word]
    other_place: i64 = shard.posting_starts[other_word]
    end: i64 = postings_end(shard, other_word, other_place)
    for i in range(first, postings_end(shard, word, first)):
        if other_place >= end or pool.weighed >= MOST_WEIGHED:
            return 0
        row: i64 = shard.postings[i]
        other_place = place_after(shard.postings, other_place, end, row)
        if other_place < end and shard.postings[other_place] == row:
            weigh_row(shard, pool, row)
    return 0


def measure_groups(shard: ShardArrays, pool: Pool) -> f64:
    """Write the size and the weight of each group, sizes as negative numbers; return the sum of the weights."""
    for group in range(pool.group_count):
        pool.sizes[group] = 0
        pool.heaviest[group] = 0.0
    for i in range(pool.first, pool.end):
        group_of_word: i64 = pool.groups[i]
        pool.sizes[group_of_word] -= row_count_of(shard, pool.words[i])
        if pool.weights[i] > pool.heaviest[group_of_word]:
            pool.heaviest[group_of_word] = pool.weights[i]
    weight: f64 = 0.0
    for group in range(pool.group_count):
        weight += pool.heaviest[group]
    return weight


def gather_rows(shard: ShardArrays, pool: Pool) -> i64:
    """Keep the rows with the best weights: all rows of rare words, and rows that frequent words share.

    The words of a group are spellings of the same word of the line. Groups are used from the rarest on, up to `allowed`
    rows; then the rows that two of the next groups share are weighed. The loop ends when no other row can weigh enough:
    all rows with a word of a used group have been weighed. Returns the number of kept rows.
    """
    rows_used: i64 = 0
    frequent_count: i64 = 0
    # The most that a row without a word of the used groups weighs.
    weight_left: f64 = measure_groups(shard, pool)
    pool.count = 0
    pool.weighed = 0
    for _ in range(pool.group_count):
        rarest: i64 = -1
        for group in range(pool.group_count):
            if pool.sizes[group] < 0 and (rarest < 0 or pool.sizes[group] > pool.sizes[rarest]):
                rarest = group
        if rarest < 0 or weight_left <= least_kept_weight(pool):
            break
        group_rows: i64 = -pool.sizes[rarest]
        pool.sizes[rarest] = group_rows
        if rows_used + group_rows <= pool.allowed:
            rows_used += group_rows
            weigh_group(shard, pool, rarest)
            weight_left -= pool.heaviest[rarest]
        elif frequent_count < MOST_FREQUENT_GROUPS:
            pool.chosen[frequent_count] = rarest
            frequent_count += 1
    weigh_shared_rows(shard, pool, frequent_count, weight_left)
    # If no row was weighed, weigh the rows of the rarest of the frequent groups.
    if frequent_count and pool.weighed == 0 and weight_left > least_kept_weight(pool):
        for index in range(pool.first, pool.end):
            if pool.groups[index] == pool.chosen[0]:
                weigh_rows_of_word(shard, pool, pool.words[index])
    return pool.count


def weigh_group(shard: ShardArrays, pool: Pool, group: i64) -> i64:
    """Weigh all rows of a group, or only its rows that also have a word of an unused group.

    The second way is used if a row with words of this group alone is too light, and if it costs less. Always returns 0.
    """
    only_shared: i64 = pool.heaviest[group] <= least_kept_weight(pool) and is_sharing_cheaper(
        shard, pool, group
    )
    for i in range(pool.first, pool.end):
        if pool.groups[i] != group:
            continue
        if not only_shared:
            weigh_rows_of_word(shard, pool, pool.words[i])
            continue
        for other_index in range(pool.first, pool.end):
            if pool.sizes[pool.groups[other_index]] < 0:  # the group is unused
                weigh_rows_of_both(shard, pool, pool.words[i], pool.words[other_index])
    return 0


def is_sharing_cheaper(shard: ShardArrays, pool: Pool, group: i64) -> i64:
    """1 if weighing all rows of a group takes longer than finding the rows that it shares with unused groups; else 0.

    A group is the spellings of one word of the line. Both costs are estimated in steps of a pass through rows.
    """
    steps: i64 = 0  # of the passes through the rows of two words, one of them of the group
    step_limit: i64 = WEIGHING_STEPS * pool.sizes[group]  # to weigh all rows of the group
    for i in range(pool.first, pool.end):
        if pool.groups[i] != group:
            continue
        size: i64 = row_count_of(shard, pool.words[i])
        for other_index in range(pool.first, pool.end):
            if pool.sizes[pool.groups[other_index]] >= 0:  # the group is used
                continue
            other_size: i64 = row_count_of(shard, pool.words[other_index])
            smaller: i64 = size if size < other_size else other_size
            # A pass reads the shorter list, with log2(ratio) steps in the longer list for each row.
            ratio: i64 = (size + other_size) // (smaller + 1)
            while ratio > 1:
                steps += smaller
                ratio >>= 1
            steps += PAIR_STEPS
            if steps >= step_limit:
                return 0
    return 1


def weigh_shared_rows(shard: ShardArrays, pool: Pool, frequent_count: i64, weight_left: f64) -> i64:
    """Weigh the rows that two of the frequent groups share; no other row has a weight over `weight_left`.

    `pool.chosen` has the `frequent_count` groups that have too many rows to weigh all of them. Always returns 0.
    """
    for second in range(1, frequent_count):
        weight_left -= pool.heaviest[pool.chosen[second - 1]]
        for first in range(second):
            # A row that also has a word of an earlier chosen group was weighed with that group.
            if weight_left + pool.heaviest[pool.chosen[first]] <= least_kept_weight(pool):
                continue
            for index in range(pool.first, pool.end):
                if pool.groups[index] == pool.chosen[first]:
                    for other_index in range(pool.first, pool.end):
                        if pool.groups[other_index] == pool.chosen[second]:
                            weigh_rows_of_both(
                                shard, pool, pool.words[index], pool.words[other_index]
                            )
    return 0


def gather_best(
    generation: Table, shard_numbers: Ints, count: i64, text: u8s, numbers: Ints, pool: Pool
) -> i64:
    """Keep the best rows of some shards in `pool.best_rows`; returns their number.

    The shards whose rows can weigh most come first: after a shard without a row to keep, the other shards have no row
    to keep either.
    """
    # Look up the words in each shard; `pool.most` becomes the most that a row of the shard can weigh.
    stride: i64 = 2 * generation.shard_count
    pool.best_count = 0
    for chosen_index in range(count):
        pool.first = chosen_index * MOST_SPELLINGS
        collect_sought_words(
            generation.shards[shard_numbers[chosen_index]],
            text,
            numbers,
            2 * shard_numbers[chosen_index],
            stride,
            pool,
        )
        pool.ends[chosen_index] = pool.end
        pool.most[chosen_index] = 0.0 if pool.end > pool.first else LIGHTEST
        for group in range(pool.group_count):
            pool.most[chosen_index] += pool.heaviest[group]
    for _ in range(count):
        heaviest_index: i64 = 0
        for chosen_index in range(count):
            if pool.most[chosen_index] > pool.most[heaviest_index]:
                heaviest_index = chosen_index
        pool.count = 0
        if pool.most[heaviest_index] <= least_kept_weight(pool):
            break
        pool.most[heaviest_index] = LIGHTEST  # so that the shard is not chosen again
        pool.number = shard_numbers[heaviest_index]
        pool.first = heaviest_index * MOST_SPELLINGS
        pool.end = pool.ends[heaviest_index]
        gather_rows(generation.shards[pool.number], pool)
    # Drop the rows that weigh far less than the best, except the first ALWAYS_COMPARED rows.
    while pool.best_count > ALWAYS_COMPARED and (
        pool.best_scores[pool.best_count - 1] < pool.best_scores[0] - MOST_WEIGHT_GAP
    ):
        pool.best_count -= 1
    return pool.best_count


# -- functions that Python calls -------------------------------------------------------------------


def gather(
    table: Address, shards: Address, count: int, text: bytes, numbers: Address, pool: Address
) -> int:
    """Fill the pool with the rows of some shards whose names share the most weight with a line; returns their number.

    Args:
        shards: the numbers of `count` shards.
        text: the spellings of the words of the line, each followed by an END.
        numbers: the table of look-ups that `find_word` writes.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    generation: Table = cython.cast(Table, table)
    shard_numbers: Ints = cython.cast(Ints, shards)
    chosen_count: i64 = count
    texts: u8s = text
    lookups: Ints = cython.cast(Ints, numbers)
    filled_pool: Pool = cython.cast(Pool, pool)
    row_count: i64 = 0
    with cython.nogil:
        row_count = gather_best(
            generation, shard_numbers, chosen_count, texts, lookups, filled_pool
        )
    return row_count  # noqa: RET504 (a Python number needs the lock of the interpreter, so it is made here)


def lookup(table: Address, shard: int, text: bytes, numbers: Address, table_index: int) -> int:
    """`find_word` for Python: looks a word up in shard number `shard`, and writes to numbers[table_index:][:2].

    `text` is the word and an END. Returns 1, or 0 if the numbers were already written.
    """
    generation: Table = cython.cast(Table, table)
    texts: u8s = text
    size: i64 = len(text)
    lookups: Ints = cython.cast(Ints, numbers)
    number: i64 = shard
    place: i64 = table_index
    return find_word(generation.shards[number], texts, 0, size, lookups, place)
