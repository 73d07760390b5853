"""Luxembourg: quarterly files of the Centrale des bilans, XML of the eCDF forms.

A declarer has one declaration for its balance sheet (`CA_BILAN…`) and one for its income statement
(`CA_COMPP…`), full or abridged; each field has the amounts of this year and of last year. Field codes are those of
the forms. Abridged forms have no turnover.

Since the forms of 2016 costs are negative. Earlier forms are recognised by totals that only they have (641, 737,
639, 735). Earlier forms have costs as positive amounts, and the result as profit (639) or loss (735); their
elements end in ` 2011`. Group accounts are not in these files.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any, Final

from pipeline.registers import record_stream
from pipeline.registers.accounts import account_import
from pipeline.registers.accounts.account_import import (
    NO_CURRENCY,
    NO_NUMBER,
    AccountsResult,
    Document,
    FiledAccount,
    RefusedAccounts,
    amount_fact,
    element_text,
    filing_order,
    list_elements,
    parse_day,
    parse_number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before

# The beginnings of the types of balance sheets and income statements.
FORMS: Final = ("CA_BILAN", "CA_COMPP")
OTHER_FORM: Final = "déclaration d'un autre type"
OLD_FORM_END: Final = " 2011"  # the end of an element of a form before 2016
OLD_CODES: Final = frozenset({"639", "641", "735", "737"})  # fields of forms before 2016 only
PROFIT, LOSS = "639", "735"  # fields of the result in forms before 2016

FieldAmounts = dict[str, float]  # field code -> amount


def read(document: Document) -> Iterator[AccountsResult]:
    """The declarations of a quarterly file.

    Raises:
        RecordError: the file is not XML, or ends early.
    """
    with document.open() as stream:
        for declarer in record_stream.xml_elements(stream, "Declarer"):
            identifier = element_text(declarer.get("RcsNumber")) or None
            for declaration in list_elements(declarer.get("Declaration")):
                yield read_or_refuse(identifier, partial(_account, identifier, declaration))


def _account(identifier: str | None, declaration: Mapping[str, Any]) -> AccountsResult:
    """The accounts of a declaration of this and of last year; a refusal for a form that has no annual accounts.

    Raises:
        FilingError: no company number, no currency, or a date that cannot be read.
    """
    form = str(declaration.get("@type", "")).upper()
    if not form.startswith(FORMS):
        return RefusedAccounts(identifier, OTHER_FORM, form, on_purpose=True)
    if identifier is None:
        raise FilingError(NO_NUMBER, element_text(declaration.get("ID_Doc")))
    closing = parse_day(element_text(declaration.get("EndDate")))
    start = parse_day(element_text(declaration.get("StartDate")))
    last_closing = day_before(start)
    currency = element_text(declaration.get("Currency"))
    if not currency:
        raise FilingError(NO_CURRENCY, form)
    current, last_year = _amounts_by_field(declaration.get("FormData"))
    is_old_form = form.startswith("CA_COMPP") and not OLD_CODES.isdisjoint(current)
    facts = [
        *_facts(current, closing, currency, is_old_form),
        *_facts(last_year, last_closing, currency, is_old_form),
    ]
    filed = filing_order(
        element_text(declaration.get("RCSDepositDate")), element_text(declaration.get("ID_Doc"))
    )
    return FiledAccount(identifier, closing, facts, filed, start=start)


def _amounts_by_field(form: Any) -> tuple[FieldAmounts, FieldAmounts]:
    """The amounts of this year and of last year, by field code; a field can contain other fields."""
    current: FieldAmounts = {}
    last_year: FieldAmounts = {}
    fields_left = deque(list_elements(form.get("Field")) if isinstance(form, dict) else ())
    while fields_left:
        field = fields_left.popleft()
        fields_left.extendleft(reversed(list_elements(field.get("Field"))))
        code = str(field.get("@ecdf", ""))
        for values, name in ((current, "Data"), (last_year, "PreviousData")):
            if (value := parse_number(element_text(field.get(name)))) is not None:
                values[code] = value
    return current, last_year


def _facts(values: FieldAmounts, day: date, currency: str, is_old_form: bool) -> Iterator[Fact]:
    """The amounts of the fields of a form on `day`; `is_old_form` for an income statement before 2016."""
    for code, value in values.items():
        # An old form has both profit and loss; the one that does not apply is zero, and is left out.
        if (
            is_old_form
            and code in (PROFIT, LOSS)
            and not value
            and any(map(values.get, (PROFIT, LOSS)))
        ):
            continue
        yield amount_fact(code + OLD_FORM_END * is_old_form, day, value, currency)


REGISTER: Final = account_import.register("lu-comptes", "LU", (".xml",), read)
