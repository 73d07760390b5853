"""Two indexes of a shard, as arrays: rows by complete identifier (contract E2), and the words of names (FORMAT.md §8).

The index of identifiers has the folded identifiers, sorted, and the row of each. Names repeat few words, so the index
of names has the distinct words, the rows of each word, and all suffixes of the words, sorted. A word contains a text
without a blank if and only if a suffix of the word begins with the text. `shards/kernel` searches both indexes.
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
    """The index of names of one shard (FORMAT.md §8).

    Attributes:
        words: the distinct words, sorted.
        owners: the number of the word that contains byte 16 × i of `words.data`.
        suffixes: the positions in `words.data` where a character begins, sorted by the bytes from there on.
        starts, postings: the rows of word i are postings[starts[i] : starts[i + 1]], ascending.
        tokens, token_starts: the names of row i are the word numbers tokens[token_starts[i] : token_starts[i + 1]],
            with FORMER_NAME before each former name.
    """

    words: Texts
    owners: Numbers
    suffixes: SparseIndex[Numbers]
    starts: Numbers
    postings: Rows
    tokens: Numbers
    token_starts: Numbers


def words_with_rows(index: NameLookup, word_numbers: NDArray[Any]) -> list[tuple[str, int]]:
    """Words by their numbers, each with its number of rows."""
    word_starts, data = index.words.starts, index.words.data
    first_bytes, end_bytes = (
        word_starts.take(word_numbers).tolist(),
        word_starts.take(word_numbers + 1).tolist(),
    )
    row_counts = (index.starts.take(word_numbers + 1) - index.starts.take(word_numbers)).tolist()
    spans = zip(first_bytes, end_bytes, row_counts, strict=True)
    return [(str(data[begin : end - 1], "utf-8"), count) for begin, end, count in spans]


def folded_names(index: NameLookup, rows: Rows) -> list[list[bytes]]:
    """The folded names of `rows`: for each row the present name, then the former names that have words."""
    first_tokens = index.token_starts.take(rows).astype(np.int64)
    token_counts = index.token_starts.take(rows + 1) - first_tokens
    tokens = index.tokens.take(ranges(first_tokens, token_counts)).tolist()
    word_bytes, word_starts = index.words.data, index.words.starts
    names: list[list[bytes]] = []
    start = 0
    for count in token_counts.tolist():
        row_names: list[list[bytes]] = [[]]
        for token in tokens[start : start + count]:
            if token == FORMER_NAME:
                row_names.append([])
            else:
                row_names[-1].append(
                    bytes(word_bytes[int(word_starts[token]) : int(word_starts[token + 1]) - 1])
                )
        names.append([b" ".join(words) for words in row_names])
        start += count
    return names


# The codes of courts at the beginning of an identifier: a letter and four digits, once or twice, before the register.
_COURT: Final = re.compile(rb"(?:[A-Z]\d{4}[A-Z]?){1,2}(?=HR|GN|VR|PR|GS)")
# The most look-ups while codes are collected, so that a strange register cannot take long.
_MOST_COURTS: Final = 4_000
# The codes of an identifier are within this many bytes of its beginning.
_FIRST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class IdLookup:
    """The index of identifiers of one shard (FORMAT.md §3, table `ident`).

    Attributes:
        folded: the folded identifiers, sorted, ties by row.
        rows: the row of each identifier.
    """

    folded: SparseIndex[NDArray[np.uint32]] | SparseIndex[EvenPlaces]
    rows: Rows

    @property
    def width(self) -> int:
        """The length of every folded identifier; 0 if the lengths differ."""
        places = self.folded.places
        return places[1] - 1 if isinstance(places, EvenPlaces) and len(places) > 1 else 0


def rows_equal_to(index: IdLookup, folded_id: str) -> Rows:
    """The rows whose folded identifier is `folded_id` (already folded), ascending."""
    first, end = index.folded.beginning_with(probe(folded_id.encode() + END))
    return index.rows[first:end]


def courts(index: IdLookup) -> list[str]:
    """The codes of courts at the beginning of identifiers (XJustiz); two codes together if a company moved."""
    return list(dict.fromkeys(code.decode() for code in _court_codes(index)))


def _court_codes(index: IdLookup) -> Iterator[bytes]:
    """The codes of courts at the beginning of identifiers, in sorted order, some repeated.

    There is one look-up for each code with its next letter instead of one per identifier, because the next look-up
    skips all identifiers that begin with this text.
    """
    folded, number = index.folded, 0  # the number of an identifier in sorted order
    for _ in range(_MOST_COURTS):
        if number >= len(folded.places):
            return
        start = int(folded.places[number])
        text = bytes(folded.data[start : start + _FIRST_BYTES])
        matched = _COURT.match(text)
        if matched:
            yield matched.group()
        # R3306HRB1 and R3306R3304HRB1 begin alike, so only identifiers with the same next letter are skipped.
        prefix = text[: matched.end() + 1] if matched else text[:1]
        number = folded.end_of(prefix, number)
