"""From one published row per entity to canonical companies.

An `Entity` maps the columns of a row, by `[columns]` and the reasons of a declaration. The mapped rows are staged
(written to the work folder). The rows of a company in several files of one import are merged: the newest row wins.
Every row is counted as kept, dropped, rejected or merged.

Invariants: rows keep the order of the files. A value that cannot be read (a date in another format, a text that is not
a number, a code without a label) becomes null and is counted, with examples. Two rows of one file with the same
identifier are both kept, and the build stops on them (contract E3), unless `[repeated]` declares which row to keep.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES, INTEGER, NUMBER, TEXT, TEXTS, field_groups
from pipeline.registers import file_set
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
# Canonical column -> the reason under which its unreadable values are counted.
UNREADABLE: Final = {
    "date_creation": "date illisible",
    "effectif": "effectif illisible",
    "capital_social": "capital illisible",
}
# The columns of a staged row in addition to the canonical columns.
_STAGED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "ligne": pl.Int64(),
    "rank": pl.Int32(),  # the number of the file in the import
    "record_day": pl.String(),  # the date in the record (`date_source`); null if it is in the future
    "drop_reason": pl.String(),
    "reject_reason": pl.String(),
    "detail": pl.String(),
    "note": pl.String(),
    "note_value": pl.String(),
}
_COMPANY: Final = ("iso2", "id")  # the columns that identify a company
# By these columns the rows of a company in several files are newer: the date in the record, the date of the file, and
# the order in which the files are given.
_AGE: Final = ("record_day", "date_source", "rank")
# Columns that are null in every trailer (a row at the end of a file that describes the file).
_PLACE_AND_DAY: Final = ("adresse", "code_postal", "ville", "date_creation")
# The columns `order: 0`, …, by which rows with the same identifier are sorted.
_ORDER: Final = "order: "
_SHOWN: Final = "repeated"  # the column with the value that the report shows of a row with a repeated identifier
# `unread: ` and a reason: the column with the values that could not be read.
_UNREAD: Final = "unread: "


@dataclass(frozen=True, slots=True)
class Entity:
    """The mapping of a published row. Every expression reads the published columns.

    Attributes:
        columns: canonical column -> expression; absent columns of COMPANIES are null.
        drop_reason: the reason to drop the row on purpose; null to keep it.
        reject_reason: the reason to reject the row, if it is not dropped; null otherwise.
        detail: the published values that show the reason to reject.
        note: the reason to count a kept row separately; null for an ordinary row.
        note_value: the published value that shows the reason of the note.
        unread: reason -> the published value if it could not be read; null if it could be read.
        order: the values by which rows with the same identifier are sorted; empty without `[repeated]`.
        repeated: the published value that the report shows of a row with a repeated identifier.
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


def entity_of(declared: Declaration, columns: sql.ColumnTypes) -> Entity:
    """The mapping of the rows of a declared register, whose published columns are `columns`."""
    toml_table = sql.TomlTable(declared.source, "columns")
    mapped: dict[str, pl.Expr] = {}
    unread: dict[str, pl.Expr] = {}
    for name, column in declared.columns.items():
        dtype = COMPANIES[name]
        expressions = [
            sql.expression(text, toml_table.key_path(name), columns) for text in column.sql
        ]
        mapped[name] = _canonical_column(column, expressions, dtype, columns)
        if column.formats or dtype in (INTEGER, NUMBER):
            is_unreadable = sql.as_text(expressions[0]).is_not_null() & mapped[name].is_null()
            reason = UNREADABLE.get(name, f"{name} illisible")
            unread[reason] = pl.when(is_unreadable).then(sql.as_text(expressions[0]))
    for name, derived in declared.derived.items():
        if derived.unknown:
            unread[derived.unknown] = pl.when(pl.col(name).is_null()).then(pl.col(f"{name} code"))
    row_reasons = reasons(declared, columns)
    return Entity(
        columns=mapped,
        drop_reason=row_reasons["drop"][0],
        reject_reason=row_reasons["reject"][0],
        detail=row_reasons["reject"][1],
        note=row_reasons["note"][0],
        note_value=row_reasons["note"][1],
        unread=unread,
        order=_repeat_order(declared, columns),
        repeated=_repeat_value(declared, columns),
    )


