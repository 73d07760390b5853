"""The one reader of declared registers: from published files to canonical companies.

The steps are those of the declaration, in its order: scan the files (`source_file`), trim each kind
(`where`, `one_per`), join the other kinds to the main rows, derive columns, map them, and account
for every row (`entity`). All of it is one lazy plan per main file, which Polars streams; nothing is
held but the kinds that are joined.

A failure inside the plan says nothing of its place, so the plan is then run piece by piece: the
message names the file, the row, the column and its expression.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import seeds
from pipeline.canonical import COMPANIES, INTEGER, NUMBER, TEXT, TEXTS, InputError
from pipeline.registers import declaration, entity, source_file, sql
from pipeline.registers.declaration import Column, Declaration, Join, Reason
from pipeline.registers.entity import Entity
from pipeline.registers.register import Register, RegisterRows
from pipeline.registers.source_file import ROW, FilePart
from seeds import TABLES

FILE: Final = "fichier"  # the column with the name of the published file
UNREADABLE: Final = {
    "date_creation": "date illisible",
    "effectif": "effectif illisible",
    "capital_social": "capital illisible",
}
_REVISIONS: Final = {"2": "nace_classes", "2.1": "nace_classes_rev21"}

Schema = Mapping[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a declaration, for a message."""

    source: str
    table: str

    def of(self, key: str) -> str:
        return f"{self.source}.toml [{self.table}] {key}"


def register(path: Path) -> Register:
    """The register that the TOML file `path` declares.

    Raises:
        DeclarationError: the file says what is not in the language.
    """
    declared = declaration.read(path)
    return Register(declared.source, "companies", partial(read, declared), declared.english)


def read(declared: Declaration, files: Sequence[Path], work: Path) -> RegisterRows:
    """Read the published files of a declared register.

    Raises:
        InputError: no file of a required kind, a file of another layout, or an expression that
            fails.
    """
    parts = source_file.unpack(files, declared.files, work)
    main = [part for part in parts if part.kind.name in declared.main]
    _check_kinds(declared, parts, main)
    joined = {
        name: _stored(
            _joined(declared, join, [part for part in parts if part.kind.name == join.file]),
            work / f"join-{name}.parquet",
        )
        for name, join in declared.joins.items()
    }
    rows = [(part, _rows(declared, part, joined)) for part in main]
    mapped = [(part, frame, _entity(declared, frame.collect_schema())) for part, frame in rows]
    try:
        staged = entity.stage_rows(mapped, work)
        if auto := _auto(declared):
            staged = _with_revisions(staged, auto, work)
        return entity.register_rows(staged, main, detail=_orphans(declared, joined, staged))
    except pl.exceptions.PolarsError as error:
        _blame(declared, mapped)
        names = ", ".join(part.name for part in parts)
        raise InputError(f"{names}: cannot be read: {sql.first_line(error)}") from error


def _check_kinds(
    declared: Declaration, parts: Sequence[FilePart], main: Sequence[FilePart]
) -> None:
    if not main:
        wanted = " or ".join(declared.main)
        raise InputError(
            f"no {wanted} file among those given; it is the one with the names: add it"
        )
    found = {part.kind.name for part in parts}
    for kind in declared.files.values():
        if kind.required and kind.name not in found:
            raise InputError(
                f"no {kind.name} file among those given (column {', '.join(kind.key)}); add it"
            )


# -- rows ----------------------------------------------------------------------------


def _rows(
    declared: Declaration, part: FilePart, joined: Mapping[str, pl.LazyFrame]
) -> pl.LazyFrame:
    """The main rows of one file with the joined and derived columns."""
    frame = _trimmed(declared, part).with_columns(pl.lit(part.name).alias(FILE))
    for name, join in declared.joins.items():
        frame = frame.join(
            joined[name],
            left_on=list(join.on),
            right_on=list(join.on.values()),
            how="left",
            maintain_order="left",
        )
    place = Place(declared.source, "derived")
    for name, derived in declared.derived.items():
        read = sql.expression(derived.sql, place.of(name), frame.collect_schema())
        if derived.extract:
            read = read.str.extract(derived.extract)
        frame = frame.with_columns((read if _is_list(frame, read) else sql.text(read)).alias(name))
        if derived.codes:
            frame = _labelled(frame, name, _labels(declared, derived.codes))
    return frame


def _is_list(frame: pl.LazyFrame, read: pl.Expr) -> bool:
    return isinstance(frame.select(read).collect_schema().dtypes()[0], pl.List)


def _trimmed(declared: Declaration, part: FilePart) -> pl.LazyFrame:
    """The rows of one file as its kind wants them: renamed, padded, filtered, one for each key."""
    kind, frame = part.kind, part.rows
    place = Place(declared.source, f"file.{kind.name}")
    frame = frame.rename(dict(kind.rename))
    frame = frame.with_columns(pl.col(name).str.zfill(width) for name, width in kind.pad.items())
    for name, (column, is_list) in kind.columns.items():
        columns = frame.collect_schema()
        read = [sql.expression(text, place.of(name), columns) for text in column]
        made = _texts(read, columns) if is_list else sql.text(read[0])
        frame = frame.with_columns(made.alias(name))
    if kind.where:
        frame = frame.filter(sql.expression(kind.where, place.of("where"), frame.collect_schema()))
    return _first_of_each(frame, kind.one_per, place) if kind.one_per else frame


