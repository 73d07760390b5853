"""The indexes of names and identifiers, computed from their texts (FORMAT.md §8).

Names repeat few words. Each distinct piece of a name between blanks is folded once, and the words are numbered in
sorted order. Everything else is arithmetic on numbers: a name is the numbers of its words, names sort like these
numbers (a blank sorts before every letter), and postings, suffixes and stored unions are arrays. The former names of a
row follow its name, each behind a token that is no word: they are found, and change no order.
`reader/lookups.py` is the reader of this index.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec import strings
from shards.codec.arrays import Rows, flatnonzero, ranges, sort_distinct
from shards.codec.folding import fold, fold_id
from shards.codec.row_sets import Packing, mask_of
from shards.codec.strings import END, Interval, Keys, Texts, interval_key, pair_key
from shards.format import (
    FORMER_NAME,
    OWNED,
    SAMPLED,
    SUFFIX_BYTES,
    counted_size,
    heavy_size,
    phrase_size,
)

Numbers = NDArray[np.uint32]

# Names that are split in one batch, to bound the number of Python objects.
_BATCH: Final = 1 << 15
_END_OF_NAME: Final = "\0"
_UPPER: Final = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class FormerNames:
    """The former names of companies, and the row of each, ascending."""

    noms: Texts
    rows: Rows


@dataclass(frozen=True, slots=True)
class FoldedNames:
    """The folded names of rows 0, 1, …: the words of row i are tokens[starts[i] : starts[i + 1]].

    Attributes:
        words: all distinct words, sorted.
        tokens: numbers of words: of the name, then FORMER_NAME and those of a former name, for each that has words.
    """

    words: Texts
    tokens: Numbers
    starts: Numbers

    @property
    def neighbours(self) -> NDArray[np.intp]:
        """The indexes of the tokens that are words of one name together with the next token."""
        beside = (self.tokens[:-1] != FORMER_NAME) & (self.tokens[1:] != FORMER_NAME)
        begins = self.starts[(self.starts > 0) & (self.starts < len(self.tokens))]
        beside[begins.astype(np.int64) - 1] = False
        return flatnonzero(beside)

    @property
    def present_lengths(self) -> NDArray[np.int64]:
        """The number of words of the present name of each row."""
        starts = self.starts.astype(np.int64)
        lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
        ends = flatnonzero(self.tokens == FORMER_NAME)[::-1]  # the first of a row is written last
        rows = np.searchsorted(self.starts, ends, side="right") - 1
        lengths[rows] = ends - starts[rows]
        return lengths


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of word i are rows[starts[i] : starts[i + 1]], ascending."""

    rows: Rows
    starts: Numbers


# -- names -------------------------------------------------------------------------


class _Pieces(dict[str, int]):
    """The numbers of the pieces of names, in the order of their first occurrence."""

    def __missing__(self, piece: str) -> int:
        number = self[piece] = len(self)
        return number


def fold_names(noms: Texts, former: FormerNames) -> FoldedNames:
    """The folded words of `noms`, one name per row, and of former names.

    Folding works on characters and splits words at blanks, so it can be done piece by piece: `fold(a + " " + b)` is
    `fold(a)`, a blank, `fold(b)`.
    """
    pieces = _Pieces()
    assert pieces[_END_OF_NAME] == 0
    numbers, former_numbers = _numbers(noms, pieces), _numbers(former.noms, pieces)
    folded = list(map(fold, pieces))
    every = " ".join(folded).split()
    words = sorted(set(every))  # code points sort like UTF-8 bytes
    place = dict(zip(words, range(len(words)), strict=True))
    flat = np.fromiter(map(place.__getitem__, every), np.uint32, len(every))
    counts = np.array([text.count(" ") + 1 if text else 0 for text in folded], dtype=np.int64)
    begins = np.cumsum(counts) - counts
    tokens, ends = _tokens(numbers, begins, counts, flat)
    if len(former.noms):
        added = _tokens(former_numbers, begins, counts, flat)
        tokens, ends = _append(tokens, ends, *added, former.rows)
    starts = np.concatenate(([0], ends)).astype(np.uint32)
    return FoldedNames(strings.pack(words), tokens, starts)


