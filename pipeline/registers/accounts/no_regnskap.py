"""Norway: the mass file of Regnskapsregisteret, XML.

A record (`del`) is one half of the accounts of a company and year: `RES`, the income statement, or `BAL`, the balance
sheet. An amount has a field code of the register. Last year's figures have codes of their own: `219` is total assets of
the year, and `7127` is total assets of the year before. In `seeds/elements.csv` a code of last year ends in ` n-1`:
`7127 n-1`.

`regnskapstype` is `S` for the company (selskap) and `K` for its group (konsern). Costs are positive.
The turnover is the sum of operating income (72), of which sales (1340) are a part.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final

from pipeline.registers import record_stream
from pipeline.registers.accounts import account_import, chart
from pipeline.registers.accounts.account_import import (
    NO_CURRENCY,
    NO_NUMBER,
    UNKNOWN_KIND,
    AccountsResult,
    Document,
    FiledAccount,
    amount_fact,
    element_text,
    filing_order,
    list_elements,
    parse_day,
    parse_number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before
from shards.codec.folding import fold

SOURCE: Final = "no-regnskap"
LAST_YEAR_END: Final = " n-1"  # the end of the element of last year's amount
IS_GROUP: Final = {"S": False, "K": True}  # `regnskapstype` -> whether the accounts are of a group
WRONG_SCALE: Final = "montants signalés faux par le registre"


def read(document: Document) -> Iterator[AccountsResult]:
    """The records of a mass file.

    Raises:
        RecordError: the file is not XML, or ends early.
    """
    with document.open() as stream:
        for record in record_stream.xml_elements(stream, "del"):
            yield read_or_refuse(_identifier(record), partial(_account, record))


def _identifier(record: dict[str, Any]) -> str | None:
    """The organisation number of a record; None if the record has none."""
    header = record.get("hode")
    return element_text(header.get("orgnr")) or None if isinstance(header, dict) else None


def _account(record: dict[str, Any]) -> FiledAccount:
    """The income statement or the balance sheet that a record contains, with the figures of last year beside it.

    Raises:
        FilingError: no company number or currency, an unknown kind of accounts, or amounts that are marked as wrong.
    """
    header = {name: element_text(value) for name, value in record["hode"].items()}
    identifier = _identifier(record)
    if identifier is None:
        raise FilingError(NO_NUMBER, f"journal {header.get('journalnr', '')}")
    if header.get("regnskapstype") not in IS_GROUP:
        raise FilingError(UNKNOWN_KIND, f"regnskapstype {header.get('regnskapstype')!r}")
    if fold(header.get("feilvaloer", "")) not in ("", "n"):
        raise FilingError(WRONG_SCALE, f"feilvaloer {header['feilvaloer']}")
    closing = parse_day(header.get("avslutningsdato"))
    last_closing = day_before(parse_day(header["startdato"])) if header.get("startdato") else None
    currency = header.get("valutakode")
    if not currency:
        raise FilingError(NO_CURRENCY, f"journal {header.get('journalnr', '')}")
    facts: list[Fact] = []
    for field in list_elements(record.get("info")):
        code, value = (
            element_text(field.get("feltkode")),
            parse_number(element_text(field.get("sum"))),
        )
        if value is None:
            continue
        if code not in _codes_of_last_year():
            facts.append(amount_fact(code, closing, value, currency))
        elif last_closing is not None:
            facts.append(amount_fact(code + LAST_YEAR_END, last_closing, value, currency))
    return FiledAccount(
        id=identifier,
        closing=closing,
        facts=facts,
        filed=filing_order(header.get("mottatt_dato"), header.get("journalnr")),
        group=IS_GROUP[header["regnskapstype"]],
        start=last_closing + timedelta(days=1) if last_closing else None,
    )


@cache
def _codes_of_last_year() -> frozenset[str]:
    """The field codes of last year's amounts."""
    elements = chart.load_elements(SOURCE).lines
    return frozenset(
        name.removesuffix(LAST_YEAR_END) for name in elements if name.endswith(LAST_YEAR_END)
    )


REGISTER: Final = account_import.register(SOURCE, "NO", (".xml",), read)
