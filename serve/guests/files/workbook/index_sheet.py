"""The index of the statement sheets: one row per company, with a link to its sheet."""

from collections.abc import Sequence

from serve.contract import company_fields
from serve.guests.files.workbook import table_sheet
from serve.guests.files.workbook.company_accounts import CompanyAccounts
from serve.guests.files.workbook.export_data import ExportData
from serve.guests.files.workbook.labels import Labels
from serve.guests.files.workbook.list_columns import IDENTITY, company_column
from serve.guests.files.workbook.sheet import Sheet
from serve.guests.files.workbook.table_sheet import TableColumn


def write(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write the sheet."""
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
