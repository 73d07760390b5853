"""From the facts of a filing to statement lines, rule by rule."""

from datetime import date

import pytest

from pipeline.registers.accounts import chart, statement
from pipeline.registers.accounts.filing import Fact
from pipeline.registers.accounts.statement import Amount, Tally

TAXONOMY = chart.load_elements("uk-accounts")


# The last and first day of a fiscal year, and the last day of the year before.
CLOSING, FIRST_DAY, BEFORE = date(2017, 9, 30), date(2016, 10, 1), date(2016, 9, 30)
YearAndCode = tuple[int, str]  # a fiscal year, and the code of a line


# -- the rules on facts ----------------------------------------------------------------------------


def _fact(
    key: str, value: float, day: date = CLOSING, start: date | None = None, precision: float = 0
) -> Fact:
    """A fact in pounds: on `day`, or from `start` to `day`; `precision` is the attribute `decimals`."""
    return Fact(key, day, start, value, "GBP", precision)


def _amounts_and_tally(*facts: Fact) -> tuple[dict[YearAndCode, float], Tally]:
    """The amounts of a filing that closes on CLOSING, by year and code, and the counts of its facts."""
    tally = Tally()
    amount_list: list[Amount] = statement.amounts(facts, CLOSING, TAXONOMY, tally)
    return {(amount.exercice, amount.line.code): amount.valeur for amount in amount_list}, tally


def test_a_balance_on_the_first_day_is_the_close_of_the_year_before() -> None:
    # The fiscal year is the calendar year 2017: a balance of 1 January 2017 is the close of 2016, although its date is
    # in 2017.
    first_day, last_day = date(2017, 1, 1), date(2017, 12, 31)
    facts = (
        _fact("ProfitLoss", 3, last_day, start=first_day),
        _fact("Equity", 10, last_day),
        _fact("Equity", 7, first_day),
        _fact("Debtors", 5, first_day),
    )

    lines = statement.amounts(facts, last_day, TAXONOMY, Tally())

    assert [
        (amount.exercice, amount.line.code, amount.valeur)
        for amount in lines
        if amount.line.code not in {"TotalAssets", "PeriodMonths"}
    ] == [
        (2016, "Equity", 7),
        (2016, "Debtors", 5),
        (2017, "ProfitLoss", 3),
        (2017, "Equity", 10),
    ]


@pytest.mark.parametrize(
    ("start", "months"),
    [
        (FIRST_DAY, 12.0),
        (date(2016, 10, 2), 12.0),  # a year of 52 weeks
        (date(2016, 9, 25), 12.0),  # a year of 53 weeks
        (date(2016, 4, 1), 18.0),
        (date(2017, 2, 14), 8.0),
        # Five years: too long for a fiscal year, perhaps since the foundation.
        (date(2012, 10, 1), None),
    ],
)
def test_a_fiscal_year_has_a_line_with_its_length_in_months(
    start: date, months: float | None
) -> None:
    """The length is that of the longest period; without periods, it follows from the first day in the register."""
    quarter = _fact("Turnover", 3, start=date(2017, 7, 1))
    amounts_by_code, tally = _amounts_and_tally(
        _fact("ProfitLoss", 3, start=start), quarter, _fact("Equity", 7)
    )
    amounts_with_start = statement.amounts([_fact("Equity", 7)], CLOSING, TAXONOMY, Tally(), start)

    assert amounts_by_code.get((2017, "PeriodMonths")) == months
    assert [
        amount.valeur for amount in amounts_with_start if amount.line.code == "PeriodMonths"
    ] == [months] * bool(months)
    assert tally.counts["durées d'exercice invraisemblables"] == (start.year == 2012)


def test_the_later_of_two_closings_in_a_calendar_year_counts() -> None:
    amounts, tally = _amounts_and_tally(_fact("Equity", 10), _fact("Equity", 7, date(2017, 3, 31)))

    assert amounts == {(2017, "Equity"): 10}
    assert tally.counts["faits à une autre date que la clôture"] == 1


def test_a_date_after_the_closing_or_far_before_it_makes_no_fiscal_year() -> None:
    amounts, _ = _amounts_and_tally(
        _fact("Equity", 10),
        _fact("Equity", 1, date(2071, 9, 30)),
        _fact("Equity", 2, date(217, 9, 30)),
    )

    assert amounts == {(2017, "Equity"): 10}


def test_the_more_precise_of_contradictory_facts_is_kept_and_they_are_counted() -> None:
    amounts, tally = _amounts_and_tally(
        _fact("Equity", 12000, precision=-3),
        _fact("Equity", 12345, precision=0),
        _fact("Equity", 12345, precision=0),
    )

    assert amounts == {(2017, "Equity"): 12345}
    assert tally.counts["faits contradictoires"] == 1
    assert tally.counts["faits répétés"] == 2


