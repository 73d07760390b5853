"""The sheets Comptes (lignes) and Index des comptes: the statements of all companies as lists."""

from collections.abc import Iterator, Sequence
from typing import Any

from serve.contract import company_fields
from serve.features.export.workbook import table_sheet
from serve.features.export.workbook.company_accounts import CompanyAccounts, line_label
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.list_columns import IDENTITY, company_column
from serve.features.export.workbook.sheet import Sheet
from serve.features.export.workbook.table_sheet import TableColumn
from shards.ratios.exchange_rates import euros_per_unit


def lines_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write Comptes (lignes), for pivots: a row per company, fiscal year and line.

    The lines of E5 are those that were filed, with their values in euros at the rate of the year.
    """
    row_lines = list(_lines(companies))
    rows = [row for row, _ in row_lines]
    lines = [line for _, line in row_lines]
    columns = [
        TableColumn.of_company(company_column(name, labels), data, rows)
        for name in (*IDENTITY, "secteur")
    ]

    def column(title: str, genre: str, values: Sequence[Any], width: float) -> None:
        columns.append(TableColumn(labels(title), genre, values, width))

    column("year", company_fields.YEAR, [line["exercice"] for line in lines], 10)
    sections = {line["etat"]: labels(line["etat"]) for line in lines}
    column("section", company_fields.TEXT, [sections[line["etat"]] for line in lines], 24)
    column("order", company_fields.WHOLE, [line["ordre"] for line in lines], 8)
    column("code", company_fields.TEXT, [line["code"] for line in lines], 30)
    column("line", company_fields.TEXT, [line_label(line, labels.lang) for line in lines], 44)
    column("value", company_fields.AMOUNT, [line["valeur"] for line in lines], 18)
    column("currency", company_fields.TEXT, [line["devise"] for line in lines], 9)
    column("value_eur", company_fields.AMOUNT, [_euros(line) for line in lines], 18)
    table_sheet.write(sheet, "comptes_lignes", columns)


def index_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write Index des comptes: a row per company, with a link to its sheet."""
    rows = [company.row for company in companies]
    columns = [
        TableColumn.of_company(company_column(name, labels), data, rows)
        for name in (*IDENTITY, "secteur", "ville")
    ]
    columns += [
        TableColumn(
            labels("first_year"),
            company_fields.YEAR,
            [min(company.by_year) for company in companies],
            10,
        ),
        TableColumn(
            labels("last_year"),
            company_fields.YEAR,
            [company.last_year for company in companies],
            10,
        ),
        TableColumn(
            labels("sheet"), company_fields.TEXT, [company.sheet for company in companies], 32
        ),
    ]
    links = {place: company.sheet for place, company in enumerate(companies)}
    table_sheet.write(sheet, "index_comptes", columns, links)


def _lines(companies: Sequence[CompanyAccounts]) -> Iterator[tuple[int, dict[str, Any]]]:
    for one in companies:
        for line in one.lines:
            yield one.row, dict(line)


def _euros(line: dict[str, Any]) -> float | None:
    rate = euros_per_unit(line["devise"], line["exercice"])
    return None if rate is None or line["valeur"] is None else line["valeur"] * rate
