"""Completion of a text: the companies that are meant most probably, and the words that begin with it (X4).

A name holds the text if it has each word of it but the last as a whole, and a word that begins with the last one. Names
that begin with the text come first, then the higher score. Where many rows match, the order `score` is walked until
enough are found; where few do, they are listed: the walk is given up after as many rows as there are to list.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import first_word, raise_damaged, step_at
    from shards.kernel.merge import name_end
    from shards.kernel.names import exact_word
    from shards.kernel.types import *


# -- names ---------------------------------------------------------------------------------


def compare_name(shard: ShardArrays, row: i64, question: KernelQuery) -> i64:
    """-1, 0 or 1: how the beginning of the folded name of a row compares with the text."""
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    size: i64 = question.text_size
    at: i64 = 0
    while token < end and at < size:
        word: i64 = shard.tokens[token]
        if word >= shard.word_count:
            return -1
        place: i64 = shard.word_starts[word]
        stop: i64 = shard.word_starts[word + 1] - 1
        if stop > shard.words_size:
            return -1
        if at:
            if question.text[at] != 32:
                return -1  # a blank comes before every letter
            at += 1
        while place < stop and at < size:
            if shard.words[place] != question.text[at]:
                return -1 if shard.words[place] < question.text[at] else 1
            place += 1
            at += 1
        token += 1
    return 0 if at == size else -1


def name_place(shard: ShardArrays, question: KernelQuery, after: i64) -> i64:
    """Where the names that begin with the text begin in the order `nom`; where they end if `after`."""
    order = shard.order[NOM]
    first: i64 = 0
    end: i64 = shard.order_size[NOM]
    while first < end:
        middle: i64 = (first + end) >> 1
        row: i64 = order[middle]
        if row >= shard.rows:
            return 0
        found: i64 = compare_name(shard, row, question)
        if found < 0 or (after and found == 0):
            first = middle + 1
        else:
            end = middle
    return first


def holds(shard: ShardArrays, question: KernelQuery, scratch: Scratch, row: i64) -> i64:
    """1 where one name of a row has the words whose numbers are in the block, and one of the last range."""
    token: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    last: i64 = question.word_count - 1
    low: i64 = scratch.block[last]
    high: i64 = scratch.block[last + 1]
    if end > shard.token_count:
        raise_damaged()
    while token < end:
        stop: i64 = token
        ended: i64 = 0
        while stop < end and shard.tokens[stop] != FORMER_NAME:
            word: i64 = shard.tokens[stop]
            if low <= word and word < high:
                ended = 1
            stop += 1
        whole: i64 = ended
        for i in range(last):
            found: i64 = 0
            for at in range(token, stop):
                if shard.tokens[at] == scratch.block[i]:
                    found = 1
            whole &= found
        if whole:
            return 1
        token = stop + 1
    return 0


# -- the best companies ----------------------------------------------------------------------


def is_better(scratch: Scratch, at: i64, key: i64, shard: i64, place: i64) -> i64:
    """1 where a row of this score key, shard and place of `score` comes before the found row `at`."""
    if scratch.found_tie[at] != key:
        return 1 if key < scratch.found_tie[at] else 0
    if scratch.found_shard[at] != shard:
        return 1 if shard < scratch.found_shard[at] else 0
    return 1 if place < scratch.heap[at] else 0


def insert(
    table: Table, scratch: Scratch, first: i64, found_count: i64, count: i64, number: i64, row: i64
) -> i64:
    """Put a row at its place among the found rows from `first` on; returns their number, at most `count`."""
    shard = table.shards[number]
    if row >= shard.rows:
        raise_damaged()
    place: i64 = shard.rank[SCORE][row]
    key: i64 = shard.score_keys[step_at(shard, SCORE, place)]
    at: i64 = found_count
    while at > first and is_better(scratch, at - 1, key, number, place):
        at -= 1
    if at == count:
        return found_count
    if at > first and scratch.found_shard[at - 1] == number and scratch.found_row[at - 1] == row:
        return found_count
    end: i64 = found_count if found_count < count else count - 1
    while end > at:
        scratch.found_shard[end] = scratch.found_shard[end - 1]
        scratch.found_row[end] = scratch.found_row[end - 1]
        scratch.found_tie[end] = scratch.found_tie[end - 1]
        scratch.heap[end] = scratch.heap[end - 1]
        end -= 1
    scratch.found_shard[at] = number
    scratch.found_row[at] = row
    scratch.found_tie[at] = key
    scratch.heap[at] = place
    return found_count + 1 if found_count < count else count


def score_end(shard: ShardArrays, scratch: Scratch, found_count: i64, count: i64) -> i64:
    """Where the order `score` has nothing more that comes before the last of `count` found rows."""
    end: i64 = shard.order_size[SCORE]
    if found_count < count:
        return end
    step: i64 = 0
    while step < shard.step_count[SCORE] and shard.score_keys[step] <= scratch.found_tie[count - 1]:
        step += 1
    place: i64 = shard.steps[SCORE][step]
    return place if place < end else end


def add_best(
    table: Table,
    question: KernelQuery,
    scratch: Scratch,
    number: i64,
    first: i64,
    found_count: i64,
    count: i64,
    others: i64,
) -> i64:
    """Put the best rows of a shard among the found ones from `first` on.

    These are the rows whose name begins with the text; with `others`, the rest of those that hold it.
    """
    shard = table.shards[number]
    begin: i64 = name_place(shard, question, 0)
    end: i64 = name_place(shard, question, 1)
    low: i64 = begin
    high: i64 = end
    if others:
        if not find_words(shard, question, scratch):
            return found_count
        last: i64 = question.word_count - 1
        low = shard.posting_starts[scratch.block[last]]
        high = shard.posting_starts[scratch.block[last + 1]]
        for i in range(last):  # the rarest word
            first_posting: i64 = shard.posting_starts[scratch.block[i]]
            end_posting: i64 = shard.posting_starts[scratch.block[i] + 1]
            if end_posting - first_posting < high - low:
                low = first_posting
                high = end_posting
        if high > shard.posting_count:
            raise_damaged()
    listed: i64 = high - low
    ranks = shard.rank[NOM]
    order = shard.order[SCORE]
    place: i64 = 0
    stop: i64 = score_end(shard, scratch, found_count, count)
    while place < stop and place < listed:
        row: i64 = order[place]
        place += 1
        if row >= shard.rows:
            raise_damaged()
        begins: i64 = 1 if begin <= ranks[row] and ranks[row] < end else 0
        if begins == others or (others and not holds(shard, question, scratch, row)):
            continue
        found_count = insert(table, scratch, first, found_count, count, number, row)
        stop = score_end(shard, scratch, found_count, count)
    if place >= stop:
        return found_count
    for i in range(low, high):
        row = shard.postings[i] if others else shard.order[NOM][i]
        if row >= shard.rows:
            raise_damaged()
        if others and begin <= ranks[row] and ranks[row] < end:
            continue
        if others and not holds(shard, question, scratch, row):
            continue
        found_count = insert(table, scratch, first, found_count, count, number, row)
    return found_count


def find_words(shard: ShardArrays, question: KernelQuery, scratch: Scratch) -> i64:
    """Write the words of the text to the block, then the range that the last one begins; 0 if there is none."""
    last: i64 = question.word_count - 1
    for i in range(last):
        scratch.block[i] = exact_word(shard, question, i)
        if scratch.block[i] < 0:
            return 0
    start: i64 = question.word_starts[last]
    length: i64 = question.text_size - start
    scratch.block[last] = first_word(shard, question.text, start, length, 0)
    scratch.block[last + 1] = first_word(shard, question.text, start, length, 1)
    return 1 if scratch.block[last] < scratch.block[last + 1] else 0


def companies(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Write the best companies to the found rows; returns their number, at most the limit of the question."""
    count: i64 = question.limit
    found: i64 = 0
    for i in range(question.shard_count):
        found = add_best(table, question, scratch, question.shards[i], 0, found, count, 0)
    first: i64 = found
    if found < count:
        for i in range(question.shard_count):
            found = add_best(table, question, scratch, question.shards[i], first, found, count, 1)
    scratch.result[0] = found
    return found


