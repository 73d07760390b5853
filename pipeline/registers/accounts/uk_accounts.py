"""United Kingdom: accounts filed with Companies House ("Accounts Data Product"), XBRL or iXBRL.

A bulk zip holds filings named `Prod223_<run>_<company number>_<closing date>`. A filing gives the lines of its fiscal
year and of the year before. The names sort the filings of a company. One that states another company number than its
name is rejected. Of a zip every file is looked at: one with a name of another form is rejected, too.
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
    """A published file name, in parts. The names of a company sort from old to new accounts."""

    number: str
    closing: date
    run: int  # of the daily product
    file: str


def read(document: Document) -> Iterator[AccountsResult]:
    """The accounts of one filing.

    Raises:
        FilingError: the name of the document is of another form.
    """
    name = parse_name(document.name)
    yield read_or_refuse(name.number, partial(_account, document, name))


def _account(document: Document, name: FilingName) -> FiledAccount:
    accounts = filing.parse(io.BytesIO(document.read()))
    if accounts.company_numbers and name.number not in accounts.company_numbers:
        raise FilingError(CONTRADICTED, ", ".join(sorted(accounts.company_numbers)))
    return FiledAccount(
        id=name.number,
        closing=name.closing,
        facts=accounts.facts,
        filed=f"{name.closing} {name.run:>12} {name.file}",
        unreadable=accounts.unreadable,
    )


def parse_name(file: str) -> FilingName:
    """Read a name such as `Prod223_2125_09102728_20170630.html`.

    >>> parse_name("Prod223_2125_09102728_20170630.html").number
    '09102728'

    Raises:
        FilingError: a name of another form.
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
