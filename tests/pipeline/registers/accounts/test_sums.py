"""Lines of which a form states only the parts."""

from datetime import date
from pathlib import Path

import pytest

from pipeline.registers.accounts import account_import, chart
from pipeline.registers.accounts.account_import import amount
from pipeline.registers.accounts.chart import Taxonomy

CLOSING, BEFORE = date(2023, 12, 31), date(2022, 12, 31)


@pytest.fixture
def known(tmp_path: Path) -> Taxonomy:
    path = tmp_path / "elements.csv"
    path.write_text(
        "source,element,code,signe,motif\n"
        "x,whole,TurnoverRevenue,1,\n"
        "x,a + b,TurnoverRevenue,1,\n"
        "x,a,SalesRevenue,1,\n"
    )
    return chart.load_elements("x", path)


def test_parts_are_added_up_on_each_day_and_a_blank_part_is_zero(known: Taxonomy) -> None:
    facts = [
        amount("a", CLOSING, 3.0, "EUR"),
        amount("b", CLOSING, -1.0, "EUR"),
        amount("b", BEFORE, 7.0, "EUR"),
    ]
    found = account_import.add_up_parts(facts, known)

    assert {(fact.key, fact.day, fact.value) for fact in found} == {
        ("a + b", CLOSING, 2.0),
        ("a + b", BEFORE, 7.0),
    }
    assert account_import.computed_lines(found, known) == {
        (2023, "TurnoverRevenue"),
        (2022, "TurnoverRevenue"),
    }


def test_a_line_that_is_stated_is_not_added_up(known: Taxonomy) -> None:
    facts = [amount("whole", CLOSING, 9.0, "EUR"), amount("a", CLOSING, 3.0, "EUR")]

    assert account_import.add_up_parts(facts, known) == []


def test_parts_in_two_currencies_have_no_sum(known: Taxonomy) -> None:
    facts = [amount("a", CLOSING, 3.0, "EUR"), amount("b", CLOSING, 3.0, "SEK")]

    assert account_import.add_up_parts(facts, known) == []
