"""Sweden: digital annual reports of Bolagsverket, iXBRL, in weekly zips of one zip per report.

The inner zip is named by company and closing date, `5560172933_2023-12-31.zip`; a report of its own
names its company in its contexts. Taxonomy `se-gen-base` (K2 and K3). Costs are positive. The
overview of several years repeats figures in thousands; the statement's own are more precise.
The accounts of a group carry a member and are left out as parts of a whole.
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
    day,
)
from pipeline.registers.accounts.filing import FilingError

NAME: Final = re.compile(r"(?:^|/)(\d{10})_(\d{4}-\d{2}-\d{2})\b")
NUMBER: Final = re.compile(r"(?:16)?(\d{6})-?(\d{4})$")
CONTRADICTED: Final = "numéro contredit par le dépôt"
# Separators of thousands that ixbrlparse does not know.
_SPACES: Final = re.compile("\N{NO-BREAK SPACE}|\N{NARROW NO-BREAK SPACE}|&#160;|&#xA0;|&nbsp;")


def read(document: Document) -> Iterator[FiledAccount]:
    """The accounts of one report.

    Raises:
        FilingError: no iXBRL, no company number, one that its name contradicts, or no closing date.
    """
    text = document.read().decode("utf-8", "replace")
    report = filing.parse(io.BytesIO(_SPACES.sub(" ", text).encode()))
    named = NAME.search(document.name)
    stated = {number for text in report.identifiers if (number := _number(text))}
    if named and stated and named.group(1) not in stated:
        raise FilingError(CONTRADICTED, ", ".join(sorted(stated)))
    if not named and len(stated) != 1:
        raise FilingError(NO_NUMBER, ", ".join(sorted(report.identifiers)))
    closing = day(named.group(2)) if named else _latest_day(report)
    yield FiledAccount(
        id=named.group(1) if named else stated.pop(),
        closing=closing,
        facts=report.facts,
        filed=f"{closing} {document.name}",
        unreadable=report.unreadable,
    )


def _number(identifier: str) -> str | None:
    """An organisation number in ten digits: `559162-0306` is `5591620306`."""
    found = NUMBER.match(identifier.strip())
    return found.group(1) + found.group(2) if found else None


def _latest_day(report: filing.Filing) -> date:
    days = [fact.day for fact in report.facts if "[" not in fact.key]
    if not days:
        raise FilingError(NO_CLOSING, "aucun fait daté")
    return max(days)


REGISTER: Final = account_import.register(
    "se-comptes", "SE", (".xhtml", ".html", ".xml"), read, is_one_filing=True
)