# -- words -------------------------------------------------------------------------------------


def word_ranges(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Write to the found rows of each shard the words that begin with the last one of the text: first, and end."""
    last: i64 = question.word_count - 1
    start: i64 = question.word_starts[last]
    length: i64 = question.text_size - start
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        scratch.found_shard[i] = question.shards[i]
        scratch.found_row[i] = first_word(shard, question.text, start, length, 0)
        scratch.found_tie[i] = first_word(shard, question.text, start, length, 1)
    return question.shard_count


def word_total(table: Table, question: KernelQuery) -> i64:
    """The number of companies of all chosen shards that have the first word of the text."""
    total: i64 = 0
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        word: i64 = exact_word(shard, question, 0)
        if word >= 0:
            total += shard.posting_starts[word + 1] - shard.posting_starts[word]
    return total


def run(table: Address, question: Address, scratch: Address, text: bytes, task: int) -> int:
    """`companies`, `word_ranges` or `word_total` for Python, by `task`; frees Python's lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    asked: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    wanted: i64 = task
    result: i64 = 0
    asked.text = text
    with cython.nogil:
        if wanted == COMPANIES:
            result = companies(generation, asked, memory)
        elif wanted == WORD_RANGES:
            result = word_ranges(generation, asked, memory)
        else:
            result = word_total(generation, asked)
    return result
