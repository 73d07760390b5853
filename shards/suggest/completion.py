"""Completion of a text: the most probable companies, and the words that begin with the text (X4).

A name matches if it has all words of the text except the last, and a word that begins with the last word. Names that
begin with the text come first, then the higher score. The rows of a shard are read in the order `score`, until no
further row can be among the best. If that takes more rows than contain the words, the rows with the words are read
instead.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import first_word, raise_damaged, step_at
    from shards.kernel.merge import name_end
    from shards.kernel.names import find_exact_word
    from shards.kernel.types import *


# -- names ---------------------------------------------------------------------------------


def compare_name(shard: ShardArrays, row: i64, question: KernelQuery) -> i64:
    """Compare the present folded name of a row with the text: -1, 0 or 1; 0 if the name begins with the text.

    -1 if the file is damaged: then the result is wrong, but nothing outside the arrays is read.
    """
    token: i64 = shard.token_starts[row]
    end: i64 = name_end(shard, row, token)
    size: i64 = question.text_size
    text_place: i64 = 0
    while token < end and text_place < size:
        word: i64 = shard.tokens[token]
        if word >= shard.word_count:
            return -1
        place: i64 = shard.word_starts[word]
        stop: i64 = shard.word_starts[word + 1] - 1
        if stop > shard.words_size:
            return -1
        if text_place:
            if question.text[text_place] != 32:
                return -1  # a blank comes before every letter
            text_place += 1
        while place < stop and text_place < size:
            if shard.words[place] != question.text[text_place]:
                return -1 if shard.words[place] < question.text[text_place] else 1
            place += 1
            text_place += 1
        token += 1
    return 0 if text_place == size else -1


def name_place(shard: ShardArrays, question: KernelQuery, after: i64) -> i64:
    """The place in the order `nom` where the names that begin with the text begin; if `after` is 1, where they end.

    0 if the file is damaged.
    """
    order = shard.order[NOM]
    first: i64 = 0
    end: i64 = shard.order_size[NOM]
    while first < end:
        middle: i64 = (first + end) >> 1
        row: i64 = order[middle]
        if row >= shard.rows:
            return 0
        comparison: i64 = compare_name(shard, row, question)
        if comparison < 0 or (after and comparison == 0):
            first = middle + 1
        else:
            end = middle
    return first


def has_all_words(shard: ShardArrays, question: KernelQuery, scratch: Scratch, row: i64) -> i64:
    """1 if one name of a row has all complete words of the text, and a word that begins with its last word; else 0.

    The name is the present or a former one. `scratch.block` has the numbers of these words, as `find_words` wrote them.
    """
    token: i64 = shard.token_starts[row]
    end: i64 = shard.token_starts[row + 1]
    last_word: i64 = question.word_count - 1
    low: i64 = scratch.block[last_word]
    high: i64 = scratch.block[last_word + 1]
    if end > shard.token_count:
        raise_damaged()
    while token < end:
        name_stop: i64 = token
        has_last: i64 = 0
        while name_stop < end and shard.tokens[name_stop] != FORMER_NAME:
            word: i64 = shard.tokens[name_stop]
            if low <= word and word < high:
                has_last = 1
            name_stop += 1
        has_all: i64 = has_last
        for i in range(last_word):
            has_word: i64 = 0
            for index in range(token, name_stop):
                if shard.tokens[index] == scratch.block[i]:
                    has_word = 1
            has_all &= has_word
        if has_all:
            return 1
        token = name_stop + 1
    return 0


# -- the best companies ----------------------------------------------------------------------


def is_better(scratch: Scratch, result_index: i64, key: i64, shard: i64, place: i64) -> i64:
    """1 if a row with this score key, shard and place in `score` comes before the result row `result_index`.

    Result row i has its key in found_tie[i], its place in heap[i].
    """
    if scratch.found_tie[result_index] != key:
        return 1 if key < scratch.found_tie[result_index] else 0
    if scratch.found_shard[result_index] != shard:
        return 1 if shard < scratch.found_shard[result_index] else 0
    return 1 if place < scratch.heap[result_index] else 0


def insert_row(
    table: Table,
    scratch: Scratch,
    first: i64,
    found_count: i64,
    count: i64,
    shard_number: i64,
    row: i64,
) -> i64:
    """Insert a row into the result rows from `first` on, best first; returns the number of result rows.

    A row that is already there is not inserted again. Only the best `count` result rows are kept.
    """
    shard = table.shards[shard_number]
    if row >= shard.rows:
        raise_damaged()
    place: i64 = shard.rank[SCORE][row]
    key: i64 = shard.score_keys[step_at(shard, SCORE, place)]
    insertion: i64 = found_count
    while insertion > first and is_better(scratch, insertion - 1, key, shard_number, place):
        insertion -= 1
    if insertion == count:
        return found_count
    if (
        insertion > first
        and scratch.found_shard[insertion - 1] == shard_number
        and scratch.found_row[insertion - 1] == row
    ):
        return found_count
    shifted: i64 = found_count if found_count < count else count - 1
    while shifted > insertion:
        scratch.found_shard[shifted] = scratch.found_shard[shifted - 1]
        scratch.found_row[shifted] = scratch.found_row[shifted - 1]
        scratch.found_tie[shifted] = scratch.found_tie[shifted - 1]
        scratch.heap[shifted] = scratch.heap[shifted - 1]
        shifted -= 1
    scratch.found_shard[insertion] = shard_number
    scratch.found_row[insertion] = row
    scratch.found_tie[insertion] = key
    scratch.heap[insertion] = place
    return found_count + 1 if found_count < count else count


def score_end(shard: ShardArrays, scratch: Scratch, found_count: i64, count: i64) -> i64:
    """The place in the order `score` from which on no row comes before the last of `count` result rows."""
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
    shard_number: i64,
    first: i64,
    found_count: i64,
    count: i64,
    elsewhere: i64,
) -> i64:
    """Insert the best rows of a shard into the result rows from `first` on.

    If `elsewhere` is 0, these are the rows whose present name begins with the text; if it is 1, all other matches. The
    rows are read in the order `score`, or from the list [list_first, list_end) if that is shorter.
    """
    shard = table.shards[shard_number]
    names_first: i64 = name_place(shard, question, 0)
    names_end: i64 = name_place(shard, question, 1)
    list_first: i64 = names_first
    list_end: i64 = names_end
    if elsewhere:
        if not find_words(shard, question, scratch):
            return found_count
        last_word: i64 = question.word_count - 1
        list_first = shard.posting_starts[scratch.block[last_word]]
        list_end = shard.posting_starts[scratch.block[last_word + 1]]
        for i in range(last_word):  # the list of the rarest word is read
            first_posting: i64 = shard.posting_starts[scratch.block[i]]
            end_posting: i64 = shard.posting_starts[scratch.block[i] + 1]
            if end_posting - first_posting < list_end - list_first:
                list_first = first_posting
                list_end = end_posting
        if list_end > shard.posting_count:
            raise_damaged()
    # Read the order up to the place `stop`, from which on no row is better than the result rows, but at most as many
    # rows as the list has. If `stop` is not reached, read the list.
    list_size: i64 = list_end - list_first
    ranks = shard.rank[NOM]
    order = shard.order[SCORE]
    place: i64 = 0
    stop: i64 = score_end(shard, scratch, found_count, count)
    while place < stop and place < list_size:
        row: i64 = order[place]
        place += 1
        if row >= shard.rows:
            raise_damaged()
        is_beginning: i64 = 1 if names_first <= ranks[row] and ranks[row] < names_end else 0
        if is_beginning == elsewhere or (
            elsewhere and not has_all_words(shard, question, scratch, row)
        ):
            continue
        found_count = insert_row(table, scratch, first, found_count, count, shard_number, row)
        stop = score_end(shard, scratch, found_count, count)
    if place >= stop:
        return found_count
    for i in range(list_first, list_end):
        row = shard.postings[i] if elsewhere else shard.order[NOM][i]
        if row >= shard.rows:
            raise_damaged()
        if elsewhere and names_first <= ranks[row] and ranks[row] < names_end:
            continue
        if elsewhere and not has_all_words(shard, question, scratch, row):
            continue
        found_count = insert_row(table, scratch, first, found_count, count, shard_number, row)
    return found_count


def find_words(shard: ShardArrays, question: KernelQuery, scratch: Scratch) -> i64:
    """Write the numbers of the words of the text to `block`; return 0 if the shard lacks a word, else 1.

    The last word gets two numbers: the range of the words that begin with it.
    """
    last_word: i64 = question.word_count - 1
    for i in range(last_word):
        scratch.block[i] = find_exact_word(shard, question, i)
        if scratch.block[i] < 0:
            return 0
    start: i64 = question.word_starts[last_word]
    length: i64 = question.text_size - start
    scratch.block[last_word] = first_word(shard, question.text, start, length, 0)
    scratch.block[last_word + 1] = first_word(shard, question.text, start, length, 1)
    return 1 if scratch.block[last_word] < scratch.block[last_word + 1] else 0


def companies(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Write the best companies to the result rows; returns their number, at most the limit of the question."""
    count: i64 = question.limit
    row_count: i64 = 0
    for i in range(question.shard_count):
        row_count = add_best(table, question, scratch, question.shards[i], 0, row_count, count, 0)
    first: i64 = row_count
    if row_count < count:
        for i in range(question.shard_count):
            row_count = add_best(
                table, question, scratch, question.shards[i], first, row_count, count, 1
            )
    scratch.result[0] = row_count
    return row_count


