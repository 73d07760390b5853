"""Accounts that contradict themselves are withheld, and other accounts are not."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.registers.accounts import chart
from pipeline.stages import doubtful_accounts, statement_lines
from pipeline.stages.doubtful_accounts import (
    IMPLAUSIBLE,
    OTHER_SERIES,
    OTHER_UNIT,
    OUT_OF_LINE,
    UNBALANCED,
)
from pipeline.stages.rejections import REASON
from tests.pipeline.rows import Row, statement_line, statements_frame

SEEDS = seeds.read()
CHART = chart.load_lines()


def _balance_sheet(**amounts: float) -> list[Row]:
    """A balance sheet of 2020, one line per code of the chart."""
    return [
        statement_line("EE", "1", 2020, etat=CHART[code].etat, code=code, valeur=float(value))
        for code, value in amounts.items()
    ]


def _turnovers(
    *values: float | None, code_suffix: str = "", devise: str = "EUR", code: str = "TurnoverRevenue"
) -> list[Row]:
    """A line per year from 2018 on, by default the turnover; None is a year without a line."""
    return [
        statement_line(
            "EE", "1", 2018 + offset, etat="compte_resultat", code=f"{code}{code_suffix}",
            valeur=float(value), devise=devise,
        )
        for offset, value in enumerate(values)
        if value is not None
    ]  # fmt: skip


def _withheld_lines(*lines: Row) -> pl.DataFrame:
    """The lines that are withheld, each with its reason; asserts that no line is lost or changed."""
    rows = statements_frame(*lines).select(list(statement_lines.LINES))
    weighed = doubtful_accounts.add_reasons(rows, SEEDS).collect()

    assert weighed.height == len(lines)
    assert weighed.drop(REASON).sort(pl.all()).equals(rows.collect().sort(pl.all()))
    return weighed.filter(pl.col(REASON).is_not_null())


@pytest.mark.parametrize(
    ("amounts", "closes"),
    [
        # Each of the two figures can be rounded by 1.
        ({"TotalAssets": 100, "LiabilitiesAndEquity": 102}, True),
        ({"TotalAssets": 100, "LiabilitiesAndEquity": 103}, False),
        ({"TotalAssets": 100, "Equity": 40, "Liabilities": 60}, True),
        ({"TotalAssets": 100, "Equity": 40, "Liabilities": 50}, False),
        ({"TotalAssets": 100, "Equity": -20, "Liabilities": 120}, True),
        # Complete: equity with debts within and after a year, or with all debts and provisions.
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
        # Incomplete: a missing amount can be the difference, so only too large debts contradict the assets.
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 50}, True),
        ({"TotalAssets": 100, "Equity": 40, "Creditors": 70}, False),
        ({"TotalAssets": 100, "Equity": 40}, True),
        ({"Equity": 40, "Creditors": 70}, True),
        ({"TotalAssets": 100, "NetAssetsLiabilities": 130, "CreditorsDueWithinOneYear": 1}, False),
    ],
)
def test_a_balance_sheet_that_does_not_close_is_withheld_with_all_its_lines(
    amounts: dict[str, float], closes: bool
) -> None:
    withheld = _withheld_lines(*_balance_sheet(**amounts), *_turnovers(5))

    assert set(withheld["code"]) == (set() if closes else set(amounts))
    assert set(withheld[REASON]) <= {UNBALANCED}


def test_a_difference_within_the_rounding_to_thousands_is_accepted() -> None:
    rounded_amounts = {
        "FixedAssets": 4_000,
        "CurrentAssets": 8_000,
        "TotalAssets": 12_000,
        "Equity": 5_000,
        "Liabilities": 8_000,
    }

    assert _withheld_lines(*_balance_sheet(**rounded_amounts)).is_empty()
    assert _withheld_lines(*_balance_sheet(**{**rounded_amounts, "FixedAssets": 4_001})).height == 5


@pytest.mark.parametrize(
    ("unit", "amounts", "closes"),
    [
        (1_000, (12, 5, 8, 4), True),
        (1_000_000, (12, 5, 8, 4), True),
        (1_000_000, (12.001, 5, 8, 4), False),  # rounded to thousands
        (1_000, (12.001, 5, 8, 4), False),
        (1_000, (12, 5, 8), False),  # three amounts can be round by chance
        (1_000, (12, 5, 8, 0), False),  # zero is round in any unit
        (1_000, (12, 5, 8, 4, 0), True),
    ],
)
def test_a_rounding_difference_is_accepted_if_four_amounts_are_round(
    unit: int, amounts: tuple[float, ...], closes: bool
) -> None:
    codes = ("TotalAssets", "Equity", "Liabilities", "FixedAssets", "CurrentAssets")
    sheet = dict(zip(codes, (amount * unit for amount in amounts), strict=False))

    assert _withheld_lines(*_balance_sheet(**sheet)).is_empty() == closes


def test_the_balance_sheets_of_a_company_and_of_its_group_are_judged_separately() -> None:
    company_lines = _balance_sheet(TotalAssets=100, Equity=40, Liabilities=60)
    group_lines = [
        item | {"code": f"{item['code']}Consolidated"}
        for item in _balance_sheet(TotalAssets=500, Equity=40, Liabilities=60)
    ]

    withheld = _withheld_lines(*company_lines, *group_lines)

    assert set(withheld["code"]) == {
        "TotalAssetsConsolidated",
        "EquityConsolidated",
        "LiabilitiesConsolidated",
    }


@pytest.mark.parametrize(
    ("values", "years"),
    [
        # companies 552001406, 319159877, 410409460 and 380681833 of the French ratios
        ((32_259_000, 34_231_000, 35_576, 35_294_000), [2020]),
        ((2_115_860, 1_723_623_000, 1_909_116_000, 2_121_159_000), [2018]),
        ((12_353_300, 12_139_700_000, 11_674_600_000, 12_171_100_000), [2018]),
        ((1_440_115, 163_319_595, 193_473_165, 223_626_504), [2018]),
        ((251_916_000, 153_581_000, 152_589_000, 114_883), [2021]),
        ((1_864_799, 1_509_868_000), [2018, 2019]),  # which unit is wrong is unknown
        ((2_000_000, None, 2_000_000_000, None, 2_100_000), [2020]),
        ((3_612_167, 7_396_694, 14_897_156, 32_655_830, 59_253_539), []),  # a company that grows
        ((2_000, 300_000, 600_000), []),  # a young company
        ((1_000_000, 1_000_000_000, 900_000, 1_100_000), [2019]),
        ((0, 50_000_000, 60_000_000), []),  # a year without sales is not compared
        # No two years agree, so no scale is known.
        ((1_000_000, 2_000_000_000, 2_000_000_000_000), []),
        ((1_000_000, 30_000_000, 31_000_000), []),  # thirty times as much is growth
        ((5_000, 1_000_000, 5_000), [2019]),  # just large enough to be judged
        ((5_000, 999_999, 5_000), []),
        ((1_000_000, 100_000_000, 999_999_999), [2018]),  # the two years after agree
        (
            (1_000_000, 100_000_000, 1_000_000_000),
            [],
        ),  # ten times as much: the two years after do not agree
    ],
)
def test_a_turnover_of_another_scale_than_its_neighbours_is_withheld(
    values: tuple[float | None, ...], years: list[int]
) -> None:
    """The turnovers are of 2018 and the following years; `years` are those withheld, as filed in another unit."""
    withheld = _withheld_lines(*_turnovers(*values), *_balance_sheet(TotalAssets=1))

    assert sorted(withheld["exercice"]) == years
    assert set(withheld[REASON]) <= {IMPLAUSIBLE}
    assert set(withheld["code"]) <= {"TurnoverRevenue"}


@pytest.mark.parametrize(
    ("values", "years"),
    [
        # companies 424982650, 301165841, 433085149 and 562113530 of the French ratios
        ((1_493_412_649, 6_990_847, 1_783_062_529, 2_017_838_268, 2_557_047_447), [2019]),
        ((326_522_343, 27_407_405, 318_924_818, 388_829_448), [2019]),
        ((178_036_038, 1_685_103_012, 197_001_435, 202_000_000), [2019]),
        ((744_988, 725_502_000, 8_496_000, 122_000), [2019]),
        ((800, 100, 800), []),  # too small to judge
        ((7_900_000, 1_000_000, 7_900_000), []),
        ((8_000_000, 1_000_000, 8_000_000), [2019]),
        ((1_000_000, 30_000_000, 31_000_000), []),  # the first year of a company
        ((8_706_244, 71_234_428, 84_350_141, 88_158_777), []),
        ((184_820_547, 21_427_421, 72_926_357), []),  # a cruise line in 2020
        # 2018, the first year, is large and over eight times each later year.
        ((50_997_000_000, 4_601_000_000, 4_981_100_000), [2018]),
        ((210_111_000_000, None, 23_334_800_000), [2018]),
        # 2021, the last year, is over eight times each earlier year.
        ((14_239_000, 7_110_679, 6_362_000, 579_102_385), [2021]),
        ((17_000_000, 600_000_000), []),  # 2018 can be a part of a year
        ((50_000_000, 4_000_000, 4_000_000), []),
        ((50_000_000, 0, 60_000_000), []),  # a year without sales is not compared
        ((1_000_000, 8_000_000, 1_000_000), [2019]),  # eight times both
        ((1_000_000, 7_999_999, 1_000_000), []),
        ((125_000, 1_000_000, 125_000), [2019]),  # just large enough to be judged
        ((124_999, 999_999, 124_999), []),
        # Just large enough to be judged in the first year.
        ((100_000_000, 12_500_000, 12_500_000), [2018]),
        ((99_999_999, 12_000_000, 12_000_000), []),
    ],
)
def test_a_turnover_out_of_line_with_both_neighbours_is_withheld(
    values: tuple[float | None, ...], years: list[int]
) -> None:
    """The turnovers are of 2018 and the following years; `years` are those withheld.

    A turnover is out of line if it is at least eight times that of both the year before and the year after, or at most
    an eighth of both. The first and the last year are judged only if they are large.
    """
    withheld = _withheld_lines(*_turnovers(*values))

    assert sorted(withheld["exercice"]) == years
    assert set(withheld[REASON]) <= {OUT_OF_LINE, IMPLAUSIBLE}


def test_the_income_statement_of_a_withheld_turnover_is_withheld_too() -> None:
    turnovers = _turnovers(32_259_000, 34_231_000, 35_576, 35_294_000)
    results = _turnovers(584_000, -1_014_000, 12_672, 763_000, code="ProfitLoss")

    withheld = _withheld_lines(*turnovers, *results, *_balance_sheet(TotalAssets=1))

    assert sorted(withheld.select("exercice", "code").rows()) == [
        (2020, "ProfitLoss"), (2020, "TurnoverRevenue"),
    ]  # fmt: skip
    assert set(withheld[REASON]) == {IMPLAUSIBLE}


@pytest.mark.parametrize(
    ("results", "years"),
    [
        ((10_324_387, 1_122, 11_625_570), [2019]),  # company 318919065
        ((-1_479_735, -22, 0), [2019]),  # company 389612383
        ((0, 811, None), [2019]),
        ((1_891, 279, 893), []),  # company 305635583, a cooperative of shops, without a margin
        ((1_367_284, -3_430, 1_683_644), []),
        ((0, 0, 0), []),
    ],
)
def test_a_result_that_is_tiny_against_a_large_turnover_is_withheld_as_of_another_unit(
    results: tuple[float | None, ...], years: list[int]
) -> None:
    large = _turnovers(900_000_000, 800_000_000, 850_000_000)

    withheld = _withheld_lines(*large, *_turnovers(*results, code="ProfitLoss"))

    assert withheld.select("exercice", "code", REASON).rows() == [
        (year, "ProfitLoss", OTHER_UNIT) for year in years
    ]
    small = _turnovers(900_000, 800_000, 850_000)
    assert _withheld_lines(*small, *_turnovers(*results, code="ProfitLoss")).is_empty()


@pytest.mark.parametrize(
    ("turnover", "results", "years"),
    [
        (100_000_000, (1_000_000, 199, 1_000_000), [2019]),
        (100_000_000, (1_000_000, 200, 1_000_000), []),  # exactly 500 000 times as much
        (99_999_999, (1_000_000, 1, 1_000_000), []),  # too small to judge
        # Both results are small against the turnover, but do not agree, as one is ten times the other.
        (900_000_000, (100, 1_000, None), [2018, 2019]),
        # Less than ten times: the results agree, so they are believed.
        (900_000_000, (101, 1_000, None), []),
    ],
)
def test_the_bounds_of_turnover_and_result_from_which_units_differ(
    turnover: int, results: tuple[float | None, ...], years: list[int]
) -> None:
    withheld = _withheld_lines(
        *_turnovers(*[turnover] * 3), *_turnovers(*results, code="ProfitLoss")
    )

    assert sorted(withheld["exercice"]) == years


@pytest.mark.parametrize(
    ("company_turnovers", "group_turnovers", "kept_code"),
    [
        # 542051180 (TOTAL): 200 316 million of the group, then 3 960 and 759 of the company
        ((None, 3_960e6, None, 759e6), (200_316e6,), "TurnoverRevenue"),
        ((None, 40e6, 50e6), (60e6,), "TurnoverRevenue"),
        # Of two series of equal length, the company's is kept.
        ((None, 40e6), (60e6,), "TurnoverRevenue"),
        ((None, 40e6), (60e6, None, 70e6), "TurnoverRevenueConsolidated"),
        # The first year has both turnovers, so the company and its group are two series: nothing is withheld.
        ((40e6, 50e6), (60e6, 70e6, 80e6), None),
    ],
)
def test_accounts_of_a_company_and_of_its_group_never_make_one_series(
    company_turnovers: tuple[float | None, ...],
    group_turnovers: tuple[float | None, ...],
    kept_code: str | None,
) -> None:
    lines = [
        *_turnovers(*company_turnovers),
        *_turnovers(*group_turnovers, code_suffix="Consolidated"),
    ]

    withheld = _withheld_lines(*lines)

    if kept_code is None:
        assert withheld.is_empty()
    else:
        assert set(withheld[REASON]) == {OTHER_SERIES}
        assert withheld.height == sum(entry["code"] != kept_code for entry in lines)
        assert kept_code not in set(withheld["code"])


def test_a_year_of_the_group_is_compared_with_the_other_years_of_the_group() -> None:
    """Company 016250029 (APRR): 30 159 million of the group, 1 633 of the company, 2 872 of the group.

    The group has more years, so the company's year is withheld and the years of the group are compared.
    """
    withheld = _withheld_lines(
        *_turnovers(None, 1_633.2e6),
        *_turnovers(30_159e6, None, 2_872e6, code_suffix="Consolidated"),
    )

    assert sorted(withheld.select("exercice", REASON).rows()) == [
        (2018, OUT_OF_LINE), (2019, OTHER_SERIES),
    ]  # fmt: skip


def test_turnovers_of_another_currency_or_of_the_group_are_not_compared() -> None:
    group = _turnovers(5_000_000_000, 5_100_000_000, code_suffix="Consolidated")

    assert _withheld_lines(*_turnovers(5_000_000, 5_100_000), *group).is_empty()
    assert _withheld_lines(
        *_turnovers(5_000_000), *_turnovers(None, 500_000_000, 510_000_000, devise="HUF")
    ).is_empty()


@given(
    equity=st.integers(-(10**9), 10**9),
    due_within_a_year=st.integers(0, 10**9),
    due_after_a_year=st.integers(0, 10**9),
    error=st.integers(-(10**6), 10**6),
)
def test_any_balance_sheet_stated_in_full_is_withheld_exactly_when_it_does_not_add_up(
    equity: int, due_within_a_year: int, due_after_a_year: int, error: int
) -> None:
    total = equity + due_within_a_year + due_after_a_year + error
    sheet = _balance_sheet(
        TotalAssets=total,
        Equity=equity,
        CreditorsDueWithinOneYear=due_within_a_year,
        CreditorsDueAfterOneYear=due_after_a_year,
        Debtors=1,  # an odd amount, so no rounding to thousands is assumed
    )

    # Each of four figures can be rounded by 1, so a difference of 4 is accepted.
    assert (_withheld_lines(*sheet).height == 5) == (abs(error) > 4)


def test_examples_name_the_company_the_year_and_the_lines() -> None:
    rows = statements_frame(
        *_balance_sheet(TotalAssets=100, LiabilitiesAndEquity=1),
        *_turnovers(1_000_000, 1_000_000_000),
    ).select(list(statement_lines.LINES))

    assert doubtful_accounts.examples(doubtful_accounts.add_reasons(rows, SEEDS)) == {
        f"{UNBALANCED} : 1 2020": 2,
        f"{IMPLAUSIBLE} : 1 2018": 1,
        f"{IMPLAUSIBLE} : 1 2019": 1,
    }