def _tokens(
    numbers: Numbers, begins: NDArray[np.int64], counts: NDArray[np.int64], flat: Numbers
) -> tuple[Numbers, NDArray[np.int64]]:
    """The tokens of names that are given as pieces, and where each name ends in them."""
    tokens = flat[ranges(begins[numbers], counts[numbers])]
    return tokens, np.cumsum(counts[numbers])[numbers == 0]


def _append(
    tokens: Numbers,
    ends: NDArray[np.int64],
    added: Numbers,
    added_ends: NDArray[np.int64],
    rows: Rows,
) -> tuple[Numbers, NDArray[np.int64]]:
    """The tokens of each row, followed by those of its former names, each behind FORMER_NAME.

    Args:
        added, added_ends: as `tokens` and `ends`, of the former names.
        rows: of each former name.
    """
    lengths, added_lengths = np.diff(ends, prepend=0), np.diff(added_ends, prepend=0)
    known = added_lengths > 0
    behind = np.insert(added, (added_ends - added_lengths)[known], np.uint32(FORMER_NAME))
    rows, added_lengths = rows[known], added_lengths[known] + 1
    owners = np.concatenate((np.arange(len(ends), dtype=np.uint32), rows))
    lengths = np.concatenate((lengths, added_lengths))
    order = np.argsort(owners, kind="stable")  # the name first, then the former ones as given
    first = np.cumsum(lengths) - lengths
    together = np.concatenate((tokens, behind))[ranges(first[order], lengths[order])]
    by_row = np.bincount(owners, lengths, len(ends)).astype(np.int64)
    return together, np.cumsum(by_row)


def _numbers(noms: Texts, pieces: _Pieces) -> Numbers:
    """The pieces of names, by number, each name followed by _END_OF_NAME."""
    batches = [np.empty(0, dtype=np.uint32)]
    for first in range(0, len(noms), _BATCH):
        end = min(first + _BATCH, len(noms))
        batch = bytes(noms.data[int(noms.starts[first]) : int(noms.starts[end])]).decode()
        parts = batch.replace("\n", f" {_END_OF_NAME} ").split()
        batches.append(np.fromiter(map(pieces.__getitem__, parts), np.uint32, len(parts)))
    return np.concatenate(batches)


def sort_names(names: FoldedNames, noms: Texts, by_id: Rows) -> Rows:
    """The rows by folded name, then raw name, ties in the order of `by_id` (contract B29)."""
    starts = names.starts[:-1].astype(np.int64)
    lengths = names.present_lengths
    tokens = np.concatenate((names.tokens.astype(np.uint64) + np.uint64(1), [0, 0]))

    def level(rows: Rows, depth: int) -> tuple[Keys, NDArray[np.bool_]]:
        left = lengths[rows] - 2 * depth
        place = np.minimum(starts[rows] + 2 * depth, len(tokens) - 2)
        first = np.where(left > 0, tokens[place], 0).astype(np.uint64)
        second = np.where(left > 1, tokens[place + 1], 0).astype(np.uint64)
        return first << np.uint64(32) | second, left > 2

    folded = strings.refine(strings.one_group(by_id), level)
    return strings.sort_texts(noms, folded).rows


# -- words -------------------------------------------------------------------------


def make_postings(names: FoldedNames) -> Postings:
    """The rows of each word, each row once."""
    rows = np.repeat(np.arange(len(names.starts) - 1, dtype=np.uint64), np.diff(names.starts))
    pairs = sort_distinct(names.tokens.astype(np.uint64) << np.uint64(32) | rows)
    pairs = pairs[: np.searchsorted(pairs, np.uint64(FORMER_NAME << 32))]
    owners = (pairs >> np.uint64(32)).astype(np.uint32)
    starts = np.searchsorted(owners, np.arange(len(names.words) + 1, dtype=np.uint32))
    return Postings(pairs.astype(np.uint32), starts.astype(np.uint32))


