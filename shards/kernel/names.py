"""`q` in one shard: the rows whose name contains it or whose identifier begins with it (B15).

Each of the two sides is a stored row set, or words, identifiers or rows that are united here. Sets of
bits stay where they are; all other rows go to one list, each once. Where nothing else is asked, the
heads of the sets answer the first page.

With blanks in `q`, some words stand side by side in the name. The first word of `q` ends a word of the name, the last
begins the next one, those between are whole words. What many rows hold the build has listed: texts of up to 24 bytes,
and every pair of characters around a blank. Else the rows to look at are the fewest of those that any part of the text
allows, and their words are compared. They wait in the heap until some hundred are there, so that the reads of their
words overlap.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import (
        compare,
        first_id,
        first_suffix,
        first_word,
        last_id,
        last_suffix,
        owner_of,
        raise_damaged,
    )
    from shards.kernel.row_sets import (
        add,
        add_rows,
        add_set,
        add_words,
        count_common,
        has_bit,
        heads_of,
        is_listed,
        kind_of,
        rows_of,
        set_at,
        set_of,
        size_of,
    )
    from shards.kernel.types import *


def find_named(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, count: i64
) -> i64:
    """Find the rows of `q` and set their number as the total of the source.

    `count` rows will be asked for at most. Where `source.need` is 0, nothing else is asked; a census
    needs the rows all the same.
    """
    find_names(shard, question, source)
    find_ids(shard, question, source)
    alone: i64 = source.need == 0 and (source.names == NOTHING or source.ids == NOTHING)
    if alone and source.names + source.ids == STORED:
        source.heads = heads_of(source.name_set + source.id_set)
        if source.heads:
            source.headed = ALONE
            if count <= question.head_rows and not question.census:
                source.total = size_of(source.name_set + source.id_set)
                return 0
    if source.names == STORED and kind_of(source.name_set) == COUNTED:
        source.names = WORDS if question.word_count == 1 else PHRASE
    scratch.spent += question.listed_cost * named_rows(shard, question, source)
    if scratch.spent > question.budget:
        return TOO_DEAR
    take_bits(shard, question, source)
    source.name_first = scratch.used
    list_rows(shard, question, source, scratch)
    source.name_count = scratch.used - source.name_first
    source.total += source.name_count
    return 0


def find_names(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Set how names that contain `q` are found: by a stored set, by suffixes of words, or as a phrase."""
    one: i64 = 1
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
    end: i64 = last_suffix(shard, first, question.suffix_high, question.text, 0, size)
    source.names = WORDS
    source.suffix_first = first
    source.suffix_end = end
    if question.text_size <= SUFFIX_BYTES:
        key: u64 = first * (one << 32) + end
        source.name_set = set_of(
            shard, shard.heavy_keys, shard.heavy_places, shard.heavy_count, key, question.head_rows
        )
        if source.name_set:
            source.names = STORED
    return 0


