"""Slovakia: financial statements of the Register of Financial Statements (RÚZ), JSON of its API.

A statement holds its tables as bare lists of numbers; what a position means is in the template that
`idSablony` names. Two templates are read: 687 of micro entities (Úč MUJ) and 699 of companies with
double entry (Úč POD), both since 2014 and for one company, never a group. An element is template,
table and row number: `699/1/1`. Assets of 699 have four columns: gross, correction, net, net of the
year before.

A file is a statement, or an array of them. Templates may stand beside them and are passed over.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

from pipeline.registers import record_stream
from pipeline.registers.accounts import account_import
from pipeline.registers.accounts.account_import import (
    NO_CLOSING,
    NO_NUMBER,
    AccountsResult,
    Document,
    FiledAccount,
    RefusedAccounts,
    amount,
    number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before
from pipeline.registers.record_stream import RecordError

TEMPLATE: Final = "modèle d'état (aucune donnée)"
WITHHELD: Final = "données non publiques"
INTERIM: Final = "comptes intermédiaires"
UNKNOWN_TEMPLATE: Final = "modèle d'état inconnu"
NO_JSON: Final = "pas un document JSON"
WRONG_SIZE: Final = "tableau d'une autre taille que son modèle"
PUBLIC: Final = "Verejné"
INTERIM_KIND: Final = "Priebežná"
INCOME_STATEMENT: Final = 3  # the place of its table in every template


class TemplateTable(NamedTuple):
    """A table of a template: its row numbers, and its columns of this year and of the last."""

    first: int
    last: int
    columns: int
    current: int
    before: int


_TWO: Final = (2, 0, 1)
LAYOUTS: Final[Mapping[int, tuple[TemplateTable, ...]]] = {
    687: (TemplateTable(1, 23, *_TWO), TemplateTable(24, 45, *_TWO), TemplateTable(1, 38, *_TWO)),
    699: (
        TemplateTable(1, 78, 4, 2, 3),
        TemplateTable(79, 145, *_TWO),
        TemplateTable(1, 61, *_TWO),
    ),
}


def read(document: Document) -> Iterator[AccountsResult]:
    """The statements of a file.

    Raises:
        FilingError: no JSON.
        RecordError: an array that ends early.
    """
    with document.open() as stream:
        statements = record_stream.json_items(stream, (), {})
        for number in count():
            try:
                statement = next(statements, None)
            except RecordError as error:
                if number:
                    raise
                raise FilingError(NO_JSON, str(error)) from error
            if statement is None:
                return
            identifier = _identifier(statement)
            yield read_or_refuse(identifier, partial(_account, identifier, statement))


def _identifier(statement: Any) -> str | None:
    """The number in eight digits, where the statement has one."""
    try:
        number_of = statement["obsah"]["titulnaStrana"]["ico"]
    except (KeyError, TypeError):
        return None
    return str(number_of).zfill(8) if number_of else None


def _account(identifier: str | None, statement: dict[str, Any]) -> AccountsResult:
    if "idSablony" not in statement and "tabulky" in statement:
        return RefusedAccounts(None, TEMPLATE, "sans idSablony", on_purpose=True)
    if statement.get("pristupnostDat", PUBLIC) != PUBLIC:
        return RefusedAccounts(identifier, WITHHELD, statement["pristupnostDat"], on_purpose=True)
    content = statement["obsah"]
    title = content["titulnaStrana"]
    if title.get("typZavierky") == INTERIM_KIND:
        return RefusedAccounts(identifier, INTERIM, INTERIM_KIND, on_purpose=True)
    layouts = LAYOUTS.get(statement["idSablony"])
    if layouts is None:
        raise FilingError(UNKNOWN_TEMPLATE, str(statement["idSablony"]))
    if identifier is None:
        raise FilingError(NO_NUMBER, str(statement.get("id", "")))
    closing = _last_day(title.get("obdobieDo"))
    before = title.get("predchadzajuceObdobieDo")
    last_year = _last_day(before) if before else day_before(_first_day(title.get("obdobieOd")))
    periods = [
        (closing, _start(title, "obdobieOd")),
        (last_year, _start(title, "predchadzajuceObdobieOd")),
    ]
    tables = content.get("tabulky") or []
    if len(tables) != len(layouts):
        raise FilingError(WRONG_SIZE, f"{len(tables)} tableaux")
    facts: list[Fact] = []
    for place, (table, layout) in enumerate(zip(tables, layouts, strict=True), start=1):
        prefix = f"{statement['idSablony']}/{place}"
        facts += _facts(table.get("data") or [], layout, prefix, periods)
    return FiledAccount(identifier, closing, facts, f"{closing} {statement.get('id', 0):>12}")


def _facts(
    data: list[str | None],
    layout: TemplateTable,
    prefix: str,
    periods: Sequence[tuple[date, date | None]],
) -> Iterator[Fact]:
    """The amounts of a table; `periods` are the last and the first day of this year and of the last."""
    of_period = prefix.endswith(f"/{INCOME_STATEMENT}")
    rows = range(layout.first, layout.last + 1)
    if len(data) != len(rows) * layout.columns:
        raise FilingError(WRONG_SIZE, f"{prefix}: {len(data)} cases")
    for at, row in enumerate(rows):
        for column, (day, start) in zip((layout.current, layout.before), periods, strict=True):
            value = number(data[at * layout.columns + column])
            if value is not None:
                fact = amount(f"{prefix}/{row}", day, value, "EUR")
                yield fact._replace(start=start) if of_period else fact


def _start(title: Mapping[str, Any], key: str) -> date | None:
    return _first_day(title[key]) if title.get(key) else None


def _first_day(month: str | None) -> date:
    """The first day of a month `2023-01`; a day behind it is left out."""
    try:
        return date.fromisoformat(f"{(month or '')[:7]}-01")
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(month)) from error


def _last_day(month: str | None) -> date:
    first = _first_day(month)
    return first.replace(day=monthrange(first.year, first.month)[1])


REGISTER: Final = account_import.register("sk-ruz", "SK", (".json",), read)
