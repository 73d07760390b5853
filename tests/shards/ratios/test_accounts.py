"""Ratios of random annual accounts, compared with the formulas of the oracle (X11)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shards.ratios import accounts
from shards.ratios.accounts import AnnualAccounts
from shards.ratios.ratio_table import MONTHS, ratios
from tests import oracle

# All lines that a formula names. A name in small letters is another ratio.
LINES = sorted(
    {
        term.name
        for ratio in ratios().values()
        for formula in (ratio.numerator, ratio.denominator)
        if formula
        for term in formula.terms
        if not term.name[0].islower()
    }
)
AMOUNT = st.sampled_from([0.0, 1.0, 30.0, 400.5, 7_000.0, -2.0, -5_000.0])
# Statement lines of a year, most of them filed, because the ratio Altman Z needs ten.
FIGURES = st.builds(
    lambda figures, absent: {name: figures[name] for name in figures.keys() - absent},
    st.fixed_dictionaries(dict.fromkeys(LINES, AMOUNT)),
    st.sets(st.sampled_from(LINES), max_size=12),
)
LENGTHS_OF_A_YEAR = st.sampled_from(
    [{}, {MONTHS: 6.0}, {MONTHS: 12.0}, {MONTHS: 18.0}, {MONTHS: 0.0}]
)
YEARS = st.dictionaries(
    st.sampled_from([2021, 2022, 2024]),
    st.builds(lambda figures, months: figures | months, FIGURES, LENGTHS_OF_A_YEAR),
    min_size=1,
)


# Without these lines, each formula uses its last alternative.
FIRST_CHOICES = {
    "ProfitLossAccountReserve", "TotalAssets", "LiabilitiesAndEquity", "Liabilities", "Equity", "GrossProfitLoss",
    "TotalInventories",
}  # fmt: skip


@given(YEARS)
@example(
    {2024: {line: 7.0 + number for number, line in enumerate(LINES) if line not in FIRST_CHOICES}}
)
def test_every_ratio_is_that_of_the_oracle(years: dict[int, dict[str, float]]) -> None:
    """X11: the ratios of each year, such as a margin, from the statement lines of random years"""
    results = accounts.values(
        {year: AnnualAccounts(figures, "EUR") for year, figures in years.items()}
    )

    for (code, year), expected in oracle.ratios(years).items():
        value = results[year][code].value
        assert value == (None if expected is None else pytest.approx(expected)), (code, year)
