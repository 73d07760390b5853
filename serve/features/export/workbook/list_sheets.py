"""The sheets of long lists: Liste, Contacts, Ma liste, Comptes (lignes) and Index des comptes.

Liste and Contacts have a row per company. Ma liste has a row per line of a reader's list: the reader's own columns,
then the verdict, the choice and the chosen company of each line. A line without a company has its own columns and its
verdict alone. A company that the file does not describe has its identifier alone, and the reason as a remark: it is
beyond the limit, or gone from the registers. The other two list the statements of all companies.
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

_BARS: Final = ("ca_eur", "total_actif_eur")
# A box in the look of `Styles.notice`.
_NOTICE: Final = {"width": 420, "height": 40, "object_position": 3}
_LONGEST_TITLE: Final = 200  # characters; Excel takes 255 for a column of a table
_SAMPLE: Final = 300
_NARROWEST: Final = 10
_WIDEST: Final = 44
_IDENTIFIER: Final = ("iso2", "id")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,9})(?:\.\d{0,3}[1-9])?")
# the digits that a cell of the format General shows


def liste(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Liste: every public field, and what is made of some of them (table_sheet.py), or what is wanted.

    The name of a company links to the sheet with its statements; `comptes` has their names by row.
    """
    wanted = data.request.file.colonnes
    columns = table_sheet.list_columns(labels, wanted)
    tabled = [TableColumn.of_company(column, data) for column in columns]
    last = data.count
    table_sheet.write(sheet, "societes", tabled, comptes, count=last)
    for col, column in enumerate(columns):
        if column.name in _BARS:
            bar = {"type": "data_bar", "bar_color": BAR, "bar_solid": True}
            sheet.raw.conditional_format(1, col, max(1, last), col, bar)
    sheet.raw.print_area(0, 0, last, len(wanted or PRINTED) - 1)


def contacts(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Contacts: the contact fields, with empty columns if the plan lacks the right (§4.6).

    The cells are in the same places whatever the plan; what is missing is said in a box above the empty ones.
    """
    wanted = [company_column(name, labels) for name in (*IDENTITY, "ville", *CONTACTS)]
    columns = [TableColumn.of_company(column, data) for column in wanted]
    table_sheet.write(sheet, "contacts", columns, count=data.count)
    if not data.request.plan.coordonnees:
        sheet.raw.insert_textbox(1, len(columns) - len(CONTACTS), labels("no_contacts"), _NOTICE)


def own_list(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Ma liste; `comptes` has the names of the statement sheets by row of the file."""
    own = data.request.own
    assert own is not None
    lines = own.lines()
    columns = []
    for place, heading in enumerate(own.headings):
        texts = [line.cells[place] for line in lines]
        column = _text(heading or f"{labels('column')} {place + 1}", texts)
        if place in own.unused and _are_numbers(texts):
            numbers = [_number(text) if text else None for text in texts]
            style = sheet.styles.list_number
            column = TableColumn(column.title, company_fields.WHOLE, numbers, column.width, style)
        columns.append(column)
    columns.append(_text(labels("verdict"), [labels(f"verdict_{line.verdict}") for line in lines]))
    notes = [line.note for line in lines]
    columns.append(
        TableColumn(labels("note"), company_fields.WHOLE, notes, 10, sheet.styles.list_share)
    )
    choices = [line.choice and labels(f"choice_{line.choice}") for line in lines]
    columns.append(_text(labels("choice"), choices))
    rows = _rows(data, lines)
    reasons = data.left_out()
    remarks = [
        line.error or (labels(why) if line.company and (why := reasons.get(line.company)) else None)
        for line in lines
    ]
    columns.append(_text(labels("remark"), remarks))
    columns += [_of_company(name, data, labels, lines, rows) for name in PRINTED]
    links = {
        line: comptes[row] for line, row in enumerate(rows) if row is not None and row in comptes
    }
    table_sheet.write(sheet, "ma_liste", _distinct(columns), links, count=len(lines))


def _rows(data: ExportData, lines: Sequence[OwnLine]) -> Sequence[int | None]:
    """The row of the file of each line."""
    named = zip(data.columns["iso2"], data.columns["id"], strict=True)
    places = {company: row for row, company in enumerate(named)}
    return [places.get(line.company) if line.company else None for line in lines]


def _of_company(
    name: str,
    data: ExportData,
    labels: Labels,
    lines: Sequence[OwnLine],
    rows: Sequence[int | None],
) -> TableColumn:
    column = TableColumn.of_company(company_column(name, labels), data)
    known = column.part(range(data.count))
    values: list[Any] = [None if row is None else known[row] for row in rows]
    if name in _IDENTIFIER:
        place = _IDENTIFIER.index(name)
        values = [line.company and line.company[place] for line in lines]
    return TableColumn(column.title, column.genre, values, column.width)


def _text(title: str, values: Sequence[str | None]) -> TableColumn:
    shown = [value or None for value in values]
    longest = max((len(one) for one in (title, *shown[:_SAMPLE]) if one), default=0)
    width = min(_WIDEST, max(_NARROWEST, longest + 3))
    return TableColumn(title, company_fields.TEXT, shown, width)


def _are_numbers(texts: Sequence[str]) -> bool:
    """Whether each text is a number that Excel shows with the same digits; a code with a zero in front is none."""
    return any(texts) and all(_NUMBER.fullmatch(text) for text in texts if text)


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _distinct(columns: Sequence[TableColumn]) -> Sequence[TableColumn]:
    """The columns with headings that differ regardless of case, without which Excel repairs the table."""
    taken: set[str] = set()
    distinct = []
    for column in columns:
        title = plain = shorten(" ".join(clean(column.title).split()), _LONGEST_TITLE) or "_"
        number = 1
        while title.casefold() in taken:
            number += 1
            title = f"{plain} ({number})"
        taken.add(title.casefold())
        distinct.append(TableColumn(title, column.genre, column.values, column.width, column.style))
    return distinct


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
