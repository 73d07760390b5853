"""Quantiles, compared with NumPy, and concentration, compared with sums by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.analyses.market import moments
from shards.ratios.distribution import QUANTILES, concentration, quantiles

figures = st.lists(st.floats(-1e9, 1e9) | st.just(float("nan")), max_size=60)


@given(figures)
def test_quantiles_are_those_of_type_7(values: list[float]) -> None:
    known_values = [value for value in values if value == value]  # without NaN

    result = quantiles(np.array(values))
    assert result == quantiles(np.sort(known_values), ascending=True)

    assert result.n == len(known_values)
    if known_values:
        expected = np.quantile(known_values, QUANTILES, method="linear").tolist()
        assert result.values == pytest.approx(expected, rel=1e-9, abs=1e-6)
    else:
        assert result.values == (None,) * len(QUANTILES)


def test_concentration_is_that_of_the_shares() -> None:
    """The shares are 0.6, 0.3 and 0.1: 3 600 + 900 + 100. A loss has no share."""
    turnovers = np.array([-5.0, 10.0, 30.0, 60.0])
    result = concentration(turnovers, [moments(turnovers[:2]), moments(turnovers[2:])])

    assert result is not None
    assert result.hhi == pytest.approx(4_600)
    assert (result.cr4, result.cr10) == pytest.approx((1, 1))
    assert result.gini == pytest.approx(1 / 3)  # (2 × 0.6 - 2 × 0.1) / 3
    assert concentration(turnovers[:1], [moments(turnovers[:1])]) is None
