"""The sheets of long lists: Liste, Contacts, Ma liste, Comptes (lignes) and Index des comptes.

Liste and Contacts have a row per company. Ma liste has a row per line of a customer's list: the customer's own columns,
then the verdict, the choice and the chosen company of each line. A line without a company has only its own columns and
its verdict. If the chosen company is not in the file, the line has its identifier, and the reason as a remark: the
company is beyond the limit, or no longer in the registers. The other two sheets list the statements of all companies.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from serve.contract import company_fields
from serve.contract.files import OwnLine
from serve.features.export.workbook import table_sheet
from serve.features.export.workbook.company_accounts import CompanyAccounts, line_label
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import BAR, Sheet, clean, shorten
from serve.features.export.workbook.table_sheet import (
    IDENTITY,
    PRINTED,
    TableColumn,
    company_column,
)
from shards.codec.record import CONTACTS
from shards.ratios.accounts import euros_per_unit

# The columns with a data bar in each cell.
_BARS: Final = ("ca_eur", "total_actif_eur")
# The size of the text box for a notice, in pixels; its size and place do not change with the cells below (3).
_NOTICE_BOX: Final = {"width": 420, "height": 40, "object_position": 3}
_LONGEST_TITLE: Final = 200  # characters; Excel takes 255 for a column of a table
_SAMPLE_ROWS: Final = 300  # the first rows, whose texts decide the width of a column
_NARROWEST: Final = 10  # characters
_WIDEST: Final = 44  # characters
# The columns of the chosen company that Ma liste fills even if the company is not in the file.
_IDENTIFIER: Final = ("iso2", "id")
# A text that is a number, and that a cell of the format General shows with the same digits.
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,9})(?:\.\d{0,3}[1-9])?")


def write_list_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]
) -> None:
    """Write the sheet Liste: the companies, with the columns that the request names, or all of table_sheet.py.

    The name of a company links to the sheet of its statements; `comptes` has the names of these sheets by row.
    """
    names = data.request.file.colonnes
    columns = table_sheet.list_columns(labels, names)
    tabled = [TableColumn.company_column(column, data) for column in columns]
    last_row = data.count
    table_sheet.write(sheet, "societes", tabled, comptes, count=last_row)
    for col, column in enumerate(columns):
        if column.name in _BARS:
            bar = {"type": "data_bar", "bar_color": BAR, "bar_solid": True}
            sheet.raw.conditional_format(1, col, max(1, last_row), col, bar)
    sheet.raw.print_area(0, 0, last_row, len(names or PRINTED) - 1)


def write_contacts_sheet(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write the sheet Contacts: the contact fields, with empty columns if the plan lacks the right (§4.6).

    The columns are the same for every plan. Without the right, a box above the empty columns says what is missing.
    """
    contact_columns = [company_column(name, labels) for name in (*IDENTITY, "ville", *CONTACTS)]
    columns = [TableColumn.company_column(column, data) for column in contact_columns]
    table_sheet.write(sheet, "contacts", columns, count=data.count)
    if not data.request.plan.coordonnees:
        sheet.raw.insert_textbox(
            1, len(columns) - len(CONTACTS), labels("no_contacts"), _NOTICE_BOX
        )


def write_own_list_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]
) -> None:
    """Write the sheet Ma liste, the user's own lines; `comptes` names the statement sheets by row of the file.

    A row has the cells of the line as sent, the verdict, note and choice of the match, a remark that says why the
    company is missing or the line has an error, then the fields of the company.
    """
    own = data.request.own
    assert own is not None
    lines = own.lines()
    columns = []
    for place, heading in enumerate(own.headings):
        texts = [line.cells[place] for line in lines]
        column = _text_column(heading or f"{labels('column')} {place + 1}", texts)
        # Only a column that is not a known field (`unused`) can have numbers.
        if place in own.unused and _are_numbers(texts):
            numbers = [_parse_number(text) if text else None for text in texts]
            style = sheet.styles.list_number
            column = TableColumn(column.title, company_fields.WHOLE, numbers, column.width, style)
        columns.append(column)
    columns.append(
        _text_column(labels("verdict"), [labels(f"verdict_{line.verdict}") for line in lines])
    )
    notes = [line.note for line in lines]
    columns.append(
        TableColumn(labels("note"), company_fields.WHOLE, notes, 10, sheet.styles.list_share)
    )
    choices = [line.choice and labels(f"choice_{line.choice}") for line in lines]
    columns.append(_text_column(labels("choice"), choices))
    rows = _rows_of_lines(data, lines)
    reasons = data.left_out()
    remarks = [
        line.error
        or (labels(reason) if line.company and (reason := reasons.get(line.company)) else None)
        for line in lines
    ]
    columns.append(_text_column(labels("remark"), remarks))
    columns += [_company_column(name, data, labels, lines, rows) for name in PRINTED]
    links = {
        line: comptes[row] for line, row in enumerate(rows) if row is not None and row in comptes
    }
    table_sheet.write(sheet, "ma_liste", _distinct_headings(columns), links, count=len(lines))


