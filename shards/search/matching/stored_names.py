"""Names of companies as they are compared, with all that follows from a name and its country alone.

Words, and the names of rows, are remembered within a batch of lines: candidates of a line share words with it, and so
with each other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from shards.format import FORMER_NAME
from shards.search.generation_arrays import GenerationArrays
from shards.search.matching.candidate_rows import information
from shards.search.matching.name_comparison import ComparedName, Told
from shards.search.matching.name_tables import UMLAUTS, BareName, NameTables

# What is remembered at most: some 300 bytes a word, some 600 a row.
_WORDS: Final = 65_536
_ROWS: Final = 8_192


class LineName(NamedTuple):
    """The name of a line as it is compared in a country, and what its words tell there."""

    compared: ComparedName
    told: Mapping[str, float]


class StoredNames:
    """The names of the companies of a generation, with the memory of one thread."""

    def __init__(self, arrays: GenerationArrays, tables: NameTables) -> None:
        self._shards, self._tables = arrays.shards, tables
        self._words: dict[tuple[int, int], Told] = {}
        self._keys: dict[bool, dict[str, str]] = {False: {}, True: {}}
        self._rows: dict[tuple[int, int], tuple[ComparedName, ...]] = {}

    def forget(self) -> None:
        """Make room, where it is short, before another batch."""
        remembered: tuple[dict[Any, Any], ...] = (self._words, *self._keys.values())
        for known in remembered:
            if len(known) > _WORDS:
                known.clear()
        self._rows.clear()

    def of(self, number: int, row: int) -> tuple[ComparedName, ...]:
        """The present name of a row of a shard, and the former ones."""
        found = self._rows.get((number, row))
        if found is None:
            found = self._read(number, row)
            if len(self._rows) < _ROWS:
                self._rows[number, row] = found
        return found

    def _read(self, number: int, row: int) -> tuple[ComparedName, ...]:
        index = self._shards[number].words
        first, end = index.token_starts[row : row + 2].tolist()
        names: list[list[Told]] = [[]]
        for word in index.tokens[first:end].tolist():
            if word == FORMER_NAME:
                names.append([])
            else:
                names[-1].append(self._words.get((number, word)) or self._word(number, word))
        return tuple(self._name(number, words) for words in names)

    def _word(self, number: int, word: int) -> Told:
        """A word of a shard by its number, and how much it tells."""
        shard = self._shards[number]
        index = shard.words
        begin, stop = index.words.starts[word : word + 2].tolist()
        low, high = index.starts[word : word + 2].tolist()
        text = bytes(index.words.data[begin : stop - 1]).decode()
        found = self._words[number, word] = text, information(shard.rows, high - low)
        return found

    def _name(self, number: int, words: Sequence[Told]) -> ComparedName:
        shard = self._shards[number]
        bare = self._tables.bare(tuple(word for word, _ in words), shard.iso2)
        told = dict(words)
        for word in bare.words:
            if word not in told:  # joined letters and numbers
                told[word] = information(shard.rows, 0)
        return self.compared(number, bare, told)

    def compared(
        self,
        number: int,
        bare: BareName,
        told: Mapping[str, float],
        known: Mapping[str, int] | None = None,
    ) -> ComparedName:
        """A name as it is compared in the country of a shard, from what its words tell there."""
        umlauts = self._shards[number].iso2 in UMLAUTS
        known_keys = self._keys[umlauts]
        for word in bare.words:
            if word not in known_keys:
                known_keys[word] = self._tables.key(word, umlauts=umlauts)
        keys = [known_keys[word] for word in bare.words]
        words = [(word, told[word]) for word in bare.words]
        is_ascii = "".join(bare.words).isascii()
        return ComparedName(words, keys, bare.forms, is_ascii, known or {})
