"""The heads of several shards, merged into one page.

Equal keys are ordered by country (contract B28); within a shard the order is total. The first head of a shard has about
as many rows as the page should contain of the shard; when these rows are used up, a longer head is read. Folded names
are compared here. If two countries have equal folded names, the raw names decide, and `shards/search/kernel_session.py`
reads them.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged, sort_key
    from shards.kernel.heads import find_head
    from shards.kernel.types import *


# -- folded names ----------------------------------------------------------------------------


def name_end(shard: ShardArrays, row: i64, token: i64) -> i64:
    """The end of the present name, whose tokens begin at `token`; returns `token` if the file is damaged."""
    end: i64 = shard.token_starts[row + 1]
    if end > shard.token_count:
        return token
    while token < end and shard.tokens[token] != FORMER_NAME:
        token += 1
    return token


def name_key(shard: ShardArrays, row: i64) -> u64:
    """The first 8 bytes of the present folded name, as a big-endian number, so that most names are compared at once.

    Zeros follow a shorter name. Returns 0 if the file is damaged.
    """
    key: u64 = 0
    byte_count: i64 = 0
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    while token < end and byte_count < 8:
        word: i64 = shard.tokens[token]
        token += 1
        if word >= shard.word_count:
            return 0
        place: i64 = shard.word_starts[word]
        stop: i64 = shard.word_starts[word + 1] - 1
        if stop > shard.words_size:
            return 0
        while place < stop and byte_count < 8:
            key = (key << 8) | shard.words[place]
            place += 1
            byte_count += 1
        if token < end and byte_count < 8:
            key = (key << 8) | 32  # a blank between words
            byte_count += 1
    while byte_count < 8:
        key = key << 8
        byte_count += 1
    return key


def compare_names(shard: ShardArrays, row: i64, other: ShardArrays, other_row: i64) -> i64:
    """Compare the folded names of two rows byte by byte: -1, 0 or 1; 0 if the file is damaged.

    `byte` is -1 after the end of a name, so a prefix sorts first; between two words it is a blank.
    """
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    place: i64 = 0
    stop: i64 = 0
    is_started: i64 = 0
    other_token: i64 = other.token_starts[other_row]
    other_end: i64 = name_end(other, other_row, other_token)
    other_place: i64 = 0
    other_stop: i64 = 0
    other_is_started: i64 = 0
    # [place, stop) are the bytes left of the current word, [token, end) the words left.
    while True:
        byte: i64 = -1
        other_byte: i64 = -1
        if place < stop:
            byte = shard.words[place]
            place += 1
        elif token < end:
            if is_started:
                byte = 32
            word: i64 = shard.tokens[token]
            token += 1
            if word >= shard.word_count:
                return 0
            place = shard.word_starts[word]
            stop = shard.word_starts[word + 1]
            stop -= 1  # without the WORD_END
            if place >= stop or stop > shard.words_size:
                return 0
            if not is_started:
                is_started = 1
                byte = shard.words[place]
                place += 1
        if other_place < other_stop:
            other_byte = other.words[other_place]
            other_place += 1
        elif other_token < other_end:
            if other_is_started:
                other_byte = 32
            word = other.tokens[other_token]
            other_token += 1
            if word >= other.word_count:
                return 0
            other_place = other.word_starts[word]
            other_stop = other.word_starts[word + 1]
            other_stop -= 1
            if other_place >= other_stop or other_stop > other.words_size:
                return 0
            if not other_is_started:
                other_is_started = 1
                other_byte = other.words[other_place]
                other_place += 1
        if byte != other_byte:
            return -1 if byte < other_byte else 1
        if byte < 0:
            return 0


# -- pages -------------------------------------------------------------------------------------


def set_merge_key(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, start: i64
) -> i64:
    """Set the key of the next row of a source, by which the rows of several sources are merged; always returns 0.

    The head of the source is heads[start:]. The key is the start of the folded name in the order `nom`, else a number.
    """
    row: i64 = scratch.heads[start + source.position]
    if question.tri == NOM:
        source.name_key = name_key(table.shards[source.shard], row)
    else:
        source.sort_key = sort_key(table.shards[source.shard], question.tri, row)
    return 0


def comes_before(
    table: Table, question: KernelQuery, scratch: Scratch, source: i64, other: i64
) -> i64:
    """1 if the next row of `source` comes before the next row of `other`, else 0.

    `other` is an earlier country, so it comes first if both keys are equal.
    """
    first = scratch.sources[source]
    second = scratch.sources[other]
    if question.tri != NOM:
        return 1 if first.sort_key < second.sort_key else 0
    if first.name_key != second.name_key:
        return 1 if first.name_key < second.name_key else 0
    order: i64 = compare_names(
        table.shards[first.shard], scratch.heads[source * scratch.width + first.position],
        table.shards[second.shard], scratch.heads[other * scratch.width + second.position],
    )  # fmt: skip
    return 1 if order < 0 else 0


def advance_source(
    table: Table, question: KernelQuery, scratch: Scratch, number: i64, count: i64
) -> i64:
    """Move source `number` to its next row, or to -1 if there is none; returns TOO_DEAR above the budget.

    After the last row of a head, a head of twice as many rows is found; `count` rows are enough for the page.
    """
    source = scratch.sources[number]
    head_start: i64 = number * scratch.width
    rows_wanted: i64 = source.total if source.total < count else count
    source.position += 1
    if source.position == source.head_count:
        if source.head_count == rows_wanted:
            source.position = -1
            return 0
        source.head_count = (
            2 * source.head_count if 2 * source.head_count < rows_wanted else rows_wanted
        )
        if find_head(table, question, source, scratch, source.head_count, head_start) == TOO_DEAR:
            return TOO_DEAR
    set_merge_key(table, question, source, scratch, head_start)
    return 0


def merge_heads(
    table: Table, question: KernelQuery, scratch: Scratch, source_count: i64, total: i64, count: i64
) -> i64:
    """Write the first `count` rows of all sources, in order, to `found_shard` and `found_row`; returns their number.

    In the order `nom` the rows continue to the end of a run of equal folded names.
    """
    written: i64 = 0
    source: ShardSearch
    for i in range(source_count):
        source = scratch.sources[i]
        rows_wanted: i64 = source.total if source.total < count else count
        # A little more than the expected number of rows of this shard (SPARE and SHARES in `kernel_query.py`).
        expected: i64 = question.spare + question.shares * count * source.total // total
        source.head_count = expected if expected < rows_wanted else rows_wanted
        source.position = 0
        if (
            find_head(table, question, source, scratch, source.head_count, i * scratch.width)
            == TOO_DEAR
        ):
            return TOO_DEAR
    for i in range(source_count):
        set_merge_key(table, question, scratch.sources[i], scratch, i * scratch.width)
    # Take the first of the next rows of all sources, again and again.
    while True:
        next_source: i64 = -1
        for i in range(source_count):
            source = scratch.sources[i]
            if source.position < 0:
                continue
            if next_source < 0 or comes_before(table, question, scratch, i, next_source):
                next_source = i
        if next_source < 0:
            break
        source = scratch.sources[next_source]
        row: i64 = scratch.heads[next_source * scratch.width + source.position]
        tie: i64 = 0  # 1 if the row has the same folded name as the row before it
        if question.tri == NOM and written:
            previous_row: i64 = scratch.found_row[written - 1]
            shard = table.shards[scratch.found_shard[written - 1]]
            tie = compare_names(shard, previous_row, table.shards[source.shard], row) == 0
        if written >= count and not tie:
            break
        if written >= scratch.found_size:
            raise_damaged()
        scratch.found_shard[written] = source.shard
        scratch.found_row[written] = row
        scratch.found_tie[written] = tie
        written += 1
        if written >= count and question.tri != NOM:
            break
        if advance_source(table, question, scratch, next_source, count) == TOO_DEAR:
            return TOO_DEAR
    scratch.result[0] = written
    return written
