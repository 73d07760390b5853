"""Companies that a name may mean, from the indexes of words that searches use.

First the rows that share the rarest words with the line, as they are written. Where no company of these is likely,
again with words that are nearly the same, with neighbours written as one word, and with words taken apart.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from math import log
from typing import Final, NamedTuple

import numpy as np

from shards.format import FORMER_NAME
from shards.kernel import types
from shards.kernel.memory import COMPILED, Memory, address_of, view
from shards.kernel.text import candidates, line_words
from shards.search.generation_arrays import GenerationArrays
from shards.search.reader import Shard

# Rows that are compared in full, per country and in all.
ROOM: Final = 64
KEPT: Final = 48
# Postings of whole words that are read per country.
_ALLOWED: Final = 3_000
_WORDS: Final = 256
_GROUPS: Final = 30
_PENALTY: Final = 1.0
# Words of fewer bytes have no near words: too many words would be.
_NEAR_LEAST: Final = 4
_NEAR_MOST: Final = 40
# A word that one name in so many has is no typing error.
_COMMON: Final = 2_000
_NEAR_WEIGHT: Final = 0.8
_PART_LEAST: Final = 2
_PARTED: Final = 6
_LETTERS_OR_DIGITS: Final = re.compile(r"[^\W\d_]+|\d+")
INITIALS: Final = range(3, 9)
# A shard counts as at least so many companies: in a small one no word would be rare.
LEAST_COMPANIES: Final = 100_000


class Spelling(NamedTuple):
    """A text to look up, as the word number `group` of the line; `share` of the weight that the word has."""

    text: str
    group: int
    share: float


class SoughtWord(NamedTuple):
    """A word of a shard, by its number, as the word number `group` of the line; `weight` in nats."""

    word: int
    group: int
    weight: float


class Found(NamedTuple):
    """A row of a shard, by its place in the table, and what its words weigh."""

    score: float
    shard: int
    row: int


Scored = tuple[float, int, int]  # as in Found


def information(rows: int, with_word: int) -> float:
    """What it tells, in nats, that a name of a shard has a word."""
    return log((max(rows, LEAST_COMPANIES) + 1) / (with_word + 0.5))


def _most(words: Sequence[SoughtWord]) -> float:
    """No row with these words weighs more."""
    heaviest: dict[int, float] = {}
    for _, group, weight in words:
        heaviest[group] = max(heaviest.get(group, 0.0), weight)
    return sum(heaviest.values())


def _least_kept(found: Sequence[Scored]) -> float:
    """Rows that weigh less are not kept beside these."""
    scores = sorted([score for score, _, _ in found], reverse=True)
    if len(scores) < types.FIRST:
        return 0.0
    behind = min(scores[types.FIRST - 1], scores[0] - types.BEHIND)
    return max(behind, scores[KEPT - 1]) if len(scores) >= KEPT else behind


class CandidateRows:
    """The look-up of candidates in the shards of a generation, with the working memory of one thread."""

    def __init__(self, arrays: GenerationArrays) -> None:
        self._arrays = arrays
        self._memory = Memory()
        # By shard, the number of each text as a word, and of its rows.
        self._known: dict[int, dict[str, Sequence[int]]] = {}
        made = types.Pool()
        self._words, self._groups = np.zeros(_WORDS, np.int64), np.zeros(_WORDS, np.int64)
        self._weights = np.zeros(_WORDS, np.float64)
        self._rows, self._scores = np.zeros(ROOM, np.int64), np.zeros(ROOM, np.float64)
        made.word_count = made.group_count = made.count = made.weighed = 0
        made.allowed, made.penalty, made.room = _ALLOWED, _PENALTY, ROOM
        made.words, made.groups = view(self._words), view(self._groups)
        made.weights = view(self._weights)
        made.sizes = view(np.zeros(_GROUPS + 2, np.int64))
        made.chosen = view(np.zeros(types.FREQUENT_GROUPS, np.int64))
        made.rows, made.scores = view(self._rows), view(self._scores)
        self._pool = self._memory.place_mutable(made, 2)

    def rows(
        self, spellings: Sequence[Spelling], chosen: Sequence[int], *, near: bool
    ) -> list[Found]:
        """The rows with the greatest weight, best first.

        Args:
            spellings: words of the line and other spellings of them.
            chosen: shards, by their places in the table.
            near: also words that differ from a spelling of full share by a typing error.
        """
        spellings = [given for given in spellings if given.group < _GROUPS][:_WORDS]
        numbers = self._numbers([given.text for given in spellings], chosen)
        groups = max((given.group for given in spellings), default=-1) + 1
        asked = [
            (shard, self._words_of(spellings, numbers[at], shard, near=near))
            for at, shard in enumerate(chosen)
        ]
        found: list[Scored] = []
        least = 0.0
        # The shards whose rows may weigh most come first: those after one that has no row to keep have none either.
        for most, shard, words in sorted(
            ((_most(words), shard, words) for shard, words in asked if words),
            key=lambda each: -each[0],
        ):
            if most < least:
                break
            found += self._gather(shard, words, groups)
            least = _least_kept(found)
        found.sort(key=lambda row: (-row[0], *row[1:]))
        least = found[0][0] - types.BEHIND if found else 0.0
        return [
            Found(*row) for i, row in enumerate(found[:KEPT]) if i < types.FIRST or row[0] >= least
        ]

    def _gather(self, shard: int, words: Sequence[SoughtWord], groups: int) -> list[Scored]:
        """The rows of a shard with the greatest weight."""
        for at, (word, group, weight) in enumerate(words):
            self._words[at], self._groups[at], self._weights[at] = word, group, weight
        self._pool.write(len(words), groups)
        count = candidates.gather(self._arrays.address, shard, self._pool.address)
        rows = self._rows[:count].tolist()
        return list(zip(self._scores[:count].tolist(), [shard] * count, rows, strict=True))

    def sizes(self, words: Sequence[str], shard: int) -> dict[str, int]:
        """How many rows of a shard have each of these words in their names."""
        numbers = self._numbers(words, [shard])[0]
        return {word: size for word, (_, size) in zip(words, numbers, strict=True)}

    def _words_of(
        self,
        spellings: Sequence[Spelling],
        numbers: Sequence[Sequence[int]],
        shard: int,
        *,
        near: bool,
    ) -> list[SoughtWord]:
        """The words of a shard that are sought, at most _WORDS."""
        rows = self._arrays.shards[shard].rows
        found: dict[int, SoughtWord] = {}
        for given, (word, with_word) in zip(spellings, numbers, strict=True):
            if word >= 0 and word not in found:
                weight = given.share * information(rows, with_word)
                found[word] = SoughtWord(word, given.group, weight)
        if near:
            rare = [
                given
                for given, (_, with_word) in zip(spellings, numbers, strict=True)
                if with_word * _COMMON < max(rows, LEAST_COMPANIES)
            ]
            for word, with_word, group in self.near(rare, shard):
                if word not in found:
                    weight = _NEAR_WEIGHT * information(rows, with_word)
                    found[word] = SoughtWord(word, group, weight)
        return list(found.values())[:_WORDS]

    def near(self, spellings: Iterable[Spelling], shard: int) -> Iterable[tuple[int, int, int]]:
        """The near words of a shard: number, number of rows, group."""
        starts = self._arrays.shards[shard].words.starts  # of postings
        for text, group, share in spellings:
            encoded = text.encode()
            if share < 1 or not _NEAR_LEAST <= len(encoded) <= _NEAR_MOST or text.isdigit():
                continue
            unit = 1 if text.isascii() else 2
            count = line_words.nearby(
                self._arrays.address, shard, encoded + b"\n", unit, self._pool.address
            )
            for word in self._rows[:count].tolist():
                yield word, int(starts[word + 1]) - int(starts[word]), group

    def look_up(self, texts: Iterable[str], chosen: Sequence[int]) -> None:
        """Find texts as words of shards, so that they are known."""
        known = [self._known.setdefault(shard, {}) for shard in chosen]
        unknown = [text for text in dict.fromkeys(texts) if any(text not in one for one in known)]
        if not unknown:
            return
        encoded = [text.encode() + b"\n" for text in unknown]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=starts[1:])
        shards = np.array(chosen, np.int64)
        found = np.empty((len(chosen), len(unknown), 2), np.int64)
        line_words.lookup(
            self._arrays.address, _pointer(shards), len(chosen), b"".join(encoded), _pointer(starts),
            len(unknown), _pointer(found),
        )  # fmt: skip
        for one, numbers in zip(known, found.tolist(), strict=True):
            one.update(zip(unknown, numbers, strict=True))

    def forget(self) -> None:
        """Forget the words that were looked up."""
        self._known.clear()

    def _numbers(self, texts: Sequence[str], chosen: Sequence[int]) -> list[list[Sequence[int]]]:
        """The number of each text as a word of each chosen shard, -1 if it is none, and the number of its rows."""
        self.look_up(texts, chosen)
        return [[self._known[shard][text] for text in texts] for shard in chosen]


def _pointer(array: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> object:
    """An array as a compiled function takes it."""
    return address_of(array) if COMPILED else view(array.reshape(-1))


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
    found = []
    group = len(words)
    for place, (one, other) in enumerate(itertools.pairwise(words)):
        found.append(Spelling(one + other, place, 0.95))
    for place, word in enumerate(words):
        middle = len(word) // 2
        if len(word) >= 4 and word.isascii():
            swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
            found.append(Spelling(swapped, place, 0.8))
        if len(word) == 3:
            exchanged = (word[1] + word[0] + word[2], word[0] + word[2] + word[1])
            found += [Spelling(text, place, 0.8) for text in exchanged]
        if 2 <= len(word) <= 4 and word.isalpha():
            found += [Spelling(letter, group + i, 0.9) for i, letter in enumerate(word)]
            group += len(word)
        found += [Spelling(text, place, 0.9) for text in _with_ligature(word)]
        parts = _LETTERS_OR_DIGITS.findall(word)
        if len(parts) > 1:
            found += [Spelling(part, group + i, 0.9) for i, part in enumerate(parts)]
            group += len(parts)
        elif len(word) >= _PARTED:
            for cut in range(_PART_LEAST, len(word) - _PART_LEAST + 1):
                found.append(Spelling(word[:cut], group, 0.5))
                found.append(Spelling(word[cut:], group + 1, 0.5))
            group += 2
    return found


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


def _with_ligature(word: str) -> list[str]:
    """Where `œ` may have been lost, which is before `u`: uvre, sur."""
    return [word[:i] + "oe" + word[i:] for i, letter in enumerate(word) if letter == "u"]


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
