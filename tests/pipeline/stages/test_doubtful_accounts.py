"""Accounts that contradict themselves: withheld by rule, and only by rule."""

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
from tests.pipeline.rows import Row, comptes, line

SEEDS = seeds.read()
CHART = chart.load()


def _sheet(**amounts: float) -> list[Row]:
    """A balance sheet of 2020, one line per code of the chart."""
    return [
        line("EE", "1", 2020, etat=CHART[code].etat, code=code, valeur=float(value))
        for code, value in amounts.items()
    ]


def _turnovers(
    *values: float | None, end: str = "", devise: str = "EUR", code: str = "TurnoverRevenue"
) -> list[Row]:
    """A turnover per year from 2018 on; None is a year without one."""
    return [
        line(
            "EE", "1", 2018 + n, etat="compte_resultat", code=f"{code}{end}",
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


@pytest.mark.parametrize(
    ("unit", "amounts", "closes"),
    [
        (1_000, (12, 5, 8, 4), True),
        (1_000_000, (12, 5, 8, 4), True),
        (1_000_000, (12.001, 5, 8, 4), False),  # of thousands
        (1_000, (12.001, 5, 8, 4), False),
        (1_000, (12, 5, 8), False),  # three amounts may be round by chance
        (1_000, (12, 5, 8, 0), False),  # zero is round in any unit
        (1_000, (12, 5, 8, 4, 0), True),
    ],
)
def test_four_round_amounts_are_of_the_unit_to_which_they_are_rounded(
    unit: int, amounts: tuple[float, ...], closes: bool
) -> None:
    codes = ("TotalAssets", "Equity", "Liabilities", "FixedAssets", "CurrentAssets")
    sheet = dict(zip(codes, (amount * unit for amount in amounts), strict=False))

    assert _withheld(*_sheet(**sheet)).is_empty() == closes


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
        ((5_000, 1_000_000, 5_000), [2019]),  # the smallest
        ((5_000, 999_999, 5_000), []),
        ((1_000_000, 100_000_000, 999_999_999), [2018]),  # the two years after agree
        ((1_000_000, 100_000_000, 1_000_000_000), []),  # ten times as much
    ],
)
def test_a_turnover_of_another_scale_than_its_neighbours_is_withheld(
    values: tuple[float | None, ...], years: list[int]
) -> None:
    found = _withheld(*_turnovers(*values), *_sheet(TotalAssets=1))

    assert sorted(found["exercice"]) == years
    assert set(found[REASON]) <= {IMPLAUSIBLE}
    assert set(found["code"]) <= {"TurnoverRevenue"}


@pytest.mark.parametrize(
    ("values", "years"),
    [
        # 424982650, 301165841, 433085149 and 562113530 of the French ratios
        ((1_493_412_649, 6_990_847, 1_783_062_529, 2_017_838_268, 2_557_047_447), [2019]),
        ((326_522_343, 27_407_405, 318_924_818, 388_829_448), [2019]),
        ((178_036_038, 1_685_103_012, 197_001_435, 202_000_000), [2019]),
        ((744_988, 725_502_000, 8_496_000, 122_000), [2019]),
        ((800, 100, 800), []),  # small
        ((7_900_000, 1_000_000, 7_900_000), []),
        ((8_000_000, 1_000_000, 8_000_000), [2019]),
        ((1_000_000, 30_000_000, 31_000_000), []),  # a beginning
        ((8_706_244, 71_234_428, 84_350_141, 88_158_777), []),
        ((184_820_547, 21_427_421, 72_926_357), []),  # 2020, of cruises
        ((50_997_000_000, 4_601_000_000, 4_981_100_000), [2018]),  # above both, and large
        ((210_111_000_000, None, 23_334_800_000), [2018]),
        ((14_239_000, 7_110_679, 6_362_000, 579_102_385), [2021]),
        ((17_000_000, 600_000_000), []),  # the first whole year
        ((50_000_000, 4_000_000, 4_000_000), []),
        ((50_000_000, 0, 60_000_000), []),  # a year in which nothing was sold
        ((1_000_000, 8_000_000, 1_000_000), [2019]),  # eight times both
        ((1_000_000, 7_999_999, 1_000_000), []),
        ((125_000, 1_000_000, 125_000), [2019]),  # the smallest
        ((124_999, 999_999, 124_999), []),
        ((100_000_000, 12_500_000, 12_500_000), [2018]),  # the smallest at an end
        ((99_999_999, 12_000_000, 12_000_000), []),
    ],
)
def test_a_turnover_out_of_line_with_both_neighbours_is_withheld(
    values: tuple[float | None, ...], years: list[int]
) -> None:
    found = _withheld(*_turnovers(*values))

    assert sorted(found["exercice"]) == years
    assert set(found[REASON]) <= {OUT_OF_LINE, IMPLAUSIBLE}


