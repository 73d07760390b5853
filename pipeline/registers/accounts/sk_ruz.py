"""Slovakia: financial statements of the Register of Financial Statements (RÚZ), JSON of its API.

The tables of a statement are bare lists of numbers; the template with the number `idSablony` gives each position in a
list its meaning. Two templates are read: 687 of micro entities (Úč MUJ) and 699 of companies with double entry
(Úč POD), both since 2014 and for a company, not a group. An element is template, table and row number:
`699/1/1`. Assets of 699 have four columns: gross, correction, net, net of the year before.

A file contains one statement, or an array of statements. The API also returns templates, which are dropped.
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
    UNKNOWN_KIND,
    AccountsResult,
    Document,
    FiledAccount,
    RefusedAccounts,
    amount_fact,
    filing_order,
    padded_number,
    parse_number,
    read_or_refuse,
)
from pipeline.registers.accounts.filing import Fact, FilingError, day_before
from pipeline.registers.record_stream import RecordError
from shards.codec.folding import fold

# Reasons to drop or reject a statement.
TEMPLATE: Final = "modèle d'état (aucune donnée)"
WITHHELD: Final = "données non publiques"
INTERIM: Final = "comptes intermédiaires"
UNKNOWN_TEMPLATE: Final = "modèle d'état inconnu"
NO_JSON: Final = "pas un document JSON"
WRONG_SIZE: Final = "tableau d'une autre taille que son modèle"
PUBLIC: Final = "verejne"  # `pristupnostDat` of a public statement, folded
# Values of `typZavierky`, folded: of interim accounts, and of ordinary and extraordinary accounts of a year.
INTERIM_KIND: Final = "priebezna"
YEAR_KINDS: Final = ("riadna", "mimoriadna")
INCOME_STATEMENT: Final = 3  # the number of the table with the income statement, in every template


class TemplateTable(NamedTuple):
    """A table of a template.

    Attributes:
        first: the number of the first row.
        last: the number of the last row.
        columns: the number of columns.
        current: the index of the column with the amounts of this year.
        before: the index of the column with the amounts of last year.
    """

    first: int
    last: int
    columns: int
    current: int
    before: int


# `columns`, `current` and `before` of a TemplateTable with two columns: this year, then last year.
_TWO_COLUMNS: Final = (2, 0, 1)
# Number of a template -> its tables, in the order of a statement.
LAYOUTS: Final[Mapping[str, tuple[TemplateTable, ...]]] = {
    "687": (
        TemplateTable(1, 23, *_TWO_COLUMNS),
        TemplateTable(24, 45, *_TWO_COLUMNS),
        TemplateTable(1, 38, *_TWO_COLUMNS),
    ),
    "699": (
        TemplateTable(1, 78, 4, 2, 3),
        TemplateTable(79, 145, *_TWO_COLUMNS),
        TemplateTable(1, 61, *_TWO_COLUMNS),
    ),
}


def read(document: Document) -> Iterator[AccountsResult]:
    """The statements of a file.

    Raises:
        FilingError: the file is not JSON.
        RecordError: the array ends early.
    """
    with document.open() as stream:
        statements = record_stream.json_items(stream, (), {})
        for statement_index in count():
            try:
                statement = next(statements, None)
            except RecordError as error:
                if statement_index:  # statements were read, so the file is JSON that was cut
                    raise
                raise FilingError(NO_JSON, str(error)) from error
            if statement is None:
                return
            identifier = _identifier(statement)
            yield read_or_refuse(identifier, partial(_account, identifier, statement))


def _identifier(statement: Any) -> str | None:
    """The company number in eight digits; None if the statement has no company number."""
    try:
        company_number = statement["obsah"]["titulnaStrana"]["ico"]
    except (KeyError, TypeError):
        return None
    return padded_number(company_number, 8)


def _account(identifier: str | None, statement: dict[str, Any]) -> AccountsResult:
    """The accounts of a statement, or why the statement is left out."""
    if "idSablony" not in statement and "tabulky" in statement:
        return RefusedAccounts(None, TEMPLATE, "sans idSablony", on_purpose=True)
    access = str(statement.get("pristupnostDat", PUBLIC))
    if fold(access) != PUBLIC:
        return RefusedAccounts(identifier, WITHHELD, access, on_purpose=True)
    contents = statement["obsah"]
    title = contents["titulnaStrana"]
    kind = title.get("typZavierky")
    if kind is not None and fold(str(kind)) == INTERIM_KIND:
        return RefusedAccounts(identifier, INTERIM, str(kind), on_purpose=True)
    if kind is not None and fold(str(kind)) not in YEAR_KINDS:
        raise FilingError(UNKNOWN_KIND, f"typZavierky {kind!r}")
    layouts = LAYOUTS.get(str(statement["idSablony"]))
    if layouts is None:
        raise FilingError(UNKNOWN_TEMPLATE, str(statement["idSablony"]))
    if identifier is None:
        raise FilingError(NO_NUMBER, str(statement.get("id", "")))
    closing = _last_day(title.get("obdobieDo"))
    last_month = title.get("predchadzajuceObdobieDo")
    last_closing = (
        _last_day(last_month) if last_month else day_before(_first_day(title.get("obdobieOd")))
    )
    periods = [
        (closing, _first_day_under(title, "obdobieOd")),
        (last_closing, _first_day_under(title, "predchadzajuceObdobieOd")),
    ]
    tables = contents.get("tabulky") or []
    if len(tables) != len(layouts):
        raise FilingError(WRONG_SIZE, f"{len(tables)} tableaux")
    facts: list[Fact] = []
    # A table is recognised by its place: the tables are in the order of the layouts of the template (`idSablony`).
    for table_number, (table, layout) in enumerate(zip(tables, layouts, strict=True), start=1):
        prefix = f"{statement['idSablony']}/{table_number}"
        facts += _facts(table.get("data") or [], layout, prefix, periods)
    return FiledAccount(identifier, closing, facts, filing_order(str(closing), statement.get("id")))


def _facts(
    data: list[str | float | None],
    layout: TemplateTable,
    prefix: str,
    periods: Sequence[tuple[date, date | None]],
) -> Iterator[Fact]:
    """The amounts of a table; `periods` has the last and the first day of this year, then of last year."""
    is_income_statement = prefix.endswith(f"/{INCOME_STATEMENT}")
    rows = range(layout.first, layout.last + 1)
    if len(data) != len(rows) * layout.columns:
        raise FilingError(WRONG_SIZE, f"{prefix}: {len(data)} cases")
    for row_index, row in enumerate(rows):
        for column, (day, start) in zip((layout.current, layout.before), periods, strict=True):
            value = parse_number(data[row_index * layout.columns + column])
            if value is not None:
                fact = amount_fact(f"{prefix}/{row}", day, value, "EUR")
                yield fact._replace(start=start) if is_income_statement else fact


def _first_day_under(title: Mapping[str, Any], key: str) -> date | None:
    """The first day of the month under `key`; None if the title page lacks it."""
    return _first_day(title[key]) if title.get(key) else None


def _first_day(month: str | None) -> date:
    """The first day of a month such as `2023-01`; the day in a text such as `2023-01-31` is ignored."""
    try:
        return date.fromisoformat(f"{(month or '')[:7]}-01")
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(month)) from error


def _last_day(month: str | None) -> date:
    """The last day of a month such as `2023-01`."""
    first = _first_day(month)
    return first.replace(day=monthrange(first.year, first.month)[1])


REGISTER: Final = account_import.register("sk-ruz", "SK", (".json",), read)
