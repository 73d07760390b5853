"""Denmark: annual accounts filed with the Business Authority, as Virk gives them (XBRL).

Two taxonomies: `fsa` (Danish GAAP), where a fact without members is the company's and the member
`ConsolidatedMember` makes it the group's; and `ifrs-full`, of listed companies, who file the
accounts of their group (ESEF). Facts of further dimensions are parts, such as share classes. Gross
profit is no turnover: small companies may publish it instead.

An ESEF filing names the company by its LEI only. Its CVR number is then taken from the beginning of
the file's name, `24256790-2024.xml`; Virk's index gives it beside the document.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Final

from pipeline.registers.accounts import account_import, xbrl_instance
from pipeline.registers.accounts.account_import import (
    NO_CLOSING,
    NO_NUMBER,
    Document,
    FiledAccount,
    day,
)
from pipeline.registers.accounts.filing import Fact, FilingError
from pipeline.registers.accounts.xbrl_instance import Context, Instance, Item

CVR: Final = re.compile(r"[1-9]\d{7}(?!\d)")
LEI_SCHEME: Final = "iso/17442"
NUMBER: Final = "IdentificationNumberCvrOfReportingEntity"
CLOSING: Final = "ReportingPeriodEndDate"
SCOPE: Final = "ConsolidatedSoloDimension"
GROUP: Final = "ConsolidatedMember"


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one filing: of the company, of its group, or both.

    Raises:
        FilingError: no XBRL, no company number or no closing date.
    """
    instance = xbrl_instance.parse(document.read())
    number = _number(instance, document.name)
    closing = _closing_day(instance)
    by_scope: dict[bool, list[Fact]] = defaultdict(list)
    for item in instance.items:
        by_scope[_is_group(item.context)].append(_fact(item))
    filed = f"{closing} {document.name}"
    unreadable = instance.unreadable
    for group, facts in sorted(by_scope.items()):
        yield FiledAccount(number, closing, facts, filed, group, unreadable)
        unreadable = 0  # counted once for both


def _number(instance: Instance, name: str) -> str:
    stated = [instance.text(NUMBER) or ""]
    stated += [c.identifier for c in instance.contexts if LEI_SCHEME not in c.scheme]
    for text in [*stated, name]:
        if match := CVR.match(text):
            return match.group()
    raise FilingError(NO_NUMBER, ", ".join(sorted({c.identifier for c in instance.contexts})))


def _closing_day(instance: Instance) -> date:
    stated = instance.text(CLOSING)
    if stated:
        return day(stated)
    days = [context.day for context in instance.contexts if not context.members]
    if not days:
        raise FilingError(NO_CLOSING, "aucun contexte sans dimension")
    return max(days)


def _is_group(context: Context) -> bool:
    return context.members.get(SCOPE) == GROUP or LEI_SCHEME in context.scheme


def _fact(item: Item) -> Fact:
    context = item.context
    parts = sorted(member for name, member in context.members.items() if name != SCOPE)
    key = f"{item.concept}[{'+'.join(parts)}]" if parts else item.concept
    return Fact(key, context.day, context.start, item.value, item.currency, item.precision)


REGISTER: Final = account_import.register(
    "dk-comptes", "DK", (".xbrl", ".xml"), read, is_one_filing=True
)
