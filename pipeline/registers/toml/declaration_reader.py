"""The one reader of declared registers: from published files to canonical rows.

The steps follow the order of the declaration: scan the files (`source_file`), filter the rows of each kind
(`where`, `one_per`), join the other kinds to the main rows, derive columns, map these to canonical columns, and count
every row (`entity`; `accounts_reader` for filed accounts). The steps form one lazy plan per main
file, which Polars streams. With large joins there is one plan per piece of the file.

An error of a plan does not say which row and expression caused it. The parts of a failed plan are therefore run one by
one, and the message names the file, the row, the column and its expression.

Some registers publish activity codes without their NACE revision. With `nace_version = { auto = revision }`, the codes
of each file that only one revision has are counted. The revision with more such codes is that of the file; if the
counts are equal, `revision` is used.
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

# NACE revision -> the table of seeds/ with its classes (codes of four digits).
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
        memory: bytes, as in `RegisterReader`.

    Raises:
        InputError: no file of a required kind, a file of another layout, or an expression that
            fails.
    """
    edition.refuse_changes(declared.changes, files, declared.files)
    parts = source_file.unpack(files, declared.files, work)
    main_parts = [part for part in parts if part.kind.name in declared.main]
    _check_kinds(declared, parts, main_parts)
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
        for rank, part in enumerate(main_parts)
    ]
    mapped_pieces = [
        (part, frame, entity.entity_of(declared, frame.collect_schema()))
        for part, pieces in rows
        for frame in pieces
    ]
    try:
        if declared.statements:
            complete = [(part, pl.concat(pieces)) for part, pieces in rows]
            orphans = _orphans(declared, joins, [frame for _, frame in complete])
            accounts = accounts_reader.read(declared, complete, parts, work, orphans)
            return _add_rejected(accounts, parts)
        staged = entity.stage_rows(mapped_pieces, work)
        if declared.repeated:
            staged = entity.leave_out_repeated(staged, declared.repeated, work)
        revision = declared.columns.get("nace_version")
        if revision and revision.auto:
            staged = _fill_nace_versions(staged, revision.auto, work)
        edition_date = edition.date_of_head(declared.edition, files, declared.files)
        date_column = (
            edition.DATE_COLUMN if edition.DATE_COLUMN in declared.columns else declared.newest
        )
        staged, dates = edition.add_dates(staged, main_parts, edition_date, date_column)
        read_rows = entity.register_rows(
            staged, main_parts, detail=_orphans(declared, joins, [staged])
        )
        dates = {file: edition_date for file in files} | dates if edition_date else dates
        return _add_rejected(replace(read_rows, dates=dates), parts)
    except pl.exceptions.PolarsError as error:
        locate_failure(declared, mapped_pieces)
        names = ", ".join(part.name for part in parts)
        raise InputError(
            f"{names}: cannot be read ({sql.first_line(error)}); download it again"
        ) from error


def _add_rejected(rows: RegisterRows, parts: Sequence[FilePart]) -> RegisterRows:
    """Add the rows that the files' readers rejected, such as rows with too many fields, to the rows and the counts."""
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
    """Raise InputError if no main file, or no file of a required kind, was given."""
    if not main:
        required = " or ".join(declared.main)
        content = "amounts" if declared.statements else "names"
        raise InputError(f"no {required} file was given; it has the {content}: add it")
    present = {part.kind.name for part in parts}
    for kind in declared.files.values():
        if kind.required and kind.name not in present:
            raise InputError(
                f"no {kind.name} file was given (column {', '.join(kind.key)}); add it"
            )


def _refuse_two_editions(declared: Declaration, parts: Sequence[FilePart]) -> None:
    """Refuse files of one kind, or main files, with different dates in their names.

    JSON files are not checked, because they can be answers of an API on several days.
    """
    file_set.refuse_two_editions(
        ("main" if part.kind.name in declared.main else part.kind.name, part.name, part.file.name)
        for part in parts
        if part.kind.format in ("csv", "xml")
    )


def _orphans(
    declared: Declaration, joins: Sequence[StoredJoin], main: Sequence[pl.LazyFrame]
) -> dict[str, int]:
    """Count the keys of each join that no main row has, by its reason `orphans`.

    For companies, a key is compared with `id`; for filed accounts, with the columns of the main rows that are joined.
    """
    counts: dict[str, int] = {}
    for stored in joins:
        if stored.join.orphans:
            key_columns = list(stored.join.on) if declared.statements else ["id"]
            count = stored.count_orphans(
                pl.concat(frame.select(key_columns) for frame in main), key_columns
            )
            counts |= {stored.join.orphans: count} if count else {}
    return counts


