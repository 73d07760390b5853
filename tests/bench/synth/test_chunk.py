"""Shares of filled fields are those of real registers."""

import polars as pl
import pytest

from tests.bench.synth.synthetic import share


@pytest.mark.parametrize(
    ("column", "expected", "tolerance"),
    [
        ("effectif", 0.44, 0.02),
        ("ca_last", 0.335, 0.03),
        ("capital_social", 0.40, 0.02),
        ("total_actif_last", 0.455, 0.03),
        ("site_web", 0.14, 0.01),
        ("email", 0.08, 0.01),
        ("telephone", 0.09, 0.01),
        ("nace_code", 0.95, 0.01),
        ("date_creation", 0.98, 0.01),
    ],
)
def test_shares_of_filled_fields(
    companies: pl.DataFrame, column: str, expected: float, tolerance: float
) -> None:
    assert share(companies, pl.col(column).is_not_null()) == pytest.approx(expected, abs=tolerance)
