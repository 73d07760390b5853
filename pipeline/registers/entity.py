"""From one published row an entity to canonical companies: what every register of that kind shares.

A register says how its columns map (`Entity`); this file does the rest, once, for all of them: the
rows are staged in one Parquet of the work folder, the same company in several files of one call is
merged field by field, and every row is accounted for: kept, dropped, rejected or merged.

What stays true: rows keep the order of the files; a value that cannot be read is counted with
examples, never lost in silence; the same id twice inside one file is left as it is, for the build
to stop on (contract E3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES
from pipeline.registers.register import EXAMPLES, REJECTED, RegisterRows, RowCounts
from pipeline.registers.source_file import FilePart

UNREADABLE_DATE: Final = "date illisible"
NO_ID: Final = "sans identifiant"
NO_NAME: Final = "sans nom"

# Beside the canonical columns, a staged row has these.
_STAGED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "rang": pl.Int32(),  # of the file in the call
    "ligne": pl.Int64(),
    "ecart": pl.String(),  # why the row is dropped
    "note": pl.String(),  # what was special about its activity code
    "note_valeur": pl.String(),
    "date_publiee": pl.String(),
}


@dataclass(frozen=True, slots=True)
class Entity:
    """How a published row maps. Every expression reads the published columns.

    `columns` are canonical; `date_creation` is there already read, `date_publiee` as it was
    published. `ecart`, `note` and `note_valeur` are null for an ordinary row.
    """

    columns: Mapping[str, pl.Expr]
    date_publiee: pl.Expr
    ecart: pl.Expr
    note: pl.Expr
    note_valeur: pl.Expr


def stage_rows(
    rows: Iterable[tuple[FilePart, pl.LazyFrame]], entity: Entity, work: Path
) -> pl.LazyFrame:
    """Map the rows of every part and write them, in order, to one Parquet of `work`."""
    frames = [_mapped(part, rank, frame, entity) for rank, (part, frame) in enumerate(rows)]
    staged = work / "entities.parquet"
    pl.concat(frames).sink_parquet(staged, maintain_order=True)
    return pl.scan_parquet(staged)


def register_rows(
    staged: pl.LazyFrame, parts: Sequence[FilePart], detail: Mapping[str, int] | None = None
) -> RegisterRows:
    """What the staged rows of `parts` became: companies, rejected rows, and the count of each."""
    rows, gone = merge_files(staged) if len(parts) > 1 else (staged, 0)
    return RegisterRows(
        stems=tuple(dict.fromkeys(part.stem for part in parts)),
        kept=kept_rows(rows),
        rejected=rejected_rows(rows),
        counts=count_rows(staged, rows, gone, parts, detail or {}),
    )


def merge_files(staged: pl.LazyFrame) -> tuple[pl.LazyFrame, int]:
    """Rows where a company of several files stands once, and how many rows that took away.

    It stands where it came first; of each field the first file's non-null value wins.
    """
    shared = _shared_ids(staged)
    if shared.is_empty():
        return staged, 0
    fields = [name for name in COMPANIES if name not in ("iso2", "id")]
    several = staged.join(shared.lazy(), on="id", how="semi").sort("rang")
    united = several.group_by("id", maintain_order=True).agg(
        pl.col("rang").first().alias("rang_premier"),
        *(pl.col(name).drop_nulls().first().alias(f"{name}_uni") for name in fields),
    )
    joined = staged.join(united, on="id", how="left", maintain_order="left")
    first = pl.col("rang_premier").is_null() | (pl.col("rang") == pl.col("rang_premier"))
    one_each = joined.filter(first).with_columns(
        pl.coalesce(pl.col(f"{name}_uni"), pl.col(name)).alias(name) for name in fields
    )
    gone = joined.select((~first).sum()).collect(engine="streaming").item()
    return one_each.select(list(staged.collect_schema())), int(gone)


def kept_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The canonical columns of the rows that are neither dropped nor rejected."""
    return rows.filter(pl.col("ecart").is_null() & _fault().is_null()).select(list(COMPANIES))


