"""Finland: annual accounts filed as XBRL with the Patent and Registration Office (PRH).

Taxonomy `oytp` (FAS): a metric (`mi53` a balance, `md103` an amount of the year) with the line as
member of `MCY`, so that an element is `md103 x673`. Contexts are dated with the closing date of
their year; the member of `REF` says the same once more and is left out. Costs are negative.

The labels of the taxonomy are not in the filings. Lines are known by their sums: `x513` + `x435` =
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
    day,
)
from pipeline.registers.accounts.filing import Fact, FilingError
from pipeline.registers.accounts.xbrl_instance import Item

CLOSING: Final = "di121"
GROUP_MODULE: Final = "_con"  # oytp_gaap_con: group accounts, as `_ind` is of one company


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one filing.

    Raises:
        FilingError: no XBRL, no closing date, or not exactly one company number.
    """
    instance = xbrl_instance.parse(document.read())
    numbers = {context.identifier for context in instance.contexts}
    if len(numbers) != 1:
        raise FilingError(NO_NUMBER, ", ".join(sorted(numbers)))
    latest = max(context.day for context in instance.contexts)
    stated = instance.text(CLOSING)
    closing = day(stated) if stated else latest
    yield FiledAccount(
        id=numbers.pop(),
        closing=closing,
        facts=[_fact(item) for item in instance.items],
        filed=f"{closing} {document.name}",
        group=GROUP_MODULE in instance.schema.rpartition("/")[2],
        unreadable=instance.unreadable,
    )


def _fact(item: Item) -> Fact:
    members = {name: member for name, member in item.context.members.items() if name != "REF"}
    line = members.pop("MCY", "")
    rest = [f"{name}={members[name]}" for name in sorted(members)]
    key = " ".join([item.concept, *([line] if line else []), *rest])
    return Fact(key, item.context.day, None, item.value, item.currency, item.precision)


REGISTER: Final = account_import.register(
    "fi-comptes", "FI", (".xbrl", ".xml"), read, is_one_filing=True
)
