"""The one reader of declared registers: from published files to canonical rows.

The steps are those of the declaration, in its order: scan the files (`source_file`), trim each kind
(`where`, `one_per`), join the other kinds to the main rows, derive columns, map them, and account
for every row (`entity`; `accounts_reader` for filed accounts). All of it is one lazy plan per main
file, which Polars streams, or per piece of one where the kinds that are joined are large.

A failure inside the plan says nothing of its place, so the plan is then run piece by piece: the
message names the file, the row, the column and its expression.

A register may publish activity codes without their revision of the NACE. With `nace_version = { auto = revision }` a
file is of the revision of which it has more codes that the other revision lacks; of `revision` where both have as many.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import polars as pl

from pipeline import seeds
from pipeline.canonical import InputError
from pipeline.registers import file_set
from pipeline.registers.register import MAX_REJECTED, Register, RegisterRows, reason_counts
from pipeline.registers.toml import (
    accounts_reader,
    declaration,
    edition,
    entity,
    main_rows,
    source_file,
    sql,
)
from pipeline.registers.toml.declaration import Declaration
from pipeline.registers.toml.entity import Entity
from pipeline.registers.toml.main_rows import StoredJoin
from pipeline.registers.toml.source_file import ROW, FilePart
from seeds import TABLES

_REVISIONS: Final = {"2": "nace_classes", "2.1": "nace_classes_rev21"}


def register(path: Path) -> Register:
    """The register that the TOML file `path` declares.

    Raises:
        DeclarationError: the file has a key or a value that is not in the language.
    """
    declared = declaration.read(path)
    table: Literal["companies", "comptes"] = "comptes" if declared.statements else "companies"
    reader = partial(read, declared)
    return Register(
        declared.source,
        table,
        reader,
        declared.complement,
        partial(source_file.count_rows, kinds=declared.files),
        declared.max_rejected.share if declared.max_rejected else MAX_REJECTED,
    )


def read(
    declared: Declaration, files: Sequence[Path], work: Path, memory: int | None = None
) -> RegisterRows:
    """Read the published files of a declared register.

    Args:
        memory: bytes, as of `RegisterReader`.

    Raises:
        InputError: no file of a required kind, a file of another layout, or an expression that
            fails.
    """
    edition.refuse_changes(declared.changes, files, declared.files)
    parts = source_file.unpack(files, declared.files, work)
    main = [part for part in parts if part.kind.name in declared.main]
    _check_kinds(declared, parts, main)
    if not declared.statements:
        _refuse_two_editions(declared, parts)
    joins = [
        main_rows.store_join(
            declared,
            join,
            [part for part in parts if part.kind.name == join.file],
            work / f"join-{name}.parquet",
        )
        for name, join in declared.joins.items()
    ]
    rows = [
        (part, main_rows.main_rows(declared, part, joins, work / f"main-{rank}.parquet", memory))
        for rank, part in enumerate(main)
    ]
    mapped = [
        (part, frame, entity.entity_of(declared, frame.collect_schema()))
        for part, pieces in rows
        for frame in pieces
    ]
    try:
        if declared.statements:
            whole = [(part, pl.concat(pieces)) for part, pieces in rows]
            orphans = _orphans(declared, joins, [frame for _, frame in whole])
            accounts = accounts_reader.read(declared, whole, parts, work, orphans)
            return _add_rejected(accounts, parts)
        staged = entity.stage_rows(mapped, work)
        if declared.repeated:
            staged = entity.leave_out_repeated(staged, declared.repeated, work)
        revision = declared.columns.get("nace_version")
        if revision and revision.auto:
            staged = _with_revisions(staged, revision.auto, work)
        told = edition.date_of_head(declared.edition, files, declared.files)
        dated = edition.COLUMN if edition.COLUMN in declared.columns else declared.newest
        staged, dates = edition.add_dates(staged, main, told, dated)
        read_rows = entity.register_rows(staged, main, detail=_orphans(declared, joins, [staged]))
        dates = {file: told for file in files} | dates if told else dates
        return _add_rejected(replace(read_rows, dates=dates), parts)
    except pl.exceptions.PolarsError as error:
        locate_failure(declared, mapped)
        names = ", ".join(part.name for part in parts)
        raise InputError(
            f"{names}: cannot be read ({sql.first_line(error)}); download it again"
        ) from error


def _add_rejected(rows: RegisterRows, parts: Sequence[FilePart]) -> RegisterRows:
    """The rows with those that are no rows of any kind of file, which nothing else has counted."""
    rejected = pl.concat(part.rejected for part in parts)
    reasons = reason_counts(rejected, "motif")
    if not reasons:
        return rows
    counts = Counter(rows.counts.rejected)
    counts.update(reasons)
    return replace(
        rows,
        rejected=pl.concat([rejected, rows.rejected]),
        counts=replace(
            rows.counts,
            read=rows.counts.read + sum(reasons.values()),
            rejected=dict(sorted(counts.items())),
        ),
    )


def _check_kinds(
    declared: Declaration, parts: Sequence[FilePart], main: Sequence[FilePart]
) -> None:
    if not main:
        wanted = " or ".join(declared.main)
        holds = "amounts" if declared.statements else "names"
        raise InputError(
            f"no {wanted} file among those given; it is the one with the {holds}: add it"
        )
    found = {part.kind.name for part in parts}
    for kind in declared.files.values():
        if kind.required and kind.name not in found:
            raise InputError(
                f"no {kind.name} file among those given (column {', '.join(kind.key)}); add it"
            )


def _refuse_two_editions(declared: Declaration, parts: Sequence[FilePart]) -> None:
    """Hold the tables of a kind, and all of companies, to one date. Records may be answers, each of its own day."""
    file_set.refuse_two_editions(
        ("main" if part.kind.name in declared.main else part.kind.name, part.name, part.file.name)
        for part in parts
        if part.kind.format in ("csv", "xml")
    )


def _orphans(
    declared: Declaration, joins: Sequence[StoredJoin], main: Sequence[pl.LazyFrame]
) -> dict[str, int]:
    """Count the joined rows that no main row joins: of companies, those of another `id`."""
    counts: dict[str, int] = {}
    for stored in joins:
        if stored.join.orphans:
            ours = list(stored.join.on) if declared.statements else ["id"]
            found = stored.count_orphans(pl.concat(frame.select(ours) for frame in main), ours)
            counts |= {stored.join.orphans: found} if found else {}
    return counts


# -- the place of a failure ----------------------------------------------------------


def locate_failure(
    declared: Declaration, mapped: Iterable[tuple[FilePart, pl.LazyFrame, Entity]]
) -> None:
    """Name the file, the row and the expression that make a plan fail.

    Raises:
        InputError: the place of the failure; none if it cannot be found again.
    """
    for part, frame, found in mapped:
        if message := _message_of(part.rows):
            raise InputError(
                f"{part.name}: no readable CSV ({message}); mend it, or download it again"
            )
        for place, read in _expressions(declared, found):
            plan = frame.select(ROW, value=read)
            if message := _message_of(plan):
                row = _first_failing(plan)
                raise InputError(
                    f"{part.name} row {row}: {declared.source}.toml {place}: {message}; mend one of the two"
                )


def _expressions(declared: Declaration, entity: Entity) -> Iterator[tuple[str, pl.Expr]]:
    for name, read in entity.columns.items():
        yield f"[columns] {name} = {'; '.join(declared.columns[name].sql)}", read
    yield from (("[drop]", entity.drop_reason), ("[reject]", entity.reject_reason))
    yield "[note]", entity.note


def _message_of(plan: pl.LazyFrame) -> str | None:
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
        if _message_of(plan.head(middle)):
            bad = middle
        else:
            good = middle
    return int(plan.select(ROW).slice(bad - 1, 1).collect().item())


# -- the revision of activity codes --------------------------------------------------


def _with_revisions(staged: pl.LazyFrame, default: str, work: Path) -> pl.LazyFrame:
    """Fill `nace_version` of the rows that have a code and no revision, file by file."""
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
