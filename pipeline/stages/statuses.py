"""The state of a company (`etat`, extension X1), from the status that its register publishes, and French words.

A status is looked up in `seeds/etats.csv`, folded (contract B15): in the rows of its country, then
in the rows of all countries. A null status is `inconnu`. A status that the table lacks is
`inconnu`, too; the quality report counts and lists such statuses, and too many close a gate
(`quality_report.closed_gates`).

`forme_fr` and `statut_fr` are the words of `seeds/libelles.csv`, looked up in the same way, for pages and workbooks.
A value that the table lacks counts as French if it is a French word of the table, for any country, or if its register
publishes in French and the table does not have it as a word of another country. A code without a letter has no words.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds
from shards.codec.folding import fold
from shards.query import STATES

# The state of a company without a status, or with a status that the table lacks.
UNKNOWN: Final = "inconnu"
# Field -> column of its French words.
FRENCH_COLUMNS: Final = {"forme": "forme_fr", "statut": "statut_fr"}
# Countries whose registers publish labels in French.
_FRENCH_REGISTERS: Final = frozenset({"BE", "CH", "FR", "LU"})
# Registers that publish in French and in other languages.
_MULTILINGUAL_REGISTERS: Final = frozenset({"BE", "CH"})
UNMAPPED: Final = "status_unmapped"  # working column: a published status that the table lacks


def states(seeds: Seeds, iso2: str) -> dict[str, str]:
    """The state of each folded status that the register of `iso2` can publish.

    Raises:
        SeedError: a state is not one of STATES, or a status comes twice.
    """
    by_status: dict[str, str] = {}
    for country in ("", iso2):
        rows = [row for row in seeds.tables["etats"] if row["iso2"] == country]
        folded = {fold(row["statut"]): row["etat"] for row in rows}
        unknown_states = [row["statut"] for row in rows if row["etat"] not in STATES]
        if unknown_states or len(folded) != len(rows):
            fault = (
                f"the state of {unknown_states[0]!r} is unknown"
                if unknown_states
                else "a status comes twice"
            )
            raise SeedError(f"etats.csv: {fault} (iso2 {country!r}); mend the table")
        by_status |= folded
    return by_status


def add_state(companies: pl.LazyFrame, states: Mapping[str, str]) -> pl.LazyFrame:
    """Add `etat`, by `states`, and UNMAPPED: the published status, if `states` lacks it; null otherwise."""
    return companies.with_columns(
        _look_up("statut", lambda text: states.get(fold(text))).alias("etat")
    ).with_columns(
        pl.col("etat").fill_null(UNKNOWN),
        pl.when(pl.col("etat").is_null()).then(pl.col("statut")).alias(UNMAPPED),
    )


class FrenchWords(NamedTuple):
    """The French words for the values of a field in the register of a country; all keys are folded."""

    words: Mapping[str, str]
    french: frozenset[str]  # all French words of the table for this field
    foreign: frozenset[str]  # values in other languages that the register can publish
    published_in_french: bool

    def translate(self, value: str) -> str | None:
        """The French words for a value, which can be the value itself; None if the French words are unknown."""
        folded = fold(value)
        if folded in self.words:
            return self.words[folded]
        is_likely_french = self.published_in_french and folded not in self.foreign
        is_french = folded in self.french or (is_likely_french and any(map(str.isalpha, folded)))
        return value if is_french else None


def french_words(seeds: Seeds, iso2: str) -> dict[str, FrenchWords]:
    """For `forme` and `statut`: the table of French words for the values of the register of `iso2`."""
    return {field: _field_words(seeds, field, iso2) for field in FRENCH_COLUMNS}


def _field_words(seeds: Seeds, field: str, iso2: str) -> FrenchWords:
    """The French words for the values of `forme` or `statut`; rows of the country override those of all countries."""
    rows = [row for row in seeds.tables["libelles"] if row["champ"] == field]
    # The values of `foreign_rows` are in other languages, such as Dutch. Belgium and Switzerland publish in such
    # languages as well, so an equal value of theirs is not French; France and Luxembourg publish only in French.
    foreign_rows = [row for row in rows if row["iso2"] not in {"", *_FRENCH_REGISTERS}]
    possible_rows = foreign_rows if iso2 in _MULTILINGUAL_REGISTERS else []
    return FrenchWords(
        words={
            fold(row["valeur"]): row["libelle"]
            for country in ("", iso2)
            for row in rows
            if row["iso2"] == country
        },
        french=frozenset(fold(row["libelle"]) for row in rows),
        foreign=frozenset(fold(row["valeur"]) for row in possible_rows),
        published_in_french=iso2 in _FRENCH_REGISTERS,
    )


def add_french(companies: pl.LazyFrame, words: Mapping[str, FrenchWords]) -> pl.LazyFrame:
    """Add `forme_fr` and `statut_fr`: the French words of `forme` and `statut`; null if they are unknown."""
    return companies.with_columns(
        _look_up(field, words[field].translate).alias(name)
        for field, name in FRENCH_COLUMNS.items()
    )


def _look_up(column: str, value_of: Callable[[str], str | None]) -> pl.Expr:
    """The value for each text of a column; each distinct text is looked up once."""
    return pl.col(column).map_batches(
        lambda texts: _look_up_series(texts, value_of), return_dtype=pl.String, is_elementwise=True
    )


def _look_up_series(texts: pl.Series, value_of: Callable[[str], str | None]) -> pl.Series:
    """The value for each text of `texts`; each distinct text is looked up once."""
    distinct = texts.drop_nulls().unique()
    values = [value_of(text) for text in distinct]
    return texts.replace_strict(
        distinct, pl.Series(values, dtype=pl.String), default=None, return_dtype=pl.String
    )
