"""Expressions of a declaration: SQL over text columns, with errors that name the expression.

Polars reads the SQL. `as_text` and `as_texts` return null for an empty text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers.register import NO_DAY

_PLAUSIBLE_YEAR: Final = "^[12][0-9]{3}-"  # the beginning of an ISO date of the years 1000 to 2999
# A text in quotes, and comparisons of a column with such texts: `a = 'x'`, `a IN ('x', 'y')`, `CASE a WHEN 'x' …`.
_TEXT: Final = "'((?:[^']|'')*)'"
_COMPARISON: Final = re.compile(
    rf"""("[^"]+"|(?<!\w)\w++) (?:=|<>|IN|NOT IN) (\(?\s*{_TEXT}(?:,\s*{_TEXT})*)"""
)
_CASE: Final = re.compile(rf"""CASE ("[^"]+"|\w+) (WHEN {_TEXT}.*?)END""", re.DOTALL)

ColumnTypes = Mapping[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class TomlTable:
    """The name of a table in the declaration of a source, for messages."""

    source: str
    table: str

    def key_path(self, key: str) -> str:
        """The place of a key, such as `ee.toml [columns] nom`."""
        return f"{self.source}.toml [{self.table}] {key}"


def expression(sql: str, place: str, columns: ColumnTypes) -> pl.Expr:
    """The Polars expression of `sql` over `columns`.

    Raises:
        InputError: `sql` is not SQL, or reads an unknown column; the message names `place` (`TomlTable.key_path`).
    """
    try:
        parsed = pl.sql_expr(sql)
        roots = set(parsed.meta.root_names())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{place}: {sql}: {first_line(error)}; correct it") from error
    if unknown := sorted(roots - columns.keys()):
        raise InputError(
            f"{place}: {sql}: no column {', '.join(map(repr, unknown))}; there are"
            f" {', '.join(columns)}"
        )
    return parsed


def column_names(sql: str) -> set[str]:
    """The columns that an expression reads; none if it is not SQL, which `expression` reports."""
    try:
        return set(pl.sql_expr(sql).meta.root_names())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return set()


def compared_codes(sql: str) -> Iterator[tuple[str, str]]:
    """The columns that an expression compares with texts, each with one such text.

    >>> list(compared_codes("a = 'x' OR b NOT IN ('y', 'z') OR CASE c WHEN '1' THEN d END"))
    [('a', 'x'), ('b', 'y'), ('b', 'z'), ('c', '1')]
    """
    for comparison in _COMPARISON.finditer(sql):
        for text in re.findall(_TEXT, comparison[2]):
            yield comparison[1].strip('"'), text.replace("''", "'")
    for case in _CASE.finditer(sql):
        for text in re.findall(rf"WHEN {_TEXT}", case[2]):
            yield case[1].strip('"'), text.replace("''", "'")


def as_text(expression: pl.Expr) -> pl.Expr:
    """The value as text; null for an empty text."""
    value = expression.cast(pl.String)
    return pl.when(value != "").then(value)


def as_texts(expressions: Sequence[pl.Expr], columns: ColumnTypes) -> pl.Expr:
    """The values of several expressions, texts or lists of text, as one list; null if there is no value."""
    types = [
        pl.LazyFrame(schema=columns).select(value).collect_schema().dtypes()[0]
        for value in expressions
    ]
    values = [
        value if isinstance(dtype, pl.List) else as_text(value)
        for value, dtype in zip(expressions, types, strict=True)
    ]
    distinct_values = pl.concat_list(values).list.drop_nulls().list.unique(maintain_order=True)
    return pl.when(distinct_values.list.len() > 0).then(distinct_values)


def iso_date(published: pl.Expr, formats: Sequence[str]) -> pl.Expr:
    """The ISO text of a date in one of the strptime `formats`; null if it is not a date.

    Years outside 1000 to 2999 are not accepted: `%Y` reads `10` as the year 10, and 0001 and 9999 are placeholders.
    """
    day = pl.coalesce(
        published.str.to_date(form, strict=False).dt.to_string("iso") for form in formats
    )
    return pl.when(day.str.contains(_PLAUSIBLE_YEAR)).then(day)


def null_placeholder_days(frame: pl.LazyFrame, names: Iterable[str]) -> pl.LazyFrame:
    """The rows with null for placeholder days (NO_DAY) in the columns `names`; as an end date it then means no end."""
    return frame.with_columns(
        pl.when(~pl.col(name).str.contains(NO_DAY)).then(name).alias(name) for name in names
    )


def first_line(error: BaseException) -> str:
    """The first line of an error of Polars; the other lines are advice."""
    return str(error).split("\n", 1)[0]
