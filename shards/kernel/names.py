"""`q` in one shard: the rows whose name contains `q` or whose identifier begins with `q` (B15).

The rows by name and the rows by identifier are each a stored row set, or are collected here from words, identifiers or
rows. Sets of bits are used in place; all other rows go to one list, the list of `q`, each once. If the query has no
other condition, the heads of the sets are the first page.

If `q` has blanks (a phrase), `q` matches adjacent words of a name: the first word of `q` ends a word of the name,
the last word of `q` begins a word, and the words between are complete words. The build stores the rows of frequent
texts of up to 24 bytes, and of every pair of characters around a blank. For other texts, each part of the text has a
set of possible rows; the smallest set is used, and the words of these rows are compared. The rows are collected in the
heap and compared in blocks, so that the reads of their words overlap.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        end_of_ids,
        end_of_suffixes,
        first_id,
        first_suffix,
        first_word,
        raise_damaged,
        word_at,
    )
    from shards.kernel.row_sets import (
        add_row,
        add_rows,
        add_set,
        add_words,
        count_common,
        find_set,
        has_bit,
        heads_position,
        is_listed,
        kind_of_set,
        read_set,
        rows_position,
        size_of_set,
    )
    from shards.kernel.types import *


def find_name_matches(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, count: i64
) -> i64:
    """Find the rows that match `q`, and set `source.total` to their number; returns TOO_DEAR above the budget, else 0.

    The caller will read at most `count` rows. If `source.need` is 0, the query has no other condition, and
    stored heads can be enough, except for a census, which needs all rows.
    """
    find_names(shard, question, source)
    find_ids(shard, question, source)
    # One of `names` and `ids` is NOTHING (0), so each sum below is the value of the other.
    alone: i64 = source.need == 0 and (source.names == NOTHING or source.ids == NOTHING)
    if alone and source.names + source.ids == STORED:
        source.heads = heads_position(source.name_set + source.id_set)
        if source.heads:
            source.headed = ALONE
            if count <= question.head_rows and not question.census:
                source.total = size_of_set(source.name_set + source.id_set)
                return 0
    # A set that stores only its size and heads has no rows to test, so the rows are collected again.
    if source.names == STORED and kind_of_set(source.name_set) == COUNTED:
        source.names = WORDS if question.word_count == 1 else PHRASE
    scratch.spent += question.listed_cost * estimate_name_cost(shard, question, source)
    if scratch.spent > question.budget:
        return TOO_DEAR
    use_bit_sets(shard, question, source)
    source.name_first = scratch.used
    list_rows(shard, question, source, scratch)
    source.name_count = scratch.used - source.name_first
    source.total += source.name_count
    return 0


def find_names(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Choose how to find names that contain `q`: `source.names` becomes STORED, WORDS or PHRASE, else NOTHING.

    NOTHING means that no name contains `q`. For STORED, `source.name_set` becomes the number of the row set. For a `q`
    of one word, `suffix_first` and `suffix_end` become the range of the suffixes that begin with `q`. Always returns 0.
    """
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    source.names = NOTHING
    source.name_set = 0
    if question.word_count > 1:
        source.name_set = find_phrase(shard, question)
        if source.name_set > 0:
            source.names = STORED
        elif source.name_set < 0:
            source.names = PHRASE
            source.name_set = 0
        return 0
    size: i64 = question.text_size if question.text_size < SUFFIX_BYTES else SUFFIX_BYTES
    first: i64 = first_suffix(shard, question.suffix_low, question.text, 0, size)
    if first >= shard.suffix_count or compare(
        shard.words, shard.words_size, shard.suffixes[first], question.text, 0, size
    ):
        return 0
    end: i64 = end_of_suffixes(shard, first, question.suffix_high, question.text, 0, size)
    source.names = WORDS
    source.suffix_first = first
    source.suffix_end = end
    if question.text_size <= SUFFIX_BYTES:
        # A stored set has the range of its suffixes as key (FORMAT.md §8).
        key: u64 = first * (wide_one << 32) + end
        source.name_set = find_set(
            shard, shard.heavy_keys, shard.heavy_places, shard.heavy_count, key, question.head_rows
        )
        if source.name_set:
            source.names = STORED
    return 0


