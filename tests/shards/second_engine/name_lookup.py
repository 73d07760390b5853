"""The rows whose name contains a text without a blank, by the index of words, in NumPy."""

from typing import Final

import numpy as np

from shards.codec.arrays import Rows, distinct, ranges, where
from shards.codec.sparse_index import Probe
from shards.codec.strings import END, Interval, Texts
from shards.format import OWNED, SUFFIX_BYTES
from shards.search.name_lookup import NameLookup, Numbers
from shards.search.reader import Shard
from tests.shards.second_engine import stored_sets
from tests.shards.second_engine.row_sets import (
    NO_LOOKUP,
    Counted,
    Listed,
    Lookup,
    RowSet,
    lazy_lookup,
)

# Nanoseconds of a union: once, and per suffix with the few rows of its word.
_LOOKUP: Final = 20_000
_UNITING: Final = 120.0


def rows_containing(shard: Shard, part: bytes, head: Probe) -> Lookup:
    """The rows with a word that contains `part`; `head` is the probe of its first SUFFIX_BYTES."""
    index = shard.words
    interval = index.suffixes.beginning_with(head)
    if interval.first == interval.end:
        return NO_LOOKUP
    stored = stored_sets.heavy(shard, interval) if len(part) <= SUFFIX_BYTES else None
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
