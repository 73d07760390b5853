"""From one published row per entity to canonical companies: the part that all such sources share.

An `Entity` says how the columns map, by `[columns]` and the reasons of a declaration. The rows are staged in the work
folder; a company that several files of one call hold is merged, field by field, and every row is accounted for: kept,
dropped, rejected or merged.

Invariants: rows keep the order of the files; a value that is there and cannot be read (a date of another form, a number
that is none, a code without a label) is null and counted, with examples; an identifier that comes twice within one file
is left as it is, for the build to stop on (contract E3), unless the register declares which of the rows holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES, INTEGER, NUMBER, TEXT, TEXTS
from pipeline.registers.company_identifiers import NO_COMPANY, is_no_company, is_trailer
from pipeline.registers.register import (
    EXAMPLES,
    REJECTED,
    RegisterRows,
    RowCounts,
    reason_counts,
    row_count,
)
from pipeline.registers.toml import sql
from pipeline.registers.toml.declaration import Column, Declaration, Reason, RepeatedIds
from pipeline.registers.toml.source_file import FilePart

NO_ID: Final = "sans identifiant"
NO_NAME: Final = "sans nom"
UNREADABLE: Final = {
    "date_creation": "date illisible",
    "effectif": "effectif illisible",
    "capital_social": "capital illisible",
}
# The columns of a staged row beside the canonical ones.
_STAGED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "ligne": pl.Int64(),
    "rank": pl.Int32(),  # of the file in the call
    "drop_reason": pl.String(),
    "reject_reason": pl.String(),
    "detail": pl.String(),
    "note": pl.String(),
    "note_value": pl.String(),
}
_COMPANY: Final = ("iso2", "id")
_PLACE_AND_DAY: Final = ("adresse", "code_postal", "ville", "date_creation")  # no trailer has these
_ORDER: Final = "order: "  # before a number: the ranks of rows with one identifier
_SHOWN: Final = "repeated"  # the column that shows such a row
_UNREAD: Final = "unread: "  # before a reason: the column of the published values


@dataclass(frozen=True, slots=True)
class Entity:
    """The mapping of a published row. Every expression reads the published columns.

    Attributes:
        columns: canonical column -> expression; those of COMPANIES that are absent are null.
        drop_reason: the reason to drop the row on purpose; null to keep it.
        reject_reason: the reason why the row, which is not dropped, cannot be kept; null otherwise.
        detail: the published values that show the reason to reject.
        note: the reason why the row, which is kept, is counted apart; null for an ordinary row.
        note_value: the published value that shows the note.
        unread: reason -> a published value that could not be read; null where it could.
        order: ranks of the rows with one identifier; empty if they are left as they are.
        repeated: the published value that shows such a row.
    """

    columns: Mapping[str, pl.Expr]
    drop_reason: pl.Expr
    reject_reason: pl.Expr
    detail: pl.Expr
    note: pl.Expr
    note_value: pl.Expr
    unread: Mapping[str, pl.Expr]
    order: Sequence[pl.Expr]
    repeated: pl.Expr


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


def stage_rows(rows: Iterable[tuple[FilePart, pl.LazyFrame, Entity]], work: Path) -> pl.LazyFrame:
    """Map the rows of every part and write them, in order, to `work`: a Parquet file for each piece."""
    ranks: dict[int, int] = {}
    written: list[Path] = []
    for part, frame, found in rows:
        rank = ranks.setdefault(id(part), len(ranks))
        written.append(work / f"entities-{len(written):05}.parquet")
        _map_rows(part, rank, frame, found).sink_parquet(written[-1], maintain_order=True)
    return pl.scan_parquet(written)


def leave_out_repeated(staged: pl.LazyFrame, declared: RepeatedIds, work: Path) -> pl.LazyFrame:
    """Reject, or drop, all but the first, by the declared order, of the rows of a file with one identifier."""
    good = staged.filter(_is_good())
    key = [*_COMPANY, "rank"]
    several = good.group_by(key).len().filter(pl.col("len") > 1).select(key)
    orders = [name for name in staged.collect_schema() if name.startswith(_ORDER)]
    rows = good.join(several, on=key, how="semi").select(*key, "ligne", *orders)
    found = rows.sort(*orders, "ligne", nulls_last=True).collect(engine="streaming")
    later = found.filter(~pl.struct(key).is_first_distinct()).select("rank", "ligne", later=True)
    path = work / "distinct.parquet"
    column = "drop_reason" if declared.drop else "reject_reason"
    staged.join(later.lazy(), on=["rank", "ligne"], how="left", maintain_order="left").with_columns(
        pl.when("later").then(pl.lit(declared.reason)).otherwise(column).alias(column),
        detail=pl.when("later").then(_SHOWN).otherwise("detail"),
    ).drop("later", _SHOWN, *orders).sink_parquet(path, maintain_order=True)
    return pl.scan_parquet(path)


def register_rows(
    staged: pl.LazyFrame, parts: Sequence[FilePart], detail: Mapping[str, int] | None = None
) -> RegisterRows:
    """Companies, rejected rows and counts of the `staged` rows of `parts`."""
    rows, gone = merge_files(staged) if len(parts) > 1 else (staged, 0)
    return RegisterRows(
        stems=tuple(dict.fromkeys(part.stem for part in parts)),
        kept=kept_rows(rows),
        rejected=rejected_rows(rows),
        counts=count_rows(staged, rows, gone, parts, detail or {}),
    )


def merge_files(staged: pl.LazyFrame) -> tuple[pl.LazyFrame, int]:
    """Merge each company that several files hold; return the rows and the number merged away.

    A company keeps its first place. Of each field the first non-null value in file order wins.
    """
    shared = _shared_ids(staged)
    if shared.is_empty():
        return staged, 0
    fields = [name for name in COMPANIES if name not in _COMPANY]
    several = staged.join(shared.lazy(), on=_COMPANY, how="semi").sort("rank")
    united = several.group_by(_COMPANY, maintain_order=True).agg(
        pl.col("rank").first().alias("first_rank"),
        *(pl.col(name).drop_nulls().first().alias(f"{name}_merged") for name in fields),
    )
    joined = staged.join(united, on=_COMPANY, how="left", maintain_order="left")
    first = pl.col("first_rank").is_null() | (pl.col("rank") == pl.col("first_rank"))
    one_each = joined.filter(first).with_columns(
        pl.coalesce(pl.col(f"{name}_merged"), pl.col(name)).alias(name) for name in fields
    )
    gone = joined.select((~first).sum()).collect(engine="streaming").item()
    return one_each.select(list(staged.collect_schema())), int(gone)


def kept_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The canonical columns of the rows that are neither dropped nor rejected."""
    return rows.filter(_is_good()).select(list(COMPANIES))


