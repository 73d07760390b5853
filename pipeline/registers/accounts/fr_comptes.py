"""France: annual accounts of the RNE (INPI): the boxes of the tax forms as keyed in, in JSON.

INPI publishes a zip of files, each an array of deposits; a deposit has pages, and a page has boxes with up to four
amounts (`m1` to `m4`). The page decides which of these is the net amount of the year (AMOUNT_FIELDS). A box
stands for a row of the form and has the name of the first box of that row: `FJ` is the row of turnover (France, export,
total).

Forms: C full (2050 to 2053), S simplified (2033-A and B), K consolidated, on the pages of the full
form. The forms of banks and insurers have other boxes and are rejected. Amounts are whole euros. Costs
are positive. Simplified accounts have sales by kind; turnover is the sum of these sales.

Only public deposits are kept: a company can declare its accounts, or only the income statement, confidential.
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
    UNREADABLE_NUMBER,
    AccountsResult,
    Document,
    FiledAccount,
    RefusedAccounts,
    amount_fact,
    filing_order,
    padded_number,
    parse_day,
    parse_number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import MALFORMED, Fact, FilingError
from shards.codec.folding import fold

# Values of `confidentiality` of deposits that are public, folded; any other deposit is withheld.
PUBLIC: Final = frozenset({"public", "publication simplifiee"})
# Reasons to drop or reject a deposit.
WITHHELD: Final = "comptes confidentiels"
DELETED: Final = "dépôt supprimé"
UNKNOWN_FORM: Final = "type de bilan inconnu"
NO_FORM: Final = "dépôt sans page saisie"
GROUP_FORM: Final = "K"  # the form of group accounts
# Page of the full form -> the fields with the amounts of this year and of last year.
_FULL_FORM_FIELDS: Final = {1: ("m3", "m4"), 2: ("m1", "m2"), 3: ("m3", "m4"), 4: ("m1", "m2")}
_SIREN_DIGITS: Final = 9
# Form -> page -> the fields with the amounts of this year and of last year.
AMOUNT_FIELDS: Final[Mapping[str, Mapping[int, tuple[str, str]]]] = {
    "C": _FULL_FORM_FIELDS,
    "S": {1: ("m3", "m4"), 2: ("m1", "m2")},
    GROUP_FORM: _FULL_FORM_FIELDS,
}


def read(document: Document) -> Iterator[AccountsResult]:
    """The deposits of a file.

    Raises:
        RecordError: the file is not JSON, or ends early.
    """
    with document.open() as stream:
        for deposit in record_stream.json_items(stream, (), {}):
            published = deposit.get("siren") if isinstance(deposit, dict) else None
            identifier = padded_number(published, _SIREN_DIGITS)
            yield read_or_refuse(identifier, partial(_account, identifier, deposit))


def _account(identifier: str | None, deposit: Mapping[str, Any]) -> AccountsResult:
    """The accounts of a deposit, or why the deposit is left out."""
    if _is_deleted(deposit):
        return RefusedAccounts(identifier, DELETED, "deleted", on_purpose=True)
    if fold(str(deposit.get("confidentiality"))) not in PUBLIC:
        return RefusedAccounts(
            identifier, WITHHELD, str(deposit.get("confidentiality")), on_purpose=True
        )
    if identifier is None:
        raise FilingError(NO_NUMBER, str(deposit.get("numChrono", "")))
    form_data = (deposit.get("bilanSaisi") or {}).get("bilan") or {}
    identity = form_data.get("identite") or {}
    pages = (form_data.get("detail") or {}).get("pages") or []
    if not pages:
        raise FilingError(NO_FORM, str(deposit.get("numChrono", "")))
    form = str(deposit.get("typeBilan") or identity.get("codeTypeBilan") or "")
    if form not in AMOUNT_FIELDS:
        raise FilingError(UNKNOWN_FORM, repr(form))
    closing = parse_day(deposit.get("dateCloture") or identity.get("dateClotureExercice"))
    last_closing = _months_before(closing, int(parse_number(identity.get("dureeExerciceN")) or 12))
    currency = str(identity.get("codeDevise") or "EUR")
    facts = [
        fact
        for page in pages
        for box in page.get("liasses") or []
        for fact in _facts(box, _page_number(page), form, closing, last_closing, currency)
    ]
    filed = filing_order(deposit.get("dateDepot"), deposit.get("numChrono"))
    return FiledAccount(
        identifier,
        closing,
        facts,
        filed,
        group=form == GROUP_FORM,
        start=last_closing + timedelta(days=1),
    )


def _facts(
    box: Mapping[str, Any], page: int, form: str, closing: date, last_closing: date, currency: str
) -> Iterator[Fact]:
    """The amounts of a box; a box of a page that is not read becomes an element `annexe …`, which is ignored."""
    code = str(box.get("code", "")).strip()
    columns = AMOUNT_FIELDS[form].get(page)
    if columns is None:
        yield amount_fact(f"annexe {code}", closing, 0.0, currency)
        return
    for column, day in zip(columns, (closing, last_closing), strict=True):
        if (value := parse_number(box.get(column))) is not None:
            yield amount_fact(code, day, value, currency)


def _page_number(page: Mapping[str, Any]) -> int:
    """The number of a page, which can be published as a text.

    Raises:
        FilingError: the number is missing or is not a number.
    """
    number = parse_number(page.get("numero"))
    if number is None:
        raise FilingError(UNREADABLE_NUMBER, "numero")
    return int(number)


def _is_deleted(deposit: Mapping[str, Any]) -> bool:
    """Whether INPI marks a deposit as deleted, with a boolean or a word.

    Raises:
        FilingError: another value.
    """
    mark = fold(str(deposit.get("deleted") or "false"))
    if mark not in ("true", "false"):
        raise FilingError(MALFORMED, f"deleted {deposit['deleted']!r}")
    return mark == "true"


def _months_before(closing: date, months: int) -> date:
    """The closing date `months` months earlier; the end of a month stays the end of a month."""
    month_index = closing.year * 12 + closing.month - 1 - months
    last_day = monthrange(month_index // 12, month_index % 12 + 1)[1]
    is_month_end = closing.day == monthrange(closing.year, closing.month)[1]
    return date(
        month_index // 12,
        month_index % 12 + 1,
        last_day if is_month_end else min(closing.day, last_day),
    )


REGISTER: Final = account_import.register("fr-comptes", "FR", (".json",), read)
