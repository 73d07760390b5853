"""From the facts of a filing to statement lines, rule by rule."""

from datetime import date

import pytest

from pipeline.registers.accounts import chart, statement
from pipeline.registers.accounts.filing import Fact
from pipeline.registers.accounts.statement import Amount, Tally

TAXONOMY = chart.load_elements("uk-accounts")


CLOSE, OPEN, BEFORE = date(2017, 9, 30), date(2016, 10, 1), date(2016, 9, 30)


Key = tuple[int, str]


# -- the rules on facts ----------------------------------------------------------------------------


def _fact(
    key: str, value: float, day: date = CLOSE, start: date | None = None, precision: float = 0
) -> Fact:
    return Fact(key, day, start, value, "GBP", precision)


def _read(*facts: Fact) -> tuple[dict[Key, float], Tally]:
    tally = Tally()
    found: list[Amount] = statement.amounts(facts, CLOSE, TAXONOMY, tally)
    return {(amount.exercice, amount.line.code): amount.valeur for amount in found}, tally


def test_a_balance_on_the_first_day_is_the_close_of_the_year_before() -> None:
    # The year runs with the calendar, so 1 January would be of the year it opens.
    year = date(2017, 1, 1), date(2017, 12, 31)
    facts = (
        _fact("ProfitLoss", 3, year[1], start=year[0]),
        _fact("Equity", 10, year[1]),
        _fact("Equity", 7, year[0]),
        _fact("Debtors", 5, year[0]),
    )

    found = statement.amounts(facts, year[1], TAXONOMY, Tally())

    assert [(a.exercice, a.line.code, a.valeur) for a in found if a.line.code != "TotalAssets"] == [
        (2016, "Equity", 7),
        (2016, "Debtors", 5),
        (2017, "ProfitLoss", 3),
        (2017, "Equity", 10),
    ]


@pytest.mark.parametrize(
    ("start", "months"),
    [
        (OPEN, None),
        (date(2016, 10, 2), None),  # 52 weeks
        (date(2016, 9, 25), None),  # 53 weeks
        (date(2016, 4, 1), 18.0),
        (date(2017, 2, 14), 8.0),
        (date(2012, 10, 1), None),  # since a foundation, perhaps: no fiscal year
    ],
)
def test_a_year_of_other_than_twelve_months_says_its_length(
    start: date, months: float | None
) -> None:
    """By the longest period of its facts, or by the register where facts have none."""
    short = _fact("Turnover", 3, start=date(2017, 7, 1))
    found, tally = _read(_fact("ProfitLoss", 3, start=start), short, _fact("Equity", 7))
    amounts = statement.amounts([_fact("Equity", 7)], CLOSE, TAXONOMY, Tally(), start)

    assert found.get((2017, "PeriodMonths")) == months
    assert [a.valeur for a in amounts if a.line.code == "PeriodMonths"] == [months] * bool(months)
    assert tally.counts["durées d'exercice invraisemblables"] == (start.year == 2012)


def test_of_two_closings_in_a_calendar_year_the_later_counts() -> None:
    found, tally = _read(_fact("Equity", 10), _fact("Equity", 7, date(2017, 3, 31)))

    assert found == {(2017, "Equity"): 10}
    assert tally.counts["faits à une autre date que la clôture"] == 1


def test_a_date_after_the_closing_or_far_before_it_makes_no_fiscal_year() -> None:
    found, _ = _read(
        _fact("Equity", 10),
        _fact("Equity", 1, date(2071, 9, 30)),
        _fact("Equity", 2, date(217, 9, 30)),
    )

    assert found == {(2017, "Equity"): 10}


def test_of_unequal_facts_the_more_precise_is_kept_and_the_case_counted() -> None:
    found, tally = _read(
        _fact("Equity", 12000, precision=-3),
        _fact("Equity", 12345, precision=0),
        _fact("Equity", 12345, precision=0),
    )

    assert found == {(2017, "Equity"): 12345}
    assert tally.counts["faits contradictoires"] == 1
    assert tally.counts["faits répétés"] == 2


def test_of_two_periods_that_end_together_the_longer_is_the_fiscal_year() -> None:
    found, _ = _read(
        _fact("TurnoverRevenue", 25, start=date(2017, 7, 1)),
        _fact("TurnoverRevenue", 100, start=OPEN),
    )

    assert found == {(2017, "TurnoverRevenue"): 100}


def test_of_two_concepts_of_one_line_the_first_in_the_mapping_is_read() -> None:
    new, old = _fact("PropertyPlantEquipment", 10), _fact("TangibleFixedAssets", 11)

    assert _read(new, old)[0][2017, "PropertyPlantEquipment"] == 10
    assert _read(old, new)[0][2017, "PropertyPlantEquipment"] == 10


def test_rows_of_a_table_of_share_classes_give_no_line() -> None:
    found, tally = _read(
        _fact("Equity", 1500),
        _fact("NumberOrdinarySharesAllotted", 1000),
        _fact("NumberOrdinarySharesAllotted", 500),
    )

    assert found == {(2017, "Equity"): 1500}
    assert tally.counts["lignes d'annexe écartées (contradictoires)"] == 1


def test_a_part_of_a_known_total_is_left_and_an_unknown_concept_is_named() -> None:
    _, tally = _read(
        _fact("Equity", 1),
        _fact("PropertyPlantEquipment[PlantMachinery]", 5),
        _fact("RateDepreciation", 0.25),
        _fact("LicornesDomestiquées", 3),
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
def test_total_assets_are_added_up_from_what_is_filed(
    facts: dict[str, float], total: float | None
) -> None:
    found, _ = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found.get((2017, "TotalAssets")) == total


def test_a_total_that_is_filed_is_not_added_up() -> None:
    found, _ = _read(_fact("TotalAssets", 99), _fact("CurrentAssets", 5))

    assert found[2017, "TotalAssets"] == 99


def test_assets_in_two_currencies_have_no_total() -> None:
    euros = _fact("FixedAssets", 10)._replace(currency="EUR")

    found, tally = _read(_fact("CurrentAssets", 5), euros)

    assert (2017, "TotalAssets") not in found
    assert tally.counts["total de l'actif non calculé (plusieurs devises)"] == 1


def test_a_company_that_owes_more_than_it_owns_is_not_turned_over() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "NetCurrentAssetsLiabilities": -200,
        "TotalAssetsLessCurrentLiabilities": -200,
    }

    found, tally = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found[2017, "NetCurrentAssetsLiabilities"] == -200
    assert tally.counts["total de l'actif confirmé"] == 1


def test_a_balance_that_does_not_add_up_is_left_as_it_was_filed() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "TotalAssetsLessCurrentLiabilities": 400,
    }

    found, tally = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found[2017, "CurrentAssets"] == 100
    assert found[2017, "TotalAssetsLessCurrentLiabilities"] == 400
    assert tally.counts["total de l'actif contredit"] == 1


def test_disposals_are_amounts_whatever_the_sign_filed() -> None:
    found, _ = _read(_fact("Equity", 1), _fact("TangibleFixedAssetsDisposals", -4, start=OPEN))

    assert found[2017, "DisposalsPropertyPlantEquipment"] == 4
