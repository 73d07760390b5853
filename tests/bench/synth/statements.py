"""Statement lines: one to five fiscal years per company, consistent with its record.

The newest year has the turnover, headcount, total assets and capital of the company. Every balance
sheet balances. Earlier years are scaled copies of the newest. Codes and labels are from
`seeds/postes.csv`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.seeds import TableRow
from tests.bench.synth.lexicon import YEARS, Profile
from tests.bench.synth.random_draws import Indices, Numbers, choice

_STAFF: Final = ("annexe", "AverageNumberEmployeesDuringPeriod")  # not an amount: no currency
# In the order of the columns of `_lines_of_years`.
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
# Columns of a statement line, each with the column of `seeds/postes.csv` that has its text.
_LABELS: Final = {"etat": "etat", "code": "code", "libelle": "libelle_fr"}
# The number of fiscal years for which a company has statements, with the weights in percent.
_YEARS_EACH: Final = choice(["1", "2", "3", "4", "5"], [12, 20, 28, 22, 18])
_GROWTH: Final = 0.12  # standard deviation of the yearly growth, as a logarithm


def draw(
    companies: pl.DataFrame,
    profile: Profile,
    labels: Mapping[tuple[str, str], TableRow],
    rng: Generator,
) -> pl.DataFrame:
    """Draw the lines of every company of `companies`, in canonical columns."""
    years_per_company = 1 + _YEARS_EACH.places(rng, companies.height)
    # Of each company and year: the row of the company, and the years since its newest year.
    owners = np.repeat(np.arange(companies.height), years_per_company)
    age = np.arange(len(owners)) - np.repeat(
        np.cumsum(years_per_company) - years_per_company, years_per_company
    )
    values = _line_values(companies, owners, age, rng)
    year_row, line = np.nonzero(~np.isnan(values))
    newest_year = pl.coalesce("ca_year", "exercice_actif", pl.lit(YEARS[0]))
    record = companies.select(
        "iso2",
        "id",
        exercice=newest_year,
        devise=pl.coalesce("ca_devise", "devise", pl.lit(profile.devise)),
    )[owners[year_row]]
    rows = [labels[key] for key in LINES]
    return record.select(
        "iso2",
        "id",
        pl.col("exercice") - pl.Series(age[year_row]),
        *(pl.Series(name, [row[label] for row in rows])[line] for name, label in _LABELS.items()),
        pl.Series("valeur", values[year_row, line]),
        pl.when(pl.Series(line != LINES.index(_STAFF))).then("devise").alias("devise"),
        pl.Series("ordre", [int(row["ordre"]) for row in rows])[line],
    )


def _line_values(companies: pl.DataFrame, owners: Indices, age: Indices, rng: Generator) -> Numbers:
    """One row per company and year, one column per line of LINES; NaN: the line is absent.

    Args:
        owners: the row of the company, for each company and year.
        age: the years since the newest year of the company.
    """
    record_figures = companies.select(
        turnover=pl.col("ca_last") * pl.col("ca_mult"),
        assets=pl.col("total_actif_last") * pl.col("unite_mult"),
        capital=pl.col("capital_social"),
        staff=pl.col("effectif").cast(pl.Float64),
    ).fill_null(float("nan"))
    turnover, assets, capital, staff = (
        record_figures[name].to_numpy()[owners] for name in record_figures.columns
    )
    # Companies without published assets get a median of 60 000 (e to the power of 11).
    drawn_assets = np.exp(rng.normal(11, 1.8, companies.height))[owners]
    assets = np.where(np.isnan(assets), drawn_assets, assets)
    growth = np.exp(-age * rng.normal(0.04, _GROWTH, companies.height)[owners])
    figures = (np.round(turnover * growth), np.round(assets * growth), capital, staff)
    return _lines_of_years(figures, rng.random((6, len(owners))))


def _lines_of_years(figures: tuple[Numbers, ...], chance: Numbers) -> Numbers:
    """The amounts of all statement lines: a row per company and year, a column per line in the order of LINES.

    `figures` are turnover, total assets, capital and headcount; the random shares `chance` split them.
    """
    turnover, assets, capital, staff = figures
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
    return np.column_stack(columns) + 0.0  # + 0.0 makes -0.0 a 0
