"""Statements are consistent with their companies and add up."""

import polars as pl
import pytest

from pipeline.canonical import COMPTES
from tests.bench.synth.statements import LINES


def test_the_requested_share_has_statements_of_one_to_five_years(
    companies: pl.DataFrame, comptes: pl.DataFrame
) -> None:
    years = comptes.group_by("iso2", "id").agg(pl.col("exercice").n_unique())

    assert years.height / companies.height == pytest.approx(0.2, abs=0.01)
    assert set(years["exercice"]) == {1, 2, 3, 4, 5}
    assert dict(comptes.schema) == dict(COMPTES)
    assert comptes.select("iso2", "id", "exercice", "code").is_duplicated().sum() == 0


def test_a_balance_sheet_balances(comptes: pl.DataFrame) -> None:
    wide = comptes.pivot("code", index=["iso2", "id", "exercice"], values="valeur")
    debts = pl.col("CreditorsDueWithinOneYear") + pl.col("CreditorsDueAfterOneYear")

    assert set(wide.columns[3:]) == {code for _, code in LINES}
    for total, parts in (
        ("TotalAssets", pl.col("FixedAssets") + pl.col("CurrentAssets")),
        ("TotalAssets", pl.col("Equity") + debts),
        ("GrossProfitLoss", pl.col("TurnoverRevenue") - pl.col("CostSales")),
    ):
        assert wide.select((pl.col(total) - parts).abs().max()).item() < 0.01


def test_the_newest_year_agrees_with_the_record(
    companies: pl.DataFrame, comptes: pl.DataFrame
) -> None:
    turnovers = comptes.filter(pl.col("code") == "TurnoverRevenue").rename({"valeur": "stated"})
    newest = turnovers.join(companies, on=["iso2", "id"]).filter(
        pl.col("exercice") == pl.col("ca_year")
    )

    assert newest.height > 100
    gap = (pl.col("stated") - pl.col("ca_last") * pl.col("ca_mult")).abs()
    assert newest.select(gap.max()).item() < 1
    assert (newest["devise"] == newest["ca_devise"]).all()
    staff = comptes.filter(pl.col("code") == "AverageNumberEmployeesDuringPeriod")
    assert staff["devise"].null_count() == staff.height > 0
