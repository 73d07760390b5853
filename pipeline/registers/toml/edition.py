"""The edition of the published files: the date of each file, in the column `date_source` of its rows.

The first known date counts:

1. the date in the head (the first bytes) of one of the files, if the declaration has an `edition`;
2. the date in the name of the file;
3. the newest date in the rows of the file: of the declared `date_source`, such as the last change of a record, else of
   the column that the declaration calls `newest`; of accounts, the newest closing date.

A date in the future does not count. The modification time of the file is not used, because a copy of the file has
another time. If no date is known, the column is null.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import TEXT, InputError
from pipeline.errors import excerpt
from pipeline.registers import file_set, packing
from pipeline.registers.register import FileDate
from pipeline.registers.toml.declaration import EditionPattern, FileKind
from pipeline.registers.toml.source_file import FilePart

DATE_COLUMN: Final = "date_source"  # the canonical column with the date of the file of a row
_HEAD_BYTES: Final = 1 << 16  # bytes of a file that are searched for a date


def date_of_head(
    edition: EditionPattern | None, files: Sequence[Path], kinds: Mapping[str, FileKind]
) -> FileDate | None:
    """The date of all files: the oldest date that the head of one of them has; None if no head has a date.

    Raises:
        InputError: the text that the pattern finds is not a date.
    """
    if edition is None:
        return None
    days = [
        _edition_day(match[1], edition, name)
        for name, head in _heads(files, kinds)
        if (match := re.search(edition.pattern, head))
    ]
    past_days = [day for day in days if day <= file_set.latest_date()]
    return FileDate(min(past_days), "contenu") if past_days else None


def refuse_changes(
    pattern: str | None, files: Sequence[Path], kinds: Mapping[str, FileKind]
) -> None:
    """Refuse files if the head of one says that it contains only changes or a part.

    Raises:
        InputError: a head matches `pattern`.
    """
    for name, head in _heads(files, kinds) if pattern else ():
        if match := re.search(str(pattern), head):
            raise InputError(
                f"{name} has only changes or a part, according to its header ({excerpt(match[0])}); "
                "give the complete files of the register"
            )


def _heads(files: Sequence[Path], kinds: Mapping[str, FileKind]) -> Iterator[tuple[str, str]]:
    """The name and the beginning of the text of each published file."""
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    for file in files:
        for member in packing.members(file, suffixes):
            with member.open() as stream:
                yield member.name, stream.read(_HEAD_BYTES).decode("utf-8", "replace")


def _edition_day(text: str, edition: EditionPattern, name: str) -> str:
    """The ISO text of the date that the pattern found in the file `name`."""
    try:
        return datetime.strptime(text, edition.format).replace(tzinfo=UTC).date().isoformat()
    except ValueError as error:
        raise InputError(
            f"{name}: {text!r} is not a date of an edition ({error}); give the day as --date"
        ) from error


def add_dates(
    staged: pl.LazyFrame, main: Sequence[FilePart], edition: FileDate | None, column: str | None
) -> tuple[pl.LazyFrame, dict[Path, FileDate]]:
    """The staged rows with the date of their file, and the dates of the files that have one.

    Args:
        main: the published files of the rows, in the order of `rank`.
        edition: the date in a head, which is that of all files; None without such a date.
        column: the column whose newest date is the date of a file without a date in its name.
    """
    by_rank = _dates_of_parts(staged, main, edition, column)
    days = [file_date.date if file_date else None for file_date in by_rank]
    table = pl.LazyFrame(
        {"rank": range(len(main)), DATE_COLUMN: days},
        schema={"rank": pl.Int32(), DATE_COLUMN: TEXT},
    )
    rows = staged.drop(DATE_COLUMN, strict=False).join(
        table, on="rank", how="left", maintain_order="left"
    )
    return rows, _dates_of_files(main, by_rank)


def dates(rows: pl.LazyFrame, main: Sequence[FilePart], column: str) -> dict[Path, FileDate]:
    """The dates of the files that have one, in their names or as the newest date of `column`.

    Args:
        rows: the rows of all files, with the number of their file in `rank`.
    """
    return _dates_of_files(main, _dates_of_parts(rows, main, None, column))


def _dates_of_parts(
    rows: pl.LazyFrame, main: Sequence[FilePart], edition: FileDate | None, column: str | None
) -> list[FileDate | None]:
    """The date of each main file: of the edition, else in its name, else the newest in its rows, else None."""
    newest = _newest_dates(rows, column)
    by_rank: list[FileDate | None] = []
    for rank, part in enumerate(main):
        name = file_set.date_in_name(part.file.name) or file_set.date_in_name(part.name)
        by_rank.append(edition or (FileDate(name, "nom") if name else newest.get(rank)))
    return by_rank


def _dates_of_files(
    main: Sequence[FilePart], by_part: Sequence[FileDate | None]
) -> dict[Path, FileDate]:
    """The date of each given file that has a date: the latest date of the published files in it."""
    latest: dict[Path, FileDate] = {}
    for part, file_date in zip(main, by_part, strict=True):
        if file_date and (file_date.date or "") >= (latest.get(part.file, file_date).date or ""):
            latest[part.file] = file_date
    return latest


def _newest_dates(staged: pl.LazyFrame, column: str | None) -> dict[int, FileDate]:
    """The newest date in the rows of each file, by its number in the import (`rank`); future dates are errors."""
    if column is None:
        return {}
    past_rows = staged.filter(pl.col(column) <= file_set.latest_date())
    newest = past_rows.group_by("rank").agg(pl.col(column).max()).collect(engine="streaming")
    return {rank: FileDate(day, "contenu") for rank, day in newest.iter_rows()}
