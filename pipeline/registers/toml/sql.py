"""Expressions of a declaration: SQL over text columns, with errors that name the expression.

Polars reads the SQL. An empty text is no value: an expression that gives one gives null.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers.register import NO_DAY

_YEAR: Final = "^[12][0-9]{3}-"  # of an ISO date

Schema = Mapping[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a declaration, for a message."""

    source: str
    table: str

    def at_key(self, key: str) -> str:
        return f"{self.source}.toml [{self.table}] {key}"


def expression(sql: str, place: str, columns: Schema) -> pl.Expr:
    """The Polars expression of `sql` over `columns`.

    Raises:
        InputError: it is no SQL, or reads a column that is not there; `place` is named.
    """
    try:
        read = pl.sql_expr(sql)
        roots = set(read.meta.root_names())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{place}: {sql}: {first_line(error)}; correct it") from error
    if unknown := sorted(roots - columns.keys()):
        raise InputError(
            f"{place}: {sql}: no column {', '.join(map(repr, unknown))}; there are"
            f" {', '.join(columns)}"
        )
    return read


def text(expression: pl.Expr) -> pl.Expr:
    """The value as text, null for an empty one."""
    as_text = expression.cast(pl.String)
    return pl.when(as_text != "").then(as_text)


def texts(read: Sequence[pl.Expr], columns: Schema) -> pl.Expr:
    """The values of several expressions, texts or lists of text, as one list; null for none."""
    types = [pl.LazyFrame(schema=columns).select(e).collect_schema().dtypes()[0] for e in read]
    values = [e if isinstance(t, pl.List) else text(e) for e, t in zip(read, types, strict=True)]
    several = pl.concat_list(values).list.drop_nulls().list.unique(maintain_order=True)
    return pl.when(several.list.len() > 0).then(several)


def iso_date(published: pl.Expr, formats: Sequence[str]) -> pl.Expr:
    """The ISO text of a date in one of the strptime `formats`; null if it is no date.

    A year of two digits, 0001 and 9999 are none: `%Y` takes `10` for the year 10.
    """
    day = pl.coalesce(
        published.str.to_date(form, strict=False).dt.to_string("iso") for form in formats
    )
    return pl.when(day.str.contains(_YEAR)).then(day)


def without_placeholder_days(frame: pl.LazyFrame, names: Iterable[str]) -> pl.LazyFrame:
    """The rows with null for a day that stands for none (NO_DAY), so that no end is read where there is none."""
    return frame.with_columns(
        pl.when(~pl.col(name).str.contains(NO_DAY)).then(name).alias(name) for name in names
    )


def first_line(error: BaseException) -> str:
    """The first line of an error of Polars; the others are advice."""
    return str(error).split("\n", 1)[0]
