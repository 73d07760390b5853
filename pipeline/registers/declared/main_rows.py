"""The main rows of a declared register: trimmed, joined to the other kinds, with derived columns.

A step is a lazy plan: `joined_rows` gives what a join brings, which the reader stores once, and
`main_rows` the rows of one main file with all of it. A row keeps its place in the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import seeds
from pipeline.canonical import TEXT, InputError
from pipeline.registers.declared import sql
from pipeline.registers.declared.declaration import Declaration, Join
from pipeline.registers.declared.source_file import FilePart
from seeds import TABLES

FILE: Final = "fichier"  # the column with the name of the published file


def main_rows(
    declared: Declaration, part: FilePart, joined: Mapping[str, pl.LazyFrame]
) -> pl.LazyFrame:
    """The main rows of one file with the joined and derived columns."""
    frame = _rows_of_part(declared, part).with_columns(pl.lit(part.name).alias(FILE))
    for name, join in declared.joins.items():
        frame = frame.join(
            joined[name],
            left_on=list(join.on),
            right_on=list(join.on.values()),
            how="left",
            maintain_order="left",
        )
    place = sql.Place(declared.source, "derived")
    for name, derived in declared.derived.items():
        read = sql.expression(derived.sql, place.of(name), frame.collect_schema())
        if derived.extract:
            read = read.str.extract(derived.extract)
        frame = frame.with_columns((read if _is_list(frame, read) else sql.text(read)).alias(name))
        if derived.codes:
            frame = _replace_codes(frame, name, _labels(declared, derived.codes))
    return frame


def _is_list(frame: pl.LazyFrame, read: pl.Expr) -> bool:
    return isinstance(frame.select(read).collect_schema().dtypes()[0], pl.List)


def _rows_of_part(declared: Declaration, part: FilePart) -> pl.LazyFrame:
    """The rows of one file as its kind wants them: renamed, padded, filtered, one for each key."""
    kind, frame = part.kind, part.rows
    place = sql.Place(declared.source, f"file.{kind.name}")
    frame = frame.rename(dict(kind.rename))
    frame = frame.with_columns(pl.col(name).str.zfill(width) for name, width in kind.pad.items())
    for name, (column, is_list) in kind.columns.items():
        columns = frame.collect_schema()
        read = [sql.expression(text, place.of(name), columns) for text in column]
        made = sql.texts(read, columns) if is_list else sql.text(read[0])
        frame = frame.with_columns(made.alias(name))
    if kind.where:
        frame = frame.filter(sql.expression(kind.where, place.of("where"), frame.collect_schema()))
    return _first_of_each(frame, kind.one_per, place) if kind.one_per else frame


def _first_of_each(frame: pl.LazyFrame, one_per: Sequence[str], place: sql.Place) -> pl.LazyFrame:
    key, *orders = one_per
    columns = frame.collect_schema()
    # Polars 2.1 cannot sort by an integer that SQL made without a type.
    ranks = {
        f"rang {n}": sql.expression(order, place.of("one_per"), columns).cast(pl.Int32)
        for n, order in enumerate(orders)
    }
    sorted_rows = frame.with_columns(**ranks).sort(list(ranks), maintain_order=True)
    return sorted_rows.unique(key, keep="first", maintain_order=True).drop(list(ranks))


def joined_rows(declared: Declaration, join: Join, parts: Sequence[FilePart]) -> pl.LazyFrame:
    """One row per key: the first one's columns, and all values of the gathered ones."""
    keys = list(join.on.values())
    place = sql.Place(declared.source, f"join.{join.name}")
    kind = declared.files[join.file]
    none = pl.LazyFrame(
        schema=dict.fromkeys([*keys, *join.take.values(), *join.gather.values()], pl.String())
    )
    frames = [_rows_of_part(declared, part) for part in parts]
    if join.where:
        frames = [
            frame.filter(sql.expression(join.where, place.of("where"), frame.collect_schema()))
            for frame in frames
        ]
    if join.one_per:
        frames = [_first_of_each(frame, join.one_per, place) for frame in frames]
    wanted = none.collect_schema().names()
    for frame in frames:
        if lacking := [name for name in wanted if name not in frame.collect_schema()]:
            raise InputError(f"{place.of('take')}: {kind.name} has no column {lacking[0]!r}")
    rows = pl.concat([none, *(frame.select(wanted) for frame in frames)])
    taken = [pl.col(theirs).alias(ours) for ours, theirs in join.take.items()]
    if not join.gather:
        return rows.select(*keys, *taken).unique(keys, keep="first", maintain_order=True)
    gathered = [
        pl.col(theirs).drop_nulls().unique(maintain_order=True).alias(ours)
        for ours, theirs in join.gather.items()
    ]
    return rows.group_by(keys, maintain_order=True).agg(
        *(column.first() for column in taken), *gathered
    )


def store_rows(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """`rows` computed once: every main file joins them, and their source is no longer held."""
    rows.sink_parquet(path, compression="lz4", maintain_order=True)
    return pl.scan_parquet(path)


def _labels(declared: Declaration, name: str) -> Mapping[str, str]:
    codes = declared.codes[name]
    if codes.table is None:
        return codes.values
    rows = seeds.read_table(TABLES / f"{codes.table}.csv", (codes.code, codes.label))
    return {row[codes.code]: row[codes.label] for row in rows} | dict(codes.values)


def _replace_codes(frame: pl.LazyFrame, name: str, labels: Mapping[str, str]) -> pl.LazyFrame:
    """Replace the codes in column `name` by their labels; the codes stay under `name code`."""
    code = f"{name} code"
    table = pl.LazyFrame(
        {code: list(labels), name: list(labels.values())}, schema={code: TEXT, name: TEXT}
    )
    return frame.rename({name: code}).join(table, on=code, how="left", maintain_order="left")
