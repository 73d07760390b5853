"""The index of the words of names, as arrays (FORMAT.md §8).

Names repeat few words, so the index is over the distinct words: their texts, the rows of each word, and all suffixes
of the words, sorted. A text without a blank occurs in a word exactly where it begins one of the suffixes.
`shards/kernel` searches it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, ranges
from shards.codec.sparse_index import SparseIndex
from shards.codec.strings import Texts

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class NameLookup:
    """The index of one shard (FORMAT.md §8).

    Attributes:
        words: the distinct words, sorted.
        owners: the number of the word to which byte 16 × i of the words belongs.
        suffixes: the places in the words where a character begins, sorted by the bytes from there on.
        starts, postings: the rows of word i are postings[starts[i] : starts[i + 1]], ascending.
        tokens, token_starts: the folded name of row i is the words tokens[token_starts[i] : token_starts[i + 1]].
    """

    words: Texts
    owners: Numbers
    suffixes: SparseIndex[Numbers]
    starts: Numbers
    postings: Rows
    tokens: Numbers
    token_starts: Numbers


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
