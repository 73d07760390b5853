"""United Kingdom: accounts filed with Companies House ("Accounts Data Product"), XBRL or iXBRL.

A bulk zip contains filings with names such as `Prod223_<run>_<company number>_<closing date>`. A filing has the lines
of its fiscal year and of the year before. The closing date and the run in the name tell which of two filings of a
company is later. A filing is rejected if it states another company number than its name. All files of a zip are read: a
file whose name is not such a name is rejected, too.
"""

import io
import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Final, NamedTuple

from pipeline.registers import packing
from pipeline.registers.accounts import account_import, filing
from pipeline.registers.accounts.account_import import (
    AccountsResult,
    Document,
    FiledAccount,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import FilingError

FILE_NAME: Final = re.compile(
    r"Prod\d+_(\d+)_([A-Z0-9]{8})_(\d{4})(\d\d)(\d\d)\.(?:x?html?|xml|XML)$"
)
CONTRADICTED: Final = "numéro contredit par le dépôt"


class FilingName(NamedTuple):
    """The parts of a published file name. The names of a company sort from old to new accounts."""

    number: str
    closing: date
    run: int  # the number of the daily file
    file: str


def read(document: Document) -> Iterator[AccountsResult]:
    """The accounts of one filing.

    Raises:
        FilingError: the name of the document has another form.
    """
    name = parse_name(document.name)
    yield read_or_refuse(name.number, partial(_account, document, name))


def _account(document: Document, name: FilingName) -> FiledAccount:
    """The accounts of a filing with the company number and the closing date of its name."""
    accounts = filing.parse(io.BytesIO(document.read()))
    if accounts.company_numbers and name.number not in accounts.company_numbers:
        raise FilingError(CONTRADICTED, ", ".join(sorted(accounts.company_numbers)))
    return FiledAccount(
        id=name.number,
        closing=name.closing,
        facts=accounts.facts,
        # Sorts from old to new accounts, as FilingName does; blanks before `run` let its text sort like the number.
        filed=f"{name.closing} {name.run:>12} {name.file}",
        unreadable=accounts.unreadable,
        unread=accounts.unread,
    )


def parse_name(file: str) -> FilingName:
    """Read a name such as `Prod223_2125_09102728_20170630.html`.

    >>> parse_name("Prod223_2125_09102728_20170630.html").number
    '09102728'

    Raises:
        FilingError: the name has another form.
    """
    match = FILE_NAME.search(file)
    if not match:
        raise FilingError(
            "nom de fichier inconnu", "attendu : Prod223_<tirage>_<numéro>_<date>.html"
        )
    run, number, year, month, day = match.groups()
    try:
        return FilingName(number, date(int(year), int(month), int(day)), int(run), file)
    except ValueError as error:
        raise FilingError("nom de fichier inconnu", f"{year}{month}{day} : {error}") from error


REGISTER: Final = account_import.register(
    "uk-accounts", "UK", packing.EVERY_FILE, read, is_one_filing=True
)
