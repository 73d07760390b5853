"""Activity codes: weights of divisions, notations of registers."""

import polars as pl
import pytest

from pipeline import seeds
from seeds import TABLES


def test_divisions_have_their_weights(companies: pl.DataFrame) -> None:
    table = seeds.read_table(TABLES / "poids_secteurs.csv", ("nace_division", "poids"))
    weights = {row["nace_division"]: float(row["poids"]) for row in table}
    rev2 = companies.filter(pl.col("nace_code").is_not_null() & (pl.col("nace_version") != "2.1"))
    found = rev2["nace_code"].str.head(2).value_counts()

    for division, count in found.iter_rows():
        wanted = weights[division] / sum(weights.values())
        assert count / rev2.height == pytest.approx(wanted, abs=0.01), division


def test_activity_codes_come_in_the_notation_of_their_register(companies: pl.DataFrame) -> None:
    classes = companies.filter(pl.col("nace_code").str.len_bytes() > 4)
    notations = {"FR": r"^\d\d\.\d\d[A-Z]$", "UK": r"^\d{5}$", "DE": r"^\d\d\.\d\d$"}

    for iso2, pattern in notations.items():
        plain = classes.filter((pl.col("iso2") == iso2) & (pl.col("nace_version") == "2"))
        assert plain["nace_code"].str.contains(pattern).all()
    assert set(companies["nace_version"]) == {None, "2", "2.1"}
