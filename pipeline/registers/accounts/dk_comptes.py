"""Denmark: annual accounts filed with the Business Authority, as Virk gives them (XBRL).

Two taxonomies are in use. In `fsa` (Danish GAAP) a fact without members is of the company, and a fact with
`ConsolidatedMember` is of its group. `ifrs-full` is used by listed companies, which file the accounts of
their group (ESEF). Facts with further dimensions are parts, such as share classes. Gross profit is not
mapped to turnover: small companies may publish gross profit instead of turnover.

An ESEF filing identifies the company by its LEI only. The CVR number of the company is then read from the beginning of
the file name, `24256790-2024.xml`, if its check digit is right, since a name can begin with a date or an LEI; the index
of Virk lists the CVR number of each document.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Final

from stdnum.dk import cvr

from pipeline.registers.accounts import account_import, xbrl_instance
from pipeline.registers.accounts.account_import import (
    NO_CLOSING,
    NO_NUMBER,
    Document,
    FiledAccount,
    parse_day,
)
from pipeline.registers.accounts.filing import Fact, FilingError
from pipeline.registers.accounts.xbrl_instance import Context, Instance, Item

CVR: Final = re.compile(r"[1-9]\d{7}(?!\d)")  # the number of a company
_CVR_IN_NAME: Final = re.compile(r"([1-9]\d{7})[-_. ]")
LEI_SCHEME: Final = "iso/17442"  # in the scheme of a context that identifies the company by its LEI
# The concepts of the CVR number and of the closing date.
NUMBER_CONCEPT: Final = "IdentificationNumberCvrOfReportingEntity"
CLOSING_CONCEPT: Final = "ReportingPeriodEndDate"
# The dimension that tells group accounts from those of the company, and its members for the two.
SCOPE_DIMENSION: Final = "ConsolidatedSoloDimension"
GROUP_MEMBER: Final = "ConsolidatedMember"
SCOPE_MEMBERS: Final = (GROUP_MEMBER, "SoloMember")


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
    unread: dict[bool, list[Fact]] = defaultdict(list)
    for item in instance.unread:
        unread[_is_group(item.context)].append(_fact(item))
    filed = f"{closing} {document.name}"
    unreadable = instance.unreadable
    for group, facts in sorted(by_scope.items()):
        yield FiledAccount(number, closing, facts, filed, group, unreadable, unread=unread[group])
        unreadable = 0  # unreadable facts are counted once, for the first of the two accounts


def _number(instance: Instance, name: str) -> str:
    """The CVR number in a fact, in the contexts or at the beginning of the file name, in this order."""
    candidate_texts = [instance.text(NUMBER_CONCEPT) or ""]
    candidate_texts += [
        context.identifier for context in instance.contexts if LEI_SCHEME not in context.scheme
    ]
    for text in candidate_texts:
        if match := CVR.match(text):
            return match.group()
    if (match := _CVR_IN_NAME.match(name)) and cvr.is_valid(match[1]):
        return match[1]
    raise FilingError(
        NO_NUMBER, ", ".join(sorted({context.identifier for context in instance.contexts}))
    )


def _closing_day(instance: Instance) -> date:
    """The closing date that the filing states, else the last day of its contexts without members."""
    stated_day = instance.text(CLOSING_CONCEPT)
    if stated_day:
        return parse_day(stated_day)
    days = [context.day for context in instance.contexts if not context.members]
    if not days:
        raise FilingError(NO_CLOSING, "aucun contexte sans dimension")
    return max(days)


def _is_group(context: Context) -> bool:
    """Whether a context is of group accounts: by its member, or because it identifies the company by LEI (ESEF)."""
    return context.members.get(SCOPE_DIMENSION) == GROUP_MEMBER or LEI_SCHEME in context.scheme


def _fact(item: Item) -> Fact:
    """The fact of an item; its key is the concept with its members, except SCOPE_MEMBERS."""
    context = item.context
    other_members = sorted(
        member
        for name, member in context.members.items()
        if name != SCOPE_DIMENSION or member not in SCOPE_MEMBERS
    )
    key = f"{item.concept}[{'+'.join(other_members)}]" if other_members else item.concept
    return Fact(key, context.day, context.start, item.value, item.currency, item.precision)


REGISTER: Final = account_import.register(
    "dk-comptes", "DK", (".xbrl", ".xml"), read, is_one_filing=True
)
