"""Statement lines: one to five fiscal years per company, consistent with its record.

The newest year has the turnover, headcount, total assets and capital of the company. Every balance
sheet balances. Earlier years are the newest one, scaled. Codes and labels are those of
`seeds/postes.csv`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.seeds import Row
from tests.bench.synth.lexicon import YEARS, Profile
from tests.bench.synth.random_draws import Indices, Numbers, choice

_STAFF: Final = ("annexe", "AverageNumberEmployeesDuringPeriod")  # not an amount: no currency
# In the order of the columns of `_year`.
LINES: Final = (
    ("bilan_actif", "FixedAssets"),
    ("bilan_actif", "TotalInventories"),
    ("bilan_actif", "Debtors"),
    ("bilan_actif", "CashBankOnHand"),
    ("bilan_actif", "CurrentAssets"),
    ("bilan_actif", "TotalAssets"),
    ("bilan_passif", "CalledUpShareCapital"),
    ("bilan_passif", "ProfitLossAccountReserve"),
    ("bilan_passif", "Equity"),
    ("bilan_passif", "CreditorsDueWithinOneYear"),
    ("bilan_passif", "CreditorsDueAfterOneYear"),
    ("compte_resultat", "TurnoverRevenue"),
    ("compte_resultat", "CostSales"),
    ("compte_resultat", "GrossProfitLoss"),
    ("compte_resultat", "ProfitLoss"),
    _STAFF,
)
_NAMED: Final = {"etat": "etat", "code": "code", "libelle": "libelle_fr"}
_YEARS_EACH: Final = choice(["1", "2", "3", "4", "5"], [12, 20, 28, 22, 18])
_GROWTH: Final = 0.12  # standard deviation of the logarithm, per year


def draw(
    companies: pl.DataFrame, profile: Profile, labels: Mapping[tuple[str, str], Row], rng: Generator
) -> pl.DataFrame:
    """Draw the lines of every company of `companies`, in canonical columns."""
    each = 1 + _YEARS_EACH.places(rng, companies.height)
    of = np.repeat(np.arange(companies.height), each)
    age = np.arange(len(of)) - np.repeat(np.cumsum(each) - each, each)
    values = _values(companies, of, age, rng)
    year, line = np.nonzero(~np.isnan(values))
    last = pl.coalesce("ca_year", "exercice_actif", pl.lit(YEARS[0]))
    record = companies.select(
        "iso2",
        "id",
        exercice=last,
        devise=pl.coalesce("ca_devise", "devise", pl.lit(profile.devise)),
    )[of[year]]
    rows = [labels[key] for key in LINES]
    return record.select(
        "iso2",
        "id",
        pl.col("exercice") - pl.Series(age[year]),
        *(pl.Series(name, [row[of] for row in rows])[line] for name, of in _NAMED.items()),
        pl.Series("valeur", values[year, line]),
        pl.when(pl.Series(line != LINES.index(_STAFF))).then("devise").alias("devise"),
        pl.Series("ordre", [int(row["ordre"]) for row in rows])[line],
    )


def _values(companies: pl.DataFrame, of: Indices, age: Indices, rng: Generator) -> Numbers:
    """One row per company and year, one column per line of LINES; NaN is no line."""
    filled = companies.select(
        turnover=pl.col("ca_last") * pl.col("ca_mult"),
        assets=pl.col("total_actif_last") * pl.col("unite_mult"),
        capital=pl.col("capital_social"),
        staff=pl.col("effectif").cast(pl.Float64),
    ).fill_null(float("nan"))
    turnover, assets, capital, staff = (filled[name].to_numpy()[of] for name in filled.columns)
    own = np.exp(rng.normal(11, 1.8, companies.height))[of]
    assets = np.where(np.isnan(assets), own, assets)
    grown = np.exp(-age * rng.normal(0.04, _GROWTH, companies.height)[of])
    figures = (np.round(turnover * grown), np.round(assets * grown), capital, staff)
    return _year(figures, rng.random((6, len(of))), age)


def _year(figures: tuple[Numbers, ...], chance: Numbers, age: Indices) -> Numbers:
    turnover, assets, capital, staff = figures
    first = age == 0
    turnover = np.where(first, figures[0], turnover)
    fixed = np.round(assets * 0.7 * chance[0])
    current = assets - fixed
    stock, debtors = np.round(current * 0.4 * chance[1]), np.round(current * 0.4 * chance[2])
    equity = np.round(assets * (chance[3] - 0.2))
    debts = assets - equity
    long_term = np.round(debts * 0.5 * chance[4])
    cost = np.round(turnover * (0.3 + 0.5 * chance[5]))
    profit = np.where(np.isnan(turnover), np.nan, np.round((turnover - cost) * (chance[1] - 0.3)))
    columns = (
        fixed,
        stock,
        debtors,
        current - stock - debtors,
        current,
        assets,
        capital,
        equity - capital,
        equity,
        debts - long_term,
        long_term,
        turnover,
        cost,
        turnover - cost,
        profit,
        staff,
    )
    return np.column_stack(columns) + 0.0