def suffixes(words: Texts) -> Numbers:
    """The places where a character of a word begins, sorted by the SUFFIX_BYTES bytes from there on."""
    data = strings.pad(words.data, SUFFIX_BYTES)
    text = data[: len(words.data)]
    # A suffix does not start at an END, nor at a continuation byte of UTF-8.
    starts = np.flatnonzero((text != END[0]) & (text & 0xC0 != 0x80)).astype(np.uint32)

    def level(places: Rows, depth: int) -> tuple[Keys, NDArray[np.bool_]]:
        end = (depth + 1) * strings.CHUNK
        keys = strings.prefix_keys(data, places.astype(np.int64) + end - strings.CHUNK)
        return keys, np.full(len(places), end < SUFFIX_BYTES)

    return strings.refine(strings.one_group(starts), level).rows


def sample_keys(data: memoryview | bytes, places: NDArray[np.generic]) -> Keys:
    """The first 8 bytes from every SAMPLED-th place, as a number."""
    return strings.prefix_keys(strings.pad(data), places[::SAMPLED].astype(np.int64))


def word_owners(words: Texts) -> Numbers:
    """The number of the word that every OWNED-th byte of the words belongs to."""
    places = np.arange(0, len(words.data), OWNED, dtype=np.uint32)
    return (np.searchsorted(words.starts, places, side="right") - 1).astype(np.uint32)


def heavy_sets(
    words: Texts, suffixes: Numbers, postings: Postings, packing: Packing
) -> Iterator[tuple[int, bytes]]:
    """The intervals of suffixes whose words have too many rows to be united during a search, with their sets.

    These are the heavy nodes of the suffix tree of the words, visited from the root down: a light node has only light
    children. Nodes of at most `heavy_size` rows get the size and the heads of their set, heavier ones the set.
    """
    owners = (np.searchsorted(words.starts, suffixes, side="right") - 1).astype(np.uint32)
    counts = np.diff(postings.starts.astype(np.int64))
    weight = np.concatenate(([0], np.cumsum(counts[owners])))
    data = strings.pad(words.data, SUFFIX_BYTES + 1)
    rows = packing.rows
    seen: set[Interval] = (
        set()
    )  # a node whose suffixes all go on alike is the same interval as its child
    for part, _ in _nodes(data, suffixes, weight, counted_size(rows)):
        if part in seen:
            continue
        seen.add(part)
        listed = _word_rows(postings, owners[part.first : part.end])
        if len(listed) > heavy_size(rows):
            yield interval_key(part), packing.of_mask(mask_of(listed, rows))
        else:
            yield interval_key(part), packing.of_count(sort_distinct(listed))


def _nodes(
    data: NDArray[np.uint8], places: Numbers, weight: NDArray[np.int64], least: int
) -> Iterator[tuple[Interval, int]]:
    """Intervals of the sorted `places` that share whole characters and weigh more than `least`.

    The second value is the number of bytes that the places of an interval share, at most SUFFIX_BYTES.
    """
    pending = [(Interval(0, len(places)), 0)]
    while pending:
        interval, depth = pending.pop()
        for part in _split_interval(data, places, interval, depth):
            if weight[part.end] - weight[part.first] <= least:
                continue
            # The shared bytes are whole characters if the byte after them begins a character.
            if int(data[int(places[part.first]) + depth + 1]) & 0xC0 != 0x80:
                yield part, depth + 1
            if depth + 1 < SUFFIX_BYTES:
                pending.append((part, depth + 1))


def _split_interval(
    data: NDArray[np.uint8], places: Numbers, interval: Interval, depth: int
) -> Iterator[Interval]:
    """The parts of `interval` with equal bytes at `depth`, without the texts that end there."""
    letters = data[places[interval.first : interval.end].astype(np.int64) + depth]
    bounds = [0, *(np.flatnonzero(np.diff(letters)) + 1).tolist(), len(letters)]
    for first, end in pairwise(bounds):
        if end > first and letters[first] != END[0]:
            yield Interval(interval.first + first, interval.first + end)


