"""The index of the words of names, as arrays (FORMAT.md §8).

Names repeat few words, so the index is over the distinct words: their texts, the rows of each word, and all suffixes
of the words, sorted. A text without a blank occurs in a word exactly where it begins one of the suffixes.
`shards/kernel` searches it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, ranges
from shards.codec.sparse_index import SparseIndex
from shards.codec.strings import Texts
from shards.format import FORMER_NAME

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class NameLookup:
    """The index of one shard (FORMAT.md §8).

    Attributes:
        words: the distinct words, sorted.
        owners: the number of the word to which byte 16 × i of the words belongs.
        suffixes: the places in the words where a character begins, sorted by the bytes from there on.
        starts, postings: the rows of word i are postings[starts[i] : starts[i + 1]], ascending.
        tokens, token_starts: the names of row i are the words tokens[token_starts[i] : token_starts[i + 1]], each
            former name behind a FORMER_NAME.
    """

    words: Texts
    owners: Numbers
    suffixes: SparseIndex[Numbers]
    starts: Numbers
    postings: Rows
    tokens: Numbers
    token_starts: Numbers


def words_with_rows(index: NameLookup, numbers: NDArray[Any]) -> list[tuple[str, int]]:
    """Words by their numbers, each with how many rows have it."""
    texts, data = index.words.starts, index.words.data
    begins, ends = texts.take(numbers).tolist(), texts.take(numbers + 1).tolist()
    rows = (index.starts.take(numbers + 1) - index.starts.take(numbers)).tolist()
    found = zip(begins, ends, rows, strict=True)
    return [(str(data[begin : end - 1], "utf-8"), count) for begin, end, count in found]


def folded_names(index: NameLookup, rows: Rows) -> list[list[bytes]]:
    """The folded names of `rows`: of each the present one, then the former ones that have words."""
    first = index.token_starts.take(rows).astype(np.int64)
    count = index.token_starts.take(rows + 1) - first
    numbers = index.tokens.take(ranges(first, count)).tolist()
    data, starts = index.words.data, index.words.starts
    names: list[list[bytes]] = []
    at = 0
    for number in count.tolist():
        found: list[list[bytes]] = [[]]
        for token in numbers[at : at + number]:
            if token == FORMER_NAME:
                found.append([])
            else:
                found[-1].append(bytes(data[int(starts[token]) : int(starts[token + 1]) - 1]))
        names.append([b" ".join(words) for words in found])
        at += number
    return names
