"""The state of a company (`etat`, extension X1), from the status that its register publishes, and French words.

A status is looked up in `seeds/etats.csv`, folded (contract B15): among the rows of its country, then
among those of all countries. A null status is `inconnu`. So is one that the table lacks, which the
quality report counts and lists; too many of these close a gate (`quality_report.closed_gates`).

`forme_fr` and `statut_fr` are the words of `seeds/libelles.csv`, looked up in the same way, as pages and workbooks do.
What French registers publish is French as it stands; a value of another register that the table lacks has none.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds
from shards.codec.folding import fold
from shards.query import STATES

UNKNOWN: Final = "inconnu"
WORDED: Final = {"forme": "forme_fr", "statut": "statut_fr"}
_FRENCH: Final = "FR"
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
    return companies.with_columns(_look_up("statut", states).alias("etat")).with_columns(
        pl.col("etat").fill_null(UNKNOWN),
        pl.when(pl.col("etat").is_null()).then(pl.col("statut")).alias(UNMAPPED),
    )


def french_words(seeds: Seeds, iso2: str) -> dict[str, dict[str, str]]:
    """The French words of each folded value that the register of `iso2` may publish, by field."""
    rows = seeds.tables["libelles"]
    return {
        field: {
            fold(row["valeur"]): row["libelle"]
            for place in ("", iso2)
            for row in rows
            if (row["champ"], row["iso2"]) == (field, place)
        }
        for field in WORDED
    }


def add_french(
    companies: pl.LazyFrame, words: Mapping[str, Mapping[str, str]], iso2: str
) -> pl.LazyFrame:
    """Add the columns of WORDED."""
    return companies.with_columns(
        pl.coalesce(
            _look_up(field, words[field]), field if iso2 == _FRENCH else pl.lit(None)
        ).alias(name)
        for field, name in WORDED.items()
    )


def _look_up(column: str, known: Mapping[str, str]) -> pl.Expr:
    """What is `known` of the folded texts of a column, null for others."""
    return pl.col(column).map_batches(
        lambda texts: _looked_up(texts, known), return_dtype=pl.String, is_elementwise=True
    )


def _looked_up(texts: pl.Series, known: Mapping[str, str]) -> pl.Series:
    """What is known of each text, null for others; each distinct text is folded once."""
    distinct = texts.drop_nulls().unique()
    found = [known.get(fold(text)) for text in distinct]
    return texts.replace_strict(
        distinct, pl.Series(found, dtype=pl.String), default=None, return_dtype=pl.String
    )
