"""Luxembourg: quarterly files of the Centrale des bilans, XML of the eCDF forms.

A declarer has one declaration for its balance sheet (`CA_BILAN…`) and one for its income statement
(`CA_COMPP…`), full or abridged; each field gives this year and the last. Field codes are those of
the forms. Abridged forms have no turnover.

Since the forms of 2016 costs are negative. Those before are told by their own totals (641, 737, 639,
735), state costs as positive amounts, and the result as profit (639) or loss (735); their elements
end in `2011`. Group accounts are not in these files.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date
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
    as_list,
    day,
    number,
    read_or_refuse,
    text,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before

FORMS: Final = ("CA_BILAN", "CA_COMPP")
OTHER_FORM: Final = "déclaration d'un autre type"
OLD: Final = " 2011"
OLD_CODES: Final = frozenset({"639", "641", "735", "737"})
PROFIT, LOSS = "639", "735"

Values = dict[str, float]


def read(document: Document) -> Iterator[AccountsResult]:
    """The declarations of a quarterly file.

    Raises:
        RecordError: no XML, or XML that ends early.
    """
    with document.open() as stream:
        for declarer in record_stream.xml_elements(stream, "Declarer"):
            identifier = text(declarer.get("RcsNumber")) or None
            for declaration in as_list(declarer.get("Declaration")):
                yield read_or_refuse(identifier, partial(_account, identifier, declaration))


def _account(identifier: str | None, declaration: Mapping[str, Any]) -> AccountsResult:
    form = str(declaration.get("@type", ""))
    if not form.startswith(FORMS):
        return RefusedAccounts(identifier, OTHER_FORM, form, on_purpose=True)
    if identifier is None:
        raise FilingError(NO_NUMBER, text(declaration.get("ID_Doc")))
    closing = day(text(declaration.get("EndDate")))
    start = day(text(declaration.get("StartDate")))
    before = day_before(start)
    currency = text(declaration.get("Currency")) or None
    current, last = _values(declaration.get("FormData"))
    old = form.startswith("CA_COMPP") and not OLD_CODES.isdisjoint(current)
    facts = [*_facts(current, closing, currency, old), *_facts(last, before, currency, old)]
    filed = f"{text(declaration.get('RCSDepositDate'))} {text(declaration.get('ID_Doc'))}"
    return FiledAccount(identifier, closing, facts, filed, start=start)


def _values(form: Any) -> tuple[Values, Values]:
    """The amounts of this year and of the last, by field; fields stand in each other."""
    current: Values = {}
    last: Values = {}
    waiting = deque(as_list(form.get("Field")) if isinstance(form, dict) else ())
    while waiting:
        field = waiting.popleft()
        waiting.extendleft(reversed(as_list(field.get("Field"))))
        code = str(field.get("@ecdf", ""))
        for values, name in ((current, "Data"), (last, "PreviousData")):
            if (value := number(text(field.get(name)))) is not None:
                values[code] = value
    return current, last


def _facts(values: Values, day_of: date, currency: str | None, old: bool) -> Iterator[Fact]:
    for code, value in values.items():
        # An old form fills the one of the two that does not apply with zero.
        if old and code in (PROFIT, LOSS) and not value and any(map(values.get, (PROFIT, LOSS))):
            continue
        yield amount(code + OLD * old, day_of, value, currency)


REGISTER: Final = account_import.register("lu-comptes", "LU", (".xml",), read)
