"""Derived fields: `domaine` from `site_web`, `tranche_effectif` from `effectif`, and the `score`.

A value that the register publishes is never replaced. The headcount bands are those of INSEE (Sirene, "tranche
d'effectifs salariés"), the codes of French registers, so that all countries use one scale.

The `score` (§2.1) measures how many fields of a company are known: an integer from 0 to 100, and a sort key.
Each known field adds its weight; the weights sum to 100. A 0 is known, a null is not. Fields that
all companies have (country, identifier, name) or that follow from another field (labels of a code,
the domain of a site, the years of a figure) have no weight. `tranche_effectif` has a weight although it
can be derived from `effectif`: some registers publish only the band.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.seeds import read_table
from seeds import TABLES
from shards.codec.bands import INSEE

# Lowest headcount of each band -> its code.
BANDS: Final = {least: code for code, (least, _) in INSEE.items()}
# The points of each field in the score.
WEIGHTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        row["champ"]: int(row["points"])
        for row in read_table(TABLES / "score.csv", ("champ", "points"))
    }
)
# The group of the expression matches the host of a web address, without `www.`. A scheme and a user can precede the
# host; a port, a path, a query and a fragment can follow.
HOST: Final = r"^(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/?#@]*@)?(?:www\.)?([^/?#:@\s]+\.[^/?#:@\s.]+)\.?(?:[:/?#]|$)"


def fill_derived(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Fill `domaine` and `tranche_effectif` if they are missing."""
    host = pl.col("site_web").str.to_lowercase().str.extract(HOST)
    return companies.with_columns(
        pl.coalesce(pl.col("domaine").str.to_lowercase(), host).alias("domaine"),
        pl.coalesce("tranche_effectif", band(pl.col("effectif"))).alias("tranche_effectif"),
    )


def add_score(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Add `score`: the sum of the weights of the fields that are not null."""
    points = [
        pl.col(name).is_not_null().cast(pl.Int64) * weight for name, weight in WEIGHTS.items()
    ]
    return companies.with_columns(pl.sum_horizontal(*points).alias("score"))


def band(effectif: pl.Expr) -> pl.Expr:
    """The INSEE code of a headcount; null for null."""
    highest_first = sorted(BANDS.items(), reverse=True)
    return pl.coalesce(
        pl.when(effectif >= start).then(pl.lit(code)) for start, code in highest_first
    )
