"""Companies that a name may mean, from the indexes of words that searches use.

The first look-up is for rows that share the rarest words with the line, as written. If none of these companies is
likely, the second look-up also has words with a typing error, adjacent words joined, and words split into parts.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from math import log
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import flatnonzero
from shards.codec.folding import fold
from shards.codec.strings import place_of
from shards.format import FORMER_NAME
from shards.kernel import types
from shards.kernel.memory import Memory, kernel_array, view
from shards.matching import candidates
from shards.reader.shard import Shard
from shards.search.generation_arrays import GenerationArrays

# The most candidate rows of one country that are kept.
ROOM: Final = 64
# The most rows per country that are read because they contain a rare word. Of more frequent words, only rows that
# contain two of these words are read, or else all rows of the rarest one.
_MOST_RARE_ROWS: Final = 3_000
# The most words of a line that are looked up; each part of a split word counts as a word.
_MOST_GROUPS: Final = 30
# The weight, in nats, that a name loses for each word that the line lacks; words as frequent as legal forms are free.
_MISSING_WORD_PENALTY: Final = 1.0
# A word with a typing error counts with this share of its information.
_NEAR_WEIGHT: Final = 0.8
# Only words of _NEAR_LEAST to _NEAR_MOST bytes are looked up with a typing error: too many words differ from a shorter
# word by one letter.
_NEAR_LEAST: Final = 4
_NEAR_MOST: Final = 40
# Words of at least _LEAST_SPLIT letters are split into two parts of at least _PART_LEAST letters.
_PART_LEAST: Final = 2
_LEAST_SPLIT: Final = 6
# The parts of a word with letters and digits: a3b is a, 3, b.
_LETTERS_OR_DIGITS: Final = re.compile(r"[^\W\d_]+|\d+")
# The numbers of letters of a word that can be the initials of a name.
INITIALS: Final = range(3, 9)
# Words of up to this number of bytes can be left out of initials: `and`, `für`, `GmbH`.
_SHORT_BYTES: Final = 4
# The most companies of a town whose names are compared with initials: in a larger town this takes too long.
_LARGEST_TOWN: Final = 50_000
# Texts of a batch of lines whose look-ups are remembered: the initial room, and the limit after which all are
# forgotten.
_FIRST_TEXTS: Final = 1_024
_MOST_TEXTS: Final = 16_384


class Spelling(NamedTuple):
    """A text to look up for word number `group` of the line; `share` is the factor of the weight of the text."""

    text: str
    group: int
    share: float


class ScoredRow(NamedTuple):
    """A row of a shard (its index in the generation), and the weight of the words that the row shares with the line."""

    score: float
    shard: int
    row: int


def information(rows: int, with_word: int) -> float:
    """The information, in nats, of a word that `with_word` of `rows` companies have in their names."""
    return log((max(rows, types.LEAST_COMPANIES) + 1) / (with_word + 0.5))


class CandidateRows:
    """Finds candidates in the shards of a generation, with the working memory of one thread."""

    def __init__(self, arrays: GenerationArrays) -> None:
        """Allocate the table of look-ups, and the arrays of `types.Pool` that the kernel reads and writes."""
        self._arrays = arrays
        self._memory = Memory()
        self._places: dict[str, int] = {}  # by text: its place in the table of look-ups
        shard_count = len(arrays.shards)
        # In the table of look-ups, a text has two numbers for each shard: the number of the word, and how many rows
        # have the word.
        self._stride = 2 * shard_count
        self._make_room(_FIRST_TEXTS)
        self._starts, self._text_places = (
            _zero_ints(types.MOST_SPELLINGS + 1),
            _zero_ints(types.MOST_SPELLINGS),
        )
        self._groups, self._units = (
            _zero_ints(types.MOST_SPELLINGS),
            _zero_ints(types.MOST_SPELLINGS),
        )
        self._shares, self._scores = (
            _zero_reals(types.MOST_SPELLINGS),
            _zero_reals(types.MOST_CANDIDATES),
        )
        self._shards, self._rows = (
            _zero_ints(types.MOST_CANDIDATES),
            _zero_ints(types.MOST_CANDIDATES),
        )
        self._chosen = _zero_ints(shard_count)
        self._chosen_at = kernel_array(self._chosen)
        # The kernel reads and writes these arrays through the addresses in the pool.
        pool = types.Pool()
        pool.allowed, pool.penalty, pool.near_weight = (
            _MOST_RARE_ROWS,
            _MISSING_WORD_PENALTY,
            _NEAR_WEIGHT,
        )
        pool.room = ROOM
        pool.text_starts, pool.text_places = view(self._starts), view(self._text_places)
        pool.spelling_groups, pool.units = view(self._groups), view(self._units)
        pool.shares = view(self._shares)
        pool.words, pool.groups = (
            view(_zero_ints(shard_count * types.MOST_SPELLINGS)),
            view(_zero_ints(shard_count * types.MOST_SPELLINGS)),
        )
        pool.weights = view(_zero_reals(shard_count * types.MOST_SPELLINGS))
        pool.ends, pool.most = view(_zero_ints(shard_count)), view(_zero_reals(shard_count))
        pool.sizes, pool.heaviest = view(_zero_ints(_MOST_GROUPS)), view(_zero_reals(_MOST_GROUPS))
        pool.chosen = view(_zero_ints(types.MOST_FREQUENT_GROUPS))
        pool.rows, pool.scores = view(_zero_ints(ROOM)), view(_zero_reals(ROOM))
        pool.best_shards, pool.best_rows = view(self._shards), view(self._rows)
        pool.best_scores = view(self._scores)
        pool.near = pool.spelling_count = pool.group_count = pool.number = 0
        pool.first = pool.end = pool.count = pool.weighed = pool.best_count = 0
        # `near`, `spelling_count` and `group_count` change with each look-up.
        self._pool, self._placed = pool, self._memory.place_mutable(pool, 3)

    def _make_room(self, texts: int) -> None:
        """Allocate the table of look-ups for this number of texts, without look-ups.

        For each text and shard it has the number of the word and the number of its rows.
        """
        self._table = np.full(texts * self._stride, types.NOT_LOOKED_UP, np.int64)
        self._numbers, self._numbers_at = view(self._table), kernel_array(self._table)

    def forget(self) -> None:
        """Empty the table of look-ups, so that it does not grow with the number of batches."""
        self._table[: len(self._places) * self._stride] = types.NOT_LOOKED_UP
        self._places.clear()

    def rows(
        self, spellings: Sequence[Spelling], shard_numbers: Sequence[int], *, near: bool
    ) -> list[ScoredRow]:
        """The rows with the greatest weight, best first.

        Args:
            spellings: words of the line and other spellings of them.
            shard_numbers: the indexes of the shards to search.
            near: also look up words that differ from a spelling of full share by a typing error.
        """
        spellings = [spelling for spelling in spellings if spelling.group < _MOST_GROUPS][
            : types.MOST_SPELLINGS
        ]
        if not spellings:
            return []
        count = len(spellings)
        texts, groups, shares = zip(*spellings, strict=True)
        encoded = self._write_texts(texts)
        self._groups[:count], self._shares[:count] = groups, shares
        if near:
            self._units[:count] = list(map(_letter_bytes, spellings))
        self._chosen[: len(shard_numbers)] = shard_numbers
        self._pool.near, self._pool.spelling_count = near, count
        self._pool.group_count = max(groups) + 1
        self._placed.write()
        row_count = candidates.gather(
            self._arrays.address, self._chosen_at, len(shard_numbers), encoded, self._numbers_at,
            self._placed.address,
        )  # fmt: skip
        columns = (array[:row_count].tolist() for array in (self._scores, self._shards, self._rows))
        return list(map(ScoredRow, *columns))

    def _write_texts(self, texts: Sequence[str]) -> bytes:
        """Encode texts for the kernel, each followed by an END, and write their places in the table into the pool."""
        encoded = [text.encode() + b"\n" for text in texts]
        self._starts[1 : len(texts) + 1] = list(itertools.accumulate(map(len, encoded)))
        self._text_places[: len(texts)] = self._places_of(texts)
        return b"".join(encoded)

    def _places_of(self, texts: Sequence[str]) -> list[int]:
        """The places of texts in the table of look-ups; a new text gets a place, and a full table grows."""
        if len(self._places) > _MOST_TEXTS:
            self.forget()
        places = self._places
        text_places = [places.setdefault(text, len(places)) for text in texts]
        if len(places) * self._stride > len(self._table):
            old_table = self._table
            self._make_room(2 * len(places))
            self._table[: len(old_table)] = old_table
        return text_places

    def sizes(self, words: Sequence[str], shard: int) -> dict[str, int]:
        """For each word, the number of rows of a shard whose names contain the word."""
        return {word: self._size(word, shard) for word in words}

    def _size(self, word: str, shard: int) -> int:
        """The number of rows of a shard whose names contain a word, from the table of look-ups."""
        place = self._places.get(word, -1)
        table_index = place * self._stride + 2 * shard
        if place < 0 or self._numbers[table_index] == types.NOT_LOOKED_UP:
            table_index = self._places_of([word])[0] * self._stride + 2 * shard
            text = word.encode() + b"\n"
            candidates.lookup(self._arrays.address, shard, text, self._numbers_at, table_index)
        size: int = self._numbers[table_index + 1]
        return size


def _letter_bytes(spelling: Spelling) -> int:
    """The most bytes of one letter of a spelling, or 0 if the spelling is not looked up with a typing error."""
    byte_count = len(spelling.text.encode())
    if spelling.share < 1 or not _NEAR_LEAST <= byte_count <= _NEAR_MOST or spelling.text.isdigit():
        return 0
    return 1 if spelling.text.isascii() else 2


def _zero_ints(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """An array of `count` integers, all 0, for the kernel."""
    return np.zeros(count, np.int64)


def _zero_reals(count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """An array of `count` floats, all 0, for the kernel."""
    return np.zeros(count, np.float64)


def first_spellings(
    words: Sequence[str], spellings_by_word: Sequence[Sequence[str]]
) -> list[Spelling]:
    """The words of a line and their other spellings, for the first look-up; all spellings of a word are one group."""
    spellings = []
    for group, (word, other_spellings) in enumerate(zip(words, spellings_by_word, strict=True)):
        spellings.append(Spelling(word, group, 1.0))
        for text in other_spellings:
            # A text in another alphabet is the word itself, so it has the full weight.
            spellings.append(
                Spelling(text, group, 0.9 if text.isascii() == word.isascii() else 1.0)
            )
    return spellings


def further_spellings(words: Sequence[str]) -> list[Spelling]:
    """Adjacent words joined, words split in two, single letters, two letters swapped, lost ligatures restored.

    The parts of a word are further groups, each with its own weight. The surer a spelling, the greater its share: from
    0.5 for the two parts of a word cut at any place to 0.95 for two joined words.
    """
    spellings = []
    next_group = len(words)
    for place, (word, following) in enumerate(itertools.pairwise(words)):
        spellings.append(Spelling(word + following, place, 0.95))
    for place, word in enumerate(words):
        middle = len(word) // 2
        # Only the two middle letters are swapped here: `collect_misspellings` needs one half without an error.
        if len(word) >= 4 and word.isascii():
            swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
            spellings.append(Spelling(swapped, place, 0.8))
        if len(word) == 3:
            exchanged = (word[1] + word[0] + word[2], word[0] + word[2] + word[1])
            spellings += [Spelling(text, place, 0.8) for text in exchanged]
        # A short word can be initials: sncf, s n c f.
        if 2 <= len(word) <= 4 and word.isalpha():
            spellings += [Spelling(letter, next_group + i, 0.9) for i, letter in enumerate(word)]
            next_group += len(word)
        for i, letter in enumerate(word):
            if letter == "u":  # an `œ` may be lost before `u`: uvre for œuvre
                spellings.append(Spelling(word[:i] + "oe" + word[i:], place, 0.9))
        # Split between letters and digits if the word has both, else at every place.
        parts = _LETTERS_OR_DIGITS.findall(word)
        if len(parts) > 1:
            spellings += [Spelling(part, next_group + i, 0.9) for i, part in enumerate(parts)]
            next_group += len(parts)
        elif len(word) >= _LEAST_SPLIT:
            for cut in range(_PART_LEAST, len(word) - _PART_LEAST + 1):
                spellings.append(Spelling(word[:cut], next_group, 0.5))
                spellings.append(Spelling(word[cut:], next_group + 1, 0.5))
            next_group += 2
    return spellings


def initials(words: Sequence[str]) -> list[Spelling]:
    """The initials of a name of several words, with and without the last word: it can be a foreign legal form.

    Also the initials of three to five adjacent words, without short words: Crédit Agricole CIB.
    """
    texts = ("".join(word[0] for word in part) for part in (words, words[:-1]))
    spellings = [Spelling(text, 0, 0.9) for text in texts if len(text) in INITIALS]
    letters = "".join(word[0] for word in words if len(word) > 3)
    for place in range(len(letters)):
        ends = range(place + 3, min(place + 5, len(letters)) + 1)
        spellings += [Spelling(letters[place:end], place, 0.9) for end in ends]
    return spellings


def folded_words(shard: Shard, row: int) -> list[list[tuple[str, int]]]:
    """The words of the present name and of each former name; each word with its number of rows."""
    index = shard.words
    first, end = int(index.token_starts[row]), int(index.token_starts[row + 1])
    names: list[list[tuple[str, int]]] = [[]]
    for word in index.tokens[first:end].tolist():
        if word == FORMER_NAME:
            names.append([])
            continue
        begin, stop = index.words.starts[word : word + 2].tolist()
        low, high = index.starts[word : word + 2].tolist()
        names[-1].append((bytes(index.words.data[begin : stop - 1]).decode(), high - low))
    return names


# -- names that begin with the letters of a line --------------------------------------------


def rows_by_initials(
    shards: Sequence[Shard], shard_numbers: Sequence[int], words: Sequence[str], ville: str | None
) -> Iterator[ScoredRow]:
    """Rows of a town in the chosen shards whose words begin with the letters of a name of one word.

    IBM is International Business Machines. No index leads from initials to names, and many names share them; in one
    town they are few, and the town itself is evidence. A short word can have a letter or none, and more words can
    follow the last letter. Rows with the fewest such words come first.
    """
    if not ville or len(words) != 1 or len(words[0]) not in INITIALS:
        return
    letters, town = words[0].encode(), fold(ville).encode()
    if letters.isalpha():  # of ASCII
        for number in shard_numbers:
            rows = _rows_with_initials(shards[number], _town_rows(shards[number], town), letters)
            yield from (
                ScoredRow(0.0, number, row) for row in rows[: types.MOST_CANDIDATES].tolist()
            )


def _town_rows(shard: Shard, town: bytes) -> NDArray[Any]:
    """The rows of a town; empty if it has no company, or more than _LARGEST_TOWN."""
    town_place = place_of(shard.code_texts("ville"), town)
    if town_place < 0:
        return np.empty(0, np.int64)
    # The town has code town_place + 1, because code 0 is null; ends[code] is the number of rows with lower codes.
    ends = shard.code_array("ville.ends")
    if int(ends[town_place + 2]) - int(ends[town_place + 1]) > _LARGEST_TOWN:
        return np.empty(0, np.int64)
    return flatnonzero(shard.codes("ville") == town_place + 1)


def _rows_with_initials(shard: Shard, rows: NDArray[Any], letters: bytes) -> NDArray[Any]:
    """The `rows` in whose names the words begin with these letters, in order; short words can be left out.

    All rows are compared at once, one word after the other. Rows with the fewest words after the last letter come
    first.
    """
    index = shard.words
    starts, tokens = np.asarray(index.token_starts), np.asarray(index.tokens)
    texts, begins = np.asarray(index.words.data), np.asarray(index.words.starts)
    last_word = len(begins) - 2
    # reached, for each row: bit n is set if the words so far can give the first n letters.
    # letter_places, for each byte: bit n is set if the byte is letter n, counted from 0.
    reached = np.ones(len(rows), np.int32)
    letter_places = np.zeros(256, np.int32)
    for place, letter in enumerate(letters):
        letter_places[letter] |= 1 << place
    matches = [np.empty((0, 2), np.int64)]
    place = 0
    while len(rows):
        words_left = starts[rows + 1] - starts[rows] - place
        rows, reached, words_left = (array[words_left > 0] for array in (rows, reached, words_left))
        words = tokens[starts[rows] + place]  # the next word of each row
        is_present = words <= last_word  # the mark of a former name is after every word
        rows, reached, words_left, words = (
            array[is_present] for array in (rows, reached, words_left, words)
        )
        is_short = begins[words + 1] - begins[words] <= _SHORT_BYTES + 1
        reached = (reached & letter_places[texts[begins[words]]]) << 1 | reached * is_short
        ends = reached >> len(letters) & 1 == 1
        matches.append(np.column_stack((words_left[ends], rows[ends])))
        goes_on = (reached != 0) & ~ends
        rows, reached = rows[goes_on], reached[goes_on]
        place += 1
    # Rows with the fewest words after the last letter come first.
    words_left, rows = np.concatenate(matches).T
    return rows[np.argsort(words_left, kind="stable")]