def test_the_longer_of_two_periods_that_end_together_is_the_fiscal_year() -> None:
    amounts, _ = _amounts_and_tally(
        _fact("TurnoverRevenue", 25, start=date(2017, 7, 1)),
        _fact("TurnoverRevenue", 100, start=FIRST_DAY),
    )

    assert amounts == {(2017, "TurnoverRevenue"): 100, (2017, "PeriodMonths"): 12}


def test_the_first_mapped_of_two_concepts_of_one_line_is_used() -> None:
    first_mapped, second_mapped = (
        _fact("PropertyPlantEquipment", 10),
        _fact("TangibleFixedAssets", 11),
    )

    assert _amounts_and_tally(first_mapped, second_mapped)[0][2017, "PropertyPlantEquipment"] == 10
    assert _amounts_and_tally(second_mapped, first_mapped)[0][2017, "PropertyPlantEquipment"] == 10


def test_unequal_facts_of_several_share_classes_give_no_line() -> None:
    amounts, tally = _amounts_and_tally(
        _fact("Equity", 1500),
        _fact("NumberOrdinarySharesAllotted", 1000),
        _fact("NumberOrdinarySharesAllotted", 500),
    )

    assert amounts == {(2017, "Equity"): 1500}
    assert tally.counts["lignes d'annexe écartées (contradictoires)"] == 1


def test_parts_of_a_total_are_left_out_and_unknown_concepts_counted_by_name() -> None:
    _, tally = _amounts_and_tally(
        _fact("Equity", 1),
        _fact("PropertyPlantEquipment[PlantMachinery]", 5),  # a part of a total
        _fact("RateDepreciation", 0.25),  # ignored on purpose
        _fact("LicornesDomestiquées", 3),  # unknown
    )

    assert tally.counts["faits ventilés (le total est repris)"] == 1
    assert tally.ignored.total() == 1
    assert tally.unknown == {"LicornesDomestiquées": 1}


@pytest.mark.parametrize(
    ("facts", "total"),
    [
        ({"FixedAssets": 10, "CurrentAssets": 5}, 15),
        ({"CurrentAssets": 5, "CalledUpShareCapitalNotPaid": 1}, 6),
        ({"TangibleFixedAssets": 10, "CashBankInHand": 2, "Debtors": 3}, 15),
        ({"FixedAssets": 10, "TangibleFixedAssets": 10, "CashBankInHand": 0.5}, 10.5),
        (
            {
                "CurrentAssets": 5,
                "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal": 2,
            },
            7,
        ),
        ({"CalledUpShareCapitalNotPaid": 1}, None),
        ({"CurrentAssets": -5}, None),
        ({"CurrentAssets": 0}, 0),
    ],
)
def test_total_assets_are_the_sum_of_the_filed_assets(
    facts: dict[str, float], total: float | None
) -> None:
    amounts, _ = _amounts_and_tally(*(_fact(key, value) for key, value in facts.items()))

    assert amounts.get((2017, "TotalAssets")) == total


def test_a_total_that_is_filed_is_not_added_up() -> None:
    amounts, _ = _amounts_and_tally(_fact("TotalAssets", 99), _fact("CurrentAssets", 5))

    assert amounts[2017, "TotalAssets"] == 99


def test_assets_in_two_currencies_have_no_total() -> None:
    euros = _fact("FixedAssets", 10)._replace(currency="EUR")

    amounts, tally = _amounts_and_tally(_fact("CurrentAssets", 5), euros)

    assert (2017, "TotalAssets") not in amounts
    assert tally.counts["total de l'actif non calculé (plusieurs devises)"] == 1


def test_the_balance_sheet_of_an_indebted_company_is_not_taken_for_upside_down() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "NetCurrentAssetsLiabilities": -200,
        "TotalAssetsLessCurrentLiabilities": -200,
    }

    amounts, tally = _amounts_and_tally(*(_fact(key, value) for key, value in facts.items()))

    assert amounts[2017, "NetCurrentAssetsLiabilities"] == -200
    assert tally.counts["total de l'actif confirmé"] == 1


def test_a_balance_sheet_that_does_not_add_up_stays_as_filed() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "TotalAssetsLessCurrentLiabilities": 400,
    }

    amounts, tally = _amounts_and_tally(*(_fact(key, value) for key, value in facts.items()))

    assert amounts[2017, "CurrentAssets"] == 100
    assert amounts[2017, "TotalAssetsLessCurrentLiabilities"] == 400
    assert tally.counts["total de l'actif contredit"] == 1


def test_disposals_are_positive_whatever_the_filed_sign() -> None:
    amounts, _ = _amounts_and_tally(
        _fact("Equity", 1), _fact("TangibleFixedAssetsDisposals", -4, start=FIRST_DAY)
    )

    assert amounts[2017, "DisposalsPropertyPlantEquipment"] == 4