def _word_rows(postings: Postings, owners: Numbers) -> Rows:
    """The rows of these words, word after word."""
    first = postings.starts[owners].astype(np.int64)
    return postings.rows[ranges(first, postings.starts[owners + 1] - first)]


def junction_sets(names: FoldedNames, packing: Packing) -> Iterator[tuple[int, bytes]]:
    """The pairs of characters on either side of a blank, ascending, with the sets of their rows."""
    words = bytes(names.words.data).decode().split("\n")[:-1]
    last = np.array([ord(word[-1]) for word in words], dtype=np.uint64)
    first = np.array([ord(word[0]) for word in words], dtype=np.uint64)
    owner = np.repeat(np.arange(packing.rows, dtype=np.uint64), np.diff(names.starts))
    inside = names.neighbours
    pairs = last[names.tokens[inside]] << np.uint64(32) | first[names.tokens[inside + 1]]
    kinds = sort_distinct(pairs.copy())
    numbered = np.searchsorted(kinds, pairs).astype(np.uint64) << np.uint64(32) | owner[inside]
    numbered = sort_distinct(numbered)
    bounds = np.searchsorted(numbered, np.arange(len(kinds) + 1, dtype=np.uint64) << np.uint64(32))
    found = [
        (pair_key((chr(pair >> 32) + chr(pair & 0xFFFFFFFF)).encode()), start, end)
        for pair, (start, end) in zip(kinds.tolist(), pairwise(bounds.tolist()), strict=True)
    ]
    for key, start, end in sorted(found):
        yield key, packing.of_rows(numbered[start:end].astype(np.uint32))


# -- texts with blanks -----------------------------------------------------------------

# The rows of frequent ones, such as `s r l` and `o s r l` (table `phrase`). Legal forms are written with dots, which
# fold to blanks, so a few texts across words are as frequent as any part of a word. They are found by extending each
# frequent pair of characters around a blank: first to the right, through the words that follow, then to the left,
# within the first word. An extension that is too rare is dropped at once, so only some thousand texts are examined.

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


# -- identifiers ---------------------------------------------------------------------


def fold_ids(ids: Texts) -> Texts:
    """The folded identifiers, by row.

    Most identifiers are folded already, so only those with other characters than 0-9 and A-Z become Python objects.
    """
    data = np.frombuffer(ids.data, dtype=np.uint8)
    plain = np.zeros(256, dtype=bool)
    plain[_UPPER] = plain[END[0]] = True
    odd = np.flatnonzero(~plain[data])
    if not len(odd):
        return ids
    mended = set((np.searchsorted(ids.starts, odd, side="right") - 1).tolist())
    return strings.pack(
        fold_id(ids[row].decode()) if row in mended else ids[row].decode()
        for row in range(len(ids))
    )


def common_width(given: Texts) -> int:
    """The distance from text to text in bytes, if there are texts and all have the same length; otherwise 0."""
    lengths = np.diff(given.starts)
    same = len(lengths) and int(lengths.min()) == int(lengths.max())
    return int(lengths[0]) if same else 0


def take_texts(given: Texts, places: Rows) -> Texts:
    """The texts at `places`, in that order."""
    starts = given.starts.astype(np.int64)
    lengths = np.diff(starts)[places]
    data = np.frombuffer(given.data, dtype=np.uint8)[ranges(starts[places], lengths)]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return Texts(data.tobytes(), ends.astype(np.uint32))


def prefix_sets(folded: Texts, by_folded: Rows, packing: Packing) -> Iterator[tuple[int, bytes]]:
    """The intervals of identifiers that share a prefix and are more than `heavy_size`, with the sets of their rows.

    Args:
        folded: the folded identifiers, sorted.
        by_folded: the row of each of them.
    """
    data = strings.pad(folded.data, SUFFIX_BYTES + 1)
    places = folded.starts[:-1]
    weight = np.arange(len(places) + 1)
    found = {part for part, _ in _nodes(data, places, weight, heavy_size(packing.rows))}
    for part in sorted(found):
        yield interval_key(part), packing.of_rows(np.sort(by_folded[part.first : part.end]))
