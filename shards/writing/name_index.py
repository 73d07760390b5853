"""The indexes of names and identifiers, computed from their texts (FORMAT.md §8).

Names repeat few words. Each distinct piece of a name between blanks is folded once, and the words are numbered in
sorted order. The rest is arithmetic on numbers: a name is the numbers of its words, names sort like these numbers (a
blank sorts before every letter), and postings, suffixes and row sets are arrays. The former names of a row follow its
name, each after a token that is not a word: a search finds them, but they do not affect the order of names.
`reader/lookups.py` reads this index.
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
from shards.codec.strings import END, Interval, LevelKeys, Texts, interval_key, pair_key
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

# Names split in one batch, to bound the number of Python objects.
_BATCH: Final = 1 << 15
# The piece after the last piece of each name in a sequence of pieces.
_END_OF_NAME: Final = "\0"
# The characters of folded identifiers.
_FOLDED_CHARACTERS: Final = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", dtype=np.uint8)


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
        tokens: numbers of words: the words of the name, then, for each former name with words, FORMER_NAME and its
            words.
    """

    words: Texts
    tokens: Numbers
    starts: Numbers

    @property
    def neighbours(self) -> NDArray[np.intp]:
        """The indexes of tokens whose next token is a word of the same name."""
        has_next = (self.tokens[:-1] != FORMER_NAME) & (self.tokens[1:] != FORMER_NAME)
        begins = self.starts[(self.starts > 0) & (self.starts < len(self.tokens))]
        has_next[begins.astype(np.int64) - 1] = False
        return flatnonzero(has_next)

    @property
    def present_lengths(self) -> NDArray[np.int64]:
        """The number of words of the present name of each row."""
        starts = self.starts.astype(np.int64)
        lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
        # The present name ends at the first FORMER_NAME of its row. In reversed order, the first is assigned last.
        ends = flatnonzero(self.tokens == FORMER_NAME)[::-1]
        rows = np.searchsorted(self.starts, ends, side="right") - 1
        lengths[rows] = ends - starts[rows]
        return lengths


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of word i are rows[starts[i] : starts[i + 1]], ascending."""

    rows: Rows
    starts: Numbers


# -- names -------------------------------------------------------------------------


class _PieceNumbers(dict[str, int]):
    """The numbers of the pieces of names, in the order of their first occurrence."""

    def __missing__(self, piece: str) -> int:
        """Give a new piece the next number."""
        number = self[piece] = len(self)
        return number


def fold_names(noms: Texts, former: FormerNames) -> FoldedNames:
    """The folded words of `noms`, one name per row, and of the former names.

    A piece is the text between two blanks of a name. Folding works on single characters and splits words at blanks, so
    each distinct piece is folded once: `fold(a + " " + b)` is `fold(a)`, a blank, `fold(b)`.
    """
    pieces = _PieceNumbers()
    # The end of a name takes number 0, by which `_tokens_of_pieces` recognises it.
    assert pieces[_END_OF_NAME] == 0
    numbers, former_numbers = _piece_numbers(noms, pieces), _piece_numbers(former.noms, pieces)
    folded = list(map(fold, pieces))
    piece_words = " ".join(folded).split()
    words = sorted(set(piece_words))  # code points sort like UTF-8 bytes
    word_numbers = dict(zip(words, range(len(words)), strict=True))
    piece_tokens = np.fromiter(
        map(word_numbers.__getitem__, piece_words), np.uint32, len(piece_words)
    )
    counts = np.array([text.count(" ") + 1 if text else 0 for text in folded], dtype=np.int64)
    begins = np.cumsum(counts) - counts
    tokens, ends = _tokens_of_pieces(numbers, begins, counts, piece_tokens)
    if len(former.noms):
        former_tokens = _tokens_of_pieces(former_numbers, begins, counts, piece_tokens)
        tokens, ends = _append_former_names(tokens, ends, *former_tokens, former.rows)
    starts = np.concatenate(([0], ends)).astype(np.uint32)
    return FoldedNames(strings.pack(words), tokens, starts)


def _tokens_of_pieces(
    numbers: Numbers, begins: NDArray[np.int64], counts: NDArray[np.int64], piece_tokens: Numbers
) -> tuple[Numbers, NDArray[np.int64]]:
    """The tokens of names, given as numbers of pieces, and the end of each name in them.

    Args:
        begins, counts: the tokens of piece i are piece_tokens[begins[i] : begins[i] + counts[i]].
    """
    tokens = piece_tokens[ranges(begins[numbers], counts[numbers])]
    # Piece 0 is _END_OF_NAME, which has no tokens.
    return tokens, np.cumsum(counts[numbers])[numbers == 0]


def _append_former_names(
    tokens: Numbers,
    ends: NDArray[np.int64],
    added: Numbers,
    added_ends: NDArray[np.int64],
    rows: Rows,
) -> tuple[Numbers, NDArray[np.int64]]:
    """The tokens of each row, followed by the tokens of its former names, each after FORMER_NAME.

    Args:
        added, added_ends: like `tokens` and `ends`, for the former names.
        rows: the row of each former name.
    """
    lengths, added_lengths = np.diff(ends, prepend=0), np.diff(added_ends, prepend=0)
    has_words = added_lengths > 0
    former_tokens = np.insert(
        added, (added_ends - added_lengths)[has_words], np.uint32(FORMER_NAME)
    )
    rows, added_lengths = rows[has_words], added_lengths[has_words] + 1
    owners = np.concatenate((np.arange(len(ends), dtype=np.uint32), rows))
    lengths = np.concatenate((lengths, added_lengths))
    # A stable sort: in each row, the name is first, then the former names in their order.
    order = np.argsort(owners, kind="stable")
    starts = np.cumsum(lengths) - lengths
    all_tokens = np.concatenate((tokens, former_tokens))[ranges(starts[order], lengths[order])]
    row_lengths = np.bincount(owners, lengths, len(ends)).astype(np.int64)
    return all_tokens, np.cumsum(row_lengths)


def _piece_numbers(noms: Texts, pieces: _PieceNumbers) -> Numbers:
    """The numbers of the pieces of names, each name followed by _END_OF_NAME; `pieces` numbers new pieces."""
    batches = [np.empty(0, dtype=np.uint32)]
    for first in range(0, len(noms), _BATCH):
        end = min(first + _BATCH, len(noms))
        batch = bytes(noms.data[int(noms.starts[first]) : int(noms.starts[end])]).decode()
        # A line break is the END of a name.
        batch_pieces = batch.replace("\n", f" {_END_OF_NAME} ").split()
        batches.append(
            np.fromiter(map(pieces.__getitem__, batch_pieces), np.uint32, len(batch_pieces))
        )
    return np.concatenate(batches)


def sort_names(names: FoldedNames, noms: Texts, by_id: Rows) -> Rows:
    """The rows in the order `nom`: by folded name, then by raw name, ties in the order of `by_id` (contract B29).

    The numbers of words ascend with the words, so folded names are sorted by two of these numbers at a time.
    """
    starts = names.starts[:-1].astype(np.int64)
    lengths = names.present_lengths
    # Tokens count from 1 here, so that 0 sorts the end of a name before every word. The last name needs two zeros.
    tokens = np.concatenate((names.tokens.astype(np.uint64) + np.uint64(1), [0, 0]))

    def level(rows: Rows, depth: int) -> tuple[LevelKeys, NDArray[np.bool_]]:
        """The next two words of each row as one key, and whether further words follow."""
        remaining = lengths[rows] - 2 * depth
        next_token = np.minimum(starts[rows] + 2 * depth, len(tokens) - 2)
        first_word = np.where(remaining > 0, tokens[next_token], 0).astype(np.uint64)
        second_word = np.where(remaining > 1, tokens[next_token + 1], 0).astype(np.uint64)
        return first_word << np.uint64(32) | second_word, remaining > 2

    folded = strings.refine(strings.single_group(by_id), level)
    return strings.sort_texts(noms, folded).rows


# -- words -------------------------------------------------------------------------


def make_postings(names: FoldedNames) -> Postings:
    """The distinct rows of each word, ascending: the rows of the companies that have the word in a name."""
    rows = np.repeat(np.arange(len(names.starts) - 1, dtype=np.uint64), np.diff(names.starts))
    pairs = sort_distinct(names.tokens.astype(np.uint64) << np.uint64(32) | rows)
    # FORMER_NAME is the greatest token and no word, so its pairs are the last ones and are cut off.
    pairs = pairs[: np.searchsorted(pairs, np.uint64(FORMER_NAME << 32))]
    owners = (pairs >> np.uint64(32)).astype(np.uint32)
    starts = np.searchsorted(owners, np.arange(len(names.words) + 1, dtype=np.uint32))
    return Postings(pairs.astype(np.uint32), starts.astype(np.uint32))


def suffixes(words: Texts) -> Numbers:
    """The places where a character of a word begins, sorted by the SUFFIX_BYTES bytes from there on.

    A text inside a word begins one of these suffixes, so a binary search finds all words that contain the text.
    """
    data = strings.pad(words.data, SUFFIX_BYTES)
    text = data[: len(words.data)]
    # A suffix does not start at an END, nor at a continuation byte of UTF-8.
    starts = np.flatnonzero((text != END[0]) & (text & 0xC0 != 0x80)).astype(np.uint32)

    def level(places: Rows, depth: int) -> tuple[LevelKeys, NDArray[np.bool_]]:
        """The next bytes of each suffix as one key, and whether further bytes count."""
        end = (depth + 1) * strings.CHUNK
        keys = strings.prefix_keys(data, places.astype(np.int64) + end - strings.CHUNK)
        return keys, np.full(len(places), end < SUFFIX_BYTES)

    return strings.refine(strings.single_group(starts), level).rows


def sample_keys(data: memoryview | bytes, places: NDArray[np.generic]) -> LevelKeys:
    """The first 8 bytes from every SAMPLED-th place, as a number."""
    return strings.prefix_keys(strings.pad(data), places[::SAMPLED].astype(np.int64))


def word_owners(words: Texts) -> Numbers:
    """The number of the word that contains each OWNED-th byte of the words."""
    places = np.arange(0, len(words.data), OWNED, dtype=np.uint32)
    return (np.searchsorted(words.starts, places, side="right") - 1).astype(np.uint32)


def heavy_sets(
    words: Texts, suffixes: Numbers, postings: Postings, packing: Packing
) -> Iterator[tuple[int, bytes]]:
    """The intervals of suffixes whose words have too many rows to collect during a search, with their row sets.

    These are the heavy nodes of the suffix tree of the words, visited from the root down: a light node has only light
    children. Nodes with at most `heavy_size` rows get the size and the heads of their set, heavier nodes the complete
    set.
    """
    owners = (np.searchsorted(words.starts, suffixes, side="right") - 1).astype(np.uint32)
    counts = np.diff(postings.starts.astype(np.int64))
    # weight[j] - weight[i] rows have a word of the suffixes from i to j - 1, with repetitions.
    weight = np.concatenate(([0], np.cumsum(counts[owners])))
    data = strings.pad(words.data, SUFFIX_BYTES + 1)
    rows = packing.rows
    # A node whose suffixes all continue with the same character is the same interval as its child, and is written once.
    visited: set[Interval] = set()
    for interval, _ in _heavy_nodes(data, suffixes, weight, counted_size(rows)):
        if interval in visited:
            continue
        visited.add(interval)
        node_rows = _word_rows(postings, owners[interval.first : interval.end])
        if len(node_rows) > heavy_size(rows):
            yield interval_key(interval), packing.pack_mask(mask_of(node_rows, rows))
        else:
            yield interval_key(interval), packing.pack_count(sort_distinct(node_rows))


def _heavy_nodes(
    data: NDArray[np.uint8], places: Numbers, weight: NDArray[np.int64], least: int
) -> Iterator[tuple[Interval, int]]:
    """The intervals of the sorted `places` that share a prefix of complete characters and have a weight over `least`.

    The second value is the number of bytes of the prefix, at most SUFFIX_BYTES. The weight of an interval is
    weight[end] - weight[first].
    """
    pending = [(Interval(0, len(places)), 0)]
    while pending:
        interval, depth = pending.pop()
        for part in _split_interval(data, places, interval, depth):
            if weight[part.end] - weight[part.first] <= least:
                continue
            # The shared bytes are complete characters if the byte after them begins a character.
            if int(data[int(places[part.first]) + depth + 1]) & 0xC0 != 0x80:
                yield part, depth + 1
            if depth + 1 < SUFFIX_BYTES:
                pending.append((part, depth + 1))


def _split_interval(
    data: NDArray[np.uint8], places: Numbers, interval: Interval, depth: int
) -> Iterator[Interval]:
    """The parts of `interval` whose texts have equal bytes at `depth`, without the texts that end there.

    The texts are sorted, so texts with equal bytes are adjacent.
    """
    letters = data[places[interval.first : interval.end].astype(np.int64) + depth]
    bounds = [0, *(np.flatnonzero(np.diff(letters)) + 1).tolist(), len(letters)]
    for first, end in pairwise(bounds):
        if end > first and letters[first] != END[0]:
            yield Interval(interval.first + first, interval.first + end)


def _word_rows(postings: Postings, owners: Numbers) -> Rows:
    """The rows of these words, word after word."""
    starts = postings.starts[owners].astype(np.int64)
    return postings.rows[ranges(starts, postings.starts[owners + 1] - starts)]


def junction_sets(names: FoldedNames, packing: Packing) -> Iterator[tuple[int, bytes]]:
    """The pairs of characters on either side of a blank in a name, ascending, with the sets of their rows.

    A search for a phrase uses them to find the rows that can have two words next to each other. A pair is given as the
    number that `pair_key` makes of it.
    """
    words = bytes(names.words.data).decode().split("\n")[:-1]
    last_characters = np.array([ord(word[-1]) for word in words], dtype=np.uint64)
    first_characters = np.array([ord(word[0]) for word in words], dtype=np.uint64)
    owner = np.repeat(np.arange(packing.rows, dtype=np.uint64), np.diff(names.starts))
    neighbours = names.neighbours
    pairs = (
        last_characters[names.tokens[neighbours]] << np.uint64(32)
        | first_characters[names.tokens[neighbours + 1]]
    )
    distinct_pairs = sort_distinct(pairs.copy())
    # In the upper 32 bits the number of the pair, in the lower 32 bits the row.
    pair_rows = (
        np.searchsorted(distinct_pairs, pairs).astype(np.uint64) << np.uint64(32)
        | owner[neighbours]
    )
    pair_rows = sort_distinct(pair_rows)
    bounds = np.searchsorted(
        pair_rows, np.arange(len(distinct_pairs) + 1, dtype=np.uint64) << np.uint64(32)
    )
    intervals = [
        (pair_key((chr(pair >> 32) + chr(pair & 0xFFFFFFFF)).encode()), start, end)
        for pair, (start, end) in zip(
            distinct_pairs.tolist(), pairwise(bounds.tolist()), strict=True
        )
    ]
    for key, start, end in sorted(intervals):
        yield key, packing.pack_rows(pair_rows[start:end].astype(np.uint32))


# -- texts with blanks -----------------------------------------------------------------

# The rows of frequent texts with blanks, such as `s r l` and `o s r l` (table `phrase`). Legal forms are written with
# dots, which fold to blanks, so a few texts across words are as frequent as any part of a word. The search for them
# extends each frequent pair of characters around a blank: first to the right, through the next words, then to the left,
# within the first word. It drops an extension that is too rare at once, so it examines only some thousand texts.

ByteArray = NDArray[np.uint8]

_NO_BYTE: Final = -1  # the name or the word ends here
_BLANK: Final = 256  # added to the first byte of a word that follows a blank


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The occurrences of a text in the names, as parallel arrays.

    Attributes:
        text: the bytes of the text.
        row: the row of each occurrence, ascending; a name can contain a text twice.
        begin: the place in the data of the words where its first byte is.
        token: the index of the token that contains its last byte.
        end: the place in the data of the words where its last byte is.
    """

    text: bytes
    row: Numbers
    begin: NDArray[np.int64]
    token: NDArray[np.int64]
    end: NDArray[np.int64]

    def part(self, chosen: NDArray[np.intp], text: bytes) -> "_Occurrences":
        """A part of the occurrences, as occurrences of the longer `text`."""
        return _Occurrences(
            text, self.row[chosen], self.begin[chosen], self.token[chosen], self.end[chosen]
        )


