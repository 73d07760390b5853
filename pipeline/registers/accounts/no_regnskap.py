"""Norway: the mass file of Regnskapsregisteret, XML.

A record (`del`) is one half of an account: `RES`, the income statement, or `BAL`, the balance
sheet; they meet in the same company and year. An amount has a field code of the register. Last
year's figures have codes of their own: `7127` is the total assets that `219` was a year before. In
`seeds/elements.csv` these stand as `7127 n-1`.

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
    NO_NUMBER,
    AccountsResult,
    Document,
    FiledAccount,
    amount,
    as_list,
    day,
    number,
    read_or_refuse,
    text,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before

SOURCE: Final = "no-regnskap"
BEFORE: Final = " n-1"  # ends the element of a field for last year's amount
GROUPS: Final = {"S": False, "K": True}
WRONG_SCALE: Final = "montants signalés faux par le registre"
UNKNOWN_KIND: Final = "nature de comptes inconnue"


def read(document: Document) -> Iterator[AccountsResult]:
    """The records of a mass file.

    Raises:
        RecordError: no XML, or XML that ends early.
    """
    with document.open() as stream:
        for record in record_stream.xml_elements(stream, "del"):
            yield read_or_refuse(_identifier(record), partial(_account, record))


def _identifier(record: dict[str, Any]) -> str | None:
    head = record.get("hode")
    return text(head.get("orgnr")) or None if isinstance(head, dict) else None


def _account(record: dict[str, Any]) -> FiledAccount:
    head = {name: text(value) for name, value in record["hode"].items()}
    identifier = _identifier(record)
    if identifier is None:
        raise FilingError(NO_NUMBER, f"journal {head.get('journalnr', '')}")
    if head.get("regnskapstype") not in GROUPS:
        raise FilingError(UNKNOWN_KIND, f"regnskapstype {head.get('regnskapstype')!r}")
    if head.get("feilvaloer") == "J":
        raise FilingError(WRONG_SCALE, "feilvaloer J")
    closing = day(head.get("avslutningsdato"))
    before = day_before(day(head["startdato"])) if head.get("startdato") else None
    currency = head.get("valutakode") or None
    facts: list[Fact] = []
    for field in as_list(record.get("info")):
        code, value = text(field.get("feltkode")), number(text(field.get("sum")))
        if value is None:
            continue
        if code not in _codes_of_last_year():
            facts.append(amount(code, closing, value, currency))
        elif before is not None:
            facts.append(amount(code + BEFORE, before, value, currency))
    return FiledAccount(
        id=identifier,
        closing=closing,
        facts=facts,
        filed=f"{head.get('mottatt_dato', '')} {head.get('journalnr', '')}",
        group=GROUPS[head["regnskapstype"]],
        start=before + timedelta(days=1) if before else None,
    )


@cache
def _codes_of_last_year() -> frozenset[str]:
    elements = chart.load_elements(SOURCE).lines
    return frozenset(name.removesuffix(BEFORE) for name in elements if name.endswith(BEFORE))


REGISTER: Final = account_import.register(SOURCE, "NO", (".xml",), read)
