"""The mapping of rows to canonical columns, as `[columns]` and the reasons of a declaration say.

A value that is there and cannot be read becomes null and is counted: a date of another form, a
number that is none, a code without a label.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES, INTEGER, NUMBER, TEXT, TEXTS
from pipeline.registers.toml import sql
from pipeline.registers.toml.declaration import Column, Declaration, Reason
from pipeline.registers.toml.entity import Entity

UNREADABLE: Final = {
    "date_creation": "date illisible",
    "effectif": "effectif illisible",
    "capital_social": "capital illisible",
}


def entity_of(declared: Declaration, columns: sql.Schema) -> Entity:
    """The mapping of rows that have `columns`."""
    place = sql.Place(declared.source, "columns")
    mapped: dict[str, pl.Expr] = {}
    unread: dict[str, pl.Expr] = {}
    for name, column in declared.columns.items():
        dtype = COMPANIES[name]
        read = [sql.expression(text, place.at_key(name), columns) for text in column.sql]
        mapped[name] = _canonical_column(column, read, dtype, columns)
        if column.formats or dtype in (INTEGER, NUMBER):
            missed = sql.text(read[0]).is_not_null() & mapped[name].is_null()
            reason = UNREADABLE.get(name, f"{name} illisible")
            unread[reason] = pl.when(missed).then(sql.text(read[0]))
    for name, derived in declared.derived.items():
        if derived.unknown:
            unread[derived.unknown] = pl.when(pl.col(name).is_null()).then(pl.col(f"{name} code"))
    why = reasons(declared, columns)
    return Entity(
        columns=mapped,
        drop_reason=why["drop"][0],
        reject_reason=why["reject"][0],
        detail=why["reject"][1],
        note=why["note"][0],
        note_value=why["note"][1],
        unread=unread,
        order=_ranks(declared, columns),
        repeated=_show_value(declared, columns),
    )


def reasons(declared: Declaration, columns: sql.Schema) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """For `drop`, `reject` and `note`: the first reason that holds, and the value that shows it."""
    return {
        table: _reasons(found, sql.Place(declared.source, table), columns)
        for table, found in (
            ("drop", declared.drop),
            ("reject", declared.reject),
            ("note", declared.note),
        )
    }


def _ranks(declared: Declaration, columns: sql.Schema) -> list[pl.Expr]:
    place = sql.Place(declared.source, "repeated").at_key("order")
    orders = declared.repeated.order if declared.repeated else ()
    return [sql.expression(text, place, columns).cast(INTEGER) for text in orders]


def _show_value(declared: Declaration, columns: sql.Schema) -> pl.Expr:
    if declared.repeated is None:
        return pl.lit(None, TEXT)
    place = sql.Place(declared.source, "repeated").at_key("show")
    return sql.expression(declared.repeated.show, place, columns)


def _canonical_column(
    column: Column, read: Sequence[pl.Expr], dtype: pl.DataType, columns: sql.Schema
) -> pl.Expr:
    if dtype == TEXTS:
        return sql.texts(read, columns)
    if column.formats:
        return sql.iso_date(sql.text(read[0]), column.formats)
    if dtype == NUMBER:
        return read[0].cast(NUMBER, strict=False)
    if dtype == INTEGER:
        number = read[0].cast(NUMBER, strict=False)
        return pl.when(number == number.floor()).then(number).cast(INTEGER, strict=False)
    return sql.text(read[0]) if dtype == TEXT else read[0].cast(dtype)


def _reasons(
    reasons: Mapping[str, Reason], place: sql.Place, columns: sql.Schema
) -> tuple[pl.Expr, pl.Expr]:
    """The first reason that holds, and the value that shows it; both null where none holds."""
    nothing = pl.lit(None, pl.String)
    reason, shown = nothing, nothing
    for name, condition in reversed(list(reasons.items())):
        holds = sql.expression(condition.when, place.at_key(name), columns).fill_null(False)
        value = (
            sql.expression(condition.show, place.at_key(name), columns).cast(pl.String)
            if condition.show
            else nothing
        )
        reason = pl.when(holds).then(pl.lit(name)).otherwise(reason)
        shown = pl.when(holds).then(value).otherwise(shown)
    return reason, shown
