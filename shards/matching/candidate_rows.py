"""Companies that a name may mean, from the indexes of words that searches use.

First the rows that share the rarest words with the line, as they are written. Where no company of these is likely,
again with words that are nearly the same, with neighbours written as one word, and with words taken apart.
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

# Rows of one country that may be compared.
ROOM: Final = 64
# Postings of whole words that are read per country.
_ALLOWED: Final = 3_000
_GROUPS: Final = 30
_PENALTY: Final = 1.0
_NEAR_WEIGHT: Final = 0.8
# Words of fewer bytes have no near words: too many words would be.
_NEAR_LEAST: Final = 4
_NEAR_MOST: Final = 40
_PART_LEAST: Final = 2
_PARTED: Final = 6
_LETTERS_OR_DIGITS: Final = re.compile(r"[^\W\d_]+|\d+")
# Letters of a word that may be the initials of a name.
INITIALS: Final = range(3, 9)
# Words of so many bytes may have no letter among initials: `and`, `für`, `GmbH`.
_SHORT: Final = 4
# Of a larger town too many companies share initials, and reading the names of all takes too long.
_LARGEST_TOWN: Final = 50_000
# Texts of a batch of lines that are remembered: there is room for some at first, and for some more than the most.
_TEXTS: Final = 1_024
_MOST_TEXTS: Final = 16_384


class Spelling(NamedTuple):
    """A text to look up, as the word number `group` of the line; `share` of the weight that the word has."""

    text: str
    group: int
    share: float


class FoundRow(NamedTuple):
    """A row of a shard, by its place in the table, and what its words weigh."""

    score: float
    shard: int
    row: int


def information(rows: int, with_word: int) -> float:
    """What it tells, in nats, that a name of a shard has a word."""
    return log((max(rows, types.LEAST_COMPANIES) + 1) / (with_word + 0.5))


class CandidateRows:
    """The look-up of candidates in the shards of a generation, with the working memory of one thread."""

    def __init__(self, arrays: GenerationArrays) -> None:
        self._arrays = arrays
        self._memory = Memory()
        self._places: dict[str, int] = {}
        most = len(arrays.shards)
        self._stride = 2 * most
        self._make_room(_TEXTS)
        self._starts, self._text_places = _ints(types.SOUGHT + 1), _ints(types.SOUGHT)
        self._groups, self._units = _ints(types.SOUGHT), _ints(types.SOUGHT)
        self._shares, self._scores = _reals(types.SOUGHT), _reals(types.KEPT)
        self._shards, self._rows = _ints(types.KEPT), _ints(types.KEPT)
        self._chosen = _ints(most)
        self._chosen_at = kernel_array(self._chosen)
        made = types.Pool()
        made.allowed, made.penalty, made.near_weight = _ALLOWED, _PENALTY, _NEAR_WEIGHT
        made.room = ROOM
        made.text_starts, made.text_places = view(self._starts), view(self._text_places)
        made.spelling_groups, made.units = view(self._groups), view(self._units)
        made.shares = view(self._shares)
        made.words, made.groups = view(_ints(most * types.SOUGHT)), view(_ints(most * types.SOUGHT))
        made.weights = view(_reals(most * types.SOUGHT))
        made.ends, made.most = view(_ints(most)), view(_reals(most))
        made.sizes, made.heaviest = view(_ints(_GROUPS)), view(_reals(_GROUPS))
        made.chosen = view(_ints(types.FREQUENT_GROUPS))
        made.rows, made.scores = view(_ints(ROOM)), view(_reals(ROOM))
        made.best_shards, made.best_rows = view(self._shards), view(self._rows)
        made.best_scores = view(self._scores)
        made.near = made.spelling_count = made.group_count = made.number = 0
        made.first = made.end = made.count = made.weighed = made.best_count = 0
        self._pool, self._placed = made, self._memory.place_mutable(made, 3)

    def _make_room(self, texts: int) -> None:
        """Make a table of the words that were looked up: by text and shard, a number, and of how many rows."""
        self._table = np.full(texts * self._stride, types.NOT_LOOKED_UP, np.int64)
        self._numbers, self._numbers_at = view(self._table), kernel_array(self._table)

    def forget(self) -> None:
        """Forget the words that were looked up."""
        self._table[: len(self._places) * self._stride] = types.NOT_LOOKED_UP
        self._places.clear()

    def rows(
        self, spellings: Sequence[Spelling], chosen: Sequence[int], *, near: bool
    ) -> list[FoundRow]:
        """The rows with the greatest weight, best first.

        Args:
            spellings: words of the line and other spellings of them.
            chosen: shards, by their places in the table.
            near: also words that differ from a spelling of full share by a typing error.
        """
        spellings = [given for given in spellings if given.group < _GROUPS][: types.SOUGHT]
        if not spellings:
            return []
        count = len(spellings)
        texts, groups, shares = zip(*spellings, strict=True)
        encoded = self._write_texts(texts)
        self._groups[:count], self._shares[:count] = groups, shares
        if near:
            self._units[:count] = list(map(_unit, spellings))
        self._chosen[: len(chosen)] = chosen
        self._pool.near, self._pool.spelling_count = near, count
        self._pool.group_count = max(groups) + 1
        self._placed.write()
        found = candidates.gather(
            self._arrays.address, self._chosen_at, len(chosen), encoded, self._numbers_at,
            self._placed.address,
        )  # fmt: skip
        kept = (array[:found].tolist() for array in (self._scores, self._shards, self._rows))
        return list(map(FoundRow, *kept))

    def _write_texts(self, texts: Sequence[str]) -> bytes:
        """Texts as the kernel takes them: each followed by an END; where they are known goes into the pool."""
        encoded = [text.encode() + b"\n" for text in texts]
        self._starts[1 : len(texts) + 1] = list(itertools.accumulate(map(len, encoded)))
        self._text_places[: len(texts)] = self._places_of(texts)
        return b"".join(encoded)

    def _places_of(self, texts: Sequence[str]) -> list[int]:
        """Where texts are in the table, with room for them."""
        if len(self._places) > _MOST_TEXTS:
            self.forget()
        places = self._places
        found = [places.setdefault(text, len(places)) for text in texts]
        if len(places) * self._stride > len(self._table):
            known = self._table
            self._make_room(2 * len(places))
            self._table[: len(known)] = known
        return found

    def sizes(self, words: Sequence[str], shard: int) -> dict[str, int]:
        """How many rows of a shard have each of these words in their names."""
        return {word: self._size(word, shard) for word in words}

    def _size(self, word: str, shard: int) -> int:
        place = self._places.get(word, -1)
        at = place * self._stride + 2 * shard
        if place < 0 or self._numbers[at] == types.NOT_LOOKED_UP:
            at = self._places_of([word])[0] * self._stride + 2 * shard
            text = word.encode() + b"\n"
            candidates.lookup(self._arrays.address, shard, text, self._numbers_at, at)
        found: int = self._numbers[at + 1]
        return found


def _unit(given: Spelling) -> int:
    """The most bytes of a letter of a text that near words are sought of, else 0."""
    size = len(given.text.encode())
    if given.share < 1 or not _NEAR_LEAST <= size <= _NEAR_MOST or given.text.isdigit():
        return 0
    return 1 if given.text.isascii() else 2


def _ints(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.zeros(count, np.int64)


def _reals(count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.zeros(count, np.float64)


def first_spellings(words: Sequence[str], others: Sequence[Sequence[str]]) -> list[Spelling]:
    """The words of a line and their other spellings."""
    found = []
    for group, (word, more) in enumerate(zip(words, others, strict=True)):
        found.append(Spelling(word, group, 1.0))
        for text in more:
            # In another alphabet it is the word itself, with errors of its own.
            found.append(Spelling(text, group, 0.9 if text.isascii() == word.isascii() else 1.0))
    return found


def further_spellings(words: Sequence[str]) -> list[Spelling]:
    """Neighbours as one word, words in two parts, letters apart, two letters that changed places, lost ligatures.

    The parts of a word are groups of their own, since both must be there.
    """
    spellings = []
    group = len(words)
    for place, (word, following) in enumerate(itertools.pairwise(words)):
        spellings.append(Spelling(word + following, place, 0.95))
    for place, word in enumerate(words):
        middle = len(word) // 2
        if len(word) >= 4 and word.isascii():
            swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
            spellings.append(Spelling(swapped, place, 0.8))
        if len(word) == 3:
            exchanged = (word[1] + word[0] + word[2], word[0] + word[2] + word[1])
            spellings += [Spelling(text, place, 0.8) for text in exchanged]
        if 2 <= len(word) <= 4 and word.isalpha():
            spellings += [Spelling(letter, group + i, 0.9) for i, letter in enumerate(word)]
            group += len(word)
        for i, letter in enumerate(word):
            if letter == "u":  # `œ` may have been lost before it: uvre, sur
                spellings.append(Spelling(word[:i] + "oe" + word[i:], place, 0.9))
        parts = _LETTERS_OR_DIGITS.findall(word)
        if len(parts) > 1:
            spellings += [Spelling(part, group + i, 0.9) for i, part in enumerate(parts)]
            group += len(parts)
        elif len(word) >= _PARTED:
            for cut in range(_PART_LEAST, len(word) - _PART_LEAST + 1):
                spellings.append(Spelling(word[:cut], group, 0.5))
                spellings.append(Spelling(word[cut:], group + 1, 0.5))
            group += 2
    return spellings


def initials(words: Sequence[str]) -> list[Spelling]:
    """The initials of a name of several words, with the last word and without: it may be a legal form elsewhere.

    Also those of three to five neighbours in it, without short words: Crédit Agricole CIB.
    """
    texts = ("".join(word[0] for word in some) for some in (words, words[:-1]))
    found = [Spelling(text, 0, 0.9) for text in texts if len(text) in INITIALS]
    letters = "".join(word[0] for word in words if len(word) > 3)
    for place in range(len(letters)):
        ends = range(place + 3, min(place + 5, len(letters)) + 1)
        found += [Spelling(letters[place:end], place, 0.9) for end in ends]
    return found


def folded_words(shard: Shard, row: int) -> list[list[tuple[str, int]]]:
    """The words of the present name and of each former one, each with the number of rows that have it."""
    index = shard.words
    first, end = int(index.token_starts[row]), int(index.token_starts[row + 1])
    found: list[list[tuple[str, int]]] = [[]]
    for word in index.tokens[first:end].tolist():
        if word == FORMER_NAME:
            found.append([])
            continue
        begin, stop = index.words.starts[word : word + 2].tolist()
        low, high = index.starts[word : word + 2].tolist()
        found[-1].append((bytes(index.words.data[begin : stop - 1]).decode(), high - low))
    return found


# -- names that begin with the letters of a line --------------------------------------------


def rows_by_initials(
    shards: Sequence[Shard], chosen: Sequence[int], words: Sequence[str], ville: str | None
) -> Iterator[FoundRow]:
    """Rows of a town in the chosen shards whose words begin with the letters of a name of one word.

    No index leads from initials to names, and many names share them; those of one town are few, and the town speaks for
    them besides: IBM, International Business Machines. A short word may have a letter or none, and words may follow.
    Those with the fewest words behind the last letter come first.
    """
    if not ville or len(words) != 1 or len(words[0]) not in INITIALS:
        return
    letters, town = words[0].encode(), fold(ville).encode()
    if letters.isalpha():  # of ASCII
        for number in chosen:
            rows = _rows_beginning(shards[number], _rows_of(shards[number], town), letters)
            yield from (FoundRow(0.0, number, row) for row in rows[: types.KEPT].tolist())


def _rows_of(shard: Shard, town: bytes) -> NDArray[Any]:
    """The rows of a town, none of one that is too large."""
    place = place_of(shard.code_texts("ville"), town)
    if place < 0:
        return np.empty(0, np.int64)
    ends = shard.code_array("ville.ends")
    if int(ends[place + 2]) - int(ends[place + 1]) > _LARGEST_TOWN:
        return np.empty(0, np.int64)
    return flatnonzero(shard.codes("ville") == place + 1)


def _rows_beginning(shard: Shard, rows: NDArray[Any], letters: bytes) -> NDArray[Any]:
    """Those of the `rows` whose words begin with these letters, one after the other; short words may be left out."""
    index = shard.words
    starts, tokens = np.asarray(index.token_starts), np.asarray(index.tokens)
    texts, begins = np.asarray(index.words.data), np.asarray(index.words.starts)
    last = len(begins) - 2
    # Bit n of a row: its words so far may be the first n letters. Of a letter: the bits of a row that it moves.
    reached = np.ones(len(rows), np.int32)
    moved = np.zeros(256, np.int32)
    for place, letter in enumerate(letters):
        moved[letter] |= 1 << place
    found = [np.empty((0, 2), np.int64)]
    place = 0
    while len(rows):
        left = starts[rows + 1] - starts[rows] - place
        rows, reached, left = (array[left > 0] for array in (rows, reached, left))
        words = tokens[starts[rows] + place]
        is_present = words <= last  # the mark of a former name is after every word
        rows, reached, left, words = (array[is_present] for array in (rows, reached, left, words))
        is_short = begins[words + 1] - begins[words] <= _SHORT + 1
        reached = (reached & moved[texts[begins[words]]]) << 1 | reached * is_short
        ends = reached >> len(letters) & 1 == 1
        found.append(np.column_stack((left[ends], rows[ends])))
        goes_on = (reached != 0) & ~ends
        rows, reached = rows[goes_on], reached[goes_on]
        place += 1
    left, rows = np.concatenate(found).T
    return rows[np.argsort(left, kind="stable")]
