"""Words near a word: by insertions, deletions, substitutions of a letter and swaps of two neighbours (X4).

Case 1: at least one error lies in the second half of the text. Such words are found in the sorted words, which are
walked as a tree of their beginnings. A row of the distance table belongs to each beginning; one whose row has nothing
within the allowed distance is skipped with all words that begin so. Where the distance is used up, only the next
letters of the text can follow, and these are looked up.

Case 2: all errors lie in the first half, so the word ends exactly as the text. Such words are an interval of the
sorted suffixes.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import first_suffix, last_suffix, owner_of, raise_damaged, suffix_key
    from shards.kernel.types import *


def letter_size(first: i64) -> i64:
    """The number of bytes of the letter that begins with this byte of UTF-8."""
    if first < 0xC0:
        return 1
    if first < 0xE0:
        return 2
    return 3 if first < 0xF0 else 4


def letter(shard: ShardArrays, word: i64, at: i64) -> i64:
    """The letter from byte `at` of a word on: its bytes as a number, so that letters sort as words do; 0 at the end."""
    return letter_at(shard, shard.word_starts[word] + at, shard.word_starts[word + 1] - 1)


def letter_at(shard: ShardArrays, place: i64, stop: i64) -> i64:
    """The letter from the byte `place` on of a word that ends at `stop`."""
    if place >= stop:
        return 0
    if stop > shard.words_size:
        raise_damaged()
    first: i64 = shard.words[place]
    if first < 0x80:  # most letters: of one byte
        return first << 24
    size: i64 = letter_size(first)
    code: i64 = 0
    for i in range(4):
        code <<= 8
        if i < size and place + i < stop:
            code |= shard.words[place + i]
    return code


def byte_of(shard: ShardArrays, word: i64, at: i64) -> i64:
    """The byte `at` of a word of that many bytes or more: its END, which sorts before all others, if it has no more."""
    place: i64 = shard.word_starts[word] + at
    if place >= shard.words_size:
        raise_damaged()
    return shard.words[place]


def byte_place(shard: ShardArrays, low: i64, high: i64, at: i64, least: i64) -> i64:
    """The first of the words [low, high), which share `at` bytes, whose next byte is `least` or greater."""
    step: i64 = 1
    while low + step < high and byte_of(shard, low + step, at) < least:
        low += step
        step *= 2
    if low + step < high:
        high = low + step
    while low < high:
        middle: i64 = (low + high) >> 1
        if byte_of(shard, middle, at) < least:
            low = middle + 1
        else:
            high = middle
    return low


def letter_place(shard: ShardArrays, low: i64, high: i64, at: i64, least: i64) -> i64:
    """The first of the words [low, high), which share `at` bytes, whose next letter is `least` or greater."""
    if least & 0xFFFFFF < 2 and least >> 24 < ONE_BYTE - 1:
        return byte_place(shard, low, high, at, (least >> 24) + (least & 1))
    while low < high:
        middle: i64 = (low + high) >> 1
        if letter(shard, middle, at) < least:
            low = middle + 1
        else:
            high = middle
    return low


def set_beginnings(shard: ShardArrays) -> i64:
    """Note where the words begin that begin with two letters of one byte each: once for a shard."""
    noted = shard.beginnings
    low: i64 = 0
    first: i64  # as 64 bits: C shifts the range's own type as an int, of which bit 31 is the sign
    second: i64
    for first in range(ONE_BYTE):
        stop: i64 = letter_place(shard, low, shard.word_count, 0, (first + 1) << 24)
        for second in range(ONE_BYTE):
            noted[first * ONE_BYTE + second] = low
            if low < stop:
                low = letter_place(shard, low, stop, 1, (second + 1) << 24)
        low = stop
    noted[ONE_BYTE * ONE_BYTE] = low
    noted[ONE_BYTE * ONE_BYTE + 1] = 1  # the last one that is written: all is noted
    return 0


def child_place(
    shard: ShardArrays, low: i64, high: i64, depth: i64, at: i64, before: i64, least: i64
) -> i64:
    """`letter_place` below a beginning of `depth` letters, of which `before` is the last one."""
    if depth < 2 and at == depth and least & 0xFFFFFF < 2 and least >> 24 < ONE_BYTE - 1:
        byte: i64 = (least >> 24) + (least & 1)
        if depth == 0:
            return shard.beginnings[byte * ONE_BYTE]
        if before >> 24 < ONE_BYTE:  # a damaged word may begin in the middle of a letter
            return shard.beginnings[(before >> 24) * ONE_BYTE + byte]
    return letter_place(shard, low, high, at, least)


def fill_row(scratch: Scratch, half: i64, depth: i64, code: i64, before: i64) -> i64:
    """Fill the row of a beginning of `depth` letters, the last two of them given.

    Returns how many errors are left at most: those allowed less those of a cell, in the first `half` letters one less.
    It is negative if the beginning is too far.
    """
    table = scratch.heap
    text = scratch.block
    most: i64 = scratch.near_most
    width: i64 = scratch.near_size + 1
    row: i64 = depth * width
    left: i64 = -1
    table[row] = depth
    for i in range(width):
        if i:
            best: i64 = table[row - width + i - 1]
            if text[i - 1] != code:
                best += 1
            if table[row - width + i] + 1 < best:
                best = table[row - width + i] + 1
            if table[row + i - 1] + 1 < best:
                best = table[row + i - 1] + 1
            if depth > 1 and i > 1 and text[i - 1] == before and text[i - 2] == code:
                swapped: i64 = table[row - 2 * width + i - 2] + 1
                if swapped < best:
                    best = swapped
            table[row + i] = best
        remaining: i64 = most - table[row + i]
        if i < half:
            remaining -= 1
        if remaining > left:
            left = remaining
    return left


def walk(
    shard: ShardArrays,
    scratch: Scratch,
    low: i64,
    high: i64,
    depth: i64,
    at: i64,
    before: i64,
    left: i64,
) -> i64:
    """Add the words of [low, high), which share `depth` letters in `at` bytes, that are near the text."""
    size: i64 = scratch.near_size
    most: i64 = scratch.near_most
    row: i64 = depth * (size + 1)
    if letter(shard, low, at) == 0:
        if scratch.heap[row + size] <= most:
            add(scratch, low, scratch.heap[row + size])
        low += 1
    if depth == size + most:
        return 0
    if left > 0:
        while low < high:
            code: i64 = letter(shard, low, at)
            end: i64 = child_place(shard, low, high, depth, at, before, code + 1)
            if end <= low:
                raise_damaged()
            descend(shard, scratch, low, end, depth, at, before, code)
            low = end
        return 0
    for i in range(depth - most - 1, depth + most + 2):
        if low >= high:
            break
        if not follows(scratch, depth, i, before):
            continue
        known: i64 = 0
        for other in range(0 if depth < most + 1 else depth - most - 1, i):
            if scratch.block[other] == scratch.block[i]:
                known |= follows(scratch, depth, other, before)
        if known:
            continue
        code = scratch.block[i]
        first: i64 = child_place(shard, low, high, depth, at, before, code)
        end = child_place(shard, first, high, depth, at, before, code + 1)
        if first < end:
            descend(shard, scratch, first, end, depth, at, before, code)
    return 0


def follows(scratch: Scratch, depth: i64, i: i64, before: i64) -> i64:
    """1 where letter `i` of the text may be the next one, if no further error is allowed.

    It stands where it is expected by a cell of the last row or, the second of two that are swapped, by one of the row
    before.
    """
    size: i64 = scratch.near_size
    half: i64 = scratch.near_half
    most: i64 = scratch.near_most
    if i < 0 or i >= size:
        return 0
    table = scratch.heap
    row: i64 = depth * (size + 1)
    if table[row + i] <= most - (i + 1 < half):
        return 1
    if depth < 1 or i + 1 >= size or scratch.block[i + 1] != before:
        return 0
    return table[row - size - 1 + i] < most - (i + 2 < half)


def descend(
    shard: ShardArrays,
    scratch: Scratch,
    low: i64,
    high: i64,
    depth: i64,
    at: i64,
    before: i64,
    code: i64,
) -> i64:
    """Walk the words of [low, high), whose next letter is `code`, unless all of them are too far."""
    left: i64 = fill_row(scratch, scratch.near_half, depth + 1, code, before)
    if left >= 0:
        next_at: i64 = at + letter_size(code >> 24)
        walk(shard, scratch, low, high, depth + 1, next_at, code, left)
    return 0


def add(scratch: Scratch, word: i64, distance: i64) -> i64:
    """Write a word to the found rows, if there is room."""
    if scratch.used < scratch.found_size:
        scratch.found_shard[scratch.used] = scratch.near_shard
        scratch.found_row[scratch.used] = word
        scratch.found_tie[scratch.used] = distance
        scratch.used += 1
    return 0


def distance_of(shard: ShardArrays, scratch: Scratch, place: i64) -> i64:
    """The distance of the word that begins at the byte `place`; more than is allowed if it is so much longer."""
    size: i64 = scratch.near_size
    most: i64 = scratch.near_most
    stop: i64 = place
    while stop < shard.words_size and shard.words[stop] != WORD_END:
        stop += 1
    depth: i64 = 0
    before: i64 = 0
    code: i64 = letter_at(shard, place, stop)
    while code and depth < size + most:
        depth += 1
        fill_row(scratch, 0, depth, code, before)
        place += letter_size(code >> 24)
        before = code
        code = letter_at(shard, place, stop)
    return most + 1 if code else scratch.heap[depth * (size + 1) + size]


def beginning_of(shard: ShardArrays, place: i64, least: i64, greatest: i64) -> i64:
    """Where a word begins that has `least` to `greatest` letters before the byte `place`; -1 if it has others."""
    count: i64 = 0
    while place and shard.words[place - 1] != WORD_END and count <= greatest:
        place -= 1
        if shard.words[place] & 0xC0 != 0x80:
            count += 1
    return place if least <= count <= greatest else -1


def add_endings(shard: ShardArrays, scratch: Scratch, first: i64, end: i64) -> i64:
    """Add the words that end with suffixes [first, end) after about as many letters as the first half has.

    Those that the walk has found are left out.
    """
    half: i64 = scratch.near_half
    most: i64 = scratch.near_most
    known: i64 = scratch.used
    while known and scratch.found_shard[known - 1] == scratch.near_shard:
        known -= 1
    walked: i64 = scratch.used
    for index in range(first, end):
        place: i64 = shard.suffixes[index]
        if place >= shard.words_size:
            raise_damaged()
        begin: i64 = beginning_of(shard, place, half - most, half + most)
        if begin < 0:
            continue
        found: i64 = distance_of(shard, scratch, begin)
        if found > most:
            continue
        word: i64 = owner_of(shard, place)
        for i in range(known, walked):
            if scratch.found_row[i] == word:
                found = most + 1
        if found <= most:
            add(scratch, word, found)
    return 0


def near_in_shard(shard: ShardArrays, question: KernelQuery, scratch: Scratch) -> i64:
    """Add the near words of a shard.

    The second half is what few words end with; if all ends are frequent, the words are walked for all errors.
    """
    half: i64 = scratch.near_size >> 1
    at: i64 = 0
    for i in range(half):
        at += letter_size(scratch.block[i] >> 24)
    first: i64 = 0
    end: i64 = 0
    while half >= NEAREST_HALF:
        # The END of the word with it.
        rest: i64 = question.text_size + 1 - at
        low: u64 = suffix_key(question.text, at, rest)
        high: u64 = low + 1
        if rest < 8:
            high = low + (cython.cast(u64, 1) << (8 * (8 - rest)))
        if rest > SUFFIX_BYTES:
            rest = SUFFIX_BYTES
        first = first_suffix(shard, low, question.text, at, rest)
        end = last_suffix(shard, first, high, question.text, at, rest)
        if end - first <= NEAR_ENDINGS:
            break
        half -= 1
        at -= letter_size(scratch.block[half] >> 24)
    if half < NEAREST_HALF:
        half = 0
    scratch.near_half = half
    walk(shard, scratch, 0, shard.word_count, 0, 0, 0, scratch.near_most)
    if half:
        add_endings(shard, scratch, first, end)
    return 0


def near_words(table: Table, question: KernelQuery, scratch: Scratch, most: i64) -> i64:
    """Write the words within a distance of the text to the found rows: shard, word, distance; returns their number.

    The text is one word of at most 30 letters; an END follows it.
    """
    size: i64 = 0
    at: i64 = 0
    while at < question.text_size:
        letter_bytes: i64 = letter_size(question.text[at])
        code: i64 = 0
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
    scratch.near_size = size
    scratch.near_most = most
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        if shard.word_count:
            if not shard.beginnings[ONE_BYTE * ONE_BYTE + 1]:
                set_beginnings(shard)
            scratch.near_shard = question.shards[i]
            near_in_shard(shard, question, scratch)
    return scratch.used


def run(table: Address, question: Address, scratch: Address, text: bytes, most: int) -> int:
    """`near_words` for Python; frees Python's lock.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    generation: Table = cython.cast(Table, table)
    asked: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    allowed: i64 = most
    found: i64 = 0
    asked.text = text
    with cython.nogil:
        found = near_words(generation, asked, memory, allowed)
    return found  # noqa: RET504 (with the lock, into a Python number)
