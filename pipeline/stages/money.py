"""Amounts in euros, at the annual average rate of their year (§1, design.md §3).

`ca_eur` is what is shown and searched; a given one is kept. `capital_eur` is made for the order
`capital_desc` only (contract B31) and never shown. The euro is one euro in every year, even an
unknown one; any other currency needs a year and a rate of `seeds/taux.csv`, or the result is null
and counted. Nothing is guessed: no neighbouring year, no currency of the country.
"""

from typing import Final

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds

EURO: Final = "EUR"
UNCONVERTED: Final = "sans_conversion"  # working column: why a turnover has no euros
CAPITAL: Final = "capital_eur"  # working column: the key of the order capital_desc


def rates(seeds: Seeds) -> pl.DataFrame:
    """`devise`, `annee`, `taux`: units of the currency for one euro."""
    table = seeds.tables["taux"]
    try:
        frame = pl.DataFrame(
            {
                "devise": [row["devise"] for row in table],
                "annee": [int(row["annee"]) for row in table],
                "taux": [float(row["taux"]) for row in table],
            }
        )
    except ValueError as error:
        raise SeedError(f"taux.csv: {error}; run `python seeds/make_taux.py`") from error
    if not frame.select("devise", "annee").is_unique().all() or (frame["taux"] <= 0).any():
        raise SeedError(
            "taux.csv has a year twice or a rate that is not positive; "
            "run `python seeds/make_taux.py`"
        )
    return frame


def drop_negative_zeros(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Every amount of -0.0 as 0.0, so that equal amounts are stored alike."""
    numbers = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Float64]
    return frame.with_columns(_without_negative_zero(pl.col(name)).alias(name) for name in numbers)


def convert_turnover(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Fill `ca_eur` = `ca_last` × `ca_mult` ÷ rate, in cents; add UNCONVERTED."""
    joined = _with_rate(companies, rates, "ca_devise", "ca_year")
    euros = (pl.col("ca_last") * pl.col("ca_mult").fill_null(1) / pl.col("taux")).round(2)
    made = pl.when(euros.is_finite()).then(_without_negative_zero(euros))
    wanted = pl.col("ca_eur").is_null() & pl.col("ca_last").is_not_null()
    foreign = pl.col("ca_devise") != EURO
    why = (
        pl.when(pl.col("ca_devise").is_null())
        .then(pl.lit("sans devise"))
        .when(foreign & pl.col("ca_year").is_null())
        .then(pl.lit("sans exercice"))
        .when(pl.col("taux").is_null())
        .then(pl.format("sans taux {} {}", "ca_devise", "ca_year"))
        .when(~euros.is_finite())
        .then(pl.lit("montant démesuré"))
    )
    return joined.with_columns(
        pl.coalesce("ca_eur", made).alias("ca_eur"),
        pl.when(wanted).then(why).alias(UNCONVERTED),
    ).drop("taux")


def convert_capital(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Add `capital_eur`: `capital_social` at the rate of `ca_year`, else of `exercice_actif`, else
    of the newest year that has one."""
    newest = rates.group_by("devise").agg(pl.col("annee").max().alias("annee_recente"))
    dated = companies.join(
        newest.lazy(), left_on="capital_devise", right_on="devise", how="left"
    ).with_columns(annee=pl.coalesce("ca_year", "exercice_actif", "annee_recente"))
    euros = pl.col("capital_social") / pl.col("taux")
    key = pl.when(euros.is_finite()).then(_without_negative_zero(euros))
    joined = _with_rate(dated, rates, "capital_devise", "annee")
    return joined.with_columns(key.alias(CAPITAL)).drop("taux", "annee", "annee_recente")


def _with_rate(frame: pl.LazyFrame, rates: pl.DataFrame, currency: str, year: str) -> pl.LazyFrame:
    """Add `taux`: 1 for the euro, null where there is none."""
    joined = frame.join(
        rates.lazy(), left_on=[currency, year], right_on=["devise", "annee"], how="left"
    )
    rate = pl.when(pl.col(currency) == EURO).then(1.0).otherwise(pl.col("taux"))
    return joined.with_columns(rate.alias("taux"))


def _without_negative_zero(amount: pl.Expr) -> pl.Expr:
    # Not `amount + 0.0`: Polars optimises that away.
    return pl.when(amount == 0).then(0.0).otherwise(amount)