def test_the_income_statement_of_a_turnover_in_another_unit_goes_with_it() -> None:
    turnovers = _turnovers(32_259_000, 34_231_000, 35_576, 35_294_000)
    results = _turnovers(584_000, -1_014_000, 12_672, 763_000, code="ProfitLoss")

    found = _withheld(*turnovers, *results, *_sheet(TotalAssets=1))

    assert sorted(found.select("exercice", "code").rows()) == [
        (2020, "ProfitLoss"), (2020, "TurnoverRevenue"),
    ]  # fmt: skip
    assert set(found[REASON]) == {IMPLAUSIBLE}


@pytest.mark.parametrize(
    ("results", "years"),
    [
        ((10_324_387, 1_122, 11_625_570), [2019]),  # 318919065
        ((-1_479_735, -22, 0), [2019]),  # 389612383
        ((0, 811, None), [2019]),
        ((1_891, 279, 893), []),  # 305635583: a cooperative of shops, without a margin
        ((1_367_284, -3_430, 1_683_644), []),
        ((0, 0, 0), []),
    ],
)
def test_a_result_that_is_nothing_beside_a_large_turnover_is_of_another_unit(
    results: tuple[float | None, ...], years: list[int]
) -> None:
    large = _turnovers(900_000_000, 800_000_000, 850_000_000)

    found = _withheld(*large, *_turnovers(*results, code="ProfitLoss"))

    assert found.select("exercice", "code", REASON).rows() == [
        (year, "ProfitLoss", OTHER_UNIT) for year in years
    ]
    small = _turnovers(900_000, 800_000, 850_000)
    assert _withheld(*small, *_turnovers(*results, code="ProfitLoss")).is_empty()


@pytest.mark.parametrize(
    ("turnover", "results", "years"),
    [
        (100_000_000, (1_000_000, 199, 1_000_000), [2019]),
        (100_000_000, (1_000_000, 200, 1_000_000), []),  # 500 000 times as much, and no more
        (99_999_999, (1_000_000, 1, 1_000_000), []),  # too small to say
        (900_000_000, (100, 1_000, None), [2018, 2019]),
        (900_000_000, (101, 1_000, None), []),  # two years that agree
    ],
)
def test_the_least_turnover_and_result_of_two_units(
    turnover: int, results: tuple[float | None, ...], years: list[int]
) -> None:
    found = _withheld(*_turnovers(*[turnover] * 3), *_turnovers(*results, code="ProfitLoss"))

    assert sorted(found["exercice"]) == years


@pytest.mark.parametrize(
    ("own", "group", "kept"),
    [
        # 542051180 (TOTAL): 200 316 million of the group, then 3 960 and 759 of the company
        ((None, 3_960e6, None, 759e6), (200_316e6,), "TurnoverRevenue"),
        ((None, 40e6, 50e6), (60e6,), "TurnoverRevenue"),
        ((None, 40e6), (60e6,), "TurnoverRevenue"),  # of two equal ones that of the company
        ((None, 40e6), (60e6, None, 70e6), "TurnoverRevenueConsolidated"),
        ((40e6, 50e6), (60e6, 70e6, 80e6), None),  # a year with both: two whole series
    ],
)
def test_accounts_of_a_company_and_of_its_group_never_make_one_series(
    own: tuple[float | None, ...], group: tuple[float | None, ...], kept: str | None
) -> None:
    lines = [*_turnovers(*own), *_turnovers(*group, end="Consolidated")]

    found = _withheld(*lines)

    if kept is None:
        assert found.is_empty()
    else:
        assert set(found[REASON]) == {OTHER_SERIES}
        assert found.height == sum(one["code"] != kept for one in lines)
        assert kept not in set(found["code"])


def test_the_neighbours_of_a_year_are_those_of_the_company_or_its_group() -> None:
    """016250029 (APRR): 30 159 million of the group in 2019, 1 633 of the company, 2 872 of the group."""
    found = _withheld(
        *_turnovers(None, 1_633.2e6), *_turnovers(30_159e6, None, 2_872e6, end="Consolidated")
    )

    assert sorted(found.select("exercice", REASON).rows()) == [
        (2018, OUT_OF_LINE), (2019, OTHER_SERIES),
    ]  # fmt: skip


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
