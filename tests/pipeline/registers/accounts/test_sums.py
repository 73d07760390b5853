"""A line that is not on a form is the sum of its parts that are on the form."""

from datetime import date
from math import nan
from pathlib import Path

import pytest

from pipeline.registers.accounts import account_import, chart
from pipeline.registers.accounts.account_import import amount_fact
from pipeline.registers.accounts.chart import Taxonomy

CLOSING, BEFORE = date(2023, 12, 31), date(2022, 12, 31)


@pytest.fixture
def taxonomy(tmp_path: Path) -> Taxonomy:
    """Turnover is the element `whole`, or the sum of `a` and `b` on a form without `whole`."""
    path = tmp_path / "elements.csv"
    path.write_text(
        "source,element,code,signe,motif\n"
        "x,whole,TurnoverRevenue,1,\n"
        "x,a + b,TurnoverRevenue,1,\n"
        "x,a,SalesRevenue,1,\n"
    )
    return chart.load_elements("x", path)


def test_parts_are_added_up_on_each_day_and_a_blank_part_is_zero(taxonomy: Taxonomy) -> None:
    facts = [
        amount_fact("a", CLOSING, 3.0, "EUR"),
        amount_fact("b", CLOSING, -1.0, "EUR"),
        amount_fact("b", BEFORE, 7.0, "EUR"),
    ]
    result = account_import.add_up_parts(facts, taxonomy)

    assert {(fact.key, fact.day, fact.value) for fact in result} == {
        ("a + b", CLOSING, 2.0),
        ("a + b", BEFORE, 7.0),
    }
    assert account_import.computed_lines(result, taxonomy) == {
        (2023, "TurnoverRevenue"),
        (2022, "TurnoverRevenue"),
    }


def test_a_line_that_is_stated_is_not_added_up(taxonomy: Taxonomy) -> None:
    facts = [amount_fact("whole", CLOSING, 9.0, "EUR"), amount_fact("a", CLOSING, 3.0, "EUR")]

    assert account_import.add_up_parts(facts, taxonomy) == []


def test_parts_in_two_currencies_have_no_sum(taxonomy: Taxonomy) -> None:
    facts = [amount_fact("a", CLOSING, 3.0, "EUR"), amount_fact("b", CLOSING, 3.0, "SEK")]

    assert account_import.add_up_parts(facts, taxonomy) == []


def test_a_part_that_cannot_be_read_has_no_sum(taxonomy: Taxonomy) -> None:
    facts = [amount_fact("a", CLOSING, nan, "EUR"), amount_fact("b", CLOSING, 3.0, "EUR")]

    assert account_import.add_up_parts(facts, taxonomy) == []
