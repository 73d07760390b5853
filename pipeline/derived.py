"""Fields that follow from one other: `domaine` from `site_web`, the band from `effectif`.

A given value is kept. The bands are those of INSEE (Sirene, "tranche d'effectifs salariés"), the
codes that French registers publish, so that every country speaks of headcount in one way.
"""

from typing import Final

import polars as pl

# First headcount of each band.
BANDS: Final = {
    0: "00",
    1: "01",
    3: "02",
    6: "03",
    10: "11",
    20: "12",
    50: "21",
    100: "22",
    200: "31",
    250: "32",
    500: "41",
    1000: "42",
    2000: "51",
    5000: "52",
    10000: "53",
}
# scheme, user and `www.` before the host; port, path, query and fragment after it.
_HOST: Final = r"^(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/?#@]*@)?(?:www\.)?([^/?#:@\s]+\.[^/?#:@\s.]+)\.?(?:[:/?#]|$)"


def attach(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Fill `domaine` and `tranche_effectif` where they are missing."""
    host = pl.col("site_web").str.to_lowercase().str.extract(_HOST)
    return companies.with_columns(
        pl.coalesce(pl.col("domaine").str.to_lowercase(), host).alias("domaine"),
        pl.coalesce("tranche_effectif", band(pl.col("effectif"))).alias("tranche_effectif"),
    )


def band(effectif: pl.Expr) -> pl.Expr:
    """The INSEE code of a headcount; null for null."""
    highest_first = sorted(BANDS.items(), reverse=True)
    return pl.coalesce(
        pl.when(effectif >= start).then(pl.lit(code)) for start, code in highest_first
    )
