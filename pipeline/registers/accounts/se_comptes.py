"""Sweden: digital annual reports of Bolagsverket, iXBRL, in weekly zips of one zip per report.

The name of the inner zip contains the company number and the closing date, `5560172933_2023-12-31.zip`. A report
outside a zip states its company only in its contexts. Taxonomy `se-gen-base` (K2 and K3). Costs are
positive. The overview of several years repeats figures in thousands; the figures of the statements are
more precise. Facts of group accounts have a member of a dimension, so they are left out as parts of a total are.
"""

import io
import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from pipeline.registers.accounts import account_import, filing
from pipeline.registers.accounts.account_import import (
    NO_CLOSING,
    NO_NUMBER,
    Document,
    FiledAccount,
    parse_day,
)
from pipeline.registers.accounts.filing import FilingError

# In the name of a report: the company number and the closing date.
REPORT_NAME: Final = re.compile(r"(?:^|/)(\d{10})_(\d{4}-\d{2}-\d{2})\b")
# An organisation number, with or without the century `16` of legal persons and the hyphen.
COMPANY_NUMBER: Final = re.compile(r"(?:16)?(\d{6})-?(\d{4})$")
CONTRADICTED: Final = "numéro contredit par le dépôt"
# Thousands separators that ixbrlparse does not accept.
_UNACCEPTED_SPACES: Final = re.compile(
    "\N{NO-BREAK SPACE}|\N{NARROW NO-BREAK SPACE}|&#160;|&#xA0;|&nbsp;"
)


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one report.

    Raises:
        FilingError: no iXBRL, no company number, another number than in its name, or no closing date.
    """
    text = document.read().decode("utf-8", "replace")
    report = filing.parse(io.BytesIO(_UNACCEPTED_SPACES.sub(" ", text).encode()))
    name_match = REPORT_NAME.search(document.name)
    stated_numbers = {number for text in report.identifiers if (number := _number(text))}
    if name_match and stated_numbers and name_match.group(1) not in stated_numbers:
        raise FilingError(CONTRADICTED, ", ".join(sorted(stated_numbers)))
    if not name_match and len(stated_numbers) != 1:
        raise FilingError(NO_NUMBER, ", ".join(sorted(report.identifiers)))
    closing = parse_day(name_match.group(2)) if name_match else _latest_day(report)
    yield FiledAccount(
        id=name_match.group(1) if name_match else stated_numbers.pop(),
        closing=closing,
        facts=report.facts,
        filed=f"{closing} {document.name}",
        unreadable=report.unreadable,
        unread=report.unread,
    )


def _number(identifier: str) -> str | None:
    """An organisation number in ten digits: `5591620306` for `559162-0306`; None for a text of another form."""
    match = COMPANY_NUMBER.match(identifier.strip())
    return match.group(1) + match.group(2) if match else None


def _latest_day(report: filing.Filing) -> date:
    """The latest day of a report's facts without members, which is its closing date."""
    days = [fact.day for fact in report.facts if "[" not in fact.key]
    if not days:
        raise FilingError(NO_CLOSING, "aucun fait daté")
    return max(days)


REGISTER: Final = account_import.register(
    "se-comptes", "SE", (".xhtml", ".html", ".xml"), read, is_one_filing=True
)
