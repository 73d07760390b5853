"""Binary searches: places in sorted arrays, texts in an index of texts, keys of rows."""

from __future__ import annotations

import cython

from shards.errors import CorruptError

if not cython.compiled:
    from shards.kernel.types import *


def raise_damaged() -> i64:
    """Raise CorruptError, because an index in the file is outside its array."""
    raise CorruptError(
        "a shard refers to a row, a word or a place that it does not have; run "
        "`python -m shards verify`, then build or fetch the generation again"
    )


# -- sorted arrays -----------------------------------------------------------------------


def lower_bound(numbers: u32s, first: i64, end: i64, least: i64) -> i64:
    """The first place in [first, end) whose number is at least `least`; `end` if all numbers are less."""
    while first < end:
        middle: i64 = (first + end) >> 1
        if numbers[middle] < least:
            first = middle + 1
        else:
            end = middle
    return first


def lower_key(keys: u64s, end: i64, least: u64) -> i64:
    """The index of the first of `end` ascending keys that is at least `least`; `end` if all keys are less."""
    first: i64 = 0
    while first < end:
        middle: i64 = (first + end) >> 1
        if keys[middle] < least:
            first = middle + 1
        else:
            end = middle
    return first


def turnover_place(shard: ShardArrays, key: f64, after: i64) -> i64:
    """The place in `ca_desc` where the rows with this key begin; if `after` is 1, where these rows end.

    A key is a negated turnover, so keys ascend in `ca_desc`. If no row has the key, this is where such rows would be.
    """
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
    if place > shard.turnover_count:
        raise_damaged()
    return place


def key_step(keys: i32s, end: i64, key: i64, after: i64) -> i64:
    """The index of the first of `end` ascending keys that is at least `key`; if `after` is 1, greater than `key`."""
    first: i64 = 0
    while first < end:
        middle: i64 = (first + end) >> 1
        if keys[middle] < key or (after and keys[middle] == key):
            first = middle + 1
        else:
            end = middle
    return first


def date_place(shard: ShardArrays, key: i64, after: i64) -> i64:
    """The place in `recent` where the rows with this key begin; if `after` is 1, where these rows end."""
    step: i64 = key_step(shard.date_keys, shard.step_count[RECENT], key, after)
    place: i64 = shard.steps[RECENT][step]
    if place > shard.rows:
        raise_damaged()
    return place


def cell_of(shard: ShardArrays, row: i64) -> i64:
    """The cell of a row, searched upwards from the stored cell of row 64 × (row // 64)."""
    cell: i64 = shard.cell_marks[row >> 6]
    while row >= shard.cell_stops[cell]:
        cell += 1
    return cell


# -- keys and places of rows ---------------------------------------------------------------


def step_at(shard: ShardArrays, tri: i64, place: i64) -> i64:
    """The step that contains `place`: the index of the distinct key at this place of an order."""
    steps = shard.steps[tri]
    step: i64 = lower_bound(steps, 0, shard.step_count[tri] + 1, place + 1) - 1
    if step < 0 or step >= shard.step_count[tri]:
        raise_damaged()
    return step


def ascending_place(shard: ShardArrays, place: i64) -> i64:
    """The place in `ca_asc` of the row at `place` of `ca_desc` (FORMAT.md §7)."""
    if place >= shard.turnover_count:
        return place
    step: i64 = step_at(shard, 0, place)
    start: i64 = shard.steps[0][step]
    stop: i64 = shard.steps[0][step + 1]
    # The steps are in reverse order, the rows of equal turnovers within a step are not.
    ascending: i64 = shard.turnover_count - stop + (place - start)
    if ascending < 0 or ascending >= shard.turnover_count:
        raise_damaged()
    return ascending


def sort_key(shard: ShardArrays, tri: i64, row: i64) -> f64:
    """The key by which rows of different countries are merged, in any order except `nom`; infinite for null."""
    place: i64 = shard.rank[tri][row]
    if place >= shard.steps[tri][shard.step_count[tri]]:
        return INFINITY  # the row is null in this order
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
    """Compare data[place:] with text[start:][:length]: -1, 0 or 1; 0 also if `data` continues after this text.

    `data` has `size` bytes; if it ends before the text does, the result is -1.
    """
    for i in range(length):
        if place + i >= size:
            return -1
        byte: i64 = data[place + i]
        text_byte: i64 = text[start + i]
        if byte != text_byte:
            return -1 if byte < text_byte else 1
    return 0


