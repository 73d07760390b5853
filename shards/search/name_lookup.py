"""The substring index of names: from `q` without a blank to the rows whose name contains it.

Names repeat few words, so the index is over the distinct words: their texts, the rows of each word, and all suffixes
of the words, sorted. A text without a blank occurs in a word exactly where it begins one of the suffixes. A binary
search gives an interval of suffixes, these give words, and words give rows. Where the words of an interval have too
many rows to unite during a search, the build has stored the union: the table `heavy` has one row set per such
interval, whichever `q` leads to it.

Useful for: any substring of any length, with an exact count. A `q` with blanks is the task of `phrase_lookup`. Not
useful for: typing errors, or words in another order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, distinct, ranges, where
from shards.codec.row_sets import NO_LOOKUP, Counted, Listed, Lookup, Packed, RowSet, lazy_lookup
from shards.codec.sparse_index import Probe, SparseIndex
from shards.codec.strings import END, Interval, Texts
from shards.format import OWNED, SUFFIX_BYTES

Numbers = NDArray[np.uint32]

# Nanoseconds of a union: once, and per suffix with the few rows of its word.
_LOOKUP: Final = 20_000
_UNITING: Final = 120.0


@dataclass(frozen=True, slots=True)
class NameLookup:
    """The index of one shard (FORMAT.md §8).

    Attributes:
        words: the distinct words, sorted.
        owners: the number of the word to which byte 16 × i of the words belongs.
        suffixes: the places in the words where a character begins, sorted by the bytes from there on.
        starts, postings: the rows of word i are postings[starts[i] : starts[i + 1]], ascending.
        tokens, token_starts: the folded name of row i is the words tokens[token_starts[i] : token_starts[i + 1]].
        heavy: the stored union of an interval of suffixes, or its size and heads; None if there is neither.
        junction: the stored rows of a pair of characters around a blank.
        phrase: the stored rows of a text with blanks.
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


def rows_containing(index: NameLookup, part: bytes, head: Probe) -> Lookup:
    """The rows with a word that contains `part`; `head` is the probe of its first SUFFIX_BYTES."""
    interval = index.suffixes.beginning_with(head)
    if interval.first == interval.end:
        return NO_LOOKUP
    stored = index.heavy(interval) if len(part) <= SUFFIX_BYTES else None
    if stored is not None and not isinstance(stored, Counted):
        return lazy_lookup(stored)
    cost = _LOOKUP + _UNITING * (interval.end - interval.first)
    return Lookup(cost, lambda: _unite(index, part, interval), stored)


def _unite(index: NameLookup, part: bytes, interval: Interval) -> RowSet:
    """The rows of the words in which these suffixes lie, if the words contain all of `part`."""
    owners = words_of_suffixes(index, interval)
    if len(part) > SUFFIX_BYTES:
        contains = [part in index.words[owner] for owner in owners.tolist()]
        owners = owners[np.array(contains, dtype=bool)]
    return Listed(rows_of_words(index, owners))


def words_of_suffixes(index: NameLookup, interval: Interval) -> Numbers:
    """The numbers of the words in which these suffixes lie, ascending."""
    places = np.sort(np.asarray(index.suffixes.places[interval.first : interval.end]))
    # The owner of the sampled byte before a place; words may end in between, so step on until they do not.
    found = index.owners.take(places // np.uint32(OWNED))
    ends = index.words.starts[1:]
    late = where(ends.take(found) <= places)
    while len(late):
        found[late] += np.uint32(1)
        late = late.take(where(ends.take(found.take(late)) <= places.take(late)))
    return distinct(found)


def rows_of_words(index: NameLookup, owners: Numbers) -> Rows:
    """The rows of any of these words, ascending, each once."""
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
    words = [bytes(data[begin : end - 1]) for begin, end in zip(begins, ends, strict=True)]
    names: list[bytes] = []
    at = 0
    for number in count.tolist():
        names.append(b" ".join(words[at : at + number]))
        at += number
    return names


def words_beginning_with(index: NameLookup, prefix: bytes) -> Interval:
    """The interval of words that begin with `prefix`."""
    words = index.words
    first = _below(words, prefix)
    return Interval(first, _below(words, prefix + b"\xff"))


def word_number(index: NameLookup, word: bytes) -> int | None:
    """The number of `word`, None if no name has it."""
    first, end = words_beginning_with(index, word + END)
    return first if first < end else None


def _below(words: Texts, text: bytes) -> int:
    """The number of words that sort before `text`."""
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
