"""Builds the rows of the texts with blanks that many names hold: `s r l`, `o s r l` (FORMAT.md §8).

Legal forms are written in letters and dots, which fold to blanks, so a few texts across words are
as frequent as any part of a word. They are found from each frequent pair of characters around a
blank outward: first to the right, through the words that follow, then to the left, within the first
word. What is rarer than asked for is left at once, so only a few dozen texts are ever looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.build.name_index import FoldedNames, Numbers
from shards.codec.arrays import where
from shards.codec.row_sets import Packing
from shards.codec.strings import END
from shards.format import SUFFIX_BYTES, phrase_size

Bytes = NDArray[np.uint8]

_NO_BYTE: Final = -1  # nothing follows: another byte of the word, or a blank and the next word
_BLANK: Final = 256  # added to the first byte of a word that follows after a blank


@dataclass(frozen=True, slots=True)
class _HeldTexts:
    """Where a text occurs: the byte of the words where it begins, the word and byte where it ends.

    Attributes:
        text: its bytes.
        row: of each occurrence, ascending; a name may hold a text twice.
        token: which token its last byte belongs to.
    """

    text: bytes
    row: Numbers
    begin: NDArray[np.int64]
    token: NDArray[np.int64]
    end: NDArray[np.int64]

    def part(self, chosen: NDArray[np.intp], text: bytes) -> "_HeldTexts":
        return _HeldTexts(text, self.row[chosen], self.begin[chosen], self.token[chosen],
                     self.end[chosen])  # fmt: skip


def phrases(names: FoldedNames, packing: Packing) -> Iterator[tuple[bytes, bytes]]:
    """The rows of each text with a blank that more than `phrase_size` hold; texts ascending.

    Texts are of whole characters, up to SUFFIX_BYTES. Two characters around one blank are left to
    the junctions.
    """
    least = phrase_size(packing.rows)
    data = np.frombuffer(bytes(names.words.data) + END, dtype=np.uint8)
    found = {}
    pending = list(_pairs(names, data, least))
    while pending:
        held = pending.pop()
        rightward = list(_rightward(names, data, held, least))
        pending += rightward
        leftward = [held]
        while leftward:
            one = leftward.pop()
            if _is_whole(data, one) and not _is_pair(one.text):
                found[one.text] = packing.of_rows(_distinct(one.row))
            leftward += _leftward(data, one, least)
    yield from sorted(found.items())


def _pairs(names: FoldedNames, data: Bytes, least: int) -> Iterator[_HeldTexts]:
    """The last byte of a word, a blank, and the first byte of the next word."""
    starts, tokens = names.words.starts.astype(np.int64), names.tokens
    last, first = data[starts[1:] - 2].astype(np.uint16), data[starts[:-1]]
    kinds = last[tokens[:-1]] << np.uint16(8) | first[tokens[1:]]
    inside = np.ones(len(kinds), dtype=bool)
    begins = names.starts[(names.starts > 0) & (names.starts < len(tokens))]
    inside[begins.astype(np.int64) - 1] = False
    counts = np.bincount(kinds[inside])
    for kind in np.flatnonzero(counts > least).tolist():
        at = where((kinds == kind) & inside)
        row = (np.searchsorted(names.starts, at, side="right") - 1).astype(np.uint32)
        text = bytes((kind >> 8, 32, kind & 255))
        held = _HeldTexts(text, row, starts[tokens[at].astype(np.int64) + 1] - 2, at + 1,
                     starts[tokens[at + 1]])  # fmt: skip
        yield from _heavier(held, least)


def _rightward(
    names: FoldedNames, data: Bytes, held: _HeldTexts, least: int
) -> Iterator[_HeldTexts]:
    """The texts that go on by a byte, or by a blank and a byte."""
    starts = names.words.starts
    ended = data[held.end + 1] == END[0]
    follows = np.minimum(held.token + 1, len(names.tokens) - 1)
    in_name = held.token + 1 < names.starts[held.row + np.uint32(1)]
    begins = starts[names.tokens[follows]].astype(np.int64)
    end = np.where(ended, begins, held.end + 1)
    byte = data[end].astype(np.int64) + np.where(ended, _BLANK, 0)
    byte[ended & ~in_name] = _NO_BYTE
    moved = _HeldTexts(held.text, held.row, held.begin, np.where(ended, follows, held.token), end)
    for kind, chosen in _frequent(byte, least):
        text = held.text + (b" " if kind >= _BLANK else b"") + bytes((kind & 255,))
        yield from _heavier(moved.part(chosen, text), least)


def _leftward(data: Bytes, held: _HeldTexts, least: int) -> Iterator[_HeldTexts]:
    """The texts that begin a byte earlier in the same word."""
    begin = held.begin - 1
    byte = np.where(begin >= 0, data[begin], END[0]).astype(np.int64)
    byte[byte == END[0]] = _NO_BYTE
    moved = _HeldTexts(held.text, held.row, begin, held.token, held.end)
    for kind, chosen in _frequent(byte, least):
        yield from _heavier(moved.part(chosen, bytes((kind,)) + held.text), least)


def _frequent(kinds: NDArray[np.int64], least: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The kinds that occur more than `least` times, and where."""
    counts = np.bincount(kinds + 1)[1:]
    for kind in np.flatnonzero(counts > least).tolist():
        yield kind, np.flatnonzero(kinds == kind)


def _heavier(held: _HeldTexts, least: int) -> Iterator[_HeldTexts]:
    if len(held.text) <= SUFFIX_BYTES and len(_distinct(held.row)) > least:
        yield held


def _distinct(row: Numbers) -> Numbers:
    return row[np.concatenate(([True], row[1:] != row[:-1]))[: len(row)]]


def _is_whole(data: Bytes, held: _HeldTexts) -> bool:
    """Whether the text begins and ends between two characters."""
    begin, after = data[held.begin[0]], data[held.end[0] + 1]
    return bool(begin & 0xC0 != 0x80 and after & 0xC0 != 0x80)


def _is_pair(text: bytes) -> bool:
    return len(text.decode()) == 3