def find_ids(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Set how identifiers that begin with `q` are found: by a stored set, or in the sorted identifiers."""
    one: i64 = 1
    source.ids = NOTHING
    source.id_set = 0
    if not question.prefix_size:
        return 0
    first: i64 = first_id(shard, question.prefix_low, question.prefix, question.prefix_size)
    end: i64 = last_id(shard, first, question.prefix_high, question.prefix, question.prefix_size)
    source.id_first = first
    source.id_end = end
    if first < end:
        source.ids = IDENTIFIERS
        key: u64 = first * (one << 32) + end
        source.id_set = set_of(
            shard, shard.prefix_keys, shard.prefix_places, shard.prefix_count, key,
            question.head_rows,
        )  # fmt: skip
        if source.id_set:
            source.ids = STORED
    return 0


def named_rows(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """How many rows it costs as much to test as to list those of `q`, by estimate."""
    rows: i64 = 0
    if source.names == WORDS:
        rows = UNITED * (source.suffix_end - source.suffix_first)
    elif source.names == PHRASE:
        rows = phrase_cost(shard, question)
    elif source.names == STORED and kind_of(source.name_set) != BITS:
        rows = size_of(source.name_set)
    if source.ids:
        rows += source.id_end - source.id_first
    return rows


def list_rows(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """List the rows of `q` that are in no set of bits."""
    if source.names == STORED:
        if kind_of(source.name_set) != BITS:
            add_set(shard, source, scratch, source.name_set, question.head_rows)
    elif source.names == WORDS:
        add_words(shard, source, scratch, source.suffix_first, source.suffix_end, question)
    elif source.names == PHRASE:
        add_phrase(shard, question, source, scratch)
    if source.ids == STORED:
        if kind_of(source.id_set) != BITS:
            add_set(shard, source, scratch, source.id_set, question.head_rows)
    elif source.ids == IDENTIFIERS:
        add_rows(shard, source, scratch, shard.id_rows, source.id_first, source.id_end)
    return 0


def take_bits(shard: ShardArrays, question: KernelQuery, source: ShardSearch) -> i64:
    """Let the source use the sets of bits among the two, and count their rows."""
    headed: i64 = 1
    source.total = 0
    if source.names == STORED and kind_of(source.name_set) == BITS:
        source.bits = rows_of(source.name_set, question.head_rows)
        source.total = size_of(source.name_set)
        source.heads = heads_of(source.name_set)
        headed = source.heads != 0
    if source.ids == STORED and kind_of(source.id_set) == BITS:
        held: i64 = rows_of(source.id_set, question.head_rows)
        source.total += size_of(source.id_set)
        if source.bits:
            source.more_bits = held
            source.total -= count_common(shard, source.bits, held)
            source.more_heads = heads_of(source.id_set)
            headed &= source.more_heads != 0
        else:
            source.bits = held
            source.heads = heads_of(source.id_set)
            headed = source.heads != 0
    if source.need == 0 and source.headed == UNKNOWN and source.bits and headed:
        source.headed = TOGETHER
    return 0


# -- words side by side ----------------------------------------------------------------------


def find_phrase(shard: ShardArrays, question: KernelQuery) -> i64:
    """The position of the row set that answers `q`; 0 if nothing does, -1 if rows must be compared."""
    junction: i64 = 0
    for i in range(question.word_count - 1):
        junction = junction_set(shard, question, i)
        if not junction:
            return 0
    if question.single_characters:
        return junction
    if question.text_size <= SUFFIX_BYTES:
        stored: i64 = phrase_set(shard, question)
        if stored:
            return stored
    return -1


def phrase_set(shard: ShardArrays, question: KernelQuery) -> i64:
    """The position of the set that the build has made of this very text; 0 if there is none."""
    size: i64 = question.text_size
    first: i64 = 0
    end: i64 = shard.phrase_count
    while first < end:
        middle: i64 = (first + end) >> 1
        place: i64 = shard.phrase_starts[middle]
        if compare(shard.phrases, shard.phrases_size, place, question.text, 0, size) < 0:
            first = middle + 1
        else:
            end = middle
    if first == shard.phrase_count:
        return 0
    place = shard.phrase_starts[first]
    length: i64 = shard.phrase_starts[first + 1] - place - 1
    if length != size or compare(shard.phrases, shard.phrases_size, place, question.text, 0, size):
        return 0
    return set_at(shard, shard.phrase_places[first], question.head_rows)


def junction_set(shard: ShardArrays, question: KernelQuery, i: i64) -> i64:
    """The position of the set of the characters around blank `i` of `q`; 0 if no name has them."""
    return set_of(
        shard, shard.junction_keys, shard.junction_places, shard.junction_count,
        question.junctions[i], question.head_rows,
    )  # fmt: skip


def add_phrase(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """List the rows whose name holds the words of `q` side by side."""
    source.waiting = 0
    find_holding(shard, question, source, scratch)
    return look_at_waiting(shard, question, source, scratch)


def find_holding(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """Look at the rows whose name may hold `q`; the last of them are left waiting."""
    words = question.word_starts
    last: i64 = question.word_count - 1
    length: i64 = words[last + 1] - words[last] - 1
    word: i64 = first_word(shard, question.text, words[last], length, 0)
    word_end: i64 = first_word(shard, question.text, words[last], length, 1)
    source.phrase_low = word
    source.phrase_high = word_end
    if word >= word_end:
        return 0
    # The rows to look at: those of the words that come last, or fewer.
    best: i64 = shard.posting_starts[word_end] - shard.posting_starts[word]
    count: i64
    held: i64
    for i in range(1, last):
        held = exact_word(shard, question, i)
        if held < 0:
            return 0
        scratch.block[i] = held
        count = shard.posting_starts[held + 1] - shard.posting_starts[held]
        if count < best:
            best = count
            word = held
            word_end = held + 1
    pair: i64 = 0
    fewest: i64 = shard.rows
    source.phrase_bits = 0
    for i in range(last):
        held = junction_set(shard, question, i)
        count = size_of(held)
        if kind_of(held) == BITS and count < fewest:
            fewest = count
            source.phrase_bits = rows_of(held, question.head_rows)
        if count < best:
            best = count
            pair = held
    first: i64 = ending_suffix(shard, question, 0, 0)
    end: i64 = ending_suffix(shard, question, first, 1)
    if 4 * (end - first) < best:
        count = 0
        for i in range(first, end):
            held = owner_of(shard, shard.suffixes[i])
            count += shard.posting_starts[held + 1] - shard.posting_starts[held]
        if count < best:
            for i in range(first, end):
                held = owner_of(shard, shard.suffixes[i])
                add_holding(shard, question, source, scratch, held, held + 1)
            return 0
    if pair:
        return add_pair(shard, question, source, scratch, pair)
    return add_holding(shard, question, source, scratch, word, word_end)


def phrase_cost(shard: ShardArrays, question: KernelQuery) -> i64:
    """At most how many rows `add_phrase` looks at, by the pairs of characters around blanks."""
    fewest: i64 = shard.rows
    for i in range(question.word_count - 1):
        held: i64 = junction_set(shard, question, i)
        if size_of(held) < fewest:
            fewest = size_of(held)
    return fewest


def ending_suffix(shard: ShardArrays, question: KernelQuery, first: i64, after: i64) -> i64:
    """Where the suffixes begin that are the first word of `q` to the end of a word; end if `after`."""
    size: i64 = question.word_starts[1]
    if size > SUFFIX_BYTES:
        size = SUFFIX_BYTES
    if after:
        return last_suffix(shard, first, question.ending_high, question.endings, 0, size)
    return first_suffix(shard, question.ending_low, question.endings, 0, size)


def exact_word(shard: ShardArrays, question: KernelQuery, index: i64) -> i64:
    """The number of the word `index` of `q`; -1 if there is no such word."""
    start: i64 = question.word_starts[index]
    length: i64 = question.word_starts[index + 1] - start - 1
    word: i64 = first_word(shard, question.text, start, length, 0)
    if word == shard.word_count:
        return -1
    if shard.word_starts[word + 1] - shard.word_starts[word] - 1 != length:
        return -1
    place: i64 = shard.word_starts[word]
    found: i64 = compare(shard.words, shard.words_size, place, question.text, start, length)
    return -1 if found else word


def add_holding(
    shard: ShardArrays,
    question: KernelQuery,
    source: ShardSearch,
    scratch: Scratch,
    word: i64,
    word_end: i64,
) -> i64:
    """List those rows of the words [word, word_end) that hold `q`."""
    end: i64 = shard.posting_starts[word_end]
    if end > shard.posting_count:
        raise_damaged()
    for i in range(shard.posting_starts[word], end):
        row: i64 = shard.postings[i]
        add_if_holding(shard, question, source, scratch, row)
    return 0


def add_pair(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, pair: i64
) -> i64:
    """List those rows of a row set that hold `q`."""
    sets = shard.sets
    first: i64 = rows_of(pair, question.head_rows)
    left: i64 = size_of(pair)
    kind: i64 = kind_of(pair)
    row: i64 = 0
    i: i64 = 0
    held: i64
    if kind == BITS:
        for i in range((shard.rows + 31) >> 5):
            held = sets[first + i]
            row = i << 5
            while held:
                if held & 1:
                    add_if_holding(shard, question, source, scratch, row)
                held >>= 1
                row += 1
        return 0
    if kind != GAPS:
        for i in range(first, first + left):
            row = sets[i]
            add_if_holding(shard, question, source, scratch, row)
        return 0
    while left > 0:
        if first + (i >> 2) >= shard.sets_size:
            raise_damaged()
        held = (sets[first + (i >> 2)] >> (8 * (i & 3))) & 255
        i += 1
        row += held
        if held != FURTHER:
            left -= 1
            add_if_holding(shard, question, source, scratch, row)
    return 0


def add_if_holding(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, row: i64
) -> i64:
    """List a row if its name holds `q`, now or with those that wait."""
    if row >= shard.rows:
        raise_damaged()
    if source.phrase_bits and not has_bit(shard.sets, source.phrase_bits, row):
        return 0
    if cython.compiled:
        prefetch(cython.address(shard.token_starts[row]))
    scratch.heap[source.waiting] = row
    source.waiting += 1
    if source.waiting == BLOCK:
        look_at_waiting(shard, question, source, scratch)
    return 0


def look_at_waiting(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch
) -> i64:
    """List those of the rows that wait whose name holds `q`."""
    if cython.compiled:
        for i in range(source.waiting):
            token: i64 = shard.token_starts[scratch.heap[i]]
            prefetch(cython.address(shard.tokens[token]))
    for i in range(source.waiting):
        look_at(shard, question, source, scratch, scratch.heap[i])
    source.waiting = 0
    return 0


def look_at(
    shard: ShardArrays, question: KernelQuery, source: ShardSearch, scratch: Scratch, row: i64
) -> i64:
    """List a row if its name holds `q`; the numbers of the words between are in the block."""
    if is_listed(shard, scratch, row):
        return 0
    first: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    width: i64 = question.word_count - 1
    tokens = shard.tokens
    if end > shard.token_count:
        raise_damaged()
    for i in range(first + width, end):
        token: i64 = tokens[i]
        if token < source.phrase_low or token >= source.phrase_high:
            continue
        distance: i64 = 1
        while distance < width and tokens[i - distance] == scratch.block[width - distance]:
            distance += 1
        if distance == width and ends_with(shard, tokens[i - width], question):
            if scratch.used >= scratch.rows_size:
                raise_damaged()
            return add(shard, source, scratch, row)
    return 0


def ends_with(shard: ShardArrays, word: i64, question: KernelQuery) -> i64:
    """1 where a word ends with the first word of `q`."""
    if word == FORMER_NAME:
        return 0
    if word >= shard.word_count:
        raise_damaged()
    length: i64 = question.word_starts[1] - 1
    start: i64 = shard.word_starts[word]
    end: i64 = shard.word_starts[word + 1] - 1
    if end - start < length:
        return 0
    found: i64 = compare(shard.words, shard.words_size, end - length, question.text, 0, length)
    return 0 if found else 1
