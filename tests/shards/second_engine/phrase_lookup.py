"""`q` with blanks: names in which some parts stand side by side.

The first part ends a word, the last begins the next one, those between are whole words. What many
rows hold the build has listed: texts of up to 24 bytes (`phrase`), and every pair of characters
around a blank (`junction`; one character on each side of a blank is such a pair, and needs no
looking). Else the rows to look at are the fewest of those that any part of the text allows, and
these are looked at word by word.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, common, distinct, ranges, where
from shards.codec.row_sets import EMPTY, NONE, Bits, Listed, Lookup, Mask, Packed, RowSet, to_open
from shards.codec.sparse_index import probe
from shards.codec.strings import END, Interval
from shards.format import SUFFIX_BYTES
from shards.search import name_lookup
from shards.search.name_lookup import NameLookup, Numbers

# Rows that are looked at together: their words stay in the processor's cache.
BATCH: Final = 1 << 14
# More words than this are not united to find the rows to look at.
_ENDINGS: Final = 1 << 12
# Nanoseconds for each row that is looked at.
_LOOKING: Final = 100.0
# A list of at most so many times the rows is gone through rather than to look at all of them.
_MERGED: Final = 8


class _Sought(NamedTuple):
    """A text with blanks: what its first word ends with, the numbers of the words that follow, and
    of those that may come last."""

    first: bytes
    between: Sequence[int]
    last: Interval


class _Candidates(NamedTuple):
    """Rows that may hold a text: how many at most, and all of them, ascending."""

    size: int
    rows: Callable[[], Rows]


def holding(index: NameLookup, parts: Sequence[bytes]) -> Lookup:
    """The rows whose folded name holds `parts`, at least two, side by side."""
    pairs = [index.junction(_pair(*two)) for two in pairwise(parts)]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return NONE
    if len(parts) == 2 and all(map(_is_single, parts)):
        return to_open(known[0])
    text = b" ".join(parts)
    if len(text) <= SUFFIX_BYTES and (listed := index.phrase(text)) is not None:
        return to_open(listed)
    last = name_lookup.beginning_with(index, parts[-1])
    middle = [name_lookup.exactly(index, part) for part in parts[1:-1]]
    between = [number for number in middle if number is not None]
    if last.first == last.end or len(between) < len(middle):
        return NONE
    what = _Sought(parts[0], between, last)
    bits = [pair for pair in known if isinstance(pair, Bits)]
    lists = sorted(_candidates(index, what, known), key=lambda one: one.size)
    return Lookup(_LOOKING * lists[0].size, lambda: _those(index, what, lists, bits))


def _those(
    index: NameLookup, what: _Sought, lists: Sequence[_Candidates], pairs: Sequence[Bits]
) -> RowSet:
    """The rows that are in all of these, as far as that pays, and hold what is sought."""
    rows = lists[0].rows()
    for pair in pairs:
        rows = rows.take(where(pair.test(rows)))
    for other in lists[1:]:
        if other.size < _MERGED * len(rows):
            rows = common(rows, other.rows())
    batches = (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
    found = [_looked_at(index, batch, what) for batch in batches]
    return Listed(np.concatenate(found)) if found else EMPTY


def _is_single(part: bytes) -> bool:
    return len(part.decode()) == 1


def _pair(one: bytes, other: bytes) -> bytes:
    """The characters on either side of the blank between two parts."""
    return (one.decode()[-1] + other.decode()[0]).encode()


def _candidates(index: NameLookup, what: _Sought, pairs: Sequence[Packed]) -> Iterator[_Candidates]:
    """The rows of each pair, of each word between, of the words that the last part begins, and of
    those that the first part ends."""
    yield from (_Candidates(pair.size, pair.rows) for pair in pairs)
    for number in (Interval(word, word + 1) for word in what.between):
        yield _of_words(index, number)
    yield _of_words(index, what.last)
    ending = index.suffixes.beginning_with(probe((what.first + END)[:SUFFIX_BYTES]))
    if ending.end - ending.first <= _ENDINGS:
        owners = name_lookup.owners_of(index, ending)
        size = int((index.starts.take(owners + 1) - index.starts.take(owners)).sum())
        yield _Candidates(size, lambda: name_lookup.united_rows(index, owners))


def _of_words(index: NameLookup, numbers: Interval) -> _Candidates:
    """The rows of neighbouring words, whose postings are neighbours too."""
    held = index.postings[int(index.starts[numbers.first]) : int(index.starts[numbers.end])]
    if numbers.end == numbers.first + 1:
        return _Candidates(len(held), lambda: held)
    return _Candidates(len(held), lambda: distinct(held.copy()))


def _looked_at(index: NameLookup, rows: Rows, what: _Sought) -> Rows:
    """Those of `rows` whose words hold the parts, wherever in the name they stand."""
    start = index.token_starts.take(rows).astype(np.int64)
    count = index.token_starts.take(rows + np.uint32(1)) - start
    tokens = index.tokens.take(ranges(start, count))
    owner = np.repeat(np.arange(len(rows)), count)
    first, between, last = what
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


def _ends(index: NameLookup, numbers: Numbers, part: bytes) -> Mask:
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
