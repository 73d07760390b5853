"""Makes workbooks from small data and reads them with openpyxl, for the tests of this folder."""

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
from tests.serve.world import StatementLines
from tests.world import Company

PLANS: Final = load()
# The time of an export and of the publication of its generation.
DAY: Final = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)


def export_request(
    data: Path, generation: str, plan: str = "integral", **changes: Any
) -> ExportRequest:
    """An export of all companies under `plan`; `changes` are fields of ExportRequest."""
    limits = PLANS[plan]
    request = ExportRequest(
        data / generation, DAY, Query(), limits.lignes_par_export, "fr", limits, (), "essai-1", DAY
    )
    return replace(request, **changes)


@dataclass(frozen=True)
class WorkbookFile:
    """A workbook on disk, and the result of its export."""

    path: Path
    result: ExportResult

    @property
    def sheets(self) -> Workbook:
        """The sheets, with formulas as text."""
        return load_workbook(self.path)

    @property
    def values(self) -> Workbook:
        """The sheets, with the values of formulas instead of the formulas."""
        return load_workbook(self.path, data_only=True)

    @property
    def parts(self) -> dict[str, bytes]:
        """The files of the ZIP package by name."""
        with ZipFile(self.path) as package:
            return {name: package.read(name) for name in package.namelist()}

    @property
    def all_bytes(self) -> bytes:
        """The bytes of all parts."""
        return b"\n".join(self.parts.values())


# A value for each line of the chart of accounts that a ratio needs, in thousands.
FIGURES_IN_THOUSANDS: Final = {
    "FixedAssets": 500.0, "CurrentAssets": 700.5, "TotalAssets": 1_200.5, "TotalInventories": 120.0,
    "Debtors": 300.0, "TradeDebtorsTradeReceivables": 250.0, "CashBankOnHand": 80.25, "Equity": 410.0,
    "RetainedEarnings": 200.0, "LegalReserve": 20.0, "Liabilities": 790.5, "CreditorsDueWithinOneYear": 400.0,
    "TradeCreditorsTradePayables": 150.0, "TurnoverRevenue": 2_500.0, "CostSales": 1_600.0,
    "OperatingProfitLoss": 210.0, "ProfitLoss": 140.0, "AverageNumberEmployeesDuringPeriod": 12.0,
}  # fmt: skip


def statement_lines(devise: str, years: Mapping[int, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Statement lines (E5) in the currency `devise`; `years` has the values by year and by code of seeds/postes.csv."""
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


def scaled_figures(factor: float) -> dict[str, float]:
    """FIGURES_IN_THOUSANDS in units, multiplied by `factor`, except the number of employees."""
    return {
        code: value if "Employees" in code else round(1_000 * value * factor, 2)
        for code, value in FIGURES_IN_THOUSANDS.items()
    }


# Statement lines of a French company, and of a British company that files only some lines.
ACCOUNTS: Final = {
    world.WITH_STATEMENTS: statement_lines(
        "EUR", {year: scaled_figures(1.1 ** (year - 2024)) for year in range(2020, 2025)}
    ),
    ("UK", "08209948"): statement_lines("GBP", {
        2023: {"CurrentAssets": 50.0, "Equity": -10.0, "TurnoverRevenue": 90.0},
        2022: {"CurrentAssets": 40.0, "FixedAssets": 5.0, "Equity": 12.5, "TurnoverRevenue": 100.0,
               "Debtors": 7.0, "CreditorsDueWithinOneYear": 30.0},
    }),
}  # fmt: skip


def workbook_of_request(request: ExportRequest, folder: Path) -> WorkbookFile:
    """The workbook of `request` in a new file of `folder`; fails if a temporary file is left."""
    temporary = Path(tempfile.mkdtemp(dir=folder))
    path = temporary.with_suffix(".xlsx")
    with generation_files.load(request.folder.parent, request.folder.name) as generation:
        result = book.make(request, generation, path, temporary)
    assert not list(temporary.iterdir())
    return WorkbookFile(path, result)


def make_workbook(
    folder: Path,
    companies: Sequence[Company] = world.COMPANIES,
    comptes: Mapping[tuple[str, str], StatementLines] | None = None,
    plan: str = "integral",
    **changes: Any,
) -> WorkbookFile:
    """Publish companies and make the workbook of all of them.

    Args:
        comptes: statement lines by company; None is the statements of the HTTP tests.
        changes: fields of ExportRequest.
    """
    data = Path(tempfile.mkdtemp(dir=folder))
    statements = {world.WITH_STATEMENTS: world.STATEMENTS} if comptes is None else comptes
    return workbook_of_request(
        export_request(data, world.publish(data, companies, statements), plan, **changes), folder
    )


def sheet_rows(sheet: Any, header: int = 1) -> list[dict[str, Any]]:
    """The rows below a header row, as dicts by heading, up to the first empty row."""
    lines = sheet.iter_rows(min_row=header, values_only=True)
    titles = [title for title in next(lines) if title is not None]
    table = []
    for line in lines:
        if all(value is None for value in line[: len(titles)]):
            break
        table.append(dict(zip(titles, line, strict=False)))
    return table


def cells_with_values(file: WorkbookFile) -> list[Cell]:
    """The cells with a value, of all sheets."""
    return [
        cell
        for sheet in file.sheets.worksheets
        for line in sheet.iter_rows()
        for cell in line
        if cell.value is not None
    ]
