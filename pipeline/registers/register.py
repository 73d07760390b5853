"""The interface between a source and the import: what the reader of a source returns, and the counts of its rows.

A `Register` is a name, a table and a function. The function reads published files into canonical
columns and counts every row as kept, dropped, rejected or merged. This module reads no file.

Reasons (the keys of the mappings below, the column `motif`) are the French texts of the import
report and of the rejected rows; `pipeline.console` has the English texts that commands print.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

import polars as pl

from pipeline import console
from shards.generations.register_sources import DateOrigin

# The columns of a rejected row: its file and number, its identity as far as it is known, the reason.
REJECTED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "ligne": pl.Int64(),  # 1 is the first row after the header; null where a file is one record
    "id": pl.String(),
    "nom": pl.String(),
    "motif": pl.String(),
    "detail": pl.String(),  # the values that show the reason
}

MAX_REJECTED: Final = 0.05  # share of the rows of an import; a larger share means a faulty file
LEAST_MEMORY: Final = 1 << 29  # bytes: the least memory with which an import is started
# Bytes of memory that an import takes before its first row: the process, and what Polars reads ahead.
_BYTES_WITHOUT_ROWS: Final = 3 << 27
# Placeholders for an unknown day: of the years 0000, 0001, 2099, 2999, 3000 or 9999, in ISO form or with the year last.
NO_DAY: Final = (
    r"^(?:(?:2099|2999|9999)[-/.]12[-/.]31|3000[-/.]01[-/.]01|0000[-/.]00[-/.]00|0001[-/.]01[-/.]01"
    r"|31[-/.]12[-/.](?:2099|2999|9999)|01[-/.]01[-/.]3000|00[-/.]00[-/.]0000|01[-/.]01[-/.]0001)(?:[T ].*)?$"
)
EXAMPLES: Final = 5  # example values for each reason in the report
_REASONS_NAMED: Final = 3  # reasons that a message names: the most common ones


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The counts of the rows of one import, by what became of the rows.

    `read` = `kept` + the values of `dropped` + the values of `rejected` + `merged`.

    Attributes:
        dropped: rows left out on purpose, such as natural persons, by reason.
        rejected: rows that cannot be kept, by reason.
        merged: rows merged into the row of the same company in another file.
        noted: kept rows with special treatment, by reason.
        ignored: facts left out on purpose, by reason.
        examples: some values for the reasons in `noted`.
        detail: counts of things that are not rows.
    """

    read: int
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    merged: int = 0
    noted: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    detail: Mapping[str, int] = field(default_factory=dict)

    def too_many_rejected(self, max_share: float) -> str:
        """A message about the rejected rows if they are more than `max_share` of all rows; else an empty text."""
        rejected_count = sum(self.rejected.values())
        if rejected_count <= max_share * self.read:
            return ""
        most_common = sorted(self.rejected.items(), key=lambda item: (-item[1], item[0]))[
            :_REASONS_NAMED
        ]
        reasons = ", ".join(console.reason_and_count(*item) for item in most_common)
        share = rejected_count / self.read
        return (
            f"{rejected_count:,} of {self.read:,} rows are rejected ({share:.1%}, at most {max_share:.1%}):"
            f" {reasons}"
        )


class FileDate(NamedTuple):
    """The date of a published file (ISO 8601, a day or a month; None if unknown), and where the date was found."""

    date: str | None
    origin: DateOrigin


@dataclass(frozen=True, slots=True)
class RegisterRows:
    """The result of reading a register: lazy frames over files of the work folder.

    Attributes:
        stems: the names, without suffixes, of the published files that contain the rows; the output files have these
            names.
        kept: rows in canonical columns.
        rejected: rows in the columns of REJECTED.
        dates: the dates of the given files whose content or name has a date.
    """

    stems: tuple[str, ...]
    kept: pl.LazyFrame
    rejected: pl.LazyFrame
    counts: RowCounts
    dates: Mapping[Path, FileDate] = field(default_factory=dict)


class RegisterReader(Protocol):
    """The function with which a `Register` reads its published files and makes canonical rows of them."""

    def __call__(
        self, files: Sequence[Path], work: Path, memory: int | None = None
    ) -> RegisterRows:
        """Read `files` within `memory` bytes; if `memory` is None, a reader only keeps to its own limit of rows."""


def rows_within(memory: int | None, row_bytes: int, most_rows: int) -> int:
    """The number of rows of `row_bytes` bytes each that fit in `memory` bytes, at most `most_rows`.

    >>> rows_within(None, 1_000, 500_000), rows_within(LEAST_MEMORY, 1_000, 500_000)
    (500000, 134217)
    """
    return (
        most_rows
        if memory is None
        else min(most_rows, max(0, memory - _BYTES_WITHOUT_ROWS) // row_bytes)
    )


def row_count(rows: pl.LazyFrame) -> int:
    """The number of rows of a frame."""
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def reason_counts(rows: pl.LazyFrame, column: str) -> dict[str, int]:
    """The number of rows with each reason in `column`; rows with null are not counted."""
    counts = rows.filter(pl.col(column).is_not_null()).group_by(column).len().sort(column)
    return dict(counts.collect(engine="streaming").iter_rows())


@dataclass(frozen=True, slots=True)
class Register:
    """A source of rows for one table.

    Attributes:
        source: the name of the source.
        table: the table that the rows belong to.
        read: `read(files, work, memory)` reads the published `files`, or raises InputError for a file of another
            layout. It can leave temporary files in the folder `work`, which must outlive the returned frames.
        complement: the countries whose own register the source only completes (`canonical.Origin`).
        count_rows: `count_rows(file)` reads one published file to its end and returns its number of rows, or raises
            InputError for a file that is damaged or of another layout. If it is None, only the packing of files is
            checked.
        max_rejected: the share of rejected rows above which an import is not credible.
    """

    source: str
    table: Literal["companies", "comptes", "relations"]
    read: RegisterReader
    complement: tuple[str, ...] = ()
    count_rows: Callable[[Path], int] | None = None
    max_rejected: float = MAX_REJECTED
