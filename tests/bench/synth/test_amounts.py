"""Figures and dates have the shapes of published ones."""

from collections.abc import Mapping

import polars as pl
import pytest

from tests.bench.synth.synthetic import share


def test_turnover_grows_with_the_headcount_and_is_zero_for_some(companies: pl.DataFrame) -> None:
    euros = companies.filter(pl.col("ca_devise") == "EUR").with_columns(
        euros=pl.col("ca_last") * pl.col("ca_mult")
    )

    def median(condition: pl.Expr) -> float:
        return float(euros.filter(condition).select(pl.col("euros").median()).item())

    small, large = median(pl.col("effectif") == 1), median(pl.col("effectif") >= 10)
    assert large > 5 * small
    assert share(euros, pl.col("euros") == 0) == pytest.approx(0.06, abs=0.02)
    assert euros.select((1 / pl.col("euros")).min()).item() > float("-inf")  # no -0.0


def test_amounts_are_in_the_currency_of_country_and_year(companies: pl.DataFrame) -> None:
    given = companies.filter(pl.col("ca_devise").is_not_null())
    found: Mapping[str, set[str]] = {
        iso2: set(given.filter(pl.col("iso2") == iso2)["ca_devise"]) for iso2 in ("UK", "HR", "FR")
    }

    assert found == {"UK": {"GBP"}, "HR": {"EUR", "HRK"}, "FR": {"EUR"}}
    assert set(given["ca_mult"]) <= {1, 1_000, 1_000_000}
    assert share(companies, pl.col("ca_eur").is_not_null()) == pytest.approx(0.01, abs=0.005)


def test_headcounts_have_a_heavy_tail_and_some_are_a_band_alone(companies: pl.DataFrame) -> None:
    assert share(companies, (pl.col("effectif") >= 10).fill_null(False)) == pytest.approx(
        0.032, abs=0.006
    )
    assert companies.select(pl.col("effectif").max()).item() > 200
    assert share(companies, pl.col("tranche_effectif").is_not_null()) > 0.08
    both = pl.col("tranche_effectif").is_not_null() & pl.col("effectif").is_not_null()
    assert share(companies, both) == 0


def test_dates_are_young_and_some_are_a_year_alone(companies: pl.DataFrame) -> None:
    since_2019 = pl.col("date_creation").str.head(4) >= "2019"

    assert share(companies, since_2019) == pytest.approx(0.5, abs=0.1)
    assert set(companies["date_creation"].drop_nulls().str.len_bytes()) == {4, 7, 10}
