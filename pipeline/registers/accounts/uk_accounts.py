"""United Kingdom: accounts filed with Companies House ("Accounts Data Product"), XBRL or iXBRL.

A bulk zip holds filings named `Prod223_<run>_<company number>_<closing date>`. A filing gives the lines of its fiscal
year and of the year before. The names sort the filings of a company. One that states another company number than its
name is rejected. Of a zip every file is looked at: one with a name of another form is rejected, too.
"""

import io
from collections.abc import Iterator
from functools import partial
from typing import Final

from pipeline.registers import packing
from pipeline.registers.accounts import account_import, filing
from pipeline.registers.accounts.documents import (
    AccountsResult,
    Document,
    FiledAccount,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import FilingError, FilingName

CONTRADICTED: Final = "numéro contredit par le dépôt"


def read(document: Document) -> Iterator[AccountsResult]:
    """The accounts of one filing.

    Raises:
        FilingError: the name of the document is of another form.
    """
    name = filing.parse_name(document.name)
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


REGISTER: Final = account_import.register(
    "uk-accounts", "UK", packing.EVERY_FILE, read, is_one_filing=True
)