# -- the place of a failure ----------------------------------------------------------


def locate_failure(
    declared: Declaration, mapped_pieces: Iterable[tuple[FilePart, pl.LazyFrame, Entity]]
) -> None:
    """Name the file, the row and the expression that make a plan fail.

    Raises:
        InputError: names the place of the failure. If no part of the plan fails again, the function returns.
    """
    for part, frame, mapping in mapped_pieces:
        if message := _error_of_plan(part.rows):
            raise InputError(
                f"{part.name}: no readable CSV ({message}); mend it, or download it again"
            )
        for place, expression in _expressions(declared, mapping):
            plan = frame.select(ROW, value=expression)
            if message := _error_of_plan(plan):
                row = _first_failing_row(plan)
                raise InputError(
                    f"{part.name} row {row}: {declared.source}.toml {place}: {message}; correct one of the two"
                )


def _expressions(declared: Declaration, entity: Entity) -> Iterator[tuple[str, pl.Expr]]:
    """The expressions of a mapping, each with its place in the declaration, for messages."""
    for name, expression in entity.columns.items():
        yield f"[columns] {name} = {'; '.join(declared.columns[name].sql)}", expression
    yield from (("[drop]", entity.drop_reason), ("[reject]", entity.reject_reason))
    yield "[note]", entity.note


def _error_of_plan(plan: pl.LazyFrame) -> str | None:
    """Run a plan, and return the message of its error; None if the plan succeeds."""
    try:
        plan.select(pl.all().count()).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        return sql.first_line(error)
    return None


def _first_failing_row(plan: pl.LazyFrame) -> int:
    """The number of the first row with which a plan fails, found by halving; the plan must fail with all its rows."""
    rows_that_succeed, rows_that_fail = (
        0,
        int(plan.select(pl.len()).collect(engine="streaming").item()),
    )
    while rows_that_fail - rows_that_succeed > 1:
        middle = (rows_that_succeed + rows_that_fail) // 2
        if _error_of_plan(plan.head(middle)):
            rows_that_fail = middle
        else:
            rows_that_succeed = middle
    return int(plan.select(ROW).slice(rows_that_fail - 1, 1).collect().item())


# -- the revision of activity codes --------------------------------------------------


def _fill_nace_versions(staged: pl.LazyFrame, default: str, work: Path) -> pl.LazyFrame:
    """Fill `nace_version` in the rows that have a code and no revision.

    Each file gets the revision that more of its codes prove; `default` if the counts are equal.
    """
    classes = {
        revision: {row["code"] for row in seeds.read_table(TABLES / f"{table}.csv", ("code",))}
        for revision, table in _REVISIONS.items()
    }
    # A class that only one revision has proves this revision.
    codes_of_one_revision = {
        "2": sorted(classes["2"] - classes["2.1"]),
        "2.1": sorted(classes["2.1"] - classes["2"]),
    }
    # The class of a code in any notation, with its dot: 01.11 of 0111Z.
    digits = pl.col("nace_code").str.replace_all(r"[^0-9]", "").str.head(4)
    dotted = pl.concat_str(digits.str.head(2), pl.lit("."), digits.str.slice(2))
    lacks_revision = pl.col("nace_code").is_not_null() & pl.col("nace_version").is_null()
    counts = (
        staged.filter(lacks_revision)
        .group_by("rank")
        .agg(
            **{
                revision: dotted.is_in(codes).sum()
                for revision, codes in codes_of_one_revision.items()
            }
        )
        .collect(engine="streaming")
    )
    revision_of_file = pl.lit(default)
    for row in counts.iter_rows(named=True):
        if row["2"] != row["2.1"]:
            revision = "2" if row["2"] > row["2.1"] else "2.1"
            revision_of_file = (
                pl.when(pl.col("rank") == row["rank"])
                .then(pl.lit(revision))
                .otherwise(revision_of_file)
            )
    path = work / "revisions.parquet"
    filled = (
        pl.when(lacks_revision)
        .then(revision_of_file)
        .otherwise("nace_version")
        .alias("nace_version")
    )
    staged.with_columns(filled).sink_parquet(path, maintain_order=True)
    return pl.scan_parquet(path)
