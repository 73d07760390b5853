"""The interface of a source: what it must give, and the account of every row.

A `Register` is a name, a table and a function. The function brings published files to the canonical
columns and accounts for every row it read. This module reads no file.

Reasons (the keys of the mappings below, the column `motif`) are the French texts of the import
report and of the rejected rows; `pipeline.console` has the English words that commands print.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

import polars as pl

from pipeline import console
from shards.generations.register_sources import DateOrigin

# The columns of a rejected row: its place, its identity as far as known, the reason.
REJECTED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "ligne": pl.Int64(),  # 1 is the first row after the header; null where a file is one record
    "id": pl.String(),
    "nom": pl.String(),
    "motif": pl.String(),
    "detail": pl.String(),  # the values that show the reason
}

MAX_REJECTED: Final = 0.05  # of the rows of an import: more are the sign of a fault in the file
LEAST_MEMORY: Final = 1 << 29  # bytes that every import may take
_PROCESS: Final = 3 << 27  # bytes of an import before its first row, and of what Polars reads ahead
# A day that stands for none: of the year 0000, 0001 or 9999, in ISO form or with the year at its end.
NO_DAY: Final = (
    r"^(?:9999[-/.]12[-/.]31|0000[-/.]00[-/.]00|0001[-/.]01[-/.]01"
    r"|31[-/.]12[-/.]9999|00[-/.]00[-/.]0000|01[-/.]01[-/.]0001)(?:[T ].*)?$"
)
EXAMPLES: Final = 5  # examples in the report, for each reason
_REASONS: Final = 3  # the most common ones, in a message


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The account of the rows of one import.

    `read` = `kept` + the values of `dropped` + the values of `rejected` + `merged`.

    Attributes:
        dropped: rows left out on purpose, such as natural persons, by reason.
        rejected: rows that cannot be kept, by reason.
        merged: rows that joined the same company of an earlier file.
        noted: kept rows that were treated in a special way, by reason.
        ignored: facts left out on purpose, by reason.
        examples: some values of the reasons in `noted`.
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

    def excess(self, most: float) -> str:
        """Say how many rows are rejected and why, if it is more than the share `most`; else nothing."""
        total = sum(self.rejected.values())
        if total <= most * self.read:
            return ""
        top = sorted(self.rejected.items(), key=lambda item: (-item[1], item[0]))[:_REASONS]
        reasons = ", ".join(console.reason_and_count(*item) for item in top)
        share = total / self.read
        return f"{total:,} of {self.read:,} rows are rejected ({share:.1%}, at most {most:.1%}): {reasons}"


class FileDate(NamedTuple):
    """The date of a published file (ISO 8601, a day or a month), and how it is known; None if it is not."""

    date: str | None
    origin: DateOrigin


@dataclass(frozen=True, slots=True)
class RegisterRows:
    """The result of reading a register: lazy frames over files of the work folder.

    Attributes:
        stems: the published files that hold the rows; they name the output.
        kept: rows in canonical columns.
        rejected: rows in the columns of REJECTED.
        dates: the files among those given whose content or name tells their date.
    """

    stems: tuple[str, ...]
    kept: pl.LazyFrame
    rejected: pl.LazyFrame
    counts: RowCounts
    dates: Mapping[Path, FileDate] = field(default_factory=dict)


class RegisterReader(Protocol):
    """A function that reads published files."""

    def __call__(
        self, files: Sequence[Path], work: Path, memory: int | None = None
    ) -> RegisterRows:
        """The rows of `files`, in `memory` bytes where they are many; None for the usual amount."""


def rows_within(memory: int | None, row: int, most: int) -> int:
    """The rows of `row` bytes each that are held at once: as many as `memory` has room for, at most `most`.

    >>> rows_within(None, 1_000, 500_000), rows_within(LEAST_MEMORY, 1_000, 500_000)
    (500000, 134217)
    """
    return most if memory is None else min(most, max(0, memory - _PROCESS) // row)


def row_count(rows: pl.LazyFrame) -> int:
    """The number of rows."""
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def reason_counts(rows: pl.LazyFrame, column: str) -> dict[str, int]:
    """The rows of each reason in `column`, which is null of the others."""
    found = rows.filter(pl.col(column).is_not_null()).group_by(column).len().sort(column)
    return dict(found.collect(engine="streaming").iter_rows())


@dataclass(frozen=True, slots=True)
class Register:
    """A source of `table`.

    `read(files, work, memory)` reads the published `files`; it may leave temporary files in the folder
    `work`, which outlives the frames it returns. It raises InputError for a file of another layout.
    `complement` names the countries whose own register the source only completes (`canonical.Origin`).
    `count_rows(file)` reads one published file to its end and returns its rows, or raises InputError
    for a file that is damaged or of another layout; without it, only the packing of files is checked.
    `max_rejected` is the share of rejected rows over which an import is not credible.
    """

    source: str
    table: Literal["companies", "comptes", "relations"]
    read: RegisterReader
    complement: tuple[str, ...] = ()
    count_rows: Callable[[Path], int] | None = None
    max_rejected: float = MAX_REJECTED
