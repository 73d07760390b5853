"""Amounts in euros, at the annual average rate of their year (§1), each by its own currency and unit (contract C7).

`ca_eur` is served and searched; a given value is kept. `capital_eur` exists only for the order
`capital_desc` (contract B31), `actif_eur` for bounds of total assets (extension X2); neither is
served. The rate of the euro is 1 in every year, even an unknown one. Any other currency needs a
year and a rate in `seeds/taux.csv`; otherwise the result is null and counted. Nothing is guessed:
neither from a neighbouring year nor from the country.
"""

from typing import Final

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds

EURO: Final = "EUR"
UNCONVERTED: Final = "unconverted"  # working column: the reason for a turnover without euros
CAPITAL: Final = "capital_eur"  # working column: the sort key of capital_desc
ASSETS: Final = "actif_eur"  # working column: what actif_min and actif_max compare


def rates(seeds: Seeds) -> pl.DataFrame:
    """The table of rates: `devise`, `annee`, `taux` (units of the currency for one euro).

    Raises:
        SeedError: a year twice, no currency, or a rate that is no positive number.
    """
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
        raise SeedError(f"taux.csv: {error}; run `python seeds/make/taux.py`") from error
    is_good = frame["taux"].is_finite() & (frame["taux"] > 0)
    is_good &= frame["devise"].str.contains(r"^[A-Z]{3}$")
    if not frame.select("devise", "annee").is_unique().all() or not is_good.all():
        raise SeedError(
            "taux.csv has a year twice, a currency that is not three capitals, or a rate that is no positive number; "
            "run `python seeds/make/taux.py`"
        )
    return frame


def drop_negative_zeros(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Replace -0.0 by 0.0 in every amount, so that equal amounts have equal bytes."""
    numbers = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Float64]
    return frame.with_columns(_without_negative_zero(pl.col(name)).alias(name) for name in numbers)


def convert_turnover(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Fill `ca_eur` = `ca_last` × `ca_mult` ÷ rate, rounded to cents; add UNCONVERTED."""
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
    """Add `capital_eur`: `capital_social` in euros.

    The rate is that of `ca_year`, else of `exercice_actif`, else of the newest year with a rate.
    """
    newest = rates.group_by("devise").agg(pl.col("annee").max().alias("newest_year"))
    dated = companies.join(
        newest.lazy(), left_on="capital_devise", right_on="devise", how="left"
    ).with_columns(annee=pl.coalesce("ca_year", "exercice_actif", "newest_year"))
    euros = pl.col("capital_social") / pl.col("taux")
    key = pl.when(euros.is_finite()).then(_without_negative_zero(euros))
    joined = _with_rate(dated, rates, "capital_devise", "annee")
    return joined.with_columns(key.alias(CAPITAL)).drop("taux", "annee", "newest_year")


def convert_assets(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Add `actif_eur`: `total_actif_last` × `unite_mult` ÷ rate of `exercice_actif`, rounded to cents."""
    joined = _with_rate(companies, rates, "devise", "exercice_actif")
    total = pl.col("total_actif_last") * pl.col("unite_mult").fill_null(1)
    euros = (total / pl.col("taux")).round(2)
    key = pl.when(euros.is_finite()).then(_without_negative_zero(euros))
    return joined.with_columns(key.alias(ASSETS)).drop("taux")


def _with_rate(frame: pl.LazyFrame, rates: pl.DataFrame, currency: str, year: str) -> pl.LazyFrame:
    """Add `taux`: 1 for the euro, null without a rate."""
    joined = frame.join(
        rates.lazy(), left_on=[currency, year], right_on=["devise", "annee"], how="left"
    )
    rate = pl.when(pl.col(currency) == EURO).then(1.0).otherwise(pl.col("taux"))
    return joined.with_columns(rate.alias("taux"))


def _without_negative_zero(amount: pl.Expr) -> pl.Expr:
    # Not `amount + 0.0`, which Polars optimises away.
    return pl.when(amount == 0).then(0.0).otherwise(amount)
