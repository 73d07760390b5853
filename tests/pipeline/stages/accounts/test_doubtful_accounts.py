"""Accounts that contradict themselves: withheld by rule, and only by rule."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.registers.statements import chart
from pipeline.stages.accounts import doubtful_accounts, statement_lines
from pipeline.stages.accounts.doubtful_accounts import IMPLAUSIBLE, UNBALANCED
from pipeline.stages.rejections import REASON
from tests.pipeline.inputs import Row, comptes, line

SEEDS = seeds.read()
CHART = chart.load()


def _sheet(**amounts: float) -> list[Row]:
    """A balance sheet of 2020, one line per code of the chart."""
    return [
        line("EE", "1", 2020, etat=CHART[code].etat, code=code, valeur=float(value))
        for code, value in amounts.items()
    ]


def _turnovers(*values: float | None, end: str = "", devise: str = "EUR") -> list[Row]:
    """A turnover per year from 2018 on; None is a year without one."""
    return [
        line(
            "EE", "1", 2018 + n, etat="compte_resultat", code=f"TurnoverRevenue{end}",
            valeur=float(value), devise=devise,
        )
        for n, value in enumerate(values)
        if value is not None
    ]  # fmt: skip


def _withheld(*lines: Row) -> pl.DataFrame:
    kept = comptes(*lines).select(list(statement_lines.LINES))
    weighed = doubtful_accounts.add_reasons(kept, SEEDS).collect()

    assert weighed.height == len(lines)
    assert weighed.drop(REASON).sort(pl.all()).equals(kept.collect().sort(pl.all()))
    return weighed.filter(pl.col(REASON).is_not_null())


@pytest.mark.parametrize(
    ("amounts", "closes"),
    [
        ({"TotalAssets": 100, "LiabilitiesAndEquity": 102}, True),  # a unit for each figure
        ({"TotalAssets": 100, "LiabilitiesAndEquity": 103}, False),
        ({"TotalAssets": 100, "Equity": 40, "Liabilities": 60}, True),
        ({"TotalAssets": 100, "Equity": 40, "Liabilities": 50}, False),
        ({"TotalAssets": 100, "Equity": -20, "Liabilities": 120}, True),
        # equity and debts in full: within and after one year, or all debts beside provisions
        (
            {
                "TotalAssets": 100,
                "Equity": 40,
                "CreditorsDueWithinOneYear": 30,
                "CreditorsDueAfterOneYear": 30,
            },
            True,
        ),
        (
            {
                "TotalAssets": 100,
                "Equity": 40,
                "CreditorsDueWithinOneYear": 30,
                "CreditorsDueAfterOneYear": 20,
            },
            False,
        ),
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 50, "ProvisionsForLiabilities": 10}, True),
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 50, "ProvisionsForLiabilities": 0}, False),
        # in part: what is not stated may be the difference, if it can be
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 50}, True),
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 70}, False),
        ({"TotalAssets": 100, "Equity": 40}, True),
        ({"Equity": 40, "Creditors": 70}, True),
        ({"TotalAssets": 100, "NetAssetsLiabilities": 130, "CreditorsDueWithinOneYear": 1}, False),
    ],
)
def test_a_balance_sheet_closes_or_is_withheld_whole(
    amounts: dict[str, float], closes: bool
) -> None:
    found = _withheld(*_sheet(**amounts), *_turnovers(5))

    assert set(found["code"]) == (set() if closes else set(amounts))
    assert set(found[REASON]) <= {UNBALANCED}


def test_the_rounding_of_thousands_is_no_difference() -> None:
    of_thousands = {
        "FixedAssets": 4_000,
        "CurrentAssets": 8_000,
        "TotalAssets": 12_000,
        "Equity": 5_000,
        "Liabilities": 8_000,
    }

    assert _withheld(*_sheet(**of_thousands)).is_empty()
    assert _withheld(*_sheet(**{**of_thousands, "FixedAssets": 4_001})).height == 5


def test_the_company_and_its_group_are_judged_apart() -> None:
    own = _sheet(TotalAssets=100, Equity=40, Liabilities=60)
    group = [
        one | {"code": f"{one['code']}Consolidated"}
        for one in _sheet(TotalAssets=500, Equity=40, Liabilities=60)
    ]

    found = _withheld(*own, *group)

    assert set(found["code"]) == {
        "TotalAssetsConsolidated",
        "EquityConsolidated",
        "LiabilitiesConsolidated",
    }


@pytest.mark.parametrize(
    ("values", "years"),
    [
        # 552001406, 319159877, 410409460 and 380681833 of the French ratios
        ((32_259_000, 34_231_000, 35_576, 35_294_000), [2020]),
        ((2_115_860, 1_723_623_000, 1_909_116_000, 2_121_159_000), [2018]),
        ((12_353_300, 12_139_700_000, 11_674_600_000, 12_171_100_000), [2018]),
        ((1_440_115, 163_319_595, 193_473_165, 223_626_504), [2018]),
        ((251_916_000, 153_581_000, 152_589_000, 114_883), [2021]),
        ((1_864_799, 1_509_868_000), [2018, 2019]),  # either may be in another unit
        ((2_000_000, None, 2_000_000_000, None, 2_100_000), [2020]),
        ((3_612_167, 7_396_694, 14_897_156, 32_655_830, 59_253_539), []),  # growth
        ((2_000, 300_000, 600_000), []),  # a young company
        ((1_000_000, 1_000_000_000, 900_000, 1_100_000), [2019]),
        ((0, 50_000_000, 60_000_000), []),  # nothing was sold
        ((1_000_000, 2_000_000_000, 2_000_000_000_000), []),  # no two years agree
        ((1_000_000, 30_000_000, 31_000_000), []),  # thirtyfold
    ],
)
def test_a_turnover_of_another_scale_than_its_neighbours_is_withheld(
    values: tuple[float | None, ...], years: list[int]
) -> None:
    found = _withheld(*_turnovers(*values), *_sheet(TotalAssets=1))

    assert sorted(found["exercice"]) == years
    assert set(found[REASON]) <= {IMPLAUSIBLE}
    assert set(found["code"]) <= {"TurnoverRevenue"}


def test_turnovers_of_another_currency_or_of_the_group_are_no_neighbours() -> None:
    group = _turnovers(5_000_000_000, 5_100_000_000, end="Consolidated")

    assert _withheld(*_turnovers(5_000_000, 5_100_000), *group).is_empty()
    assert _withheld(
        *_turnovers(5_000_000), *_turnovers(None, 500_000_000, 510_000_000, devise="HUF")
    ).is_empty()


@given(
    equity=st.integers(-(10**9), 10**9),
    within=st.integers(0, 10**9),
    after=st.integers(0, 10**9),
    slip=st.integers(-(10**6), 10**6),
)
def test_any_balance_sheet_stated_in_full_is_withheld_exactly_when_it_does_not_add_up(
    equity: int, within: int, after: int, slip: int
) -> None:
    total = equity + within + after + slip
    sheet = _sheet(
        TotalAssets=total,
        Equity=equity,
        CreditorsDueWithinOneYear=within,
        CreditorsDueAfterOneYear=after,
        Debtors=1,  # no rounding to thousands
    )

    assert (_withheld(*sheet).height == 5) == (abs(slip) > 4)


def test_examples_name_the_company_the_year_and_the_lines() -> None:
    kept = comptes(
        *_sheet(TotalAssets=100, LiabilitiesAndEquity=1), *_turnovers(1_000_000, 1_000_000_000)
    ).select(list(statement_lines.LINES))

    assert doubtful_accounts.examples(doubtful_accounts.add_reasons(kept, SEEDS)) == {
        f"{UNBALANCED} : 1 2020": 2,
        f"{IMPLAUSIBLE} : 1 2018": 1,
        f"{IMPLAUSIBLE} : 1 2019": 1,
    }
