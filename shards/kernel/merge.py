"""The heads of several shards, merged into one page.

Equal keys go by country (contract B28); within a shard the order is total. Of each shard no more is
asked at first than its share of the matches lets expect; one whose rows are all used is asked for more.
Folded names are compared here; where those of two countries are equal, the raw names decide, which
`shards/search/kernel_session.py` reads.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged, sort_key
    from shards.kernel.heads import head
    from shards.kernel.types import *


# -- folded names ----------------------------------------------------------------------------


def name_end(shard: ShardArrays, row: i64, token: i64) -> i64:
    """Where the tokens of the present name end that begin at `token`; there if the file is damaged."""
    end: i64 = shard.token_starts[row + 1]
    if end > shard.token_count:
        return token
    while token < end and shard.tokens[token] != FORMER_NAME:
        token += 1
    return token


def name_key(shard: ShardArrays, row: i64) -> u64:
    """The first 8 bytes of the folded name, as a number."""
    key: u64 = 0
    size: i64 = 0
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    while token < end and size < 8:
        word: i64 = shard.tokens[token]
        token += 1
        if word >= shard.word_count:
            return 0
        place: i64 = shard.word_starts[word]
        stop: i64 = shard.word_starts[word + 1] - 1
        if stop > shard.words_size:
            return 0
        while place < stop and size < 8:
            key = (key << 8) | shard.words[place]
            place += 1
            size += 1
        if token < end and size < 8:
            key = (key << 8) | 32
            size += 1
    while size < 8:
        key = key << 8
        size += 1
    return key


def compare_names(shard: ShardArrays, row: i64, other: ShardArrays, other_row: i64) -> i64:
    """-1, 0 or 1: how the folded names of two rows compare."""
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    place: i64 = 0
    stop: i64 = 0
    begun: i64 = 0
    other_token: i64 = other.token_starts[other_row]
    other_end: i64 = name_end(other, other_row, other_token)
    other_place: i64 = 0
    other_stop: i64 = 0
    other_begun: i64 = 0
    while True:
        byte: i64 = -1
        other_byte: i64 = -1
        if place < stop:
            byte = shard.words[place]
            place += 1
        elif token < end:
            if begun:
                byte = 32
            word: i64 = shard.tokens[token]
            token += 1
            if word >= shard.word_count:
                return 0
            place = shard.word_starts[word]
            stop = shard.word_starts[word + 1]
            stop -= 1
            if place >= stop or stop > shard.words_size:
                return 0
            if not begun:
                begun = 1
                byte = shard.words[place]
                place += 1
        if other_place < other_stop:
            other_byte = other.words[other_place]
            other_place += 1
        elif other_token < other_end:
            if other_begun:
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
            if not other_begun:
                other_begun = 1
                other_byte = other.words[other_place]
                other_place += 1
        if byte != other_byte:
            return -1 if byte < other_byte else 1
        if byte < 0:
            return 0


# -- pages -------------------------------------------------------------------------------------


def set_key(
    table: Table, question: KernelQuery, source: ShardSearch, scratch: Scratch, start: i64
) -> i64:
    """Set what the next row of a source is merged by."""
    row: i64 = scratch.heads[start + source.position]
    if question.tri == NOM:
        source.name_key = name_key(table.shards[source.shard], row)
    else:
        source.sort_key = sort_key(table.shards[source.shard], question.tri, row)
    return 0


def comes_before(
    table: Table, question: KernelQuery, scratch: Scratch, source: i64, other: i64
) -> i64:
    """1 where the next row of `source` comes before that of `other`, an earlier country."""
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


def advance(table: Table, question: KernelQuery, scratch: Scratch, number: i64, count: i64) -> i64:
    """Move a source to its next row, and ask its shard for more if that is not there."""
    source = scratch.sources[number]
    start: i64 = number * scratch.width
    most: i64 = source.total if source.total < count else count
    source.position += 1
    if source.position == source.asked:
        if source.asked == most:
            source.position = -1
            return 0
        source.asked = 2 * source.asked if 2 * source.asked < most else most
        if head(table, question, source, scratch, source.asked, start) == TOO_DEAR:
            return TOO_DEAR
    set_key(table, question, source, scratch, start)
    return 0


def merge(
    table: Table, question: KernelQuery, scratch: Scratch, source_count: i64, total: i64, count: i64
) -> i64:
    """Write the first `count` rows of all sources to the found rows; returns their number.

    In the order `nom` the rows go on to the end of those whose folded names are equal.
    """
    written: i64 = 0
    source: ShardSearch
    for i in range(source_count):
        source = scratch.sources[i]
        most: i64 = source.total if source.total < count else count
        asked: i64 = question.spare + question.shares * count * source.total // total
        source.asked = asked if asked < most else most
        source.position = 0
        if head(table, question, source, scratch, source.asked, i * scratch.width) == TOO_DEAR:
            return TOO_DEAR
    for i in range(source_count):
        set_key(table, question, scratch.sources[i], scratch, i * scratch.width)
    while True:
        best: i64 = -1
        for i in range(source_count):
            source = scratch.sources[i]
            if source.position < 0:
                continue
            if best < 0 or comes_before(table, question, scratch, i, best):
                best = i
        if best < 0:
            break
        source = scratch.sources[best]
        row: i64 = scratch.heads[best * scratch.width + source.position]
        tie: i64 = 0
        if question.tri == NOM and written:
            before: i64 = scratch.found_row[written - 1]
            shard = table.shards[scratch.found_shard[written - 1]]
            tie = compare_names(shard, before, table.shards[source.shard], row) == 0
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
        if advance(table, question, scratch, best, count) == TOO_DEAR:
            return TOO_DEAR
    scratch.result[0] = written
    return written
