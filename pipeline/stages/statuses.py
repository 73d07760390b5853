"""The state of a company (`etat`, extension X1), from the status that its register publishes, and French words.

A status is looked up in `seeds/etats.csv`, folded (contract B15): among the rows of its country, then
among those of all countries. A null status is `inconnu`. So is one that the table lacks, which the
quality report counts and lists; too many of these close a gate (`quality_report.closed_gates`).

`forme_fr` and `statut_fr` are the words of `seeds/libelles.csv`, looked up in the same way, as pages and workbooks do.
A value that the table lacks is French as it stands if it is one of the table's French words, whatever its country, or
if its register publishes in French and the table does not have it as a word of another country. A code without a
letter has no words.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds
from shards.codec.folding import fold
from shards.query import STATES

UNKNOWN: Final = "inconnu"
WORDED: Final = {"forme": "forme_fr", "statut": "statut_fr"}
_FRENCH: Final = frozenset({"BE", "CH", "FR", "LU"})  # their registers publish labels in French
_AND_OTHERS: Final = frozenset({"BE", "CH"})  # and in other languages
UNMAPPED: Final = "status_unmapped"  # working column: a published status that the table lacks


def states(seeds: Seeds, iso2: str) -> dict[str, str]:
    """The state of each folded status that the register of `iso2` may publish.

    Raises:
        SeedError: a state that is none of STATES, or a status that comes twice.
    """
    found: dict[str, str] = {}
    for place in ("", iso2):
        rows = [row for row in seeds.tables["etats"] if row["iso2"] == place]
        folded = {fold(row["statut"]): row["etat"] for row in rows}
        wrong = [row["statut"] for row in rows if row["etat"] not in STATES]
        if wrong or len(folded) != len(rows):
            what = f"the state of {wrong[0]!r} is unknown" if wrong else "a status comes twice"
            raise SeedError(f"etats.csv: {what} (iso2 {place!r}); mend the table")
        found |= folded
    return found


def add_state(companies: pl.LazyFrame, states: Mapping[str, str]) -> pl.LazyFrame:
    """Add `etat` and UNMAPPED."""
    return companies.with_columns(
        _look_up("statut", lambda text: states.get(fold(text))).alias("etat")
    ).with_columns(
        pl.col("etat").fill_null(UNKNOWN),
        pl.when(pl.col("etat").is_null()).then(pl.col("statut")).alias(UNMAPPED),
    )


class FrenchWords(NamedTuple):
    """The French words of the values of a field that the register of a country may publish; all keys are folded."""

    words: Mapping[str, str]
    french: frozenset[str]  # the words themselves
    foreign: frozenset[str]  # values in other languages that the register may publish
    published_in_french: bool

    def of(self, value: str) -> str | None:
        """The words for a value, which may be its own; None if they are not known."""
        folded = fold(value)
        if folded in self.words:
            return self.words[folded]
        stands = self.published_in_french and folded not in self.foreign
        is_french = folded in self.french or (stands and any(map(str.isalpha, folded)))
        return value if is_french else None


def french_words(seeds: Seeds, iso2: str) -> dict[str, FrenchWords]:
    """The words of each field of WORDED, for the register of `iso2`."""
    return {field: _field_words(seeds, field, iso2) for field in WORDED}


def _field_words(seeds: Seeds, field: str, iso2: str) -> FrenchWords:
    rows = [row for row in seeds.tables["libelles"] if row["champ"] == field]
    others = [row for row in rows if row["iso2"] not in {"", *_FRENCH}]
    foreign = others if iso2 in _AND_OTHERS else []
    return FrenchWords(
        {
            fold(row["valeur"]): row["libelle"]
            for place in ("", iso2)
            for row in rows
            if row["iso2"] == place
        },
        frozenset(fold(row["libelle"]) for row in rows),
        frozenset(fold(row["valeur"]) for row in foreign),
        iso2 in _FRENCH,
    )


def add_french(companies: pl.LazyFrame, words: Mapping[str, FrenchWords]) -> pl.LazyFrame:
    """Add the columns of WORDED."""
    return companies.with_columns(
        _look_up(field, words[field].of).alias(name) for field, name in WORDED.items()
    )


def _look_up(column: str, value_of: Callable[[str], str | None]) -> pl.Expr:
    """The value of each text of a column; each distinct text is looked up once."""
    return pl.col(column).map_batches(
        lambda texts: _looked_up(texts, value_of), return_dtype=pl.String, is_elementwise=True
    )


def _looked_up(texts: pl.Series, value_of: Callable[[str], str | None]) -> pl.Series:
    distinct = texts.drop_nulls().unique()
    values = [value_of(text) for text in distinct]
    return texts.replace_strict(
        distinct, pl.Series(values, dtype=pl.String), default=None, return_dtype=pl.String
    )
