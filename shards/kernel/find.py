"""Binary searches: places in sorted arrays, texts in an index of texts, keys of rows."""

from __future__ import annotations

import cython

from shards.errors import CorruptError

if not cython.compiled:
    from shards.kernel.types import *


def raise_damaged() -> i64:
    """Raise for an index that a file holds and an array does not have."""
    raise CorruptError(
        "a shard refers to a row, a word or a place that it does not have; run "
        "`python -m shards verify`, then build or fetch the generation again"
    )


# -- sorted arrays -----------------------------------------------------------------------


def lower_bound(numbers: u32s, first: i64, end: i64, least: i64) -> i64:
    """The first place of [first, end) whose number is at least `least`; `end` if there is none."""
    while first < end:
        middle: i64 = (first + end) >> 1
        if numbers[middle] < least:
            first = middle + 1
        else:
            end = middle
    return first


def lower_key(keys: u64s, end: i64, least: u64) -> i64:
    """`lower_bound` among 64-bit keys, from the first one on."""
    first: i64 = 0
    while first < end:
        middle: i64 = (first + end) >> 1
        if keys[middle] < least:
            first = middle + 1
        else:
            end = middle
    return first


def turnover_place(shard: ShardArrays, key: f64, after: i64) -> i64:
    """Where the rows with this turnover key begin in `ca_desc`, or end if `after`."""
    keys = shard.turnover_keys
    first: i64 = 0
    end: i64 = shard.step_count[0]
    while first < end:
        middle: i64 = (first + end) >> 1
        if keys[middle] < key or (after and keys[middle] == key):
            first = middle + 1
        else:
            end = middle
    place: i64 = shard.steps[0][first]
    if place > shard.known:
        raise_damaged()
    return place


def key_step(keys: i32s, end: i64, key: i64, after: i64) -> i64:
    """The first of `end` ascending keys that is at least `key`, or greater if `after`."""
    first: i64 = 0
    while first < end:
        middle: i64 = (first + end) >> 1
        if keys[middle] < key or (after and keys[middle] == key):
            first = middle + 1
        else:
            end = middle
    return first


def date_place(shard: ShardArrays, key: i64, after: i64) -> i64:
    """Where the rows with this key begin in `recent`, or end if `after`."""
    step: i64 = key_step(shard.date_keys, shard.step_count[RECENT], key, after)
    place: i64 = shard.steps[RECENT][step]
    if place > shard.rows:
        raise_damaged()
    return place


def cell_of(shard: ShardArrays, row: i64) -> i64:
    """The cell of a row: that of the first of 64 rows, or one of the next."""
    cell: i64 = shard.cell_marks[row >> 6]
    while row >= shard.cell_stops[cell]:
        cell += 1
    return cell


# -- keys and places of rows ---------------------------------------------------------------


def step_at(shard: ShardArrays, tri: i64, place: i64) -> i64:
    """The step of the order in which `place` lies."""
    steps = shard.steps[tri]
    found: i64 = lower_bound(steps, 0, shard.step_count[tri] + 1, place + 1) - 1
    if found < 0 or found >= shard.step_count[tri]:
        raise_damaged()
    return found


def ascending_place(shard: ShardArrays, place: i64) -> i64:
    """The place in `ca_asc` of the row that stands at `place` of `ca_desc` (FORMAT.md §7)."""
    if place >= shard.known:
        return place
    step: i64 = step_at(shard, 0, place)
    start: i64 = shard.steps[0][step]
    stop: i64 = shard.steps[0][step + 1]
    found: i64 = shard.known - stop + (place - start)
    if found < 0 or found >= shard.known:
        raise_damaged()
    return found


def sort_key(shard: ShardArrays, tri: i64, row: i64) -> f64:
    """What rows of different countries are merged by, in any order but `nom`; infinite for null."""
    place: i64 = shard.rank[tri][row]
    if place >= shard.steps[tri][shard.step_count[tri]]:
        return INFINITY
    step: i64 = step_at(shard, tri, place)
    if tri == CA_ASC:
        return -shard.turnover_keys[step]
    if tri == EFFECTIF:
        return shard.headcount_keys[step]
    if tri == RECENT:
        return shard.date_keys[step]
    if tri == CAPITAL:
        return shard.capital_keys[step]
    if tri == SCORE:
        return shard.score_keys[step]
    return shard.turnover_keys[step]