def rejected_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows without an id or a name, with where they stood and the reason."""
    faulty = rows.filter(pl.col("ecart").is_null() & _fault().is_not_null())
    why = {"motif": _fault(), "detail": pl.lit(None, dtype=pl.String)}
    return faulty.with_columns(**why).select(list(REJECTED))


def count_rows(
    staged: pl.LazyFrame,
    rows: pl.LazyFrame,
    gone: int,
    parts: Sequence[FilePart],
    detail: Mapping[str, int],
) -> RowCounts:
    """Account for every row: `staged` before the merge, `rows` after it."""
    unreadable = pl.col("date_publiee").is_not_null() & pl.col("date_creation").is_null()
    special = _tally(staged, "note", "note_valeur")
    dates = _tally(
        staged.filter(unreadable).with_columns(note=pl.lit(UNREADABLE_DATE)), "note", "date_publiee"
    )
    old = {f"{part.nom} en cp1252": 1 for part in parts if part.ancien_encodage}
    fine = pl.col("ecart").is_null()
    dropped = _tally(rows.filter(~fine), "ecart", "ecart")
    refused = _tally(rejected_rows(rows), "motif", "motif")
    return RowCounts(
        lus=_length(staged),
        gardes=_length(kept_rows(rows)),
        ecartes={reason: n for reason, (n, _) in dropped.items()},
        rejetes={reason: n for reason, (n, _) in refused.items()},
        fusionnes=gone,
        traites={reason: n for reason, (n, _) in (special | dates).items()} | old,
        exemples={reason: found for reason, (_, found) in (special | dates).items() if found},
        detail=detail,
    )


def iso_date(published: pl.Expr, form: str) -> pl.Expr:
    """The ISO text of a date published as `form`, null if it is none."""
    return published.str.to_date(form, strict=False).dt.to_string("iso")


def joined_text(parts: Sequence[pl.Expr], separator: str = ", ") -> pl.Expr:
    """The non-null texts, joined; null if there is none."""
    text = pl.concat_str(parts, separator=separator, ignore_nulls=True)
    return pl.when(text != "").then(text)


def _mapped(part: FilePart, rank: int, frame: pl.LazyFrame, entity: Entity) -> pl.LazyFrame:
    canonical = {
        name: entity.columns.get(name, pl.lit(None)).cast(dtype)
        for name, dtype in COMPANIES.items()
    }
    beside = {
        "fichier": pl.lit(part.nom),
        "rang": pl.lit(rank),
        "ligne": pl.col("ligne"),
        "ecart": entity.ecart,
        "note": entity.note,
        "note_valeur": entity.note_valeur,
        "date_publiee": entity.date_publiee,
    }
    typed = {name: beside[name].cast(dtype) for name, dtype in _STAGED.items()}
    return frame.select(**canonical, **typed)


def _shared_ids(staged: pl.LazyFrame) -> pl.DataFrame:
    """The ids that stand once in each of several files."""
    per_file = staged.filter(pl.col("id").is_not_null()).group_by("id", "rang").len()
    per_id = per_file.group_by("id").agg(files=pl.len(), most=pl.col("len").max())
    shared = per_id.filter((pl.col("files") > 1) & (pl.col("most") == 1))
    return shared.select("id").collect(engine="streaming")


def _fault() -> pl.Expr:
    return (
        pl.when(pl.col("id").is_null())
        .then(pl.lit(NO_ID))
        .when(pl.col("nom").is_null())
        .then(pl.lit(NO_NAME))
    )


def _tally(rows: pl.LazyFrame, reason: str, example: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    """For each value of `reason`: how often, and the smallest few values of `example`."""
    found = (
        rows.filter(pl.col(reason).is_not_null())
        .group_by(reason)
        .agg(n=pl.len(), examples=pl.col(example).drop_nulls().unique().bottom_k(EXAMPLES).sort())
        .sort(reason)
        .collect(engine="streaming")
    )
    return {name: (n, tuple(examples)) for name, n, examples in found.iter_rows()}


def _length(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect(engine="streaming").item())
