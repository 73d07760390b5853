"""Finland: annual accounts filed as XBRL with the Patent and Registration Office (PRH).

Taxonomy `oytp` (FAS): a fact has a metric (`mi53` a balance, `md103` an amount of the year), and its line is a
member of the dimension `MCY`, so an element is `md103 x673`. Contexts have the closing date of their year; the
member of the dimension `REF` repeats that date and is left out. Costs are negative.

The labels of the taxonomy are not in the filings. Lines were identified by their sums: `x513` + `x435` =
`x360` = `x481`; `x376` is equity, since `x4116` + `x932` + `x2895` = `x376` and `x2895` = `x740`,
the result of the year.
"""

from collections.abc import Iterator
from typing import Final

from pipeline.registers.accounts import account_import, xbrl_instance
from pipeline.registers.accounts.account_import import (
    NO_NUMBER,
    Document,
    FiledAccount,
    parse_day,
)
from pipeline.registers.accounts.filing import Fact, FilingError
from pipeline.registers.accounts.xbrl_instance import Item

CLOSING_CONCEPT: Final = "di121"  # the concept of the closing date
GROUP_MODULE: Final = "_con"  # in the schema of group accounts; the schema of a company has `_ind`


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one filing.

    Raises:
        FilingError: no XBRL, no closing date, or not exactly one company number.
    """
    instance = xbrl_instance.parse(document.read())
    numbers = {context.identifier for context in instance.contexts}
    if len(numbers) != 1:
        raise FilingError(NO_NUMBER, ", ".join(sorted(numbers)))
    latest_day = max(context.day for context in instance.contexts)
    stated_closing = instance.text(CLOSING_CONCEPT)
    closing = parse_day(stated_closing) if stated_closing else latest_day
    yield FiledAccount(
        id=numbers.pop(),
        closing=closing,
        facts=[_fact(item) for item in instance.items],
        filed=f"{closing} {document.name}",
        group=GROUP_MODULE in instance.schema.rpartition("/")[2],
        unreadable=instance.unreadable,
        unread=[_fact(item) for item in instance.unread],
    )


def _fact(item: Item) -> Fact:
    """The fact of an item; its key is the metric, the line and the other members, such as `md103 x673`."""
    members = {name: member for name, member in item.context.members.items() if name != "REF"}
    line_member = members.pop("MCY", "")
    other_members = [f"{name}={members[name]}" for name in sorted(members)]
    key = " ".join([item.concept, *([line_member] if line_member else []), *other_members])
    return Fact(key, item.context.day, None, item.value, item.currency, item.precision)


REGISTER: Final = account_import.register(
    "fi-comptes", "FI", (".xbrl", ".xml"), read, is_one_filing=True
)
