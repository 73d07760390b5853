"""The accounts of one company for one fiscal year, as a register published them: the facts.

Every reader of this folder turns a document into these values; `account_import` brings them to the
chart. A reader yields `RefusedAccounts` for accounts that give nothing, and goes on with the next.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import inf, isfinite
from typing import Any, Final

from pipeline.registers.accounts.documents import Document
from pipeline.registers.accounts.filing import MALFORMED, UNREADABLE, Fact, FilingError

NO_NUMBER: Final = "numéro de société absent"
NO_CLOSING: Final = "date de clôture absente"


@dataclass(frozen=True, slots=True)
class FiledAccount:
    """Accounts as filed.

    Attributes:
        id: the company, in the register's form.
        closing: the last day of the fiscal year; facts may be of earlier years too.
        filed: sorts the accounts of a company from old to new: a date or number of deposit.
        group: whether they are those of the group that the company heads.
        unreadable: how many facts of the filing could not be read.
        start: the first day of the fiscal year, where the facts have no periods.
    """

    id: str
    closing: date
    facts: Sequence[Fact]
    filed: str
    group: bool = False
    unreadable: int = 0
    start: date | None = None


@dataclass(frozen=True, slots=True)
class RefusedAccounts:
    """Accounts that give nothing; `on_purpose` where they are good and none of ours."""

    id: str | None
    reason: str
    detail: str
    on_purpose: bool = False


AccountsResult = FiledAccount | RefusedAccounts
Reader = Callable[[Document], Iterator[AccountsResult]]


def read_or_refuse(identifier: str | None, read: Callable[[], AccountsResult]) -> AccountsResult:
    """What `read` gives; accounts that it cannot read are refused, so that the next can be."""
    try:
        return read()
    except FilingError as error:
        return RefusedAccounts(identifier, error.reason, error.detail)
    except UNREADABLE as error:
        return RefusedAccounts(identifier, MALFORMED, f"{type(error).__name__}: {error}")


def amount(element: str, day: date, value: float, currency: str | None) -> Fact:
    """The fact of a register that publishes exact amounts, without periods."""
    return Fact(element, day, None, value, currency, inf)


def number(text: str | None) -> float | None:
    """A published number; None for an empty one.

    >>> number(" -1 250.50 "), number("")
    (-1250.5, None)

    Raises:
        FilingError: a text that is no finite number.
    """
    bare = (text or "").replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
    if not bare:
        return None
    try:
        value = float(bare)
    except ValueError as error:
        raise FilingError("nombre illisible", repr(text)) from error
    if not isfinite(value):
        raise FilingError("nombre illisible", repr(text))
    return value


def day(text: str | None) -> date:
    """A date as `2024-12-31` or `20241231`; a time behind it is left out.

    Raises:
        FilingError: a text that is no date.
    """
    try:
        return date.fromisoformat((text or "").strip()[: 10 if "-" in (text or "") else 8])
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(text)) from error


def as_list(value: Any) -> list[Any]:
    """The elements of one name in a record of XML: none, one or several."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """The text of an element in a record of XML, empty where it has none."""
    return str(value.get("$", "")).strip() if isinstance(value, dict) else ""
