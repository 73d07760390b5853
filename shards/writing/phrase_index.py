"""The rows of frequent texts with blanks, such as `s r l` and `o s r l` (table `phrase`, FORMAT.md §8).

Legal forms are written with dots, which fold to blanks, so a few texts across words are as frequent as any part of a
word. They are found by extending each frequent pair of characters around a blank: first to the right, through the
words that follow, then to the left, within the first word. An extension that is too rare is dropped at once, so only
some thousand texts are examined.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import flatnonzero
from shards.codec.row_sets import Packing
from shards.codec.strings import END
from shards.format import FORMER_NAME, SUFFIX_BYTES, counted_size, phrase_size
from shards.writing.name_index import FoldedNames, Numbers

Bytes = NDArray[np.uint8]

_NO_BYTE: Final = -1  # the name or the word ends here
_BLANK: Final = 256  # added to the first byte of a word that follows a blank


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The occurrences of a text in the names, as parallel arrays.

    Attributes:
        text: the bytes of the text.
        row: the row of each occurrence, ascending; a name may contain a text twice.
        begin: the place in the data of the words where its first byte is.
        token: the index of the token that its last byte belongs to.
        end: the place in the data of the words where its last byte is.
    """

    text: bytes
    row: Numbers
    begin: NDArray[np.int64]
    token: NDArray[np.int64]
    end: NDArray[np.int64]

    def part(self, chosen: NDArray[np.intp], text: bytes) -> "_Occurrences":
        """Some of the occurrences, as those of the longer `text`."""
        return _Occurrences(
            text, self.row[chosen], self.begin[chosen], self.token[chosen], self.end[chosen]
        )


def phrase_sets(names: FoldedNames, packing: Packing) -> Iterator[tuple[bytes, bytes]]:
    """The texts with a blank that more than `counted_size` rows contain, ascending, with the set of these rows.

    Those in at most `phrase_size` rows have the size and the heads of the set. Texts consist of whole characters and
    have at most SUFFIX_BYTES bytes. Pairs of characters around one blank are left out: they are in the table
    `junction`.
    """
    least = counted_size(packing.rows)
    data = np.frombuffer(bytes(names.words.data) + END, dtype=np.uint8)
    found: dict[bytes, bytes] = {}
    # By the digest of the rows: a text and a longer one often have the same.
    packed: dict[bytes, bytes] = {}
    pending = list(_pairs(names, data, least))
    while pending:
        occurrences = pending.pop()
        pending += _longer_rightward(names, data, occurrences, least)
        leftward = [occurrences]
        while leftward:
            occurrences = leftward.pop()
            if _is_whole(data, occurrences) and not _is_pair(occurrences.text):
                rows = _distinct_rows(occurrences.row)
                digest = blake2b(rows.tobytes()).digest()
                if digest not in packed:
                    packed[digest] = _pack(rows, packing)
                found[occurrences.text] = packed[digest]
            leftward += _longer_leftward(data, occurrences, least)
    yield from sorted(found.items())


def _pack(rows: Numbers, packing: Packing) -> bytes:
    return (packing.of_rows if len(rows) > phrase_size(packing.rows) else packing.of_count)(rows)


def _pairs(names: FoldedNames, data: Bytes, least: int) -> Iterator[_Occurrences]:
    """The frequent texts of three bytes: the last byte of a word, a blank, the first byte of the next word."""
    starts, tokens = names.words.starts.astype(np.int64), names.tokens
    last, first = data[starts[1:] - 2].astype(np.uint16), data[starts[:-1]]
    inside = names.neighbours
    kinds = last[tokens[inside]] << np.uint16(8) | first[tokens[inside + 1]]
    counts = np.bincount(kinds)
    for kind in np.flatnonzero(counts > least).tolist():
        at = inside[flatnonzero(kinds == kind)]
        row = (np.searchsorted(names.starts, at, side="right") - 1).astype(np.uint32)
        text = bytes((kind >> 8, 32, kind & 255))
        begin = starts[tokens[at].astype(np.int64) + 1] - 2
        end = starts[tokens[at + 1]]
        yield from _keep_frequent(_Occurrences(text, row, begin, at + 1, end), least)


def _longer_rightward(
    names: FoldedNames, data: Bytes, occurrences: _Occurrences, least: int
) -> Iterator[_Occurrences]:
    """The frequent texts that are longer by a byte on the right, or by a blank and a byte."""
    starts = names.words.starts
    ended = data[occurrences.end + 1] == END[0]
    follows = np.minimum(occurrences.token + 1, len(names.tokens) - 1)
    in_name = occurrences.token + 1 < names.starts[occurrences.row + np.uint32(1)]
    in_name &= names.tokens[follows] != FORMER_NAME
    begins = starts[np.where(in_name, names.tokens[follows], 0)].astype(np.int64)
    end = np.where(ended, begins, occurrences.end + 1)
    byte = data[end].astype(np.int64) + np.where(ended, _BLANK, 0)
    byte[ended & ~in_name] = _NO_BYTE
    extended = _Occurrences(
        occurrences.text,
        occurrences.row,
        occurrences.begin,
        np.where(ended, follows, occurrences.token),
        end,
    )
    for kind, chosen in _frequent_kinds(byte, least):
        text = occurrences.text + (b" " if kind >= _BLANK else b"") + bytes((kind & 255,))
        yield from _keep_frequent(extended.part(chosen, text), least)


def _longer_leftward(data: Bytes, occurrences: _Occurrences, least: int) -> Iterator[_Occurrences]:
    """The frequent texts that are longer by a byte on the left, in the same word."""
    begin = occurrences.begin - 1
    byte = np.where(begin >= 0, data[begin], END[0]).astype(np.int64)
    byte[byte == END[0]] = _NO_BYTE
    extended = _Occurrences(
        occurrences.text, occurrences.row, begin, occurrences.token, occurrences.end
    )
    for kind, chosen in _frequent_kinds(byte, least):
        yield from _keep_frequent(extended.part(chosen, bytes((kind,)) + occurrences.text), least)


def _frequent_kinds(kinds: NDArray[np.int64], least: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The kinds that occur more than `least` times, with the indexes where they do."""
    counts = np.bincount(kinds + 1)[1:]
    for kind in np.flatnonzero(counts > least).tolist():
        yield kind, np.flatnonzero(kinds == kind)


def _keep_frequent(occurrences: _Occurrences, least: int) -> Iterator[_Occurrences]:
    if len(occurrences.text) <= SUFFIX_BYTES and len(_distinct_rows(occurrences.row)) > least:
        yield occurrences


def _distinct_rows(row: Numbers) -> Numbers:
    return row[np.concatenate(([True], row[1:] != row[:-1]))[: len(row)]]


def _is_whole(data: Bytes, occurrences: _Occurrences) -> bool:
    """Whether the text begins and ends between two characters."""
    begin, after = data[occurrences.begin[0]], data[occurrences.end[0] + 1]
    return bool(begin & 0xC0 != 0x80 and after & 0xC0 != 0x80)


def _is_pair(text: bytes) -> bool:
    return len(text.decode()) == 3
