"""Ratios that are calculated for many companies together, compared with those of each company alone."""

import csv
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.publishing import shard_input
from pipeline.stages import money
from seeds import TABLES
from shards import format
from shards.ratios import accounts
from shards.ratios.ratio_table import chart_lines, ratios, stored_codes

RATES = money.rates(seeds.read())
LINE_TYPES = {
    "row": pl.UInt32, "exercice": pl.Int64, "code": pl.String, "valeur": pl.Float64,
    "devise": pl.String,
}  # fmt: skip

# Some currencies have no rate; some amounts are 0.0, so that denominators are zero at times.
any_line = st.fixed_dictionaries(
    {
        "row": st.integers(0, 4),
        "exercice": st.sampled_from([2019, 2022, 2023, 2024]),
        "code": st.none() | st.sampled_from([*sorted(chart_lines()), "Unknown"]),
        "valeur": st.sampled_from([0.0, -1.0, 0.5, 100.0]) | st.floats(-1e9, 1e9),
        "devise": st.none() | st.sampled_from(["EUR", "EUR", "EUR", "GBP", "XXX"]),
    }
)


@given(st.lists(any_line, max_size=400))
def test_ratios_of_many_companies_are_the_ratios_of_each_company_alone(
    lines: list[dict[str, Any]],
) -> None:
    lines.sort(key=lambda line: (line["row"], -line["exercice"]))

    columns = shard_input.last_year_ratios(pl.DataFrame(lines, schema=LINE_TYPES), RATES).arrays

    rows = sorted({line["row"] for line in lines})
    expected_by_row = [
        accounts.last_year([line for line in lines if line["row"] == row]) for row in rows
    ]
    assert columns[format.YEARS.decode()].tolist() == [year for year, _ in expected_by_row]
    for code in stored_codes():
        expected = [values[code] for _, values in expected_by_row]
        np.testing.assert_allclose(columns[code], expected, rtol=1e-9, atol=1e-12, err_msg=code)


def test_ratios_that_are_calculated_in_blocks_are_in_the_order_of_companies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shard_input, "_RATIOS_AT_ONCE", 2)
    lines = [
        {"row": row, "exercice": 2024, "code": code, "valeur": value, "devise": "EUR"}
        for row in (1, 5, 6, 9, 12)
        for code, value in (("Equity", float(row)), ("TotalAssets", 10.0))
    ]

    columns = shard_input.last_year_ratios(pl.DataFrame(lines, schema=LINE_TYPES), RATES).arrays

    assert columns["autonomie_financiere"].tolist() == [0.1, 0.5, 0.6, 0.9, 1.2]


def test_every_formula_names_lines_of_the_chart() -> None:
    with (TABLES / "postes.csv").open(encoding="utf-8") as file:
        chart = {row["code"] for row in csv.DictReader(file)}

    assert chart_lines() <= chart
    assert all(ratio.source and ratio.libelle["en"] for ratio in ratios().values())