def _first_of_each(frame: pl.LazyFrame, one_per: Sequence[str], place: Place) -> pl.LazyFrame:
    key, *orders = one_per
    columns = frame.collect_schema()
    # Polars 2.1 cannot sort by an integer that SQL made without a type.
    ranks = {
        f"rang {n}": sql.expression(order, place.of("one_per"), columns).cast(pl.Int32)
        for n, order in enumerate(orders)
    }
    sorted_rows = frame.with_columns(**ranks).sort(list(ranks), maintain_order=True)
    return sorted_rows.unique(key, keep="first", maintain_order=True).drop(list(ranks))


def _joined(declared: Declaration, join: Join, parts: Sequence[FilePart]) -> pl.LazyFrame:
    """One row per key: the first one's columns, and all values of the gathered ones."""
    keys = list(join.on.values())
    place = Place(declared.source, f"join.{join.name}")
    kind = declared.files[join.file]
    none = pl.LazyFrame(
        schema=dict.fromkeys([*keys, *join.take.values(), *join.gather.values()], pl.String())
    )
    frames = [_trimmed(declared, part) for part in parts]
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


def _stored(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """`rows` computed once: every main file joins them, and their source is no longer held."""
    rows.sink_parquet(path, compression="lz4", maintain_order=True)
    return pl.scan_parquet(path)


def _labels(declared: Declaration, name: str) -> Mapping[str, str]:
    codes = declared.codes[name]
    if codes.table is None:
        return codes.values
    rows = seeds.read_table(TABLES / f"{codes.table}.csv", (codes.code, codes.label))
    return {row[codes.code]: row[codes.label] for row in rows} | dict(codes.values)


def _labelled(frame: pl.LazyFrame, name: str, labels: Mapping[str, str]) -> pl.LazyFrame:
    """Replace the codes in column `name` by their labels; the codes stay under `name code`."""
    code = f"{name} code"
    table = pl.LazyFrame(
        {code: list(labels), name: list(labels.values())}, schema={code: TEXT, name: TEXT}
    )
    return frame.rename({name: code}).join(table, on=code, how="left", maintain_order="left")


# -- columns -------------------------------------------------------------------------


def _entity(declared: Declaration, columns: Schema) -> Entity:
    """The mapping of rows that have `columns`."""
    place = Place(declared.source, "columns")
    mapped: dict[str, pl.Expr] = {}
    unread: dict[str, pl.Expr] = {}
    for name, column in declared.columns.items():
        dtype = COMPANIES[name]
        read = [sql.expression(text, place.of(name), columns) for text in column.sql]
        mapped[name] = _canonical(column, read, dtype, columns)
        if column.formats or dtype in (INTEGER, NUMBER):
            missed = sql.text(read[0]).is_not_null() & mapped[name].is_null()
            reason = UNREADABLE.get(name, f"{name} illisible")
            unread[reason] = pl.when(missed).then(sql.text(read[0]))
    for name, derived in declared.derived.items():
        if derived.unknown:
            unread[derived.unknown] = pl.when(pl.col(name).is_null()).then(pl.col(f"{name} code"))
    reasons = {
        table: _reasons(found, Place(declared.source, table), columns)
        for table, found in (
            ("drop", declared.drop),
            ("reject", declared.reject),
            ("note", declared.note),
        )
    }
    return Entity(
        columns=mapped,
        drop_reason=reasons["drop"][0],
        reject_reason=reasons["reject"][0],
        detail=reasons["reject"][1],
        note=reasons["note"][0],
        note_value=reasons["note"][1],
        unread=unread,
    )


def _canonical(
    column: Column, read: Sequence[pl.Expr], dtype: pl.DataType, columns: Schema
) -> pl.Expr:
    if dtype == TEXTS:
        return _texts(read, columns)
    if column.formats:
        return sql.iso_date(sql.text(read[0]), column.formats)
    if dtype == NUMBER:
        return read[0].cast(NUMBER, strict=False)
    if dtype == INTEGER:
        number = read[0].cast(NUMBER, strict=False)
        return pl.when(number == number.floor()).then(number).cast(INTEGER, strict=False)
    return sql.text(read[0]) if dtype == TEXT else read[0].cast(dtype)


def _texts(read: Sequence[pl.Expr], columns: Schema) -> pl.Expr:
    """The values of several expressions, texts or lists of text, as one list; null for none."""
    types = [pl.LazyFrame(schema=columns).select(e).collect_schema().dtypes()[0] for e in read]
    values = [
        e if isinstance(t, pl.List) else sql.text(e) for e, t in zip(read, types, strict=True)
    ]
    several = pl.concat_list(values).list.drop_nulls().list.unique(maintain_order=True)
    return pl.when(several.list.len() > 0).then(several)


def _reasons(found: Mapping[str, Reason], place: Place, columns: Schema) -> tuple[pl.Expr, pl.Expr]:
    """The first reason that holds, and the value that shows it; both null where none holds."""
    nothing = pl.lit(None, pl.String)
    reason, shown = nothing, nothing
    for name, condition in reversed(list(found.items())):
        holds = sql.expression(condition.when, place.of(name), columns).fill_null(False)
        value = (
            sql.expression(condition.show, place.of(name), columns).cast(pl.String)
            if condition.show
            else nothing
        )
        reason = pl.when(holds).then(pl.lit(name)).otherwise(reason)
        shown = pl.when(holds).then(value).otherwise(shown)
    return reason, shown


# -- the revision of the activity codes -------------------------------------------------


def _auto(declared: Declaration) -> str | None:
    column = declared.columns.get("nace_version")
    return column.auto if column else None


def _with_revisions(staged: pl.LazyFrame, default: str, work: Path) -> pl.LazyFrame:
    """Fill `nace_version` of the rows that have a code and no revision, file by file.

    A file is of the revision of which it holds more codes that the other one lacks.
    """
    classes = {
        revision: {row["code"] for row in seeds.read_table(TABLES / f"{table}.csv", ("code",))}
        for revision, table in _REVISIONS.items()
    }
    only = {
        "2": sorted(classes["2"] - classes["2.1"]),
        "2.1": sorted(classes["2.1"] - classes["2"]),
    }
    bare = pl.col("nace_code").str.replace_all(r"[^0-9]", "").str.head(4)
    dotted = pl.concat_str(bare.str.head(2), pl.lit("."), bare.str.slice(2))
    missing = pl.col("nace_code").is_not_null() & pl.col("nace_version").is_null()
    found = (
        staged.filter(missing)
        .group_by("rank")
        .agg(**{revision: dotted.is_in(codes).sum() for revision, codes in only.items()})
        .collect(engine="streaming")
    )
    told = pl.lit(default)
    for row in found.iter_rows(named=True):
        if row["2"] != row["2.1"]:
            revision = "2" if row["2"] > row["2.1"] else "2.1"
            told = pl.when(pl.col("rank") == row["rank"]).then(pl.lit(revision)).otherwise(told)
    path = work / "revisions.parquet"
    filled = pl.when(missing).then(told).otherwise("nace_version").alias("nace_version")
    staged.with_columns(filled).sink_parquet(path, maintain_order=True)
    return pl.scan_parquet(path)


# -- what an import reports -------------------------------------------------------------


def _orphans(
    declared: Declaration, joined: Mapping[str, pl.LazyFrame], staged: pl.LazyFrame
) -> dict[str, int]:
    """Count the joined rows whose company is not among the main rows."""
    counts: dict[str, int] = {}
    for name, join in declared.joins.items():
        if join.orphans:
            [key] = join.on.values()
            alone = joined[name].join(staged, left_on=key, right_on="id", how="anti")
            found = alone.select(pl.len()).collect(engine="streaming").item()
            counts |= {join.orphans: int(found)} if found else {}
    return counts


def _blame(declared: Declaration, mapped: Iterable[tuple[FilePart, pl.LazyFrame, Entity]]) -> None:
    """Name the file, the row and the expression that make a plan fail.

    Raises:
        InputError: the place of the failure; none if it cannot be found again.
    """
    for part, frame, found in mapped:
        if message := _failure(part.rows):
            raise InputError(f"{part.name}: no readable CSV: {_place(part)}{message}")
        for place, read in _expressions(declared, found):
            plan = frame.select(ROW, value=read)
            if message := _failure(plan):
                row = _first_failing(plan)
                raise InputError(
                    f"{part.name} row {row}: {declared.source}.toml {place}: {message}"
                )


def _place(part: FilePart) -> str:
    row = source_file.ragged_row(part)
    return f"row {row} has more fields than the header: " if row else ""


def _expressions(declared: Declaration, found: Entity) -> Iterator[tuple[str, pl.Expr]]:
    for name, read in found.columns.items():
        yield f"[columns] {name} = {'; '.join(declared.columns[name].sql)}", read
    yield from (("[drop]", found.drop_reason), ("[reject]", found.reject_reason))
    yield "[note]", found.note


def _failure(plan: pl.LazyFrame) -> str | None:
    try:
        plan.select(pl.all().count()).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        return sql.first_line(error)
    return None


def _first_failing(plan: pl.LazyFrame) -> int:
    """The number of the first row without which the plan does not fail."""
    good, bad = 0, int(plan.select(pl.len()).collect(engine="streaming").item())
    while bad - good > 1:
        middle = (good + bad) // 2
        if _failure(plan.head(middle)):
            bad = middle
        else:
            good = middle
    return bad
