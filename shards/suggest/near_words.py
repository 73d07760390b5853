"""Words near a word: by insertions, deletions, substitutions of a letter and swaps of two adjacent letters (X4).

Case 1: at least one error is in the second half of the text. The sorted words are searched as a tree of prefixes. Each
prefix has a row of the distance table: cell i is the distance between the prefix and the first i letters of the text.
If no cell is within the allowed distance, all words with the prefix are skipped. If no further error is allowed, only
certain letters of the text can follow, and these are looked up.

Case 2: all errors are in the first half, so the word and the text have the same end. Such words are a range of the
sorted suffixes.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import end_of_suffixes, first_suffix, raise_damaged, suffix_key, word_at
    from shards.kernel.types import *


def letter_size(first: i64) -> i64:
    """The number of bytes of the UTF-8 letter with this first byte."""
    if first < 0xC0:
        return 1
    if first < 0xE0:
        return 2
    return 3 if first < 0xF0 else 4


def letter_of_word(shard: ShardArrays, word: i64, offset: i64) -> i64:
    """The letter at byte `offset` of a word, as `letter_at` returns it; 0 at the end of the word."""
    return letter_at(shard, shard.word_starts[word] + offset, shard.word_starts[word + 1] - 1)


def letter_at(shard: ShardArrays, place: i64, stop: i64) -> i64:
    """The letter at the byte `place` of a word that ends at `stop`, as a number; 0 at `stop`.

    The number has 32 bits: the UTF-8 bytes of the letter, the first in the highest byte, then zeros. So letters sort
    like words.
    """
    if place >= stop:
        return 0
    if stop > shard.words_size:
        raise_damaged()
    first: i64 = shard.words[place]
    if first < 0x80:  # most letters have one byte
        return first << 24
    size: i64 = letter_size(first)
    code: i64 = 0
    for i in range(4):
        code <<= 8
        if i < size and place + i < stop:
            code |= shard.words[place + i]
    return code


def byte_of(shard: ShardArrays, word: i64, offset: i64) -> i64:
    """Byte `offset` of a word of `offset` bytes or more; if the word ends there, END, which sorts before letters."""
    place: i64 = shard.word_starts[word] + offset
    if place >= shard.words_size:
        raise_damaged()
    return shard.words[place]


def byte_place(shard: ShardArrays, low: i64, high: i64, shared_bytes: i64, least: i64) -> i64:
    """The first of the words [low, high), which share `shared_bytes` bytes, whose next byte is `least` or greater."""
    jump: i64 = 1
    while low + jump < high and byte_of(shard, low + jump, shared_bytes) < least:
        low += jump
        jump *= 2
    if low + jump < high:
        high = low + jump
    while low < high:
        middle: i64 = (low + high) >> 1
        if byte_of(shard, middle, shared_bytes) < least:
            low = middle + 1
        else:
            high = middle
    return low


def letter_place(shard: ShardArrays, low: i64, high: i64, shared_bytes: i64, least: i64) -> i64:
    """The first of the words [low, high), which share `shared_bytes` bytes, whose next letter is `least` or greater."""
    # `least` is a number of `letter_at`, whose upper 8 bits are the first byte. If the lower 24 bits are 0 (a one-byte
    # letter) or 1 (the caller added 1, to find the end of this letter), the first byte decides.
    if least & 0xFFFFFF < 2 and least >> 24 < ONE_BYTE - 1:
        return byte_place(shard, low, high, shared_bytes, (least >> 24) + (least & 1))
    while low < high:
        middle: i64 = (low + high) >> 1
        if letter_of_word(shard, middle, shared_bytes) < least:
            low = middle + 1
        else:
            high = middle
    return low


def set_beginnings(shard: ShardArrays) -> i64:
    """Write to `beginnings`, for each pair of one-byte letters, the first word that begins with them or sorts later.

    This is done once per shard. Always returns 0.
    """
    table = shard.beginnings
    low: i64 = 0
    # As 64 bits: C would shift the type of the range as an int, whose bit 31 is the sign.
    first: i64
    second: i64
    for first in range(ONE_BYTE):
        stop: i64 = letter_place(shard, low, shard.word_count, 0, (first + 1) << 24)
        for second in range(ONE_BYTE):
            table[first * ONE_BYTE + second] = low
            if low < stop:
                low = letter_place(shard, low, stop, 1, (second + 1) << 24)
        low = stop
    table[ONE_BYTE * ONE_BYTE] = low
    table[ONE_BYTE * ONE_BYTE + 1] = 1  # written last: the table is complete
    return 0


def child_place(
    shard: ShardArrays,
    low: i64,
    high: i64,
    depth: i64,
    shared_bytes: i64,
    previous_letter: i64,
    least: i64,
) -> i64:
    """The first of the words [low, high) whose next letter is `least` or greater, as `letter_place`, but faster.

    The words share `depth` letters in `shared_bytes` bytes, of which `previous_letter` is the last. For the first two
    letters, the table `beginnings` replaces the search.
    """
    # If `least` is the number of a one-byte letter, or one more (see `letter_place`), and the prefix has at most one
    # letter, the table of beginnings has the place.
    if depth < 2 and shared_bytes == depth and least & 0xFFFFFF < 2 and least >> 24 < ONE_BYTE - 1:
        byte: i64 = (least >> 24) + (least & 1)
        if depth == 0:
            return shard.beginnings[byte * ONE_BYTE]
        if previous_letter >> 24 < ONE_BYTE:  # a damaged word can begin in the middle of a letter
            return shard.beginnings[(previous_letter >> 24) * ONE_BYTE + byte]
    return letter_place(shard, low, high, shared_bytes, least)


def fill_distance_row(
    scratch: Scratch, half: i64, depth: i64, last_letter: i64, previous_letter: i64
) -> i64:
    """Fill the row of a prefix of `depth` letters; its last two letters are `previous_letter` and `last_letter`.

    Returns the greatest number of errors left in a cell: the allowed errors minus the errors of the cell, and minus one
    in the first `half` letters, since one error must come later. Negative if the prefix is too far.
    """
    table = scratch.heap
    text = scratch.block
    allowed: i64 = scratch.near_most
    width: i64 = scratch.near_size + 1
    row: i64 = depth * width
    errors_left: i64 = -1
    table[row] = depth
    for i in range(width):
        if i:
            # The least of: the same or another letter, one letter more, one letter less, two swapped letters.
            distance: i64 = table[row - width + i - 1]
            if text[i - 1] != last_letter:
                distance += 1
            if table[row - width + i] + 1 < distance:
                distance = table[row - width + i] + 1
            if table[row + i - 1] + 1 < distance:
                distance = table[row + i - 1] + 1
            if (
                depth > 1
                and i > 1
                and text[i - 1] == previous_letter
                and text[i - 2] == last_letter
            ):
                swapped: i64 = table[row - 2 * width + i - 2] + 1
                if swapped < distance:
                    distance = swapped
            table[row + i] = distance
        remaining: i64 = allowed - table[row + i]
        if i < half:
            remaining -= 1
        if remaining > errors_left:
            errors_left = remaining
    return errors_left


def walk_prefix(
    shard: ShardArrays,
    scratch: Scratch,
    low: i64,
    high: i64,
    depth: i64,
    shared_bytes: i64,
    previous_letter: i64,
    errors_left: i64,
) -> i64:
    """Add the words near the text from [low, high), which share `depth` letters in `shared_bytes` bytes.

    `scratch.heap` contains the distance table, `scratch.block` the letters of the text. `errors_left` is the result of
    `fill_distance_row`. Always returns 0.
    """
    size: i64 = scratch.near_size
    allowed: i64 = scratch.near_most
    row: i64 = depth * (size + 1)
    if letter_of_word(shard, low, shared_bytes) == 0:  # the prefix is a complete word
        if scratch.heap[row + size] <= allowed:
            add_near_word(scratch, low, scratch.heap[row + size])
        low += 1
    if depth == size + allowed:
        return 0
    if errors_left > 0:  # any letter can follow
        while low < high:
            next_letter: i64 = letter_of_word(shard, low, shared_bytes)
            end: i64 = child_place(
                shard, low, high, depth, shared_bytes, previous_letter, next_letter + 1
            )
            if end <= low:
                raise_damaged()
            descend(shard, scratch, low, end, depth, shared_bytes, previous_letter, next_letter)
            low = end
        return 0
    # No further error is allowed, so only letters of the text near this place can follow; equal letters are tried once.
    for i in range(depth - allowed - 1, depth + allowed + 2):
        if low >= high:
            break
        if not can_follow(scratch, depth, i, previous_letter):
            continue
        was_followed: i64 = 0
        for earlier in range(0 if depth < allowed + 1 else depth - allowed - 1, i):
            if scratch.block[earlier] == scratch.block[i]:
                was_followed |= can_follow(scratch, depth, earlier, previous_letter)
        if was_followed:
            continue
        next_letter = scratch.block[i]
        first: i64 = child_place(
            shard, low, high, depth, shared_bytes, previous_letter, next_letter
        )
        end = child_place(shard, first, high, depth, shared_bytes, previous_letter, next_letter + 1)
        if first < end:
            descend(shard, scratch, first, end, depth, shared_bytes, previous_letter, next_letter)
    return 0


def can_follow(scratch: Scratch, depth: i64, i: i64, previous_letter: i64) -> i64:
    """1 if letter `i` of the text can be the next letter of a word without a further error, else 0.

    Either a cell of the last row expects it, or it completes a swap and a cell of the row before expects it.
    """
    size: i64 = scratch.near_size
    half: i64 = scratch.near_half
    allowed: i64 = scratch.near_most
    if i < 0 or i >= size:
        return 0
    table = scratch.heap
    row: i64 = depth * (size + 1)
    if table[row + i] <= allowed - (i + 1 < half):
        return 1
    if depth < 1 or i + 1 >= size or scratch.block[i + 1] != previous_letter:
        return 0
    return table[row - size - 1 + i] < allowed - (i + 2 < half)


def descend(
    shard: ShardArrays,
    scratch: Scratch,
    low: i64,
    high: i64,
    depth: i64,
    shared_bytes: i64,
    previous_letter: i64,
    next_letter: i64,
) -> i64:
    """Add the near words of [low, high), whose next letter is `next_letter`, unless their prefix is too far.

    The words share `depth` letters before it, in `shared_bytes` bytes; `walk_prefix` continues with the longer prefix.
    Always returns 0.
    """
    errors_left: i64 = fill_distance_row(
        scratch, scratch.near_half, depth + 1, next_letter, previous_letter
    )
    if errors_left >= 0:
        next_shared_bytes: i64 = shared_bytes + letter_size(next_letter >> 24)
        walk_prefix(
            shard, scratch, low, high, depth + 1, next_shared_bytes, next_letter, errors_left
        )
    return 0


def add_near_word(scratch: Scratch, word: i64, distance: i64) -> i64:
    """Add a word to the found rows if there is room, with its distance in `found_tie`. Always returns 0."""
    if scratch.used < scratch.found_size:
        scratch.found_shard[scratch.used] = scratch.near_shard
        scratch.found_row[scratch.used] = word
        scratch.found_tie[scratch.used] = distance
        scratch.used += 1
    return 0


def distance_of(shard: ShardArrays, scratch: Scratch, place: i64) -> i64:
    """The number of errors between the text and the word that begins at the byte `place`.

    If the word is too long, this is one more than the allowed errors. The distance table is filled letter by letter.
    """
    size: i64 = scratch.near_size
    allowed: i64 = scratch.near_most
    stop: i64 = place
    while stop < shard.words_size and shard.words[stop] != WORD_END:
        stop += 1
    depth: i64 = 0
    previous_letter: i64 = 0
    next_letter: i64 = letter_at(shard, place, stop)
    while next_letter and depth < size + allowed:
        depth += 1
        fill_distance_row(scratch, 0, depth, next_letter, previous_letter)
        place += letter_size(next_letter >> 24)
        previous_letter = next_letter
        next_letter = letter_at(shard, place, stop)
    return allowed + 1 if next_letter else scratch.heap[depth * (size + 1) + size]


def word_start_before(shard: ShardArrays, place: i64, least: i64, greatest: i64) -> i64:
    """The start of the word that contains the byte `place`.

    -1 unless the word has `least` to `greatest` letters before `place`.
    """
    count: i64 = 0
    while place and shard.words[place - 1] != WORD_END and count <= greatest:
        place -= 1
        if shard.words[place] & 0xC0 != 0x80:
            count += 1
    return place if least <= count <= greatest else -1


def add_endings(shard: ShardArrays, scratch: Scratch, first: i64, end: i64) -> i64:
    """Add the near words with one of the suffixes [first, end) after about as many letters as the first half has.

    Words of the shard that `walk_prefix` has added are left out. Always returns 0.
    """
    half: i64 = scratch.near_half
    allowed: i64 = scratch.near_most
    shard_first: i64 = scratch.used
    while shard_first and scratch.found_shard[shard_first - 1] == scratch.near_shard:
        shard_first -= 1
    shard_end: i64 = scratch.used
    for index in range(first, end):
        place: i64 = shard.suffixes[index]
        if place >= shard.words_size:
            raise_damaged()
        word_start: i64 = word_start_before(shard, place, half - allowed, half + allowed)
        if word_start < 0:
            continue
        distance: i64 = distance_of(shard, scratch, word_start)
        if distance > allowed:
            continue
        word: i64 = word_at(shard, place)
        for i in range(shard_first, shard_end):
            if scratch.found_row[i] == word:
                distance = allowed + 1
        if distance <= allowed:
            add_near_word(scratch, word, distance)
    return 0


def collect_in_shard(shard: ShardArrays, question: KernelQuery, scratch: Scratch) -> i64:
    """Add the near words of a shard.

    The second half begins where at most NEAR_ENDINGS words share the end of the text; if all ends are more frequent,
    `walk_prefix` covers all errors. Always returns 0.
    """
    half: i64 = scratch.near_size >> 1
    ending_start: i64 = 0
    for i in range(half):
        ending_start += letter_size(scratch.block[i] >> 24)
    first: i64 = 0
    end: i64 = 0
    while half >= LEAST_FIRST_HALF:
        ending_size: i64 = question.text_size + 1 - ending_start  # with the END of the word
        low: u64 = suffix_key(question.text, ending_start, ending_size)
        high: u64 = low + 1
        if ending_size < 8:
            high = low + (cython.cast(u64, 1) << (8 * (8 - ending_size)))
        if ending_size > SUFFIX_BYTES:
            ending_size = SUFFIX_BYTES
        first = first_suffix(shard, low, question.text, ending_start, ending_size)
        end = end_of_suffixes(shard, first, high, question.text, ending_start, ending_size)
        if end - first <= NEAR_ENDINGS:
            break
        half -= 1
        ending_start -= letter_size(scratch.block[half] >> 24)
    if half < LEAST_FIRST_HALF:
        half = 0
    scratch.near_half = half
    walk_prefix(shard, scratch, 0, shard.word_count, 0, 0, 0, scratch.near_most)
    if half:
        add_endings(shard, scratch, first, end)
    return 0


def collect_near_words(table: Table, question: KernelQuery, scratch: Scratch, allowed: i64) -> i64:
    """Write the words within a distance of the text to the result rows (shard, word, distance); returns their number.

    The text is a single word of at most 30 letters; an END follows it.
    """
    letter_count: i64 = 0
    byte_offset: i64 = 0
    while byte_offset < question.text_size:
        letter_bytes: i64 = letter_size(question.text[byte_offset])
        letter: i64 = 0
        for i in range(4):
            letter <<= 8
            if i < letter_bytes and byte_offset + i < question.text_size:
                letter |= question.text[byte_offset + i]
        scratch.block[letter_count] = letter
        scratch.heap[letter_count] = letter_count  # the distance row of the empty prefix
        letter_count += 1
        byte_offset += letter_bytes
    scratch.heap[letter_count] = letter_count
    scratch.used = 0
    scratch.near_size = letter_count
    scratch.near_most = allowed
    for i in range(question.shard_count):
        shard = table.shards[question.shards[i]]
        if shard.word_count:
            if not shard.beginnings[ONE_BYTE * ONE_BYTE + 1]:
                set_beginnings(shard)
            scratch.near_shard = question.shards[i]
            collect_in_shard(shard, question, scratch)
    return scratch.used


def run(table: Address, question: Address, scratch: Address, text: bytes, most: int) -> int:
    """`collect_near_words` for Python, up to the distance `most`; releases Python's lock.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    generation: Table = cython.cast(Table, table)
    kernel_question: KernelQuery = cython.cast(KernelQuery, question)
    memory: Scratch = cython.cast(Scratch, scratch)
    allowed: i64 = most
    count: i64 = 0
    kernel_question.text = text
    with cython.nogil:
        count = collect_near_words(generation, kernel_question, memory, allowed)
    return count  # noqa: RET504 (with the lock, into a Python number)
