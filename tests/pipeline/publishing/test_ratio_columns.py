"""Ratios of many companies at once, against those of one company after the other."""

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
TYPES = {
    "row": pl.UInt32, "exercice": pl.Int64, "code": pl.String, "valeur": pl.Float64,
    "devise": pl.String,
}  # fmt: skip

# Currencies with and without a rate; amounts that repeat, so that denominators are zero at times.
lines = st.fixed_dictionaries(
    {
        "row": st.integers(0, 4),
        "exercice": st.sampled_from([2019, 2022, 2023, 2024]),
        "code": st.none() | st.sampled_from([*sorted(chart_lines()), "Unknown"]),
        "valeur": st.sampled_from([0.0, -1.0, 0.5, 100.0]) | st.floats(-1e9, 1e9),
        "devise": st.none() | st.sampled_from(["EUR", "EUR", "EUR", "GBP", "XXX"]),
    }
)


@given(st.lists(lines, max_size=400))
def test_all_companies_have_the_ratios_of_each_alone(found: list[dict[str, Any]]) -> None:
    found.sort(key=lambda line: (line["row"], -line["exercice"]))

    columns = shard_input.last_year_ratios(pl.DataFrame(found, schema=TYPES), RATES).arrays

    rows = sorted({line["row"] for line in found})
    alone = [accounts.last_year([one for one in found if one["row"] == row]) for row in rows]
    assert columns[format.YEARS.decode()].tolist() == [year for year, _ in alone]
    for code in stored_codes():
        expected = [values[code] for _, values in alone]
        np.testing.assert_allclose(columns[code], expected, rtol=1e-9, atol=1e-12, err_msg=code)


def test_blocks_of_companies_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_input, "_RATIOS_AT_ONCE", 2)
    found = [
        {"row": row, "exercice": 2024, "code": code, "valeur": value, "devise": "EUR"}
        for row in (1, 5, 6, 9, 12)
        for code, value in (("Equity", float(row)), ("TotalAssets", 10.0))
    ]

    columns = shard_input.last_year_ratios(pl.DataFrame(found, schema=TYPES), RATES).arrays

    assert columns["autonomie_financiere"].tolist() == [0.1, 0.5, 0.6, 0.9, 1.2]


def test_every_formula_names_lines_of_the_chart() -> None:
    with (TABLES / "postes.csv").open(encoding="utf-8") as file:
        chart = {row["code"] for row in csv.DictReader(file)}

    assert chart_lines() <= chart
    assert all(ratio.source and ratio.libelle["en"] for ratio in ratios().values())
