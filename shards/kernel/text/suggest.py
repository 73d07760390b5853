"""Completion of a text: the companies that are meant most probably, and the words that begin with it (X4).

A name holds the text if it has each word of it but the last as a whole, and a word that begins with the last one. Names
that begin with the text come first, then the higher score. Where many rows match, the order `score` is walked until
enough are found; where few do, they are listed: the walk is given up after as many rows as there are to list.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import damaged, first_word, step_at
    from shards.kernel.merge import name_end
    from shards.kernel.text.phrases import exact_word
    from shards.kernel.types import *


# -- names ---------------------------------------------------------------------------------


def compare_name(shard: ShardArrays, row: Int, question: Question) -> Int:
    """-1, 0 or 1: how the beginning of the folded name of a row compares with the text."""
    token: Int = shard.token_starts[row]
    end: Int = name_end(shard, row, token)
    size: Int = question.text_size
    at: Int = 0
    while token < end and at < size:
        word: Int = shard.tokens[token]
        if word >= shard.word_count:
            return -1
        place: Int = shard.word_starts[word]
        stop: Int = shard.word_starts[word + 1] - 1
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


def name_place(shard: ShardArrays, question: Question, after: Int) -> Int:
    """Where the names that begin with the text begin in the order `nom`; where they end if `after`."""
    order = shard.order[NOM]
    first: Int = 0
    end: Int = shard.order_size[NOM]
    while first < end:
        middle: Int = (first + end) >> 1
        row: Int = order[middle]
        if row >= shard.rows:
            return 0
        found: Int = compare_name(shard, row, question)
        if found < 0 or (after and found == 0):
            first = middle + 1
        else:
            end = middle
    return first


def holds(shard: ShardArrays, question: Question, scratch: Scratch, row: Int) -> Int:
    """1 where one name of a row has the words whose numbers are in the block, and one of the last range."""
    token: Int = shard.token_starts[row]
    end: Int = shard.token_starts[row + 1]
    last: Int = question.word_count - 1
    low: Int = scratch.block[last]
    high: Int = scratch.block[last + 1]
    if end > shard.token_count:
        damaged()
    while token < end:
        stop: Int = token
        ended: Int = 0
        while stop < end and shard.tokens[stop] != FORMER_NAME:
            word: Int = shard.tokens[stop]
            if low <= word and word < high:
                ended = 1
            stop += 1
        whole: Int = ended
        for i in range(last):
            found: Int = 0
            for at in range(token, stop):
                if shard.tokens[at] == scratch.block[i]:
                    found = 1
            whole &= found
        if whole:
            return 1
        token = stop + 1
    return 0


# -- the best companies ----------------------------------------------------------------------


def better(scratch: Scratch, at: Int, key: Int, shard: Int, place: Int) -> Int:
    """1 where a row of this score key, shard and place of `score` comes before the found row `at`."""
    if scratch.found_tie[at] != key:
        return 1 if key < scratch.found_tie[at] else 0
    if scratch.found_shard[at] != shard:
        return 1 if shard < scratch.found_shard[at] else 0
    return 1 if place < scratch.heap[at] else 0


def insert(
    table: Table, scratch: Scratch, first: Int, found: Int, count: Int, number: Int, row: Int
) -> Int:
    """Put a row at its place among the found rows from `first` on; returns their number, at most `count`."""
    shard = table.shards[number]
    if row >= shard.rows:
        damaged()
    place: Int = shard.rank[SCORE][row]
    key: Int = shard.score_keys[step_at(shard, SCORE, place)]
    at: Int = found
    while at > first and better(scratch, at - 1, key, number, place):
        at -= 1
    if at == count:
        return found
    if at > first and scratch.found_shard[at - 1] == number and scratch.found_row[at - 1] == row:
        return found
    end: Int = found if found < count else count - 1
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
    return found + 1 if found < count else count


def score_end(shard: ShardArrays, scratch: Scratch, found: Int, count: Int) -> Int:
    """Where the order `score` has nothing more that comes before the last of `count` found rows."""
    end: Int = shard.order_size[SCORE]
    if found < count:
        return end
    step: Int = 0
    while step < shard.step_count[SCORE] and shard.score_keys[step] <= scratch.found_tie[count - 1]:
        step += 1
    place: Int = shard.steps[SCORE][step]
    return place if place < end else end


def add_best(
    table: Table,
    question: Question,
    scratch: Scratch,
    number: Int,
    first: Int,
    found: Int,
    count: Int,
    others: Int,
) -> Int:
    """Put the best rows of a shard among the found ones from `first` on.

    These are the rows whose name begins with the text; with `others`, the rest of those that hold it.
    """
    shard = table.shards[number]
    begin: Int = name_place(shard, question, 0)
    end: Int = name_place(shard, question, 1)
    listed: Int = end - begin
    low: Int = begin
    high: Int = end
    if others:
        if not find_words(shard, question, scratch):
            return found
        last: Int = question.word_count - 1
        low = shard.posting_starts[scratch.block[last]]
        high = shard.posting_starts[scratch.block[last + 1]]
        for i in range(last):
            word: Int = scratch.block[i]
            if shard.posting_starts[word + 1] - shard.posting_starts[word] < high - low:
                low = shard.posting_starts[word]
                high = shard.posting_starts[word + 1]
        listed = high - low
        if high > shard.posting_count:
            damaged()
    ranks = shard.rank[NOM]
    order = shard.order[SCORE]
    place: Int = 0
    stop: Int = score_end(shard, scratch, found, count)
    while place < stop and place < listed:
        row: Int = order[place]
        place += 1
        if row >= shard.rows:
            damaged()
        begins: Int = 1 if begin <= ranks[row] and ranks[row] < end else 0
        if begins == others or (others and not holds(shard, question, scratch, row)):
            continue
        found = insert(table, scratch, first, found, count, number, row)
        stop = score_end(shard, scratch, found, count)
    if place >= stop:
        return found
    for i in range(low, high):
        row = shard.postings[i] if others else shard.order[NOM][i]
        if row >= shard.rows:
            damaged()
        if others:
            if begin <= ranks[row] and ranks[row] < end:
                continue
            if not holds(shard, question, scratch, row):
                continue
        found = insert(table, scratch, first, found, count, number, row)
    return found


def find_words(shard: ShardArrays, question: Question, scratch: Scratch) -> Int:
    """Write the words of the text to the block, then the range that the last one begins; 0 if there is none."""
    last: Int = question.word_count - 1
    for i in range(last):
        scratch.block[i] = exact_word(shard, question, i)
        if scratch.block[i] < 0:
            return 0
    start: Int = question.word_starts[last]
    length: Int = question.text_size - start
    scratch.block[last] = first_word(shard, question.text, start, length, 0)
    scratch.block[last + 1] = first_word(shard, question.text, start, length, 1)
    return 1 if scratch.block[last] < scratch.block[last + 1] else 0


def companies(table: Table, question: Question, scratch: Scratch) -> Int:
    """Write the best companies to the found rows; returns their number, at most the limit of the question."""
    count: Int = question.limit
    found: Int = 0
    for i in range(question.shard_count):
        found = add_best(table, question, scratch, question.shards[i], 0, found, count, 0)
    first: Int = found
    if found < count:
        for i in range(question.shard_count):
            found = add_best(table, question, scratch, question.shards[i], first, found, count, 1)
    scratch.result[0] = found
    return found


# -- words -------------------------------------------------------------------------------------


def word_ranges(table: Table, question: Question, scratch: Scratch) -> Int:
    """Write to the found rows of each shard the words that begin with the last one of the text: first, and end."""
    last: Int = question.word_count - 1
    start: Int = question.word_starts[last]
    length: Int = question.text_size - start
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        scratch.found_shard[i] = question.shards[i]
        scratch.found_row[i] = first_word(shard, question.text, start, length, 0)
        scratch.found_tie[i] = first_word(shard, question.text, start, length, 1)
    return question.shard_count


def word_total(table: Table, question: Question) -> Int:
    """The number of companies of all chosen shards that have the first word of the text."""
    total: Int = 0
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        word: Int = exact_word(shard, question, 0)
        if word >= 0:
            total += shard.posting_starts[word + 1] - shard.posting_starts[word]
    return total


def run(table: Address, question: Address, scratch: Address, text: bytes, task: int) -> int:
    """`companies`, `word_ranges` or `word_total` for Python, by `task`; frees Python's lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    asked: Question = cython.cast(Question, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    wanted: Int = task
    found: Int = 0
    asked.text = text
    with cython.nogil:
        if wanted == COMPANIES:
            found = companies(generation, asked, memory)
        elif wanted == WORD_RANGES:
            found = word_ranges(generation, asked, memory)
        else:
            found = word_total(generation, asked)
    return found