# -- texts -----------------------------------------------------------------------------------


def compare(data: u8s, size: i64, place: i64, text: u8s, start: i64, length: i64) -> i64:
    """-1, 0 or 1: how the bytes of `data` from `place` on compare with text[start:][:length]."""
    for i in range(length):
        if place + i >= size:
            return -1
        one: i64 = data[place + i]
        other: i64 = text[start + i]
        if one != other:
            return -1 if one < other else 1
    return 0


def id_place(shard: ShardArrays, index: i64) -> i64:
    """Where the identifier `index` begins."""
    return index * shard.id_width if shard.id_width else shard.id_starts[index]


def suffix_key(text: u8s, start: i64, length: i64) -> u64:
    """The first 8 bytes from `start` on as a number, filled up with zeros."""
    key: u64 = 0
    for i in range(8):
        key = key << 8
        if i < length:
            key = key | text[start + i]
    return key


def first_suffix(shard: ShardArrays, low: u64, text: u8s, start: i64, length: i64) -> i64:
    """How many suffixes come before this text; `low` is its first 8 bytes, as a number."""
    keys: i64 = (shard.suffix_count + SAMPLED - 1) // SAMPLED
    place: i64 = SAMPLED * lower_key(shard.suffix_keys, keys, low)
    first: i64 = place - SAMPLED + 1 if place else 0
    end: i64 = place if length <= 8 and place < shard.suffix_count else shard.suffix_count
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.words, shard.words_size, shard.suffixes[middle], text, start, length) < 0:
            first = middle + 1
        else:
            end = middle
    return first


def last_suffix(
    shard: ShardArrays, first: i64, high: u64, text: u8s, start: i64, length: i64
) -> i64:
    """Where the suffixes end that begin with this text, the first of which is `first`."""
    keys: i64 = (shard.suffix_count + SAMPLED - 1) // SAMPLED
    end: i64 = SAMPLED * lower_key(shard.suffix_keys, keys, high)
    if length <= 8 and end - SAMPLED + 1 > first:
        first = end - SAMPLED + 1
    if end > shard.suffix_count:
        end = shard.suffix_count
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.words, shard.words_size, shard.suffixes[middle], text, start, length) <= 0:
            first = middle + 1
        else:
            end = middle
    return first


def first_id(shard: ShardArrays, low: u64, text: u8s, length: i64) -> i64:
    """How many identifiers come before this text; `low` is its first 8 bytes, as a number."""
    keys: i64 = (shard.rows + SAMPLED - 1) // SAMPLED
    place: i64 = SAMPLED * lower_key(shard.id_keys, keys, low)
    first: i64 = place - SAMPLED + 1 if place else 0
    end: i64 = place if length <= 8 and place < shard.rows else shard.rows
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.ids, shard.ids_size, id_place(shard, middle), text, 0, length) < 0:
            first = middle + 1
        else:
            end = middle
    return first


def last_id(shard: ShardArrays, first: i64, high: u64, text: u8s, length: i64) -> i64:
    """Where the identifiers end that begin with this text, the first of which is `first`."""
    keys: i64 = (shard.rows + SAMPLED - 1) // SAMPLED
    end: i64 = SAMPLED * lower_key(shard.id_keys, keys, high)
    if length <= 8 and end - SAMPLED + 1 > first:
        first = end - SAMPLED + 1
    if end > shard.rows:
        end = shard.rows
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.ids, shard.ids_size, id_place(shard, middle), text, 0, length) <= 0:
            first = middle + 1
        else:
            end = middle
    return first


def first_word(shard: ShardArrays, text: u8s, start: i64, length: i64, after: i64) -> i64:
    """How many words come before this text, those that begin with it included if `after`."""
    first: i64 = 0
    end: i64 = shard.word_count
    while first < end:
        middle: i64 = (first + end) >> 1
        found: i64 = compare(
            shard.words, shard.words_size, shard.word_starts[middle], text, start, length
        )
        if found < 0 or (after and found == 0):
            first = middle + 1
        else:
            end = middle
    return first


def owner_of(shard: ShardArrays, place: i64) -> i64:
    """The word to which the byte `place` of the words belongs."""
    if place >= shard.words_size:
        raise_damaged()
    word: i64 = shard.owners[place // OWNED]
    while word < shard.word_count and shard.word_starts[word + 1] <= place:
        word += 1
    if word >= shard.word_count:
        raise_damaged()
    return word
