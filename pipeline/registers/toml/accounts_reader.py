"""The reader of declared filed accounts: published tables become statement lines.

The steps: the rows of each file (`main_rows`), their filings (`filings`), the lines of the
filings that count (`account_lines`), and the account of every row, below. A row is a filing in a
table with a column per amount, and an amount in a table with a row per amount.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from pipeline.registers.accounts.statement import UNLIKELY_LENGTH
from pipeline.registers.register import (
    EXAMPLES,
    REJECTED,
    FileDate,
    RegisterRows,
    RowCounts,
    reason_counts,
    row_count,
)
from pipeline.registers.toml import account_lines, edition, filings
from pipeline.registers.toml.account_lines import (
    NO_AMOUNT,
    UNKNOWN,
    UNREADABLE,
    AccountLines,
)
from pipeline.registers.toml.declaration import Declaration
from pipeline.registers.toml.filings import REPLACED, StagedFile
from pipeline.registers.toml.source_file import ROW, FilePart


def read(
    declared: Declaration,
    rows: Sequence[tuple[FilePart, pl.LazyFrame]],
    parts: Sequence[FilePart],
    work: Path,
    detail: Mapping[str, int],
) -> RegisterRows:
    """The lines and the account of the main `rows` of each file; `parts` are all files."""
    staged = [
        filings.stage(declared, part, rank, frame, work) for rank, (part, frame) in enumerate(rows)
    ]
    gone = filings.replaced_filings(staged)
    legend = declared.statements.legend if declared.statements else None
    legends = [part for part in parts if legend and part.kind.name == legend.file]
    lines = account_lines.read(declared, staged, legends, gone, work)
    return RegisterRows(
        stems=tuple(dict.fromkeys(file.part.stem for file in staged)),
        kept=lines.kept,
        rejected=_rejected_rows(staged, lines),
        counts=_counts(staged, gone, lines, detail),
        dates=_dates(staged),
    )


def _dates(staged: Sequence[StagedFile]) -> dict[Path, FileDate]:
    """The dates of the files: in their names, else their newest closing date."""
    closings = pl.concat(file.rows.select("rank", "cloture") for file in staged)
    return edition.dates(closings, [file.part for file in staged], "cloture")


def _rejected_rows(staged: Sequence[StagedFile], lines: AccountLines) -> pl.LazyFrame:
    """The rejected rows, in the columns of REJECTED."""
    refused = [
        file.rows.filter(
            pl.col("drop_reason").is_null() & pl.col("reject_reason").is_not_null()
        ).select("fichier", ROW, "id", pl.lit(None, pl.String).alias("nom"),
                 pl.col("reject_reason").alias("motif"), "detail")
        for file in staged
    ]  # fmt: skip
    unread = lines.left_out.filter(pl.col("is_row") & (pl.col("raison") == UNREADABLE)).select(
        "fichier", ROW, "id", pl.lit(None, pl.String).alias("nom"),
        pl.col("raison").alias("motif"), pl.col(filings.VALUE).alias("detail"),
    )  # fmt: skip
    return pl.concat([*refused, unread]).select(
        pl.col(name).cast(dtype) for name, dtype in REJECTED.items()
    )


def _counts(
    staged: Sequence[StagedFile],
    gone: pl.LazyFrame,
    lines: AccountLines,
    detail: Mapping[str, int],
) -> RowCounts:
    read = sum(row_count(file.rows) for file in staged)
    rejected = reason_counts(_rejected_rows(staged, lines), "motif")
    dropped = _count_dropped(staged, gone)
    of_rows = reason_counts(lines.left_out.filter("is_row"), "raison")
    dropped |= {why: n for why, n in of_rows.items() if why != UNREADABLE}
    dropped |= lines.repeated
    of_cells = reason_counts(lines.left_out.filter(~pl.col("is_row")), "raison")
    noted = _notes(staged) | of_cells
    if lines.unlikely:
        noted[UNLIKELY_LENGTH] = lines.unlikely
    names = account_lines.unknown_names(lines.left_out, 4 * EXAMPLES)
    return RowCounts(
        read=read,
        kept=read - sum(dropped.values()) - sum(rejected.values()),
        dropped=dict(sorted(dropped.items())),
        rejected=rejected,
        noted=noted,
        examples={UNKNOWN: names} if names else {},
        detail={**_detail(lines), **detail},
    )


def _count_dropped(staged: Sequence[StagedFile], gone: pl.LazyFrame) -> dict[str, int]:
    """The rows of the files that give nothing, before their amounts are looked at."""
    dropped: dict[str, int] = {}
    for file in staged:
        chosen = filings.chosen_rows(file, gone)
        none = [pl.col(name).is_null() for name in file.values] or [pl.lit(False)]
        blank = chosen.filter(pl.all_horizontal(none))
        found = reason_counts(file.rows, "drop_reason")
        found[REPLACED] = row_count(filings.good_rows(file)) - row_count(chosen)
        found[NO_AMOUNT] = row_count(blank)
        for why, count in found.items():
            if count:
                dropped[why] = dropped.get(why, 0) + count
    return dropped


def _notes(staged: Sequence[StagedFile]) -> dict[str, int]:
    noted: dict[str, int] = {}
    for file in staged:
        kept = file.rows.filter(pl.col("drop_reason").is_null() & pl.col("note").is_not_null())
        for why, count in reason_counts(kept, "note").items():
            noted[why] = noted.get(why, 0) + count
        if file.part.is_cp1252:
            noted[f"{file.part.name} en cp1252"] = 1
    return noted


def _detail(lines: AccountLines) -> dict[str, int]:
    counted = lines.kept.select(
        companies=pl.struct("iso2", "id").hash().n_unique(),
        years=pl.struct("iso2", "id", "exercice").hash().n_unique(),
        lines=pl.len(),
    ).collect(engine="streaming")
    companies, years, written = counted.row(0)
    return {"sociétés": companies, "exercices": years, "lignes écrites": written}
