"""Imported excerpts, and small instances for the rules that no excerpt shows."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pipeline import importing
from seeds import TABLES

RAW = TABLES / "raw"


def imported(source: str, files: list[Path], out: Path) -> tuple[importing.Report, pl.DataFrame]:
    """The report of an import and the rows it wrote."""
    report = importing.run(source, files, out)
    return report, pl.read_parquet(out / report.output)


def values(lines: pl.DataFrame, identifier: str, exercice: int, etat: str) -> dict[str, float]:
    """The lines of one statement, by code, in their order."""
    own = lines.filter(
        pl.col("id") == identifier, pl.col("exercice") == exercice, pl.col("etat") == etat
    )
    return dict(own.select("code", "valeur").rows())


def instance(
    facts: str, *, number: str = "24256790", day: str = "2024-12-31", dimensions: str = ""
) -> str:
    """An XBRL instance with a context `c` for the instant `day`, `p` for the year that it ends.

    `g` is `p` with the `dimensions`. Units are EUR, `n` (a pure number).
    """
    entity = f'<entity><identifier scheme="s">{number}</identifier></entity>'
    year = f"<startDate>{day[:4]}-01-01</startDate><endDate>{day}</endDate>"
    return (
        '<?xml version="1.0"?><xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:f="f"'
        ' xmlns:xbrldi="http://xbrl.org/2006/xbrldi"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'<context id="c">{entity}<period><instant>{day}</instant></period></context>'
        f'<context id="p">{entity}<period>{year}</period></context>'
        f'<context id="g">{entity}<period>{year}</period>'
        f"<scenario>{dimensions}</scenario></context>"
        '<unit id="EUR"><measure>iso4217:EUR</measure></unit>'
        '<unit id="n"><measure>xbrli:pure</measure></unit>'
        f"{facts}</xbrl>"
    )


def counts(report: importing.Report) -> Mapping[str, object]:
    """What became of the accounts."""
    found = report.counts
    return {
        "read": found.read,
        "kept": found.kept,
        "dropped": dict(found.dropped),
        "rejected": dict(found.rejected),
    }
