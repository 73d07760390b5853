"""The sheets Liste and Contacts: one row per company, in the order of the scope.

They have nearly all cells of an export, so the cells of a column are made many at once
(column_cells.py). Each is an Excel table, which filters and pivots refer to by its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xlsxwriter.utility import xl_rowcol_to_cell

from serve.contract import seed_tables
from serve.export.workbook import column_cells, list_columns, styles
from serve.export.workbook.export_data import ExportData
from serve.export.workbook.labels import Labels
from serve.export.workbook.list_columns import IDENTITY, ListColumn
from serve.export.workbook.sheet import Sheet
from shards.codec.record import CONTACTS

# The width of a column follows the longest value in the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {seed_tables.AMOUNT: 18.0, seed_tables.DATE: 11.0, seed_tables.LINK: 30.0}
_BARS: Final = ("ca_eur", "total_actif_eur")
# Rows whose cells are made at once.
_BATCH: Final = 512


def liste(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Liste: every public field, and what is made of some of them (list_columns.py).

    The name of a company links to the sheet with its statements; `comptes` has their names by row.
    """
    columns = list_columns.columns(labels)
    table = _Table("societes", columns, 0, comptes)
    _rows(sheet, table, data)
    _close_raw(sheet, columns)
    last = len(data.rows)
    for col, column in enumerate(columns):
        if column.name in _BARS:
            bar = {
                "type": "data_bar",
                "bar_color": styles.BAR,
                "bar_solid": True,
                "bar_negative_color_same": True,
            }
            sheet.raw.conditional_format(1, col, max(1, last), col, bar)
    sheet.raw.print_area(0, 0, last, len(list_columns.PRINTED) - 1)


def contacts(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Contacts: the contact fields, with empty columns if the plan lacks the right (§4.6)."""
    columns = list_columns.fields((*IDENTITY, "ville", *CONTACTS), labels)
    top = 0
    if not data.request.plan.coordonnees:
        sheet.widths(*(_width(column, data) for column in columns))
        sheet.across(0, 0, len(columns) - 1, labels("no_contacts"), sheet.styles.notice)
        top = 1
    _rows(sheet, _Table("contacts", columns, top, {}), data)


@dataclass(frozen=True, slots=True)
class _Table:
    """A list: the name of its Excel table, its columns, the row of its header, the links of names by row."""

    name: str
    columns: Sequence[ListColumn]
    top: int
    links: Mapping[int, str]


def _rows(sheet: Sheet, table: _Table, data: ExportData) -> None:
    """Write a header, the companies below it, and set filters and fixed columns."""
    columns, top = table.columns, table.top
    _heads(sheet, table, data)
    first = top + 1
    cells = [
        column_cells.named(sheet, col, {first + row: name for row, name in table.links.items()})
        if column.name == "nom"
        else column_cells.column(sheet, col, column.genre)
        for col, column in enumerate(columns)
    ]
    count = len(data.rows)
    for start in range(0, count, _BATCH):
        rows = range(start, min(start + _BATCH, count))
        numbers = [str(first + 1 + row) for row in rows]
        made = [
            make(numbers, column.values(data, rows))
            for make, column in zip(cells, columns, strict=True)
        ]
        sheet.raw.add_rows(first + start, zip(*made, strict=True))
    last = max(first, top + count)
    sheet.raw.add_plain_table(table.name, (top, last), [column.title for column in columns])
    sheet.raw.hide_gridlines(1)  # on paper only
    sheet.raw.freeze_panes(first, len(IDENTITY))
    sheet.raw.repeat_rows(top)
    sheet.raw.repeat_columns(0, len(IDENTITY) - 1)
    # Excel marks digits stored as text as a mistake; identifiers and codes are meant as text.
    corner = xl_rowcol_to_cell(last, len(columns))
    sheet.raw.ignore_errors({"number_stored_as_text": f"A1:{corner}"})


def _heads(sheet: Sheet, table: _Table, data: ExportData) -> None:
    look = sheet.styles
    sheet.raw.set_row(table.top, 32)
    for col, column in enumerate(table.columns):
        sheet.text(
            table.top, col, column.title, look.header_right if column.is_right else look.header
        )
        sheet.widths(_width(column, data), first=col)


def _close_raw(sheet: Sheet, columns: Sequence[ListColumn]) -> None:
    """Group the raw columns, which are the last ones, and close the group."""
    for col, column in enumerate(columns):
        if column.is_raw:
            sheet.raw.set_column(col, col, _NARROWEST + 8, None, {"level": 1, "hidden": True})
    sheet.raw.set_column(len(columns), len(columns), None, None, {"collapsed": True})


def _width(column: ListColumn, data: ExportData) -> float:
    least = max(len(word) for word in column.title.split()) + 3  # the button of the filter
    if column.genre in _WIDTHS:
        return max(_WIDTHS[column.genre], least)
    found = column.values(data, range(min(_SAMPLE, len(data.rows))))
    texts = [
        column_cells.JOIN.join(one) if isinstance(one, list) else str(one)
        for one in found
        if one is not None
    ]
    longest = max(map(len, texts), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
