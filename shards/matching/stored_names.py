"""Names of companies as they are compared, with all that follows from a name and its country alone.

Words, and the names of rows, are remembered within a batch of lines: candidates of a line share words with it, and so
with each other.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from shards.format import FORMER_NAME
from shards.matching.candidate_rows import information
from shards.matching.legal_forms import Words
from shards.matching.name_comparison import ComparedName, Told, articles
from shards.matching.name_tables import UMLAUTS, BareName, NameTables
from shards.reader.shard import Shard
from shards.search.generation_arrays import GenerationArrays

# What is remembered at most: some 300 bytes a word, some 600 a row.
_WORDS: Final = 65_536
_ROWS: Final = 8_192
_UNKNOWN: Final[Mapping[str, int]] = {}


class LineName(NamedTuple):
    """The name of a line as it is compared in a country, and what its words tell there."""

    compared: ComparedName
    told: Mapping[str, float]


class _ToldWords(dict[int, Told]):
    """The words of a shard by their numbers, and how much each tells."""

    def __init__(self, shard: Shard) -> None:
        super().__init__()
        self._index, self._rows = shard.words, shard.rows

    def __missing__(self, word: int) -> Told:
        index = self._index
        begin, stop = index.words.starts[word : word + 2].tolist()
        low, high = index.starts[word : word + 2].tolist()
        text = bytes(index.words.data[begin : stop - 1]).decode()
        found = self[word] = text, information(self._rows, high - low)
        return found


class _Keys(dict[str, str]):
    """What words must share to be the same."""

    def __init__(self, tables: NameTables, *, umlauts: bool) -> None:
        super().__init__()
        self._tables, self._umlauts = tables, umlauts

    def __missing__(self, word: str) -> str:
        found = self[word] = self._tables.key(word, umlauts=self._umlauts)
        return found


class StoredNames:
    """The names of the companies of a generation, with the memory of one thread."""

    def __init__(self, arrays: GenerationArrays, tables: NameTables) -> None:
        self._shards, self._tables = arrays.shards, tables
        self._words: dict[int, _ToldWords] = {}
        self._keys = {umlauts: _Keys(tables, umlauts=umlauts) for umlauts in (False, True)}
        self._rows: dict[tuple[int, int], tuple[ComparedName, ...]] = {}

    def forget(self) -> None:
        """Make room, where it is short, before another batch."""
        if sum(map(len, self._words.values())) > _WORDS:
            self._words.clear()
        for keys in self._keys.values():
            if len(keys) > _WORDS:
                keys.clear()
        self._rows.clear()

    def names_of(self, number: int, row: int) -> tuple[ComparedName, ...]:
        """The present name of a row of a shard, and the former ones."""
        found = self._rows.get((number, row))
        if found is None:
            found = self._read(number, row)
            if len(self._rows) < _ROWS:
                self._rows[number, row] = found
        return found

    def _read(self, number: int, row: int) -> tuple[ComparedName, ...]:
        shard = self._shards[number]
        index = shard.words
        known = self._words.get(number)
        if known is None:
            known = self._words[number] = _ToldWords(shard)
        first, end = index.token_starts[row : row + 2].tolist()
        tokens: list[int] = index.tokens[first:end].tolist()
        names = []
        while FORMER_NAME in tokens:
            end = tokens.index(FORMER_NAME)
            names.append(self._name(number, [known[word] for word in tokens[:end]]))
            tokens = tokens[end + 1 :]
        names.append(self._name(number, [known[word] for word in tokens]))
        return tuple(names)

    def _name(self, number: int, words: Sequence[Told]) -> ComparedName:
        shard = self._shards[number]
        texts = tuple([word for word, _ in words])
        bare = self._tables.bare_name(texts, shard.iso2)
        count = len(bare.words)
        if bare.words == texts[:count]:
            return self._compared_name(number, texts, bare, words[:count])
        told = dict(words)
        for word in bare.words:
            if word not in told:  # joined letters and numbers
                told[word] = information(shard.rows, 0)
        of_words = [(word, told[word]) for word in bare.words]
        return self._compared_name(number, texts, bare, of_words)

    def line_name(
        self,
        number: int,
        written: Words,
        bare: BareName,
        told: Mapping[str, float],
        sizes: Mapping[str, int],
    ) -> LineName:
        """The name of a line of which `written` are all words."""
        of_words = [(word, told[word]) for word in bare.words]
        name = self._compared_name(number, written, bare, of_words)
        return LineName(name._replace(known=sizes, iso2=self._shards[number].iso2), told)

    def _compared_name(
        self,
        number: int,
        written: Words,
        bare: BareName,
        told: Sequence[Told],
    ) -> ComparedName:
        known_keys = self._keys[self._shards[number].iso2 in UMLAUTS]
        keys = [known_keys[word] for word in bare.words]
        is_ascii = "".join(bare.words).isascii()
        return ComparedName(
            told, keys, bare.forms, is_ascii, articles(bare.words), _UNKNOWN, written
        )