def reasons(declared: Declaration, columns: sql.ColumnTypes) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """For `drop`, `reject` and `note`: the first reason whose condition holds, and the value that shows it."""
    return {
        table: _first_reason(conditions, sql.TomlTable(declared.source, table), columns)
        for table, conditions in (
            ("drop", declared.drop),
            ("reject", declared.reject),
            ("note", declared.note),
        )
    }


def _repeat_order(declared: Declaration, columns: sql.ColumnTypes) -> list[pl.Expr]:
    """The integers of `order` in `[repeated]`, by which rows with the same identifier are sorted; none without it."""
    key_place = sql.TomlTable(declared.source, "repeated").key_path("order")
    orders = declared.repeated.order if declared.repeated else ()
    return [sql.expression(text, key_place, columns).cast(INTEGER) for text in orders]


def _repeat_value(declared: Declaration, columns: sql.ColumnTypes) -> pl.Expr:
    """The value that the report shows of a row with a repeated identifier (`show` in `[repeated]`); null without it."""
    if declared.repeated is None:
        return pl.lit(None, TEXT)
    key_place = sql.TomlTable(declared.source, "repeated").key_path("show")
    return sql.expression(declared.repeated.show, key_place, columns)


def _canonical_column(
    column: Column, expressions: Sequence[pl.Expr], dtype: pl.DataType, columns: sql.ColumnTypes
) -> pl.Expr:
    """The value of a canonical column in its type; null if the published value cannot be read."""
    if dtype == TEXTS:
        return sql.as_texts(expressions, columns)
    if column.formats:
        return sql.iso_date(sql.as_text(expressions[0]), column.formats)
    if dtype == NUMBER:
        return expressions[0].cast(NUMBER, strict=False)
    if dtype == INTEGER:
        number = expressions[0].cast(NUMBER, strict=False)
        return pl.when(number == number.floor()).then(number).cast(INTEGER, strict=False)
    return sql.as_text(expressions[0]) if dtype == TEXT else expressions[0].cast(dtype)


def _first_reason(
    reasons: Mapping[str, Reason], toml_table: sql.TomlTable, columns: sql.ColumnTypes
) -> tuple[pl.Expr, pl.Expr]:
    """The first reason whose condition holds, and the value that shows it; both null if no condition holds."""
    null = pl.lit(None, pl.String)
    reason, shown = null, null
    for name, condition in reversed(list(reasons.items())):
        holds = sql.expression(condition.when, toml_table.key_path(name), columns).fill_null(False)
        value = (
            sql.expression(condition.show, toml_table.key_path(name), columns).cast(pl.String)
            if condition.show
            else null
        )
        reason = pl.when(holds).then(pl.lit(name)).otherwise(reason)
        shown = pl.when(holds).then(value).otherwise(shown)
    return reason, shown


def stage_rows(rows: Iterable[tuple[FilePart, pl.LazyFrame, Entity]], work: Path) -> pl.LazyFrame:
    """Map the rows of every part, and write them to `work` in order; return the staged rows of all files.

    Each element of `rows`, a piece of a part's rows with its mapping, becomes a Parquet file.
    """
    ranks: dict[int, int] = {}
    written: list[Path] = []
    for part, frame, mapping in rows:
        rank = ranks.setdefault(id(part), len(ranks))
        written.append(work / f"entities-{len(written):05}.parquet")
        _map_rows(part, rank, frame, mapping).sink_parquet(written[-1], maintain_order=True)
    return pl.scan_parquet(written)


def leave_out_repeated(staged: pl.LazyFrame, declared: RepeatedIds, work: Path) -> pl.LazyFrame:
    """Reject, or drop, the rows of a file with the same identifier, except the first row in the declared order."""
    kept_rows = staged.filter(_is_kept())
    key = [*_COMPANY, "rank"]
    repeated_keys = kept_rows.group_by(key).len().filter(pl.col("len") > 1).select(key)
    orders = [name for name in staged.collect_schema() if name.startswith(_ORDER)]
    rows = kept_rows.join(repeated_keys, on=key, how="semi").select(*key, "ligne", *orders)
    ranked = rows.sort(*orders, "ligne", nulls_last=True).collect(engine="streaming")
    later_rows = ranked.filter(~pl.struct(key).is_first_distinct()).select(
        "rank", "ligne", later=True
    )
    path = work / "distinct.parquet"
    column = "drop_reason" if declared.drop else "reject_reason"
    staged.join(
        later_rows.lazy(), on=["rank", "ligne"], how="left", maintain_order="left"
    ).with_columns(
        pl.when("later").then(pl.lit(declared.reason)).otherwise(column).alias(column),
        detail=pl.when("later").then(_SHOWN).otherwise("detail"),
    ).drop("later", _SHOWN, *orders).sink_parquet(path, maintain_order=True)
    return pl.scan_parquet(path)


