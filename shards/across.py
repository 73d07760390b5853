"""`q` with blanks: names in which some parts stand side by side.

The first part ends a word, the last begins the next one, those between are whole words. Rows that
may hold them are in every one of some sets: those of each pair of characters around a blank, which
the build has listed, and those whose words contain each part. What is in all of them is looked at
word by word. One character on each side of a blank is such a pair, and needs no looking.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import sets, words
from shards.arrays import ranges, where
from shards.format import SUFFIX_BYTES
from shards.sampled import sought
from shards.sets import EMPTY, Listed, Mask, Rows, RowSet
from shards.texts import Interval
from shards.words import Numbers, Words

# So few rows are looked at sooner than they are looked up in another set.
FEW: Final = 256
# Rows that are looked at together: their words stay in the processor's cache.
BATCH: Final = 1 << 14


def holding(index: Words, parts: Sequence[bytes]) -> RowSet:
    """The rows whose folded name holds `parts`, at least two, side by side."""
    pairs = [index.junction(_pair(*two)) for two in pairwise(parts)]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return EMPTY
    if len(parts) == 2 and all(map(_is_single, parts)):
        return known[0]
    last = words.beginning_with(index, parts[-1])
    middle = [words.exactly(index, part) for part in parts[1:-1]]
    between = [number for number in middle if number is not None]
    if last.first == last.end or len(between) < len(middle):
        return EMPTY
    if min(pair.size for pair in known) > FEW:
        known += _with_parts(index, parts)
    rows = sets.in_all(known, FEW)
    batches = (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
    found = [_looked_at(index, batch, parts[0], between, last) for batch in batches]
    return Listed(np.concatenate(found)) if found else EMPTY


def _is_single(part: bytes) -> bool:
    return len(part.decode()) == 1


def _pair(one: bytes, other: bytes) -> bytes:
    """The characters on either side of the blank between two parts."""
    return (one.decode()[-1] + other.decode()[0]).encode()


def _with_parts(index: Words, parts: Sequence[bytes]) -> Iterator[RowSet]:
    """The rows that contain each part; of one character at an end the pairs know as much."""
    for place, part in enumerate(parts):
        if not (place in (0, len(parts) - 1) and _is_single(part)):
            yield words.containing(index, part, sought(part[:SUFFIX_BYTES]))


def _looked_at(
    index: Words, rows: Rows, first: bytes, between: Sequence[int], last: Interval
) -> Rows:
    """Those of `rows` whose words hold the parts, wherever in the name they stand."""
    start = index.token_starts.take(rows).astype(np.int64)
    count = index.token_starts.take(rows + np.uint32(1)) - start
    tokens = index.tokens.take(ranges(start, count))
    owner = np.repeat(np.arange(len(rows)), count)
    # Places where the last part stands, then those that have the others before it in the name.
    width = len(between) + 1
    at = where(tokens - np.uint32(last.first) < np.uint32(last.end - last.first))
    at = at[at >= width]
    at = at.take(where(owner.take(at) == owner.take(at - width)))
    for distance, number in enumerate(reversed(between), start=1):
        at = at.take(where(tokens.take(at - distance) == np.uint32(number)))
    at = at.take(where(_ends(index, tokens.take(at - width), first)))
    held = np.zeros(len(rows), dtype=bool)
    held[owner.take(at)] = True
    return rows.take(where(held))


def _ends(index: Words, numbers: Numbers, part: bytes) -> Mask:
    """Which of the words end with `part`, compared from its last byte back.

    Where a word is shorter, the byte before it is the END of another (before the first word: of the
    last one, because a place of -1 is the end of the data), which no part has.
    """
    data = np.frombuffer(index.words.data, dtype=np.uint8)
    end: NDArray[np.int64] = index.words.starts.take(numbers + np.uint32(1)).astype(np.int64) - 1
    fits = np.ones(len(numbers), dtype=bool)
    left = np.arange(len(numbers))
    for distance, byte in enumerate(reversed(part), start=1):
        alike = data[end.take(left) - distance] == byte
        fits[left[~alike]] = False
        left = left[alike]
        if not len(left):
            break
    return fits
