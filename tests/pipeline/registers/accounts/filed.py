"""Imports of accounts, and small XBRL instances for rules that no excerpt shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pipeline import importing
from seeds import TABLES

RAW = TABLES / "raw"


class ImportedAccounts(NamedTuple):
    """The report of an import of accounts, and the statement lines that the import wrote."""

    report: importing.Report
    lines: pl.DataFrame


def import_accounts(source: str, files: list[Path], out: Path) -> ImportedAccounts:
    """Import published accounts of `source` into the folder `out`."""
    report = importing.run(source, files, out)
    return ImportedAccounts(report, pl.read_parquet(out / report.output))


def statement_values(
    lines: pl.DataFrame, identifier: str, exercice: int, etat: str
) -> dict[str, float]:
    """The amounts of one statement of a company and year, by code of the line, in their order."""
    statement = lines.filter(
        pl.col("id") == identifier, pl.col("exercice") == exercice, pl.col("etat") == etat
    )
    return dict(statement.select("code", "valeur").rows())


def instance_xml(
    facts: str, *, number: str = "24256790", day: str = "2024-12-31", dimensions: str = ""
) -> str:
    """An XBRL instance with the context `c` for `day`, and the context `p` for the year that ends on that day.

    The context `g` is `p` with members of `dimensions`. The units are `EUR` and `n`, a number without a currency.
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


def outcome_counts(report: importing.Report) -> Mapping[str, object]:
    """The numbers of accounts that were read, kept, dropped and rejected, the last two by reason."""
    row_counts = report.counts
    return {
        "read": row_counts.read,
        "kept": row_counts.kept,
        "dropped": dict(row_counts.dropped),
        "rejected": dict(row_counts.rejected),
    }