def id_place(shard: ShardArrays, index: i64) -> i64:
    """The position in `ids` where the text of identifier `index` begins."""
    return index * shard.id_width if shard.id_width else shard.id_starts[index]


def suffix_key(text: u8s, start: i64, length: i64) -> u64:
    """The first 8 bytes of text[start:][:length] as a big-endian number, padded with zeros."""
    key: u64 = 0
    for i in range(8):
        key = key << 8
        if i < length:
            key = key | text[start + i]
    return key


def first_suffix(shard: ShardArrays, low: u64, text: u8s, start: i64, length: i64) -> i64:
    """The number of suffixes that sort before text[start:][:length]; `low` is the first 8 bytes of this text."""
    key_count: i64 = (shard.suffix_count + SAMPLED - 1) // SAMPLED
    # The sampled suffix before `place` sorts before the text; if 8 bytes decide, the one at `place` does not.
    place: i64 = SAMPLED * lower_key(shard.suffix_keys, key_count, low)
    first: i64 = place - SAMPLED + 1 if place else 0
    end: i64 = place if length <= 8 and place < shard.suffix_count else shard.suffix_count
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.words, shard.words_size, shard.suffixes[middle], text, start, length) < 0:
            first = middle + 1
        else:
            end = middle
    return first


def end_of_suffixes(
    shard: ShardArrays, first: i64, high: u64, text: u8s, start: i64, length: i64
) -> i64:
    """The end of the suffixes that begin with text[start:][:length], of which `first` is the first.

    The first 8 bytes of each of these suffixes, as a number, are below `high` (`strings.bounds`).
    """
    key_count: i64 = (shard.suffix_count + SAMPLED - 1) // SAMPLED
    # The sampled suffix at `end` sorts after these suffixes. If 8 bytes decide, the sampled suffix before it is one of
    # them, or sorts before them.
    end: i64 = SAMPLED * lower_key(shard.suffix_keys, key_count, high)
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
    """The number of identifiers that sort before `text`; `low` is the first 8 bytes of `text`, as a number."""
    key_count: i64 = (shard.rows + SAMPLED - 1) // SAMPLED
    # The sampled identifier before `place` sorts before the text; if 8 bytes decide, the one at `place` does not.
    place: i64 = SAMPLED * lower_key(shard.id_keys, key_count, low)
    first: i64 = place - SAMPLED + 1 if place else 0
    end: i64 = place if length <= 8 and place < shard.rows else shard.rows
    while first < end:
        middle: i64 = (first + end) >> 1
        if compare(shard.ids, shard.ids_size, id_place(shard, middle), text, 0, length) < 0:
            first = middle + 1
        else:
            end = middle
    return first


def end_of_ids(shard: ShardArrays, first: i64, high: u64, text: u8s, length: i64) -> i64:
    """The end of the identifiers that begin with `text`, of which `first` is the first.

    The first 8 bytes of each of these identifiers, as a number, are below `high` (`strings.bounds`).
    """
    key_count: i64 = (shard.rows + SAMPLED - 1) // SAMPLED
    # The sampled identifier at `end` sorts after these identifiers. If 8 bytes decide, the sampled identifier before it
    # is one of them, or sorts before them.
    end: i64 = SAMPLED * lower_key(shard.id_keys, key_count, high)
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
    """The number of words that sort before text[start:][:length].

    If `after` is 1, the words that begin with this text are counted, too.
    """
    first: i64 = 0
    end: i64 = shard.word_count
    while first < end:
        middle: i64 = (first + end) >> 1
        order: i64 = compare(
            shard.words, shard.words_size, shard.word_starts[middle], text, start, length
        )
        if order < 0 or (after and order == 0):
            first = middle + 1
        else:
            end = middle
    return first


def word_at(shard: ShardArrays, place: i64) -> i64:
    """The number of the word that contains byte `place` of `shard.words`; searched upwards from a stored word."""
    if place >= shard.words_size:
        raise_damaged()
    word: i64 = shard.owners[place // OWNED]
    while word < shard.word_count and shard.word_starts[word + 1] <= place:
        word += 1
    if word >= shard.word_count:
        raise_damaged()
    return word
