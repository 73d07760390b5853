"""The statement lines of one country, from its input to those that are stored, and the account of the others.

Lines get reasons before copies and old years are dropped, and the frames of this way stay in files. The account takes
the differences of their heights, so that each line that was read is stored or counted under one reason.
"""

from typing import Any

import polars as pl

from pipeline.canonical import COMPTES
from pipeline.publishing.task import Task
from pipeline.stages import (
    doubtful_accounts,
    implausible_values,
    input_files,
    money,
    personal_data,
    rejections,
    statement_lines,
    text_cleaning,
)
from pipeline.stages.rejections import REASON


def prepare(task: Task, good: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, dict[str, Any]]:
    """The lines to store (of good rows, without copies, of the last years), all with their reasons, the account."""
    comptes = input_files.scan_country(task.comptes, "comptes", task.iso2)
    patterns = personal_data.patterns(task.tables.seeds, task.iso2)
    marked = (
        comptes.pipe(text_cleaning.clean)
        .pipe(personal_data.refuse, patterns)
        .pipe(money.drop_negative_zeros)
    )
    last_year = implausible_values.latest_year(task.tables.rates)
    judged = _materialise(marked.pipe(statement_lines.add_reasons, good, last_year), task, "judged")
    distinct = _materialise(statement_lines.drop_copies(judged), task, "distinct")
    doubts = doubtful_accounts.add_reasons(distinct, task.tables.seeds)
    weighed = _materialise(doubts, task, "weighed")
    sound = weighed.filter(pl.col(REASON).is_null()).drop(REASON)
    kept = statement_lines.last_years(sound).pipe(statement_lines.fill_labels, task.tables.seeds)
    lines = _materialise(kept, task, "lines")
    return lines, weighed, _account_for(task, judged, weighed, lines)


def _account_for(
    task: Task, judged: pl.LazyFrame, weighed: pl.LazyFrame, lines: pl.LazyFrame
) -> dict[str, Any]:
    """Account for the statement lines, as fields of Quality; stop if too many are bad.

    Bad lines and withheld ones are written apart; lines without a company in the input are only
    counted. A register is not held to what its companies file: withheld lines stop no build.
    """
    path = rejections.lines_path(task.out, task.iso2)
    withheld = weighed.with_columns(iso2=pl.lit(task.iso2)).select(REASON, *COMPTES)
    wrong = judged.filter(pl.col(REASON) != statement_lines.NO_COMPANY).select(REASON, *COMPTES)
    rejections.write(pl.concat([wrong, withheld]), list(COMPTES), path, task.work)
    doubts = rejections.count_reasons(weighed)
    reasons = rejections.count_reasons(judged)
    bad = {name: count for name, count in reasons.items() if name != statement_lines.NO_COMPANY}
    read, good, kept = (
        rejections.count_rows(judged),
        rejections.count_rows(weighed),
        rejections.count_rows(lines),
    )
    rejections.refuse_too_many(task.iso2, "statement lines", read, bad, task.max_rejected, path)
    left_out = {
        **reasons,
        statement_lines.COPY: read - sum(reasons.values()) - good,
        **doubts,
        statement_lines.TOO_OLD: good - sum(doubts.values()) - kept,
    }
    return {
        "donnees_personnelles": personal_data.count(judged),
        "lignes_lues": read,
        "lignes_gardees": kept,
        "lignes_ecartees": {name: count for name, count in left_out.items() if count},
        "lignes_contradictoires": statement_lines.contradictions(lines),
        "comptes_retenus": doubtful_accounts.examples(weighed),
    }


def _materialise(frame: pl.LazyFrame, task: Task, name: str) -> pl.LazyFrame:
    """Compute `frame` once, in bounded memory, into a file; return a scan of the file."""
    path = task.file(name)
    frame.sink_parquet(path, compression="lz4")
    return pl.scan_parquet(path)
