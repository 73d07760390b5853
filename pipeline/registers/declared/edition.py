"""The edition of the published files: the date of each of them, in the column `date_source` of its rows.

It is the first of these that is known: the date in the head of one of the files, where the declaration has an
`edition`; the date in the name; the newest `date_source` that the declaration reads in the rows of the file, such as
the last change of a record. Where none is, the column is null and the import takes the time of modification.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import TEXT, InputError
from pipeline.registers import file_date, packing
from pipeline.registers.declared.declaration import EditionPattern, FileKind
from pipeline.registers.declared.source_file import FilePart
from pipeline.registers.register import FileDate

COLUMN: Final = "date_source"
_HEAD: Final = 1 << 16  # bytes
_TIME_ZONES: Final = timedelta(days=1)


def told(
    edition: EditionPattern | None, files: Sequence[Path], kinds: Mapping[str, FileKind]
) -> FileDate | None:
    """The date of the whole edition, from the head of one of the files; the oldest of several.

    Raises:
        InputError: what stands there is no date.
    """
    if edition is None:
        return None
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    days = []
    for file in files:
        for member in packing.members(file, suffixes):
            with member.open() as stream:
                head = stream.read(_HEAD).decode("utf-8", "replace")
            if found := re.search(edition.pattern, head):
                days.append(_day(found[1], edition, member.name))
    return FileDate(min(days), "contenu") if days else None


def _day(text: str, edition: EditionPattern, name: str) -> str:
    try:
        return datetime.strptime(text, edition.format).replace(tzinfo=UTC).date().isoformat()
    except ValueError as error:
        raise InputError(f"{name}: the date of the edition cannot be read: {error}") from error


def dated(
    staged: pl.LazyFrame, main: Sequence[FilePart], edition: FileDate | None
) -> tuple[pl.LazyFrame, dict[Path, FileDate]]:
    """The staged rows with the date of their file, and the dates of the files that tell one."""
    newest = _newest(staged, main)
    by_rank: list[str | None] = []
    dates: dict[Path, FileDate] = {}
    for rank, part in enumerate(main):
        name = file_date.in_name(part.file.name) or file_date.in_name(part.name)
        found = edition or (FileDate(name, "nom") if name else newest.get(rank))
        by_rank.append(found.date if found else None)
        if found:
            dates[part.file] = max(found, dates.get(part.file, found))
    table = pl.LazyFrame(
        {"rank": range(len(main)), COLUMN: by_rank}, schema={"rank": pl.Int32(), COLUMN: TEXT}
    )
    rows = staged.drop(COLUMN, strict=False).join(
        table, on="rank", how="left", maintain_order="left"
    )
    return rows, dates


def _newest(staged: pl.LazyFrame, main: Sequence[FilePart]) -> dict[int, FileDate]:
    """The newest date in the rows of each file, by rank; one after the file was written is an error."""
    if COLUMN not in staged.collect_schema():
        return {}
    written = [(file_date.modified(part.file) + _TIME_ZONES).isoformat() for part in main]
    limits = pl.LazyFrame(
        {"rank": range(len(main)), "written": written}, schema={"rank": pl.Int32(), "written": TEXT}
    )
    found = (
        staged.join(limits, on="rank")
        .filter(pl.col(COLUMN) <= pl.col("written"))
        .group_by("rank")
        .agg(pl.col(COLUMN).max())
        .collect(engine="streaming")
    )
    return {rank: FileDate(day, "contenu") for rank, day in found.iter_rows()}
