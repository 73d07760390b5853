"""Names of companies, prepared for comparison: all values that depend only on the name and its country.

A name is read from the numbers of its words, which the shard stores for each row, so no record is decompressed.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from shards.format import FORMER_NAME
from shards.matching.candidate_rows import information
from shards.matching.legal_forms import Words
from shards.matching.name_comparison import ComparedName, WeightedWord, articles
from shards.matching.name_tables import UMLAUTS, BareName, NameTables
from shards.reader.shard import Shard
from shards.search.generation_arrays import GenerationArrays

_NO_COUNTS: Final[Mapping[str, int]] = {}  # `row_counts` of the name of a company


class LineName(NamedTuple):
    """The name of a line, prepared for comparison in a country, and the information of its words there."""

    compared: ComparedName
    word_information: Mapping[str, float]


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

    def _name(self, number: int, words: Sequence[WeightedWord]) -> ComparedName:
        """The name with these words, of a company of shard `number`, prepared for comparison."""
        shard = self._shards[number]
        texts = tuple([word for word, _ in words])
        bare = self._tables.bare_name(texts, shard.iso2)
        count = len(bare.words)
        if bare.words == texts[:count]:
            return self._compared_name(number, texts, bare, words[:count])
        word_information = dict(words)
        for word in bare.words:
            if word not in word_information:  # joined letters and numbers
                word_information[word] = information(shard.rows, 0)
        weighted_words = [(word, word_information[word]) for word in bare.words]
        return self._compared_name(number, texts, bare, weighted_words)

    def line_name(
        self,
        number: int,
        written: Words,
        bare: BareName,
        word_information: Mapping[str, float],
        sizes: Mapping[str, int],
    ) -> LineName:
        """The name of a line, for comparison in shard `number`; `written` is all words of the name."""
        weighted_words = [(word, word_information[word]) for word in bare.words]
        name = self._compared_name(number, written, bare, weighted_words)
        return LineName(
            name._replace(row_counts=sizes, iso2=self._shards[number].iso2), word_information
        )

    def _compared_name(
        self,
        number: int,
        written: Words,
        bare: BareName,
        words: Sequence[WeightedWord],
    ) -> ComparedName:
        """A name of shard `number`, prepared for comparison; `words` has the words of `bare` and their information."""
        umlauts = self._shards[number].iso2 in UMLAUTS
        keys = [self._tables.key(word, umlauts=umlauts) for word in bare.words]
        is_ascii = "".join(bare.words).isascii()
        return ComparedName(
            words, keys, bare.forms, is_ascii, articles(bare.words), _NO_COUNTS, written
        )


def _read_word(shard: Shard, word: int) -> WeightedWord:
    """The text of word number `word` of a shard, and its information, which is greater for a rarer word."""
    index = shard.words
    begin, stop = index.words.starts[word : word + 2].tolist()
    low, high = index.starts[word : word + 2].tolist()
    text = bytes(index.words.data[begin : stop - 1]).decode()
    return text, information(shard.rows, high - low)
