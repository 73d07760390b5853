"""Excerpts of published files as the registers read them, for comparison with rows written by hand."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipeline.registers import REGISTERS
from pipeline.registers.register import RegisterRows
from seeds import TABLES

RAW = TABLES / "raw"  # the excerpts


def read(source: str, files: Sequence[Path], work: Path) -> RegisterRows:
    """The rows and counts of published files of `source`; `work` is a folder for temporary files."""
    return REGISTERS[source].read(files, work)


def company(reading: RegisterRows, identifier: str, iso2: str | None = None) -> dict[str, object]:
    """The values of the only kept company with this identifier, by column, without nulls."""
    rows = reading.kept.filter(pl.col("id") == identifier)
    if iso2:
        rows = rows.filter(pl.col("iso2") == iso2)
    [row] = rows.collect().to_dicts()
    return {name: value for name, value in row.items() if value is not None}


def rejected_reasons(reading: RegisterRows) -> list[tuple[object, ...]]:
    """Reason and detail of every rejected row."""
    return reading.rejected.select("motif", "detail").collect().rows()
