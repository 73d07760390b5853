"""France: annual accounts of the RNE (INPI), the boxes of the tax forms as keyed in, JSON.

A zip of files, each an array of deposits; a deposit has pages, a page has boxes with up to four
amounts. Which of them is the year's net amount depends on the page. A box is named after the first
box of its row on the form: `FJ` is the row of turnover (France, export, total), not the box.

Forms: C full (2050 to 2053), S simplified (2033-A and B), K consolidated, in the pages of the full
one; those of banks and insurers have other boxes and are rejected. Amounts are whole euros. Costs
are positive. Simplified accounts state sales by kind; turnover is their sum.

Only public deposits are kept; companies may keep theirs, or the income statement, confidential.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

from pipeline.registers import record_stream
from pipeline.registers.accounts import account_import
from pipeline.registers.accounts.account_import import (
    NO_NUMBER,
    AccountsResult,
    Document,
    FiledAccount,
    RefusedAccounts,
    amount,
    day,
    number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import Fact, FilingError

PUBLIC: Final = frozenset({"Public", "Publication simplifiee"})
WITHHELD: Final = "comptes confidentiels"
DELETED: Final = "dépôt supprimé"
UNKNOWN_FORM: Final = "type de bilan inconnu"
NO_FORM: Final = "dépôt sans page saisie"
GROUP: Final = "K"
_FULL: Final = {1: ("m3", "m4"), 2: ("m1", "m2"), 3: ("m3", "m4"), 4: ("m1", "m2")}
# Form -> page -> the amounts of this year and of the last.
COLUMNS: Final[Mapping[str, Mapping[int, tuple[str, str]]]] = {
    "C": _FULL,
    "S": {1: ("m3", "m4"), 2: ("m1", "m2")},
    GROUP: _FULL,
}


def read(document: Document) -> Iterator[AccountsResult]:
    """The deposits of a file.

    Raises:
        RecordError: no JSON, or JSON that ends early.
    """
    with document.open() as stream:
        for deposit in record_stream.json_items(stream, (), {}):
            identifier = deposit.get("siren") or None if isinstance(deposit, dict) else None
            yield read_or_refuse(identifier, partial(_account, identifier, deposit))


def _account(identifier: str | None, deposit: Mapping[str, Any]) -> AccountsResult:
    if deposit.get("deleted"):
        return RefusedAccounts(identifier, DELETED, "deleted", on_purpose=True)
    if deposit.get("confidentiality") not in PUBLIC:
        return RefusedAccounts(
            identifier, WITHHELD, str(deposit.get("confidentiality")), on_purpose=True
        )
    if identifier is None:
        raise FilingError(NO_NUMBER, str(deposit.get("numChrono", "")))
    keyed = (deposit.get("bilanSaisi") or {}).get("bilan") or {}
    head = keyed.get("identite") or {}
    pages = (keyed.get("detail") or {}).get("pages") or []
    if not pages:
        raise FilingError(NO_FORM, str(deposit.get("numChrono", "")))
    form = str(deposit.get("typeBilan") or head.get("codeTypeBilan") or "")
    if form not in COLUMNS:
        raise FilingError(UNKNOWN_FORM, repr(form))
    closing = day(deposit.get("dateCloture") or head.get("dateClotureExercice"))
    before = _months_before(closing, int(number(head.get("dureeExerciceN")) or 12))
    currency = str(head.get("codeDevise") or "EUR")
    facts = [
        fact
        for page in pages
        for box in page.get("liasses") or []
        for fact in _facts(box, page.get("numero"), form, closing, before, currency)
    ]
    filed = f"{deposit.get('dateDepot') or ''} {deposit.get('numChrono') or ''}"
    return FiledAccount(
        identifier, closing, facts, filed, group=form == GROUP, start=before + timedelta(days=1)
    )


def _facts(
    box: Mapping[str, Any], page: int, form: str, closing: date, before: date, currency: str
) -> Iterator[Fact]:
    code = str(box.get("code", "")).strip()
    columns = COLUMNS[form].get(page)
    if columns is None:
        yield amount(f"annexe {code}", closing, 0.0, currency)
        return
    for column, day_of in zip(columns, (closing, before), strict=True):
        if (value := number(box.get(column))) is not None:
            yield amount(code, day_of, value, currency)


def _months_before(closing: date, months: int) -> date:
    """The closing date that many months earlier; the end of a month stays one."""
    at = closing.year * 12 + closing.month - 1 - months
    last = monthrange(at // 12, at % 12 + 1)[1]
    is_end = closing.day == monthrange(closing.year, closing.month)[1]
    return date(at // 12, at % 12 + 1, last if is_end else min(closing.day, last))


REGISTER: Final = account_import.register("fr-comptes", "FR", (".json",), read)
