"""The edition of the published files: the date of each of them, in the column `date_source` of its rows.

It is the first of these that is known: the date in the head of one of the files, where the declaration has an
`edition`; the date in the name; the newest date in the rows of the file: of the `date_source` that the declaration
reads, such as the last change of a record, else of the column that it calls `newest`; of accounts, the newest closing
date. A date in the future does not count. The time of the file itself counts for nothing: that of a copy is another.
Where no date is, it is not known, and the column is null.
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

COLUMN: Final = "date_source"
_HEAD: Final = 1 << 16  # bytes


def date_of_head(
    edition: EditionPattern | None, files: Sequence[Path], kinds: Mapping[str, FileKind]
) -> FileDate | None:
    """The date of the whole edition, from the head of one of the files; the oldest of several.

    Raises:
        InputError: what stands there is no date.
    """
    if edition is None:
        return None
    days = [
        _day(found[1], edition, name)
        for name, head in _heads(files, kinds)
        if (found := re.search(edition.pattern, head))
    ]
    past = [day for day in days if day <= file_set.latest_date()]
    return FileDate(min(past), "contenu") if past else None


def refuse_changes(
    pattern: str | None, files: Sequence[Path], kinds: Mapping[str, FileKind]
) -> None:
    """Refuse files of which one says in its head that they have changes alone.

    Raises:
        InputError: one does.
    """
    for name, head in _heads(files, kinds) if pattern else ():
        if found := re.search(str(pattern), head):
            raise InputError(
                f"{name} has changes or a part alone, by its head ({excerpt(found[0])}); give the whole files of"
                " the register"
            )


def _heads(files: Sequence[Path], kinds: Mapping[str, FileKind]) -> Iterator[tuple[str, str]]:
    """The names of the published files, and the beginnings of their texts."""
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    for file in files:
        for member in packing.members(file, suffixes):
            with member.open() as stream:
                yield member.name, stream.read(_HEAD).decode("utf-8", "replace")


def _day(text: str, edition: EditionPattern, name: str) -> str:
    try:
        return datetime.strptime(text, edition.format).replace(tzinfo=UTC).date().isoformat()
    except ValueError as error:
        raise InputError(
            f"{name}: {text!r} is no date of an edition ({error}); give the day as --date"
        ) from error


def add_dates(
    staged: pl.LazyFrame, main: Sequence[FilePart], edition: FileDate | None, column: str | None
) -> tuple[pl.LazyFrame, dict[Path, FileDate]]:
    """The staged rows with the date of their file, and the dates of the files that tell one.

    Args:
        column: the one whose newest date is that of the file, where its name has none.
    """
    by_rank = _dates_of_parts(staged, main, edition, column)
    days = [found.date if found else None for found in by_rank]
    table = pl.LazyFrame(
        {"rank": range(len(main)), COLUMN: days}, schema={"rank": pl.Int32(), COLUMN: TEXT}
    )
    rows = staged.drop(COLUMN, strict=False).join(
        table, on="rank", how="left", maintain_order="left"
    )
    return rows, _dates_of_files(main, by_rank)


def dates(rows: pl.LazyFrame, main: Sequence[FilePart], column: str) -> dict[Path, FileDate]:
    """The dates of the files that tell one, in their names or as the newest date of `column`.

    Args:
        rows: the rows of all files, with the number of their file in `rank`.
    """
    return _dates_of_files(main, _dates_of_parts(rows, main, None, column))


def _dates_of_parts(
    rows: pl.LazyFrame, main: Sequence[FilePart], edition: FileDate | None, column: str | None
) -> list[FileDate | None]:
    newest = _newest_dates(rows, column)
    found: list[FileDate | None] = []
    for rank, part in enumerate(main):
        name = file_set.date_in_name(part.file.name) or file_set.date_in_name(part.name)
        found.append(edition or (FileDate(name, "nom") if name else newest.get(rank)))
    return found


def _dates_of_files(
    main: Sequence[FilePart], by_part: Sequence[FileDate | None]
) -> dict[Path, FileDate]:
    """The date of each file that has one: the last of those of its parts."""
    found: dict[Path, FileDate] = {}
    for part, told in zip(main, by_part, strict=True):
        if told and (told.date or "") >= (found.get(part.file, told).date or ""):
            found[part.file] = told
    return found


def _newest_dates(staged: pl.LazyFrame, column: str | None) -> dict[int, FileDate]:
    """The newest date in the rows of each file, by rank; one in the future is an error."""
    if column is None:
        return {}
    past = staged.filter(pl.col(column) <= file_set.latest_date())
    found = past.group_by("rank").agg(pl.col(column).max()).collect(engine="streaming")
    return {rank: FileDate(day, "contenu") for rank, day in found.iter_rows()}
