"""Workbooks made from small data and read back by openpyxl, for the tests of this folder."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from openpyxl import load_workbook
from openpyxl.cell import Cell
from openpyxl.workbook import Workbook

from quota.plans import load
from serve.contract import seed_tables
from serve.features.export.workbook import book
from serve.features.export.workbook.export_data import ExportRequest, ExportResult
from shards.generations import generation_files
from shards.query import Query
from tests.serve import world
from tests.serve.world import Lines
from tests.world import Company

PLANS: Final = load()
DAY: Final = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)


def asked(data: Path, generation: str, plan: str = "integral", **changes: Any) -> ExportRequest:
    """An export of everything by `plan`; `changes` are fields of ExportRequest."""
    of = PLANS[plan]
    whole = ExportRequest(
        data / generation, DAY, Query(), of.lignes_par_export, "fr", of, (), "essai-1", DAY
    )
    return replace(whole, **changes)


@dataclass(frozen=True)
class File:
    """A workbook on disk, and what its maker said of it."""

    path: Path
    made: ExportResult

    @property
    def sheets(self) -> Workbook:
        return load_workbook(self.path)

    @property
    def values(self) -> Workbook:
        """The sheets with the values of formulas in their place."""
        return load_workbook(self.path, data_only=True)

    @property
    def parts(self) -> dict[str, bytes]:
        """The files of the package."""
        with ZipFile(self.path) as package:
            return {name: package.read(name) for name in package.namelist()}

    @property
    def text(self) -> bytes:
        """All that it holds, one part after the other."""
        return b"\n".join(self.parts.values())


# Accounts of a company of whose lines every ratio can be computed, by line of the chart; in thousands.
FIGURES: Final = {
    "FixedAssets": 500.0, "CurrentAssets": 700.5, "TotalAssets": 1_200.5, "TotalInventories": 120.0,
    "Debtors": 300.0, "TradeDebtorsTradeReceivables": 250.0, "CashBankOnHand": 80.25, "Equity": 410.0,
    "RetainedEarnings": 200.0, "LegalReserve": 20.0, "Liabilities": 790.5, "CreditorsDueWithinOneYear": 400.0,
    "TradeCreditorsTradePayables": 150.0, "TurnoverRevenue": 2_500.0, "CostSales": 1_600.0,
    "OperatingProfitLoss": 210.0, "ProfitLoss": 140.0, "AverageNumberEmployeesDuringPeriod": 12.0,
}  # fmt: skip


def annual(devise: str, years: Mapping[int, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Statement lines (E5) of figures by line of the chart, by year."""
    chart = {row["code"]: row for row in seed_tables.rows("postes.csv")}
    return [
        {
            "etat": chart[code]["etat"],
            "code": code,
            "libelle": chart[code]["libelle_fr"],
            "valeur": value,
            "devise": None if "Employees" in code else devise,
            "exercice": year,
            "ordre": int(chart[code]["ordre"]),
        }
        for year, figures in years.items()
        for code, value in figures.items()
    ]


def grown(factor: float) -> dict[str, float]:
    """FIGURES in units, some years later."""
    return {
        code: value if "Employees" in code else round(1_000 * value * factor, 2)
        for code, value in FIGURES.items()
    }


# The accounts of a French company, and of a British one that files some lines only.
ACCOUNTS: Final = {
    world.WITH_STATEMENTS: annual("EUR", {year: grown(1.1 ** (year - 2024)) for year in range(2020, 2025)}),
    ("UK", "08209948"): annual("GBP", {
        2023: {"CurrentAssets": 50.0, "Equity": -10.0, "TurnoverRevenue": 90.0},
        2022: {"CurrentAssets": 40.0, "FixedAssets": 5.0, "Equity": 12.5, "TurnoverRevenue": 100.0,
               "Debtors": 7.0, "CreditorsDueWithinOneYear": 30.0},
    }),
}  # fmt: skip


def make(wanted: ExportRequest, folder: Path) -> File:
    """The workbook of `wanted`, in a new file of `folder`; nothing else may be left there."""
    temporary = Path(tempfile.mkdtemp(dir=folder))
    path = temporary.with_suffix(".xlsx")
    with generation_files.load(wanted.folder.parent, wanted.folder.name) as generation:
        made = book.make(wanted, generation, path, temporary)
    assert not list(temporary.iterdir())
    return File(path, made)


def of_world(
    folder: Path,
    companies: Sequence[Company] = world.COMPANIES,
    comptes: Mapping[tuple[str, str], Lines] | None = None,
    plan: str = "integral",
    **changes: Any,
) -> File:
    """The workbook of everything in a world that is published for it."""
    data = Path(tempfile.mkdtemp(dir=folder))
    known = {world.WITH_STATEMENTS: world.STATEMENTS} if comptes is None else comptes
    return make(asked(data, world.publish(data, companies, known), plan, **changes), folder)


def rows(sheet: Any, header: int = 1) -> list[dict[str, Any]]:
    """The rows under a header row, as dicts by heading, up to the first empty one."""
    lines = sheet.iter_rows(min_row=header, values_only=True)
    titles = [title for title in next(lines) if title is not None]
    found = []
    for line in lines:
        if all(value is None for value in line[: len(titles)]):
            break
        found.append(dict(zip(titles, line, strict=False)))
    return found


def cells(file: File) -> list[Cell]:
    """Every cell of every sheet that has a value."""
    return [
        cell
        for sheet in file.sheets.worksheets
        for line in sheet.iter_rows()
        for cell in line
        if cell.value is not None
    ]
