"""An excerpt read through its register, for tests that hold it to rows written by hand."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipeline.registers import REGISTERS
from pipeline.registers.register import RegisterRows
from seeds import TABLES

RAW = TABLES / "raw"


def read(source: str, files: Sequence[Path], work: Path) -> RegisterRows:
    """The rows and counts of published files."""
    return REGISTERS[source].read(files, work)


def company(found: RegisterRows, identifier: str, iso2: str | None = None) -> dict[str, object]:
    """The canonical columns of one company that are not null."""
    rows = found.kept.filter(pl.col("id") == identifier)
    if iso2:
        rows = rows.filter(pl.col("iso2") == iso2)
    [row] = rows.collect().to_dicts()
    return {name: value for name, value in row.items() if value is not None}


def rejected(found: RegisterRows) -> list[tuple[object, ...]]:
    """Reason and detail of every rejected row."""
    return found.rejected.select("motif", "detail").collect().rows()