def register_rows(
    staged: pl.LazyFrame, parts: Sequence[FilePart], detail: Mapping[str, int] | None = None
) -> RegisterRows:
    """The companies, rejected rows and counts of an import; rows of a company in several files are merged first.

    Args:
        staged: the rows of all `parts`, as `stage_rows` wrote them.
        detail: counts of things that are not rows, such as joined values without a company; for the report.
    """
    rows, merged_count = merge_files(staged) if len(parts) > 1 else (staged, 0)
    return RegisterRows(
        stems=tuple(dict.fromkeys(part.stem for part in parts)),
        kept=canonical_rows(rows),
        rejected=rejected_rows(rows),
        counts=count_rows(staged, rows, merged_count, parts, detail or {}),
    )


def merge_files(staged: pl.LazyFrame) -> tuple[pl.LazyFrame, int]:
    """Merge the rows of a company in several files; return the rows, and the number of rows merged into others.

    The newest row stays in its place, and its empty fields are filled from the next newest rows. Fields that belong
    together, such as an amount and its currency, are filled from one row. Rejected rows are not merged. A dropped row
    fills no field of a company, but the company is dropped if its newest row is.
    """
    is_good = _reject_reason().is_null()
    shared = _shared_ids(staged.filter(is_good))
    if shared.is_empty():
        return staged, 0
    merged_columns = [name for name in COMPANIES if name not in _COMPANY]
    rows_to_merge = staged.filter(is_good).join(shared.lazy(), on=_COMPANY, how="semi")
    newest_first = rows_to_merge.sort(_AGE, descending=True, nulls_last=True)
    merged_values = newest_first.group_by(_COMPANY, maintain_order=True).agg(
        pl.col("rank").first().alias("newest_rank"),
        *(
            pl.col(name).filter(_is_kept() & pl.any_horizontal(pl.col(leading).is_not_null())).first()
            .alias(f"{name}_merged")
            for leading, group in field_groups(merged_columns)
            for name in group
        ),
    )  # fmt: skip
    joined = staged.join(merged_values, on=_COMPANY, how="left", maintain_order="left")
    is_merged = is_good & pl.col("newest_rank").is_not_null()
    is_kept = ~is_merged | (pl.col("rank") == pl.col("newest_rank"))
    one_row_each = joined.filter(is_kept).with_columns(
        pl.when(is_merged).then(f"{name}_merged").otherwise(name).alias(name)
        for name in merged_columns
    )
    merged_count = joined.select((~is_kept).sum()).collect(engine="streaming").item()
    return one_row_each.select(list(staged.collect_schema())), int(merged_count)


def canonical_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The canonical columns of the rows that are neither dropped nor rejected."""
    return rows.filter(_is_kept()).select(list(COMPANIES))


def rejected_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rejected rows, including those without an identifier or a name, in the columns of REJECTED."""
    faulty = rows.filter(pl.col("drop_reason").is_null() & _reject_reason().is_not_null())
    return faulty.with_columns(motif=_reject_reason()).select(list(REJECTED))


def count_rows(
    staged: pl.LazyFrame,
    rows: pl.LazyFrame,
    merged_count: int,
    parts: Sequence[FilePart],
    detail: Mapping[str, int],
) -> RowCounts:
    """Count every row as kept, dropped, rejected or merged.

    Args:
        staged: the rows before the merge of files.
        rows: the rows after the merge, which has removed `merged_count` rows.
        detail: counts of things that are not rows, for the report.
    """
    kept_rows = staged.filter(_is_kept())
    noted = _count_with_examples(kept_rows, "note", "note_value")
    for column in staged.collect_schema():
        if column.startswith(_UNREAD):
            reason = pl.when(pl.col(column).is_not_null()).then(pl.lit(column[len(_UNREAD) :]))
            noted |= _count_with_examples(kept_rows.with_columns(unread=reason), "unread", column)
    encodings = {note: n for part in parts for note, n in part.encoding_note.items()}
    return RowCounts(
        read=row_count(staged),
        kept=row_count(canonical_rows(rows)),
        dropped=reason_counts(rows, "drop_reason"),
        rejected=reason_counts(rejected_rows(rows), "motif"),
        merged=merged_count,
        noted={reason: n for reason, (n, _) in noted.items()} | encodings,
        examples={reason: values for reason, (_, values) in noted.items() if values},
        detail=detail,
    )


