"""Amounts in euros, at the annual average rate of their year (§1), each by its own currency and unit (contract C7).

`ca_eur` is served and searched; a published value is never replaced. `capital_eur` exists only for the order
`capital_desc` (contract B31), `actif_eur` only for bounds of total assets (extension X2); `capital_eur` and `actif_eur`
are not served. The rate of the euro is 1 in every year, even in an unknown year. Any other currency needs a
year and a rate in `seeds/taux.csv`; otherwise the result is null, and a missing turnover is
counted. No turnover or total of assets is converted at the rate of another year, and no currency is
guessed from the country.
"""

from typing import Final

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Seeds

EURO: Final = "EUR"
UNCONVERTED: Final = "unconverted"  # working column: the reason for a turnover without euros
CAPITAL: Final = "capital_eur"  # working column: the sort key of capital_desc
ASSETS: Final = "actif_eur"  # working column: the value for actif_min and actif_max


def rates(seeds: Seeds) -> pl.DataFrame:
    """The table of rates: `devise`, `annee`, `taux` (units of the currency for one euro).

    Raises:
        SeedError: a year comes twice, or a row has no currency or no positive rate.
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
            "taux.csv has a year twice, a currency that is not three capitals, or a rate that is not a positive number;"
            " run `python seeds/make/taux.py`"
        )
    return frame


def drop_negative_zeros(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Replace -0.0 with 0.0 in every column of floats, so that equal amounts have equal bytes."""
    numbers = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Float64]
    return frame.with_columns(_clear_negative_zero(pl.col(name)).alias(name) for name in numbers)


def convert_turnover(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Fill a missing `ca_eur` with `ca_last` × `ca_mult` ÷ rate, rounded to cents.

    UNCONVERTED is added: the reason why a missing `ca_eur` could not be filled; null otherwise.
    """
    joined = _add_rate(companies, rates, "ca_devise", "ca_year")
    euros = (pl.col("ca_last") * pl.col("ca_mult").fill_null(1) / pl.col("taux")).round(2)
    converted = pl.when(euros.is_finite()).then(_clear_negative_zero(euros))
    is_missing = pl.col("ca_eur").is_null() & pl.col("ca_last").is_not_null()
    is_foreign = pl.col("ca_devise") != EURO
    # The reason why a turnover cannot be converted; null if it can.
    reason = (
        pl.when(pl.col("ca_devise").is_null())
        .then(pl.lit("sans devise"))
        .when(is_foreign & pl.col("ca_year").is_null())
        .then(pl.lit("sans exercice"))
        .when(pl.col("taux").is_null())
        .then(pl.format("sans taux {} {}", "ca_devise", "ca_year"))
        .when(~euros.is_finite())
        .then(pl.lit("montant démesuré"))
    )
    return joined.with_columns(
        pl.coalesce("ca_eur", converted).alias("ca_eur"),
        pl.when(is_missing).then(reason).alias(UNCONVERTED),
    ).drop("taux")


def convert_capital(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Add `capital_eur`: `capital_social` in euros.

    The rate is the rate of `ca_year`; without this year, of `exercice_actif`; without both, of the newest year with a
    rate.
    """
    newest = rates.group_by("devise").agg(pl.col("annee").max().alias("newest_year"))
    dated = companies.join(
        newest.lazy(), left_on="capital_devise", right_on="devise", how="left"
    ).with_columns(annee=pl.coalesce("ca_year", "exercice_actif", "newest_year"))
    euros = pl.col("capital_social") / pl.col("taux")
    sort_key = pl.when(euros.is_finite()).then(_clear_negative_zero(euros))
    joined = _add_rate(dated, rates, "capital_devise", "annee")
    return joined.with_columns(sort_key.alias(CAPITAL)).drop("taux", "annee", "newest_year")


def convert_assets(companies: pl.LazyFrame, rates: pl.DataFrame) -> pl.LazyFrame:
    """Add `actif_eur`: `total_actif_last` × `unite_mult` ÷ rate of `exercice_actif`, rounded to cents."""
    joined = _add_rate(companies, rates, "devise", "exercice_actif")
    total = pl.col("total_actif_last") * pl.col("unite_mult").fill_null(1)
    euros = (total / pl.col("taux")).round(2)
    assets = pl.when(euros.is_finite()).then(_clear_negative_zero(euros))
    return joined.with_columns(assets.alias(ASSETS)).drop("taux")


def _add_rate(frame: pl.LazyFrame, rates: pl.DataFrame, currency: str, year: str) -> pl.LazyFrame:
    """Add `taux`, the rate of the columns `currency` and `year`: 1 for the euro, null if `rates` does not have it."""
    joined = frame.join(
        rates.lazy(), left_on=[currency, year], right_on=["devise", "annee"], how="left"
    )
    rate = pl.when(pl.col(currency) == EURO).then(1.0).otherwise(pl.col("taux"))
    return joined.with_columns(rate.alias("taux"))


def _clear_negative_zero(amount: pl.Expr) -> pl.Expr:
    """An amount, with 0.0 in place of -0.0."""
    # `amount + 0.0` would do the same, but Polars removes it as an addition of nothing.
    return pl.when(amount == 0).then(0.0).otherwise(amount)
