"""Words near a word: by insertions, deletions, substitutions of a letter and swaps of two neighbours (X4).

The sorted words are walked as a tree of their beginnings. A row of the distance table belongs to each beginning; one
whose row has nothing within the allowed distance is skipped with all words that begin so. Where the distance is used
up, only the next letters of the text can follow, and these are looked up.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import damaged
    from shards.kernel.types import (
        Address,
        Int,
        Question,
        Scratch,
        ShardArrays,
        Table,
    )  # fmt: skip


def letter_size(first: Int) -> Int:
    """The number of bytes of the letter that begins with this byte of UTF-8."""
    if first < 0xC0:
        return 1
    if first < 0xE0:
        return 2
    return 3 if first < 0xF0 else 4


def letter(shard: ShardArrays, word: Int, at: Int) -> Int:
    """The letter from byte `at` of a word on: its bytes as a number, so that letters sort as words do; 0 at the end."""
    place: Int = shard.word_starts[word] + at
    stop: Int = shard.word_starts[word + 1] - 1
    if place >= stop:
        return 0
    if stop > shard.words_size:
        damaged()
    size: Int = letter_size(shard.words[place])
    code: Int = 0
    for i in range(4):
        code <<= 8
        if i < size and place + i < stop:
            code |= shard.words[place + i]
    return code


def letter_place(shard: ShardArrays, low: Int, high: Int, at: Int, least: Int) -> Int:
    """The first of the words [low, high) whose letter at byte `at` is `least` or greater."""
    step: Int = 1
    while low + step < high and letter(shard, low + step, at) < least:
        low += step
        step *= 2
    if low + step < high:
        high = low + step
    while low < high:
        middle: Int = (low + high) >> 1
        if letter(shard, middle, at) < least:
            low = middle + 1
        else:
            high = middle
    return low


def fill_row(scratch: Scratch, size: Int, depth: Int, code: Int, before: Int) -> Int:
    """Fill the row of a beginning of `depth` letters, the last two of them given; returns its least distance."""
    table = scratch.heap
    text = scratch.block
    width: Int = size + 1
    row: Int = depth * width
    least: Int = depth
    table[row] = depth
    for i in range(1, width):
        best: Int = table[row - width + i - 1]
        if text[i - 1] != code:
            best += 1
        if table[row - width + i] + 1 < best:
            best = table[row - width + i] + 1
        if table[row + i - 1] + 1 < best:
            best = table[row + i - 1] + 1
        if depth > 1 and i > 1 and text[i - 1] == before and text[i - 2] == code:
            swapped: Int = table[row - 2 * width + i - 2] + 1
            if swapped < best:
                best = swapped
        table[row + i] = best
        if best < least:
            least = best
    return least


def walk(
    shard: ShardArrays,
    scratch: Scratch,
    number: Int,
    size: Int,
    most: Int,
    low: Int,
    high: Int,
    depth: Int,
    at: Int,
    before: Int,
    least: Int,
) -> Int:
    """Add the words of [low, high), which share `depth` letters in `at` bytes, that are near the text."""
    row: Int = depth * (size + 1)
    if letter(shard, low, at) == 0:
        if scratch.heap[row + size] <= most and scratch.used < scratch.found_size:
            scratch.found_shard[scratch.used] = number
            scratch.found_row[scratch.used] = low
            scratch.found_tie[scratch.used] = scratch.heap[row + size]
            scratch.used += 1
        low += 1
    if depth == size + most:
        return 0
    if least < most:
        while low < high:
            code: Int = letter(shard, low, at)
            end: Int = letter_place(shard, low, high, at, code + 1)
            descend(shard, scratch, number, size, most, low, end, depth, at, before, code)
            low = end
        return 0
    for i in range(depth - most - 1, depth + most + 2):
        if i < 0 or i >= size or low >= high:
            continue
        known: Int = 0
        for other in range(0 if depth < most + 1 else depth - most - 1, i):
            if scratch.block[other] == scratch.block[i]:
                known = 1
        if known:
            continue
        code = scratch.block[i]
        first: Int = letter_place(shard, low, high, at, code)
        end = letter_place(shard, first, high, at, code + 1)
        if first < end:
            descend(shard, scratch, number, size, most, first, end, depth, at, before, code)
    return 0


def descend(
    shard: ShardArrays,
    scratch: Scratch,
    number: Int,
    size: Int,
    most: Int,
    low: Int,
    high: Int,
    depth: Int,
    at: Int,
    before: Int,
    code: Int,
) -> Int:
    """Walk the words of [low, high), whose next letter is `code`, unless all of them are too far."""
    least: Int = fill_row(scratch, size, depth + 1, code, before)
    if least <= most:
        bytes_used: Int = letter_size(code >> 24)
        walk(shard, scratch, number, size, most, low, high, depth + 1, at + bytes_used, code, least)
    return 0


def near_words(table: Table, question: Question, scratch: Scratch, most: Int) -> Int:
    """Write the words within a distance of the text to the found rows: shard, word, distance; returns their number.

    The text is one word of at most 30 letters.
    """
    size: Int = 0
    at: Int = 0
    while at < question.text_size:
        letter_bytes: Int = letter_size(question.text[at])
        code: Int = 0
        for i in range(4):
            code <<= 8
            if i < letter_bytes and at + i < question.text_size:
                code |= question.text[at + i]
        scratch.block[size] = code
        scratch.heap[size] = size
        size += 1
        at += letter_bytes
    scratch.heap[size] = size
    scratch.used = 0
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        if shard.word_count:
            walk(shard, scratch, question.shards[i], size, most, 0, shard.word_count, 0, 0, 0, 0)
    return scratch.used


def run(table: Address, question: Address, scratch: Address, text: bytes, most: int) -> int:
    """`near_words` for Python; frees Python's lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    asked: Question = cython.cast(Question, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    allowed: Int = most
    found: Int = 0
    asked.text = text
    with cython.nogil:
        found = near_words(generation, asked, memory, allowed)
    return found  # noqa: RET504 (with the lock, into a Python number)
