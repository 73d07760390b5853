"""Names of companies as they are compared, with all that follows from a name and its country alone.

A name is read from the numbers of its words, which the shard has by row, so no record is decompressed.
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

_UNKNOWN: Final[Mapping[str, int]] = {}


class LineName(NamedTuple):
    """The name of a line as it is compared in a country, and what its words tell there."""

    compared: ComparedName
    told: Mapping[str, float]


class StoredNames:
    """The names of the companies of a generation."""

    def __init__(self, arrays: GenerationArrays, tables: NameTables) -> None:
        self._shards, self._tables = arrays.shards, tables

    def names_of(self, number: int, row: int) -> tuple[ComparedName, ...]:
        """The present name of a row of a shard, and the former ones."""
        shard = self._shards[number]
        index = shard.words
        first, end = index.token_starts[row : row + 2].tolist()
        tokens: list[int] = index.tokens[first:end].tolist()
        names = []
        while FORMER_NAME in tokens:
            end = tokens.index(FORMER_NAME)
            names.append(self._name(number, [_read_word(shard, word) for word in tokens[:end]]))
            tokens = tokens[end + 1 :]
        names.append(self._name(number, [_read_word(shard, word) for word in tokens]))
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
        umlauts = self._shards[number].iso2 in UMLAUTS
        keys = [self._tables.key(word, umlauts=umlauts) for word in bare.words]
        is_ascii = "".join(bare.words).isascii()
        return ComparedName(
            told, keys, bare.forms, is_ascii, articles(bare.words), _UNKNOWN, written
        )


def _read_word(shard: Shard, word: int) -> Told:
    """The text of a word of a shard, and its information."""
    index = shard.words
    begin, stop = index.words.starts[word : word + 2].tolist()
    low, high = index.starts[word : word + 2].tolist()
    text = bytes(index.words.data[begin : stop - 1]).decode()
    return text, information(shard.rows, high - low)