def phrase_sets(names: FoldedNames, packing: Packing) -> Iterator[tuple[bytes, bytes]]:
    """The texts with a blank that more than `counted_size` rows contain, ascending, with the set of these rows.

    A text in at most `phrase_size` rows gets only the size and the heads of its set. Texts consist of complete
    characters and have at most SUFFIX_BYTES bytes. Pairs of characters around one blank are left out, because the table
    `junction` has them.
    """
    least = counted_size(packing.rows)
    data = np.frombuffer(bytes(names.words.data) + END, dtype=np.uint8)
    sets: dict[bytes, bytes] = {}
    # By the digest of the rows: a text and a longer text often have the same rows.
    packed: dict[bytes, bytes] = {}
    pending = list(_frequent_pairs(names, data, least))
    while pending:
        occurrences = pending.pop()
        pending += _longer_rightward(names, data, occurrences, least)
        leftward = [occurrences]
        while leftward:
            occurrences = leftward.pop()
            if _has_complete_characters(data, occurrences) and not _is_pair(occurrences.text):
                rows = _distinct_rows(occurrences.row)
                digest = blake2b(rows.tobytes()).digest()
                if digest not in packed:
                    is_long = len(rows) > phrase_size(packing.rows)
                    packed[digest] = (packing.pack_rows if is_long else packing.pack_count)(rows)
                sets[occurrences.text] = packed[digest]
            leftward += _longer_leftward(data, occurrences, least)
    yield from sorted(sets.items())