# -- words -------------------------------------------------------------------------------------


def word_ranges(table: Table, question: KernelQuery, scratch: Scratch) -> i64:
    """Write to the result rows, for each shard, the range of the words that begin with the last word of the text."""
    last_word: i64 = question.word_count - 1
    start: i64 = question.word_starts[last_word]
    length: i64 = question.text_size - start
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        scratch.found_shard[i] = question.shards[i]
        scratch.found_row[i] = first_word(shard, question.text, start, length, 0)
        scratch.found_tie[i] = first_word(shard, question.text, start, length, 1)
    return question.shard_count


def word_total(table: Table, question: KernelQuery) -> i64:
    """The number of companies of all chosen shards with the first word of the text."""
    total: i64 = 0
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        word: i64 = find_exact_word(shard, question, 0)
        if word >= 0:
            total += shard.posting_starts[word + 1] - shard.posting_starts[word]
    return total


def run(table: Address, question: Address, scratch: Address, text: bytes, task: int) -> int:
    """`companies`, `word_ranges` or `word_total` for Python, by `task` (COMPANIES, …); releases Python's lock.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    generation: Table = cython.cast(Table, table)
    kernel_question: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    task_number: i64 = task
    result: i64 = 0
    kernel_question.text = text
    with cython.nogil:
        if task_number == COMPANIES:
            result = companies(generation, kernel_question, memory)
        elif task_number == WORD_RANGES:
            result = word_ranges(generation, kernel_question, memory)
        else:
            result = word_total(generation, kernel_question)
    return result