def _map_rows(part: FilePart, rank: int, frame: pl.LazyFrame, entity: Entity) -> pl.LazyFrame:
    """The rows of a file in the columns of a staged row; rows that are not companies get a reason to reject.

    Args:
        rank: the number of the file in the import.
    """
    canonical = {
        name: entity.columns.get(name, pl.lit(None)).cast(dtype)
        for name, dtype in COMPANIES.items()
    }
    added = {
        "fichier": pl.lit(part.name),
        "ligne": pl.col("ligne"),
        "rank": pl.lit(rank),
        "record_day": pl.when(canonical["date_source"] <= file_set.latest_date()).then(
            canonical["date_source"]
        ),
        "drop_reason": entity.drop_reason,
        "reject_reason": entity.reject_reason,
        "detail": entity.detail,
        "note": entity.note,
        "note_value": entity.note_value,
    }
    typed = {name: added[name].cast(dtype) for name, dtype in _STAGED.items()}
    unread = {_UNREAD + reason: value.cast(pl.String) for reason, value in entity.unread.items()}
    order = {f"{_ORDER}{n}": value for n, value in enumerate(entity.order)}
    repeated = {_SHOWN: entity.repeated.cast(pl.String)} if order else {}
    mapped = frame.select(**canonical, **typed, **unread, **order, **repeated)
    identity = pl.col("id"), pl.col("nom")
    is_last_without_place = (pl.col("ligne") == pl.lit(part.count, pl.Int64)) & pl.all_horizontal(
        pl.col(_PLACE_AND_DAY).is_null()
    )
    is_not_company = pl.col("reject_reason").is_null() & (
        is_no_company(pl.col("iso2"), *identity)
        | is_trailer(*identity, pl.col("ligne"), is_last_without_place)
    )
    return mapped.with_columns(
        reject_reason=pl.when(is_not_company).then(pl.lit(NO_COMPANY)).otherwise("reject_reason"),
        detail=pl.when(is_not_company).then("id").otherwise("detail"),
    )


def _shared_ids(staged: pl.LazyFrame) -> pl.DataFrame:
    """The `iso2` and `id` of the companies that are in several files, and kept from no file twice.

    Kept rows of one file are never merged, because two of them with one identifier are a fault of the register (E3).
    """
    per_file = (
        staged.filter(pl.col("id").is_not_null())
        .group_by(*_COMPANY, "rank")
        .agg(kept=pl.col("drop_reason").is_null().sum())
    )
    per_id = per_file.group_by(_COMPANY).agg(files=pl.len(), most_in_file=pl.col("kept").max())
    shared = per_id.filter((pl.col("files") > 1) & (pl.col("most_in_file") <= 1))
    return shared.select(_COMPANY).collect(engine="streaming")


def _is_kept() -> pl.Expr:
    """Whether a staged row is neither dropped nor rejected."""
    return pl.col("drop_reason").is_null() & _reject_reason().is_null()


def _reject_reason() -> pl.Expr:
    """The reason to reject a staged row: its own reason, or a missing identifier or name; null for a good row."""
    return (
        pl.when(pl.col("reject_reason").is_not_null())
        .then(pl.col("reject_reason"))
        .when(pl.col("id").is_null())
        .then(pl.lit(NO_ID))
        .when(pl.col("nom").is_null())
        .then(pl.lit(NO_NAME))
    )


def _count_with_examples(
    rows: pl.LazyFrame, reason: str, example: str
) -> dict[str, tuple[int, tuple[str, ...]]]:
    """For each value of the column `reason`: its count, and at most EXAMPLES values of `example`, the smallest ones."""
    counts = (
        rows.filter(pl.col(reason).is_not_null())
        .group_by(reason)
        .agg(n=pl.len(), examples=pl.col(example).drop_nulls().unique().bottom_k(EXAMPLES).sort())
        .sort(reason)
        .collect(engine="streaming")
    )
    return {name: (n, tuple(examples)) for name, n, examples in counts.iter_rows()}