def _frequent_pairs(names: FoldedNames, data: ByteArray, least: int) -> Iterator[_Occurrences]:
    """The frequent texts of three bytes: the last byte of a word, a blank, the first byte of the next word.

    `phrase_sets` extends them to longer texts. A text is frequent if more than `least` rows have it.
    """
    starts, tokens = names.words.starts.astype(np.int64), names.tokens
    # An END follows each word, so its last byte is two bytes before the next word.
    last_bytes, first_bytes = data[starts[1:] - 2].astype(np.uint16), data[starts[:-1]]
    neighbours = names.neighbours
    # Each pair as a number: the last byte of a word in the upper 8 bits, the first byte of the next in the lower.
    pairs = last_bytes[tokens[neighbours]] << np.uint16(8) | first_bytes[tokens[neighbours + 1]]
    counts = np.bincount(pairs)
    for pair in np.flatnonzero(counts > least).tolist():
        first_tokens = neighbours[flatnonzero(pairs == pair)]
        row = (np.searchsorted(names.starts, first_tokens, side="right") - 1).astype(np.uint32)
        text = bytes((pair >> 8, 32, pair & 255))  # 32 is a blank
        begin = starts[tokens[first_tokens].astype(np.int64) + 1] - 2
        end = starts[tokens[first_tokens + 1]]
        yield from _keep_frequent(_Occurrences(text, row, begin, first_tokens + 1, end), least)


