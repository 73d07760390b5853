"""`q` in names: from a part of a word to the rows that hold it, exactly and without a scan.

Names repeat few words, so the index is of the distinct words: their texts, for each the rows whose
name holds it, and all their suffixes, sorted. A `q` without a blank occurs in a word exactly where
it begins one of its suffixes: a binary search gives an interval of suffixes, hence words, hence
rows. Where the words of an interval are too frequent to unite during a search, the build has
united them: `heavy` holds one set for each such interval, whatever the `q` that leads to it.

Useful for: any substring, of any length, with an exact count; one with blanks is found by
`across.py`. Not useful for: typing errors, or words in another order.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shards.arrays import distinct, ranges
from shards.format import SUFFIX_BYTES
from shards.sampled import Sampled, Sought
from shards.sets import EMPTY, Listed, Rows, RowSet
from shards.texts import Interval, Texts

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Words:
    """The index of one shard.

    The rows of word i are postings[starts[i] : starts[i + 1]], ascending. The folded name of row i
    is the words tokens[token_starts[i] : token_starts[i + 1]]. `heavy` and `junction` look up what
    the build has united: an interval of suffixes, a pair of characters around a blank.
    """

    words: Texts
    suffixes: Sampled
    starts: Numbers
    postings: Rows
    tokens: Numbers
    token_starts: Numbers
    heavy: Callable[[Interval], RowSet | None]
    junction: Callable[[bytes], RowSet | None]


def containing(index: Words, part: bytes, what: Sought) -> RowSet:
    """The rows with a word that contains `part`; `what` is its first SUFFIX_BYTES, looked up."""
    interval = index.suffixes.beginning_with(what)
    if interval.first == interval.end:
        return EMPTY
    if len(part) <= SUFFIX_BYTES and (united := index.heavy(interval)) is not None:
        return united
    owners = owners_of(index, interval)
    if len(part) > SUFFIX_BYTES:
        held = [part in index.words[owner] for owner in owners.tolist()]
        owners = owners[np.array(held, dtype=bool)]
    return Listed(united_rows(index, owners))


def owners_of(index: Words, interval: Interval) -> Numbers:
    """The words in which these suffixes lie, ascending."""
    places = index.suffixes.places[interval.first : interval.end]
    if len(places) == 1:
        return np.array([index.words.starts.searchsorted(places[0], side="right") - 1], dtype="u4")
    # Sorted, the places are looked up several times faster.
    owners = index.words.starts.searchsorted(np.sort(places), side="right") - 1
    return distinct(owners.astype(np.uint32))


def united_rows(index: Words, owners: Numbers) -> Rows:
    """The rows of all these words, ascending, each once."""
    if len(owners) == 1:
        only = int(owners[0])
        return index.postings[index.starts[only] : index.starts[only + 1]]
    first = index.starts.take(owners).astype(np.int64)
    count = index.starts.take(owners + 1) - first
    return distinct(index.postings.take(ranges(first, count)))


def folded_names(index: Words, rows: Rows) -> list[bytes]:
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


def beginning_with(index: Words, prefix: bytes) -> Interval:
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


def exactly(index: Words, word: bytes) -> int | None:
    """The number of `word`, if there is such a word."""
    first, end = beginning_with(index, word + b"\n")
    return first if first < end else None