def _rows_of_lines(data: ExportData, lines: Sequence[OwnLine]) -> Sequence[int | None]:
    """The row of each line's company in the file; None if the file lacks the company."""
    companies = zip(data.columns["iso2"], data.columns["id"], strict=True)
    places = {company: row for row, company in enumerate(companies)}
    return [places.get(line.company) if line.company else None for line in lines]


def _company_column(
    name: str,
    data: ExportData,
    labels: Labels,
    lines: Sequence[OwnLine],
    rows: Sequence[int | None],
) -> TableColumn:
    """A column of the companies chosen for `lines`; `rows` has the row of each company in the file.

    A company that is not in the file has only its identifier.
    """
    column = TableColumn.company_column(company_column(name, labels), data)
    values_of_rows = column.part(range(data.count))
    values: list[Any] = [None if row is None else values_of_rows[row] for row in rows]
    if name in _IDENTIFIER:
        place = _IDENTIFIER.index(name)
        values = [line.company and line.company[place] for line in lines]
    return TableColumn(column.title, column.genre, values, column.width)


def _text_column(title: str, values: Sequence[str | None]) -> TableColumn:
    """A column of texts, as wide as its texts within limits."""
    texts = [value or None for value in values]
    longest = max((len(text) for text in (title, *texts[:_SAMPLE_ROWS]) if text), default=0)
    width = min(_WIDEST, max(_NARROWEST, longest + 3))
    return TableColumn(title, company_fields.TEXT, texts, width)


def _are_numbers(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers that Excel shows with the same digits; a code with a leading zero is not."""
    return any(texts) and all(_NUMBER.fullmatch(text) for text in texts if text)


def _parse_number(text: str) -> int | float:
    """The number in a text that matches `_NUMBER`."""
    return float(text) if "." in text else int(text)


def _distinct_headings(columns: Sequence[TableColumn]) -> Sequence[TableColumn]:
    """The columns with headings that differ regardless of case; Excel reports equal headings as damage."""
    taken: set[str] = set()
    distinct = []
    for column in columns:
        title = base_title = shorten(" ".join(clean(column.title).split()), _LONGEST_TITLE) or "_"
        number = 1
        while title.casefold() in taken:
            number += 1
            title = f"{base_title} ({number})"
        taken.add(title.casefold())
        distinct.append(TableColumn(title, column.genre, column.values, column.width, column.style))
    return distinct


def write_lines_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write the sheet Comptes (lignes), for pivot tables: a row per company, fiscal year and line.

    The lines of E5 are as filed, with their values in euros at the rate of the year.
    """
    row_lines = list(_statement_lines(companies))
    rows = [row for row, _ in row_lines]
    lines = [line for _, line in row_lines]
    columns = [
        TableColumn.company_column(company_column(name, labels), data, rows)
        for name in (*IDENTITY, "secteur")
    ]

    def add_column(title: str, genre: str, values: Sequence[Any], width: float) -> None:
        """Add a column whose heading is the label `title`."""
        columns.append(TableColumn(labels(title), genre, values, width))

    add_column("year", company_fields.YEAR, [line["exercice"] for line in lines], 10)
    sections = {line["etat"]: labels(line["etat"]) for line in lines}
    add_column("section", company_fields.TEXT, [sections[line["etat"]] for line in lines], 24)
    add_column("order", company_fields.WHOLE, [line["ordre"] for line in lines], 8)
    add_column("code", company_fields.TEXT, [line["code"] for line in lines], 30)
    add_column("line", company_fields.TEXT, [line_label(line, labels.lang) for line in lines], 44)
    add_column("value", company_fields.AMOUNT, [line["valeur"] for line in lines], 18)
    add_column("currency", company_fields.TEXT, [line["devise"] for line in lines], 9)
    add_column("value_eur", company_fields.AMOUNT, [_line_euros(line) for line in lines], 18)
    table_sheet.write(sheet, "comptes_lignes", columns)


def write_index_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write the sheet Index des comptes: a row per company with statements, with a link to its sheet."""
    rows = [company.row for company in companies]
    columns = [
        TableColumn.company_column(company_column(name, labels), data, rows)
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


def _statement_lines(companies: Sequence[CompanyAccounts]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each statement line, after the row of its company in the file."""
    for company in companies:
        for line in company.lines:
            yield company.row, dict(line)


def _line_euros(line: dict[str, Any]) -> float | None:
    """The value of a statement line in euros; None without a value or a rate."""
    rate = euros_per_unit(line["devise"], line["exercice"])
    return None if rate is None or line["valeur"] is None else line["valeur"] * rate