def _longer_rightward(
    names: FoldedNames, data: ByteArray, occurrences: _Occurrences, least: int
) -> Iterator[_Occurrences]:
    """The frequent texts with one more byte on the right of this text, or with a blank and the first byte of a word.

    A text is frequent if more than `least` rows have it; the other extensions are dropped.
    """
    # After the last byte of a word, the next byte is the first byte of the next word of the name, if there is one.
    starts = names.words.starts
    word_ends = data[occurrences.end + 1] == END[0]
    next_token = np.minimum(occurrences.token + 1, len(names.tokens) - 1)
    has_next_word = occurrences.token + 1 < names.starts[occurrences.row + np.uint32(1)]
    has_next_word &= names.tokens[next_token] != FORMER_NAME
    next_word_begins = starts[np.where(has_next_word, names.tokens[next_token], 0)].astype(np.int64)
    end = np.where(word_ends, next_word_begins, occurrences.end + 1)
    next_byte = data[end].astype(np.int64) + np.where(word_ends, _BLANK, 0)
    next_byte[word_ends & ~has_next_word] = _NO_BYTE
    extended = _Occurrences(
        occurrences.text,
        occurrences.row,
        occurrences.begin,
        np.where(word_ends, next_token, occurrences.token),
        end,
    )
    for byte_value, chosen in _frequent_bytes(next_byte, least):
        blank = b" " if byte_value >= _BLANK else b""
        text = occurrences.text + blank + bytes((byte_value & 255,))
        yield from _keep_frequent(extended.part(chosen, text), least)


