"""Quantiles, ranks and concentration, against NumPy and against sums by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.analyses.market import moments
from shards.ratios.distribution import QUANTILES, concentration, quantiles

figures = st.lists(st.floats(-1e9, 1e9) | st.just(float("nan")), max_size=60)


@given(figures)
def test_quantiles_are_those_of_type_7(found: list[float]) -> None:
    known = [value for value in found if value == value]

    made = quantiles(np.array(found))
    assert made == quantiles(np.sort(known), ascending=True)

    assert made.n == len(known)
    if known:
        expected = np.quantile(known, QUANTILES, method="linear").tolist()
        assert made.values == pytest.approx(expected, rel=1e-9, abs=1e-6)
    else:
        assert made.values == (None,) * len(QUANTILES)


def test_concentration_is_that_of_the_shares() -> None:
    """Shares of 0.6, 0.3 and 0.1: 3 600 + 900 + 100; a loss is no share."""
    found = np.array([-5.0, 10.0, 30.0, 60.0])
    made = concentration(found, [moments(found[:2]), moments(found[2:])])

    assert made is not None
    assert made.hhi == pytest.approx(4_600)
    assert (made.cr4, made.cr10) == pytest.approx((1, 1))
    assert made.gini == pytest.approx(1 / 3)  # (2 × 0.6 - 2 × 0.1) / 3
    assert concentration(found[:1], [moments(found[:1])]) is None
