"""Belgium: annual accounts filed with the Central Balance Sheet Office of the National Bank.

A filing is one XBRL instance of the taxonomy `cbso` 22 or later, in which a fact is a metric with members
of dimensions: total assets are `am1 bas=m25 part=m1`. A fact is used only if it has exactly the members of an
element: a filing has up to 1 300 contexts, most of them parts and notes. The models (full,
abbreviated, micro, associations) share metrics and members.

The year is a dimension: `prd=m1` is this year, `prd=m2` the year before. All contexts have the closing
date, so the year before is assumed to have closed a year earlier, and every year to have twelve months.
Group accounts are not published as XBRL.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from pipeline.registers.accounts import account_import, xbrl_instance
from pipeline.registers.accounts.account_import import (
    NO_CLOSING,
    NO_NUMBER,
    Document,
    FiledAccount,
)
from pipeline.registers.accounts.filing import Fact, FilingError
from pipeline.registers.accounts.xbrl_instance import Item

COMPANY_NUMBER: Final = re.compile(r"[01]\d{9}")  # the number of an enterprise (KBO)


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one filing.

    Raises:
        FilingError: no XBRL, no closing date, or not exactly one company number.
    """
    instance = xbrl_instance.parse(document.read())
    numbers = {_number(context.identifier) for context in instance.contexts}
    if len(numbers) != 1 or not all(map(COMPANY_NUMBER.fullmatch, numbers)):
        raise FilingError(NO_NUMBER, ", ".join(sorted(numbers)))
    closing = max((context.day for context in instance.contexts), default=None)
    if closing is None:
        raise FilingError(NO_CLOSING, "aucun contexte daté")
    yield FiledAccount(
        id=numbers.pop(),
        closing=closing,
        facts=[_fact(item) for item in instance.items],
        filed=f"{closing} {document.name}",
        unreadable=instance.unreadable,
        unread=[_fact(item) for item in instance.unread],
    )


def _number(identifier: str) -> str:
    """The enterprise number in ten digits: `0648822310` for `0648.822.310` and `BE0648822310`."""
    return "".join(letter for letter in identifier if letter.isdigit()).zfill(10)


def _fact(item: Item) -> Fact:
    """The fact of an item; its key is the metric and the members of all dimensions but the year."""
    members = dict(item.context.members)
    is_year_before = members.get("prd") == "m2"
    day = _year_before(item.context.day) if is_year_before else item.context.day
    if members.get("prd") in ("m1", "m2"):  # an amount of any other year has no line
        del members["prd"]
    key = " ".join([item.concept, *(f"{name}={members[name]}" for name in sorted(members))])
    return Fact(key, day, None, item.value, item.currency, item.precision)


def _year_before(day: date) -> date:
    """The same day of the year before; 28 February for 29 February."""
    return day.replace(year=day.year - 1, day=28 if (day.month, day.day) == (2, 29) else day.day)


REGISTER: Final = account_import.register(
    "be-nbb", "BE", (".xbrl", ".xml"), read, is_one_filing=True
)