def _longer_leftward(
    data: ByteArray, occurrences: _Occurrences, least: int
) -> Iterator[_Occurrences]:
    """The frequent texts with one more byte on the left of this text, in the same word.

    A text is frequent if more than `least` rows have it; the other extensions are dropped.
    """
    begin = occurrences.begin - 1
    previous_byte = np.where(begin >= 0, data[begin], END[0]).astype(np.int64)
    previous_byte[previous_byte == END[0]] = _NO_BYTE
    extended = _Occurrences(
        occurrences.text, occurrences.row, begin, occurrences.token, occurrences.end
    )
    for frequent_byte, chosen in _frequent_bytes(previous_byte, least):
        yield from _keep_frequent(
            extended.part(chosen, bytes((frequent_byte,)) + occurrences.text), least
        )


def _frequent_bytes(
    byte_values: NDArray[np.int64], least: int
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The bytes that occur more than `least` times, except _NO_BYTE, each with the indexes of its occurrences.

    Args:
        byte_values: bytes, to which _BLANK is added after a blank.
    """
    counts = np.bincount(byte_values + 1)[1:]  # the first count is of _NO_BYTE
    for byte_value in np.flatnonzero(counts > least).tolist():
        yield byte_value, np.flatnonzero(byte_values == byte_value)


def _keep_frequent(occurrences: _Occurrences, least: int) -> Iterator[_Occurrences]:
    """Yield the occurrences, if their text is not too long and more than `least` rows contain it; else nothing."""
    if len(occurrences.text) <= SUFFIX_BYTES and len(_distinct_rows(occurrences.row)) > least:
        yield occurrences


def _distinct_rows(row: Numbers) -> Numbers:
    """The ascending rows without repetitions."""
    return row[np.concatenate(([True], row[1:] != row[:-1]))[: len(row)]]


def _has_complete_characters(data: ByteArray, occurrences: _Occurrences) -> bool:
    """Whether the text begins and ends between two characters, not inside the bytes of one."""
    begin, after = data[occurrences.begin[0]], data[occurrences.end[0] + 1]
    return bool(begin & 0xC0 != 0x80 and after & 0xC0 != 0x80)


def _is_pair(text: bytes) -> bool:
    """Whether a text with a blank is only the blank and the characters around it."""
    return len(text.decode()) == 3


# -- identifiers ---------------------------------------------------------------------


def fold_ids(ids: Texts) -> Texts:
    """The folded identifiers, by row.

    Most identifiers are folded already, so only those with other characters than 0-9 and A-Z become Python objects.
    """
    data = np.frombuffer(ids.data, dtype=np.uint8)
    is_plain = np.zeros(256, dtype=bool)
    is_plain[_FOLDED_CHARACTERS] = is_plain[END[0]] = True
    unusual = np.flatnonzero(~is_plain[data])
    if not len(unusual):
        return ids
    rows_to_fold = set((np.searchsorted(ids.starts, unusual, side="right") - 1).tolist())
    return strings.pack(
        fold_id(ids[row].decode()) if row in rows_to_fold else ids[row].decode()
        for row in range(len(ids))
    )


def common_width(texts: Texts) -> int:
    """The distance in bytes from one text to the next if all have the same length; 0 if not, or without texts."""
    lengths = np.diff(texts.starts)
    have_one_length = len(lengths) and int(lengths.min()) == int(lengths.max())
    return int(lengths[0]) if have_one_length else 0


def take_texts(texts: Texts, places: Rows) -> Texts:
    """The texts at `places`, in that order."""
    starts = texts.starts.astype(np.int64)
    lengths = np.diff(starts)[places]
    data = np.frombuffer(texts.data, dtype=np.uint8)[ranges(starts[places], lengths)]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return Texts(data.tobytes(), ends.astype(np.uint32))


def prefix_sets(folded: Texts, by_folded: Rows, packing: Packing) -> Iterator[tuple[int, bytes]]:
    """The intervals of more than `heavy_size` identifiers with the same prefix, each with the set of its rows.

    Args:
        folded: the folded identifiers, sorted.
        by_folded: the row of each folded identifier.
    """
    data = strings.pad(folded.data, SUFFIX_BYTES + 1)
    places = folded.starts[:-1]
    weight = np.arange(len(places) + 1)  # each identifier counts once
    intervals = {
        interval for interval, _ in _heavy_nodes(data, places, weight, heavy_size(packing.rows))
    }
    for interval in sorted(intervals):
        yield (
            interval_key(interval),
            packing.pack_rows(np.sort(by_folded[interval.first : interval.end])),
        )
