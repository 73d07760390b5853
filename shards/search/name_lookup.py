"""`q` in names: from a part of a word to the rows that hold it, exactly and without a scan.

Names repeat few words, so the index is of the distinct words: their texts, for each the rows whose
name holds it, and all their suffixes, sorted. A `q` without a blank occurs in a word exactly where
it begins one of its suffixes: a binary search gives an interval of suffixes, hence words, hence
rows. Where the words of an interval are too frequent to unite during a search, the build has
united them: `heavy` holds one set for each such interval, whatever the `q` that leads to it.

Useful for: any substring, of any length, with an exact count; one with blanks is found by
`phrase_lookup.py`. Not useful for: typing errors, or words in another order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, distinct, ranges, where
from shards.codec.row_sets import NO_LOOKUP, Counted, Listed, Lookup, Packed, RowSet, lazy_lookup
from shards.codec.sparse_index import Probe, SparseIndex
from shards.codec.strings import Interval, Texts
from shards.format import OWNED, SUFFIX_BYTES

Numbers = NDArray[np.uint32]

# Nanoseconds of uniting: whatever is united, and each suffix, with the few rows of its word.
_LOOKUP: Final = 20_000
_UNITING: Final = 120.0


@dataclass(frozen=True, slots=True)
class NameLookup:
    """The index of one shard.

    The rows of word i are postings[starts[i] : starts[i + 1]], ascending. The folded name of row i
    is the words tokens[token_starts[i] : token_starts[i + 1]]. Byte 16 × i of the words belongs to
    word owners[i]. `heavy`, `junction` and `phrase` look up what the build has united: an interval
    of suffixes (or counted), a pair of characters around a blank, a text with blanks.
    """

    words: Texts
    owners: Numbers
    suffixes: SparseIndex[Numbers]
    starts: Numbers
    postings: Rows
    tokens: Numbers
    token_starts: Numbers
    heavy: Callable[[Interval], Packed | Counted | None]
    junction: Callable[[bytes], Packed | None]
    phrase: Callable[[bytes], Packed | None]


def rows_containing(index: NameLookup, part: bytes, what: Probe) -> Lookup:
    """The rows with a word that contains `part`; `what` is its first SUFFIX_BYTES, looked up."""
    interval = index.suffixes.beginning_with(what)
    if interval.first == interval.end:
        return NO_LOOKUP
    known = index.heavy(interval) if len(part) <= SUFFIX_BYTES else None
    if known is not None and not isinstance(known, Counted):
        return lazy_lookup(known)
    cost = _LOOKUP + _UNITING * (interval.end - interval.first)
    return Lookup(cost, lambda: _united(index, part, interval), known)


def _united(index: NameLookup, part: bytes, interval: Interval) -> RowSet:
    owners = words_of_suffixes(index, interval)
    if len(part) > SUFFIX_BYTES:
        held = [part in index.words[owner] for owner in owners.tolist()]
        owners = owners[np.array(held, dtype=bool)]
    return Listed(rows_of_words(index, owners))


def words_of_suffixes(index: NameLookup, interval: Interval) -> Numbers:
    """The words in which these suffixes lie, ascending."""
    places = np.sort(np.asarray(index.suffixes.places[interval.first : interval.end]))
    found = index.owners.take(places // np.uint32(OWNED))
    ends = index.words.starts[1:]
    late = where(ends.take(found) <= places)
    while len(late):
        found[late] += np.uint32(1)
        late = late.take(where(ends.take(found.take(late)) <= places.take(late)))
    return distinct(found)


def rows_of_words(index: NameLookup, owners: Numbers) -> Rows:
    """The rows of all these words, ascending, each once."""
    if len(owners) == 1:
        only = int(owners[0])
        return index.postings[index.starts[only] : index.starts[only + 1]]
    first = index.starts.take(owners).astype(np.int64)
    count = index.starts.take(owners + 1) - first
    return distinct(index.postings.take(ranges(first, count)))


def folded_names(index: NameLookup, rows: Rows) -> list[bytes]:
    """The folded names of `rows`."""
    first = index.token_starts.take(rows).astype(np.int64)
    count = index.token_starts.take(rows + 1) - first
    numbers = index.tokens.take(ranges(first, count))
    data, starts = index.words.data, index.words.starts
    begins, ends = starts.take(numbers).tolist(), starts.take(numbers + 1).tolist()
    held = [bytes(data[begin : end - 1]) for begin, end in zip(begins, ends, strict=True)]
    names: list[bytes] = []
    at = 0
    for number in count.tolist():
        names.append(b" ".join(held[at : at + number]))
        at += number
    return names


def words_beginning_with(index: NameLookup, prefix: bytes) -> Interval:
    """The words that begin with `prefix`."""
    words = index.words
    first = _below(words, prefix)
    return Interval(first, _below(words, prefix + b"\xff"))


def _below(words: Texts, text: bytes) -> int:
    """How many words come before `text`."""
    low, high = 0, len(words)
    data, starts, length = words.data, words.starts, len(text)
    while low < high:
        middle = (low + high) // 2
        start = int(starts[middle])
        if bytes(data[start : start + length]) < text:
            low = middle + 1
        else:
            high = middle
    return low


def word_number(index: NameLookup, word: bytes) -> int | None:
    """The number of `word`, if there is such a word."""
    first, end = words_beginning_with(index, word + b"\n")
    return first if first < end else None