def find_ids(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Choose how to find identifiers that begin with `q`: `source.ids` becomes STORED or IDENTIFIERS, else NOTHING.

    `id_first` and `id_end` become the range of these identifiers; for STORED, `id_set` becomes the number of the row
    set. Always returns 0.
    """
    wide_one: i64 = 1  # of 64 bits, so that the shift has 64 bits
    source.ids = NOTHING
    source.id_set = 0
    if not question.prefix_size:
        return 0
    first: i64 = first_id(shard, question.prefix_low, question.prefix, question.prefix_size)
    end: i64 = end_of_ids(shard, first, question.prefix_high, question.prefix, question.prefix_size)
    source.id_first = first
    source.id_end = end
    if first < end:
        source.ids = IDENTIFIERS
        # A stored set has the range of its identifiers as key (FORMAT.md §8).
        key: u64 = first * (wide_one << 32) + end
        source.id_set = find_set(
            shard, shard.prefix_keys, shard.prefix_places, shard.prefix_count, key,
            question.head_rows,
        )  # fmt: skip
        if source.id_set:
            source.ids = STORED
    return 0


def estimate_name_cost(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """The estimated cost of listing the rows of `q`, as the number of rows that could be tested in the same time."""
    rows: i64 = 0
    if source.names == WORDS:
        rows = SUFFIX_STEPS * (source.suffix_end - source.suffix_first)
    elif source.names == PHRASE:
        rows = phrase_cost(shard, question)
    elif source.names == STORED and kind_of_set(source.name_set) != BITS:
        rows = size_of_set(source.name_set)
    if source.ids:
        rows += source.id_end - source.id_first
    return rows


def list_rows(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Append the rows that match `q` to its list, except rows that a set of bits contains; always returns 0."""
    if source.names == STORED:
        if kind_of_set(source.name_set) != BITS:
            add_set(shard, source, scratch, source.name_set, question.head_rows)
    elif source.names == WORDS:
        add_words(shard, source, scratch, source.suffix_first, source.suffix_end, question)
    elif source.names == PHRASE:
        add_phrase(shard, question, source, scratch)
    if source.ids == STORED:
        if kind_of_set(source.id_set) != BITS:
            add_set(shard, source, scratch, source.id_set, question.head_rows)
    elif source.ids == IDENTIFIERS:
        add_rows(shard, source, scratch, shard.id_rows, source.id_first, source.id_end)
    return 0


def use_bit_sets(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Make the source use the stored sets of bits in place, and set `source.total` to the number of their rows.

    If `q` is the only condition and all these sets have heads, the heads give the first page, together with the list.
    Always returns 0.
    """
    have_heads: i64 = 1
    source.total = 0
    if source.names == STORED and kind_of_set(source.name_set) == BITS:
        source.bits = rows_position(source.name_set, question.head_rows)
        source.total = size_of_set(source.name_set)
        source.heads = heads_position(source.name_set)
        have_heads = source.heads != 0
    if source.ids == STORED and kind_of_set(source.id_set) == BITS:
        id_bits: i64 = rows_position(source.id_set, question.head_rows)
        source.total += size_of_set(source.id_set)
        if source.bits:
            source.more_bits = id_bits
            source.total -= count_common(shard, source.bits, id_bits)
            source.more_heads = heads_position(source.id_set)
            have_heads &= source.more_heads != 0
        else:
            source.bits = id_bits
            source.heads = heads_position(source.id_set)
            have_heads = source.heads != 0
    if source.need == 0 and source.headed == UNKNOWN and source.bits and have_heads:
        source.headed = TOGETHER
    return 0


# -- phrases: adjacent words -------------------------------------------------------------------


def find_phrase(shard: ShardArrays, question: KernelQuery) -> i64:
    """The number of the stored row set of a phrase `q`; 0 if no name contains `q`, -1 if names must be compared."""
    junction: i64 = 0
    for i in range(question.word_count - 1):
        junction = junction_set(shard, question, i)
        if not junction:
            return 0
    if question.single_characters:
        return junction
    if question.text_size <= SUFFIX_BYTES:
        row_set: i64 = phrase_set(shard, question)
        if row_set:
            return row_set
    return -1


def phrase_set(shard: ShardArrays, question: KernelQuery) -> i64:
    """The number of the row set that is stored for exactly the text of this `q`; 0 if none is stored."""
    text_size: i64 = question.text_size
    first: i64 = 0
    end: i64 = shard.phrase_count
    while first < end:
        middle: i64 = (first + end) >> 1
        place: i64 = shard.phrase_starts[middle]
        if compare(shard.phrases, shard.phrases_size, place, question.text, 0, text_size) < 0:
            first = middle + 1
        else:
            end = middle
    if first == shard.phrase_count:
        return 0
    place = shard.phrase_starts[first]
    length: i64 = shard.phrase_starts[first + 1] - place - 1
    if length != text_size or compare(
        shard.phrases, shard.phrases_size, place, question.text, 0, text_size
    ):
        return 0
    return read_set(shard, shard.phrase_places[first], question.head_rows)


def junction_set(shard: ShardArrays, question: KernelQuery, i: i64) -> i64:
    """The number of the row set of names with the two characters around blank `i` of `q`; 0 if no name has them."""
    return find_set(
        shard, shard.junction_keys, shard.junction_places, shard.junction_count,
        question.junctions[i], question.head_rows,
    )  # fmt: skip


def add_phrase(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """List the rows whose names contain the phrase `q`."""
    source.waiting = 0
    find_phrase_rows(shard, question, source, scratch)
    return add_waiting_matches(shard, question, source, scratch)


def find_phrase_rows(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Add the rows whose names may contain the phrase to the waiting rows, which are compared in blocks.

    Each row that matches has a word that ends with the first word of `q`, the middle words, a word that begins with the
    last word of `q`, and the pairs of characters around the blanks. The smallest of these sets of rows is compared. The
    last rows, less than a block, are left waiting. If the shard lacks the middle or the last words, no row is added.
    Always returns 0.
    """
    starts = question.word_starts
    last_word: i64 = question.word_count - 1
    # The words [word, word_end) begin with the last word of `q`.
    length: i64 = starts[last_word + 1] - starts[last_word] - 1
    word: i64 = first_word(shard, question.text, starts[last_word], length, 0)
    word_end: i64 = first_word(shard, question.text, starts[last_word], length, 1)
    source.phrase_low = word
    source.phrase_high = word_end
    if word >= word_end:
        return 0
    # The rows of the words [word, word_end) are compared: at first those of the last word, then of a rarer middle word.
    fewest_rows: i64 = shard.posting_starts[word_end] - shard.posting_starts[word]
    count: i64
    entry: i64
    for i in range(1, last_word):
        entry = find_exact_word(shard, question, i)
        if entry < 0:
            return 0
        scratch.block[i] = entry  # for `add_if_match`
        count = shard.posting_starts[entry + 1] - shard.posting_starts[entry]
        if count < fewest_rows:
            fewest_rows = count
            word = entry
            word_end = entry + 1
    # The smallest set of a pair; and the smallest set that is stored as bits, which each row is tested with.
    smallest_pair: i64 = 0
    fewest_in_bits: i64 = shard.rows
    source.phrase_bits = 0
    for i in range(last_word):
        entry = junction_set(shard, question, i)
        count = size_of_set(entry)
        if kind_of_set(entry) == BITS and count < fewest_in_bits:
            fewest_in_bits = count
            source.phrase_bits = rows_position(entry, question.head_rows)
        if count < fewest_rows:
            fewest_rows = count
            smallest_pair = entry
    # The words of the suffixes [first, end) end with the first word of `q`. They are looked up if they are few, and
    # used if they have fewer rows.
    first: i64 = suffix_bound(shard, question, 0, 0)
    end: i64 = suffix_bound(shard, question, first, 1)
    if 4 * (end - first) < fewest_rows:
        count = 0
        for i in range(first, end):
            entry = word_at(shard, shard.suffixes[i])
            count += shard.posting_starts[entry + 1] - shard.posting_starts[entry]
        if count < fewest_rows:
            for i in range(first, end):
                entry = word_at(shard, shard.suffixes[i])
                add_phrase_rows(shard, question, source, scratch, entry, entry + 1)
            return 0
    if smallest_pair:
        return add_phrase_rows_of_set(shard, question, source, scratch, smallest_pair)
    return add_phrase_rows(shard, question, source, scratch, word, word_end)


def phrase_cost(shard: ShardArrays, question: KernelQuery) -> i64:
    """The most rows that `add_phrase` compares: the size of the smallest set of a pair of characters around a blank."""
    fewest: i64 = shard.rows
    for i in range(question.word_count - 1):
        row_set: i64 = junction_set(shard, question, i)
        if size_of_set(row_set) < fewest:
            fewest = size_of_set(row_set)
    return fewest


def suffix_bound(shard: ShardArrays, question: KernelQuery, first: i64, after: i64) -> i64:
    """The index in `suffixes` where the suffixes equal to the first word of `q` begin; if `after` is 1, where they end.

    If `after` is 1, `first` is the index where these suffixes begin.
    """
    size: i64 = question.word_starts[1]
    if size > SUFFIX_BYTES:
        size = SUFFIX_BYTES
    if after:
        return end_of_suffixes(shard, first, question.ending_high, question.endings, 0, size)
    return first_suffix(shard, question.ending_low, question.endings, 0, size)


def find_exact_word(shard: ShardArrays, question: KernelQuery, index: i64) -> i64:
    """The number in the shard of word `index` of `q`; -1 if the shard does not have the word."""
    start: i64 = question.word_starts[index]
    length: i64 = question.word_starts[index + 1] - start - 1
    word: i64 = first_word(shard, question.text, start, length, 0)
    if word == shard.word_count:
        return -1
    if shard.word_starts[word + 1] - shard.word_starts[word] - 1 != length:
        return -1
    place: i64 = shard.word_starts[word]
    order: i64 = compare(shard.words, shard.words_size, place, question.text, start, length)
    return -1 if order else word


def add_phrase_rows(
    shard: ShardArrays,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    word: i64,
    word_end: i64,
) -> i64:
    """Add the rows of the words [word, word_end) to the waiting rows, which are compared with the phrase in blocks.

    Always returns 0.
    """
    end: i64 = shard.posting_starts[word_end]
    if end > shard.posting_count:
        raise_damaged()
    for i in range(shard.posting_starts[word], end):
        row: i64 = shard.postings[i]
        add_phrase_row(shard, question, source, scratch, row)
    return 0


def add_phrase_rows_of_set(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, row_set: i64
) -> i64:
    """Add the rows of the row set `row_set` to the waiting rows, which are compared with the phrase in blocks.

    The set stores its rows as bits, as gaps between rows, or as a list. Always returns 0.
    """
    sets = shard.sets
    first: i64 = rows_position(row_set, question.head_rows)
    rows_left: i64 = size_of_set(row_set)
    kind: i64 = kind_of_set(row_set)
    row: i64 = 0
    i: i64 = 0
    value: i64
    if kind == BITS:
        for i in range((shard.rows + 31) >> 5):
            value = sets[first + i]
            row = i << 5
            while value:
                if value & 1:
                    add_phrase_row(shard, question, source, scratch, row)
                value >>= 1
                row += 1
        return 0
    if kind != GAPS:
        for i in range(first, first + rows_left):
            row = sets[i]
            add_phrase_row(shard, question, source, scratch, row)
        return 0
    # The gap before each row: one byte each, four in an element of `sets`.
    while rows_left > 0:
        if first + (i >> 2) >= shard.sets_size:
            raise_damaged()
        value = (sets[first + (i >> 2)] >> (8 * (i & 3))) & 255
        i += 1
        row += value
        if value != FURTHER:
            rows_left -= 1
            add_phrase_row(shard, question, source, scratch, row)
    return 0


def add_phrase_row(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, row: i64
) -> i64:
    """Add a row to the waiting rows, unless it lacks the pair of characters of `phrase_bits`.

    When BLOCK rows wait, their names are compared with the phrase, and the matches are listed. Always returns 0.
    """
    if row >= shard.rows:
        raise_damaged()
    if source.phrase_bits and not has_bit(shard.sets, source.phrase_bits, row):
        return 0
    if cython.compiled:
        prefetch(cython.address(shard.token_starts[row]))
    scratch.heap[source.waiting] = row
    source.waiting += 1
    if source.waiting == BLOCK:
        add_waiting_matches(shard, question, source, scratch)
    return 0


def add_waiting_matches(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Append the waiting rows whose names contain the phrase to the list of `q`, and empty the waiting rows.

    Always returns 0.
    """
    if cython.compiled:
        for i in range(source.waiting):
            token: i64 = shard.token_starts[scratch.heap[i]]
            prefetch(cython.address(shard.tokens[token]))
    for i in range(source.waiting):
        add_if_match(shard, question, source, scratch, scratch.heap[i])
    source.waiting = 0
    return 0


def add_if_match(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, row: i64
) -> i64:
    """Append a row to the list of `q` if its name contains the phrase; returns 1 if the row is appended, else 0.

    `scratch.block` has the numbers of the middle words of the phrase.
    """
    if is_listed(shard, scratch, row):
        return 0
    first: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    words_before: i64 = question.word_count - 1
    tokens = shard.tokens
    if end > shard.token_count:
        raise_damaged()
    # Each token that can be the last word of the phrase; the middle words and the first word must precede it.
    for i in range(first + words_before, end):
        token: i64 = tokens[i]
        if token < source.phrase_low or token >= source.phrase_high:
            continue
        distance: i64 = 1
        while (
            distance < words_before
            and tokens[i - distance] == scratch.block[words_before - distance]
        ):
            distance += 1
        if distance == words_before and ends_with_first_word(
            shard, tokens[i - words_before], question
        ):
            if scratch.used >= scratch.rows_size:
                raise_damaged()
            return add_row(shard, source, scratch, row)
    return 0


def ends_with_first_word(shard: ShardArrays, word: i64, question: KernelQuery) -> i64:
    """1 if the word of this number ends with the first word of `q`, else 0; 0 also for the divider FORMER_NAME."""
    if word == FORMER_NAME:
        return 0
    if word >= shard.word_count:
        raise_damaged()
    length: i64 = question.word_starts[1] - 1
    start: i64 = shard.word_starts[word]
    end: i64 = shard.word_starts[word + 1] - 1
    if end - start < length:
        return 0
    order: i64 = compare(shard.words, shard.words_size, end - length, question.text, 0, length)
    return 0 if order else 1
