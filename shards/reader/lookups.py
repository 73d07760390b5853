"""Two indexes of a shard, as arrays: rows by whole identifier (contract E2), and the words of names (FORMAT.md §8).

The index of identifiers is the folded identifiers, sorted, and the row of each. Names repeat few words, so their index
is over the distinct words: their texts, the rows of each word, and all suffixes of the words, sorted. A text without a
blank occurs in a word exactly where it begins one of the suffixes. `shards/kernel` searches both.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, ranges
from shards.codec.strings import END, EvenPlaces, SparseIndex, Texts, probe
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


# How an identifier of a court begins: with a letter and four digits, once or twice, before the register.
_COURT: Final = re.compile(rb"(?:[A-Z]\d{4}[A-Z]?){1,2}(?=HR|GN|VR|PR|GS)")
# Codes with their next letters, and bytes of an identifier in which they are looked for.
_MOST_COURTS: Final = 4_000
_READ: Final = 16


@dataclass(frozen=True, slots=True)
class IdLookup:
    """The index of one shard (FORMAT.md §3, table `ident`).

    Attributes:
        folded: the folded identifiers, sorted, ties by row.
        rows: the row of each of them.
    """

    folded: SparseIndex[NDArray[np.uint32]] | SparseIndex[EvenPlaces]
    rows: Rows

    @property
    def width(self) -> int:
        """The length of all folded identifiers; 0 if they differ."""
        places = self.folded.places
        return places[1] - 1 if isinstance(places, EvenPlaces) and len(places) > 1 else 0


def rows_equal_to(index: IdLookup, whole: str) -> Rows:
    """The rows whose folded identifier is `whole`, which is folded; ascending."""
    first, end = index.folded.beginning_with(probe(whole.encode() + END))
    return index.rows[first:end]


def courts(index: IdLookup) -> list[str]:
    """The codes of courts that identifiers begin with (XJustiz): of two where a company moved."""
    return list(dict.fromkeys(code.decode() for code in _courts(index)))


def _courts(index: IdLookup) -> Iterator[bytes]:
    """A look-up for each code and its next letter, not for each identifier."""
    folded, at = index.folded, 0
    for _ in range(_MOST_COURTS):
        if at >= len(folded.places):
            return
        place = int(folded.places[at])
        text = bytes(folded.data[place : place + _READ])
        matched = _COURT.match(text)
        if matched:
            yield matched.group()
        # R3306HRB1 and R3306R3304HRB1 begin alike: only what has the next letter too is passed over.
        known = text[: matched.end() + 1] if matched else text[:1]
        at = folded.end_of(known, at)
