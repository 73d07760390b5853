"""What the batch job knows of a source, and what a source gives back.

A `Register` is a name, a table and a function; the function brings published files to the canonical
columns and says what became of every row. Nothing here reads a file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import polars as pl

# A row that cannot be kept: where it was, what can still be said of it, and why.
REJECTED: Final[Mapping[str, pl.DataType]] = {
    "fichier": pl.String(),
    "ligne": pl.Int64(),  # 1 = the first row after the header; null where a file is one record
    "id": pl.String(),
    "nom": pl.String(),
    "motif": pl.String(),
    "detail": pl.String(),  # the values that show it
}

EXAMPLES: Final = 5  # of each kind of trouble, in the report


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What became of the rows read. `lus` = kept + every value of `ecartes` + rejected + merged."""

    lus: int
    gardes: int
    ecartes: Mapping[str, int] = field(default_factory=dict)
    rejetes: Mapping[str, int] = field(default_factory=dict)
    fusionnes: int = 0  # rows that joined the same company of an earlier file
    traites: Mapping[str, int] = field(default_factory=dict)
    ignores: Mapping[str, int] = field(default_factory=dict)  # facts left on purpose, by reason
    exemples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    detail: Mapping[str, int] = field(default_factory=dict)  # counts that are not of rows


@dataclass(frozen=True, slots=True)
class RegisterRows:
    """A register's files, read: frames over files of the work folder, still to be written."""

    stems: tuple[str, ...]  # of the published files that hold the rows: they name the output
    kept: pl.LazyFrame
    rejected: pl.LazyFrame
    counts: RowCounts


@dataclass(frozen=True, slots=True)
class Register:
    """A source: `read(files, work)` may leave temporary files in the folder `work`."""

    source: str
    table: Literal["companies", "comptes"]
    read: Callable[[Sequence[Path], Path], RegisterRows]