def rejected_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows that cannot be kept, or have no identifier or name, in the columns of REJECTED."""
    faulty = rows.filter(pl.col("drop_reason").is_null() & _fault().is_not_null())
    return faulty.with_columns(motif=_fault()).select(list(REJECTED))


def count_rows(
    staged: pl.LazyFrame,
    rows: pl.LazyFrame,
    gone: int,
    parts: Sequence[FilePart],
    detail: Mapping[str, int],
) -> RowCounts:
    """Account for every row: `staged` before the merge of files, `rows` after it."""
    good = staged.filter(_is_good())
    noted = _tally(good, "note", "note_value")
    for column in staged.collect_schema():
        if column.startswith(_UNREAD):
            reason = pl.when(pl.col(column).is_not_null()).then(pl.lit(column[len(_UNREAD) :]))
            noted |= _tally(good.with_columns(unread=reason), "unread", column)
    encodings = {f"{part.name} en cp1252": 1 for part in parts if part.is_cp1252}
    return RowCounts(
        read=row_count(staged),
        kept=row_count(kept_rows(rows)),
        dropped=reason_counts(rows, "drop_reason"),
        rejected=reason_counts(rejected_rows(rows), "motif"),
        merged=gone,
        noted={reason: n for reason, (n, _) in noted.items()} | encodings,
        examples={reason: values for reason, (_, values) in noted.items() if values},
        detail=detail,
    )


def _map_rows(part: FilePart, rank: int, frame: pl.LazyFrame, entity: Entity) -> pl.LazyFrame:
    canonical = {
        name: entity.columns.get(name, pl.lit(None)).cast(dtype)
        for name, dtype in COMPANIES.items()
    }
    beside = {
        "fichier": pl.lit(part.name),
        "ligne": pl.col("ligne"),
        "rank": pl.lit(rank),
        "drop_reason": entity.drop_reason,
        "reject_reason": entity.reject_reason,
        "detail": entity.detail,
        "note": entity.note,
        "note_value": entity.note_value,
    }
    typed = {name: beside[name].cast(dtype) for name, dtype in _STAGED.items()}
    unread = {_UNREAD + reason: value.cast(pl.String) for reason, value in entity.unread.items()}
    order = {f"{_ORDER}{n}": rank for n, rank in enumerate(entity.order)}
    repeated = {_SHOWN: entity.repeated.cast(pl.String)} if order else {}
    mapped = frame.select(**canonical, **typed, **unread, **order, **repeated)
    identity = pl.col("id"), pl.col("nom")
    is_end = (pl.col("ligne") == pl.lit(part.count, pl.Int64)) & pl.all_horizontal(
        pl.col(_PLACE_AND_DAY).is_null()
    )
    is_other = pl.col("reject_reason").is_null() & (
        is_no_company(pl.col("iso2"), *identity) | is_trailer(*identity, pl.col("ligne"), is_end)
    )
    return mapped.with_columns(
        reject_reason=pl.when(is_other).then(pl.lit(NO_COMPANY)).otherwise("reject_reason"),
        detail=pl.when(is_other).then("id").otherwise("detail"),
    )


def _shared_ids(staged: pl.LazyFrame) -> pl.DataFrame:
    """The companies that several files hold, each file once."""
    per_file = staged.filter(pl.col("id").is_not_null()).group_by(*_COMPANY, "rank").len()
    per_id = per_file.group_by(_COMPANY).agg(files=pl.len(), most=pl.col("len").max())
    shared = per_id.filter((pl.col("files") > 1) & (pl.col("most") == 1))
    return shared.select(_COMPANY).collect(engine="streaming")


def _is_good() -> pl.Expr:
    return pl.col("drop_reason").is_null() & _fault().is_null()


def _fault() -> pl.Expr:
    return (
        pl.when(pl.col("reject_reason").is_not_null())
        .then(pl.col("reject_reason"))
        .when(pl.col("id").is_null())
        .then(pl.lit(NO_ID))
        .when(pl.col("nom").is_null())
        .then(pl.lit(NO_NAME))
    )


def _tally(rows: pl.LazyFrame, reason: str, example: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    """For each value of the column `reason`: its count, and the smallest values of `example`."""
    found = (
        rows.filter(pl.col(reason).is_not_null())
        .group_by(reason)
        .agg(n=pl.len(), examples=pl.col(example).drop_nulls().unique().bottom_k(EXAMPLES).sort())
        .sort(reason)
        .collect(engine="streaming")
    )
    return {name: (n, tuple(examples)) for name, n, examples in found.iter_rows()}
