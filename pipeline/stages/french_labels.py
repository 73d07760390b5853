"""The French words for a published legal form and status: `forme_fr` and `statut_fr`.

A value is looked up in `seeds/libelles.csv`, folded (contract B15): among the rows of its country, then among those of
all countries, as pages and workbooks look it up. What French registers publish is French as it stands; a value of
another register that the table lacks has none.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from pipeline.seeds import Seeds
from pipeline.stages.statuses import looked_up
from shards.codec.folding import fold

FIELDS: Final = {"forme": "forme_fr", "statut": "statut_fr"}
_FRENCH: Final = "FR"


def words(seeds: Seeds, iso2: str) -> dict[str, dict[str, str]]:
    """The French words of each folded value that the register of `iso2` may publish, by field."""
    rows = seeds.tables["libelles"]
    return {
        field: {
            fold(row["valeur"]): row["libelle"]
            for place in ("", iso2)
            for row in rows
            if (row["champ"], row["iso2"]) == (field, place)
        }
        for field in FIELDS
    }


def add_words(
    companies: pl.LazyFrame, words: Mapping[str, Mapping[str, str]], iso2: str
) -> pl.LazyFrame:
    """Add the columns of FIELDS."""
    return companies.with_columns(
        pl.coalesce(
            looked_up(field, words[field]), field if iso2 == _FRENCH else pl.lit(None)
        ).alias(name)
        for field, name in FIELDS.items()
    )
