"""The search for `q` with blanks: names in which several parts are neighbours.

The first part ends a word of the name, the last part begins one, and the parts between are whole words. The build has
stored the rows of frequent texts of up to 24 bytes (`phrase`), and of every pair of characters around a blank
(`junction`). If neither is the answer, the shortest list of rows that some part of the text allows is chosen as
candidates, and the names of the candidates are compared word by word.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, common, distinct, ranges, where
from shards.codec.sparse_index import probe
from shards.codec.strings import END, Interval
from shards.format import FORMER_NAME, SUFFIX_BYTES
from shards.search.name_lookup import NameLookup, Numbers
from shards.search.reader import Shard
from tests.shards.second_engine import name_lookup, stored_sets
from tests.shards.second_engine.row_sets import (
    EMPTY,
    NO_LOOKUP,
    Bits,
    Listed,
    Lookup,
    Mask,
    Packed,
    RowSet,
    lazy_lookup,
)

# Names that are compared in one batch: their words stay in the processor's cache.
BATCH: Final = 1 << 14
# If more words than this end with the first part, their rows are no candidates.
_ENDINGS: Final = 1 << 12
# Nanoseconds per name that is compared.
_LOOKING: Final = 100.0
# A further list is intersected with the candidates if it is at most so many times as long.
_MERGED: Final = 8


class _Phrase(NamedTuple):
    """A text with blanks, as words of the index.

    Attributes:
        first: the text that the first word ends with.
        between: the numbers of the words that follow.
        last: the numbers of the words that may come last.
    """

    first: bytes
    between: Sequence[int]
    last: Interval


class _Candidates(NamedTuple):
    """Rows that may contain a phrase: their greatest number, and a function that lists them, ascending."""

    size: int
    rows: Callable[[], Rows]


def rows_with_phrase(shard: Shard, parts: Sequence[bytes]) -> Lookup:
    """The rows whose folded name contains `parts`, at least two, as neighbours."""
    index = shard.words
    junctions = [stored_sets.junction(shard, _pair(*two)) for two in pairwise(parts)]
    known = [junction for junction in junctions if junction is not None]
    if len(known) < len(junctions):
        return NO_LOOKUP
    if len(parts) == 2 and all(map(_is_single, parts)):
        return lazy_lookup(known[0])
    text = b" ".join(parts)
    if len(text) <= SUFFIX_BYTES and (stored := stored_sets.phrase(shard, text)) is not None:
        return lazy_lookup(stored)
    last = name_lookup.words_beginning_with(index, parts[-1])
    middle = [name_lookup.word_number(index, part) for part in parts[1:-1]]
    between = [number for number in middle if number is not None]
    if last.first == last.end or len(between) < len(middle):
        return NO_LOOKUP
    phrase = _Phrase(parts[0], between, last)
    bits = [junction for junction in known if isinstance(junction, Bits)]
    lists = sorted(_candidates(index, phrase, known), key=lambda candidates: candidates.size)
    return Lookup(_LOOKING * lists[0].size, lambda: _compare(index, phrase, lists, bits))


def _compare(
    index: NameLookup, phrase: _Phrase, lists: Sequence[_Candidates], junctions: Sequence[Bits]
) -> RowSet:
    """The rows that contain `phrase`: the shortest list, cut by the others where that pays, then compared."""
    rows = lists[0].rows()
    for junction in junctions:
        rows = rows.take(where(junction.test(rows)))
    for other in lists[1:]:
        if other.size < _MERGED * len(rows):
            rows = common(rows, other.rows())
    batches = (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
    found = [_rows_with(index, batch, phrase) for batch in batches]
    return Listed(np.concatenate(found)) if found else EMPTY


def _is_single(part: bytes) -> bool:
    return len(part.decode()) == 1


def _pair(one: bytes, other: bytes) -> bytes:
    """The characters on either side of the blank between two parts, a key of `junction`."""
    return (one.decode()[-1] + other.decode()[0]).encode()


def _candidates(
    index: NameLookup, phrase: _Phrase, junctions: Sequence[Packed]
) -> Iterator[_Candidates]:
    """The rows of each junction, of each word between, of the possible last words, of the possible first words."""
    yield from (_Candidates(junction.size, junction.rows) for junction in junctions)
    for number in (Interval(word, word + 1) for word in phrase.between):
        yield _word_candidates(index, number)
    yield _word_candidates(index, phrase.last)
    ending = index.suffixes.beginning_with(probe((phrase.first + END)[:SUFFIX_BYTES]))
    if ending.end - ending.first <= _ENDINGS:
        owners = name_lookup.words_of_suffixes(index, ending)
        size = int((index.starts.take(owners + 1) - index.starts.take(owners)).sum())
        yield _Candidates(size, lambda: name_lookup.rows_of_words(index, owners))


def _word_candidates(index: NameLookup, numbers: Interval) -> _Candidates:
    """The rows of consecutive words, whose postings are consecutive as well."""
    postings = index.postings[int(index.starts[numbers.first]) : int(index.starts[numbers.end])]
    if numbers.end == numbers.first + 1:
        return _Candidates(len(postings), lambda: postings)
    return _Candidates(len(postings), lambda: distinct(postings.copy()))


def _rows_with(index: NameLookup, rows: Rows, phrase: _Phrase) -> Rows:
    """The members of `rows` whose names contain `phrase` anywhere."""
    start = index.token_starts.take(rows).astype(np.int64)
    count = index.token_starts.take(rows + np.uint32(1)) - start
    tokens = index.tokens.take(ranges(start, count))
    owner = np.repeat(np.arange(len(rows)), count)
    name = np.cumsum(tokens == np.uint32(FORMER_NAME)) + owner  # a number per name
    first, between, last = phrase
    # Places of a last word; then those of them that have the other words before them in the same name.
    width = len(between) + 1
    at = where(tokens - np.uint32(last.first) < np.uint32(last.end - last.first))
    at = at[at >= width]
    at = at.take(where(name.take(at) == name.take(at - width)))
    at = at.take(where(tokens.take(at - width) != np.uint32(FORMER_NAME)))
    for distance, number in enumerate(reversed(between), start=1):
        at = at.take(where(tokens.take(at - distance) == np.uint32(number)))
    at = at.take(where(_words_end_with(index, tokens.take(at - width), first)))
    contains = np.zeros(len(rows), dtype=bool)
    contains[owner.take(at)] = True
    return rows.take(where(contains))


def _words_end_with(index: NameLookup, numbers: Numbers, part: bytes) -> Mask:
    """A mask of the words that end with `part`, compared from its last byte back.

    If a word is shorter than `part`, the byte before it is the END of another word, which no part has. Before the
    first word it is the END of the last one, because the place -1 is the end of the data.
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
