"""The sheets Liste and Contacts: one row per company, in the order of the scope.

They have nearly all cells of an export, so the way to write a cell is chosen once per column
(list_columns.py).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from xlsxwriter.utility import xl_rowcol_to_cell

from serve.contract import seed_tables
from serve.contract.seed_tables import Field
from serve.export.workbook import list_columns
from serve.export.workbook.export_data import AT, ExportData, Values
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet
from shards.codec.record import CONTACTS

# The columns that identify a company; they stay in view on both sheets.
_IDENTITY: Final = ("iso2", "id", "nom")

# The width of a column follows the longest value in the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {seed_tables.AMOUNT: 18.0, seed_tables.DATE: 11.0, seed_tables.LINK: 30.0}


def liste(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Liste: every public field that some company has.

    The name of a company links to the sheet with its statements; `comptes` has their names by row.
    """
    fields = [
        field
        for field in seed_tables.public_fields()
        if field.champ in _IDENTITY or data.filled(field.champ)
    ]
    _rows(sheet, fields, data, labels, 0, comptes)
    sheet.raw.repeat_columns(0, len(_IDENTITY) - 1)


def contacts(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Contacts: the contact fields, with empty columns if the plan lacks the right (§4.6)."""
    wanted = (*_IDENTITY, "ville", *CONTACTS)
    fields = [field for field in seed_tables.fields() if field.champ in wanted]
    fields.sort(key=lambda field: wanted.index(field.champ))
    top = 0
    if not data.request.plan.coordonnees:
        sheet.text(0, 0, labels("no_contacts"), sheet.styles.notice)
        for col in range(1, len(fields)):
            sheet.raw.write_blank(0, col, None, sheet.styles.notice)
        sheet.raw.set_row(0, 24)
        top = 1
    _rows(sheet, fields, data, labels, top, {})


def _rows(
    sheet: Sheet,
    fields: Sequence[Field],
    data: ExportData,
    labels: Labels,
    top: int,
    comptes: Mapping[int, str],
) -> None:
    """Write a header in row `top`, the companies below it, and set filters and fixed columns."""
    _heads(sheet, fields, data, labels, top)
    first = top + 1
    columns = [
        (
            AT[field.champ],
            list_columns.named(sheet, col, {first + row: name for row, name in comptes.items()})
            if field.champ == "nom"
            else list_columns.column(sheet, col, field.genre),
        )
        for col, field in enumerate(fields)
    ]
    for place, values in enumerate(data.rows):
        row = first + place
        cells = [cell(row, value) for at, cell in columns if (value := values[at]) is not None]
        sheet.raw.add_row(row, cells)
    sheet.raw.hide_gridlines(1)  # on paper only
    sheet.raw.freeze_panes(first, len(_IDENTITY))
    sheet.raw.autofilter(top, 0, max(first, top + len(data.rows)), len(fields) - 1)
    sheet.raw.repeat_rows(top)
    # Excel marks digits stored as text as a mistake; identifiers and codes are meant as text.
    corner = xl_rowcol_to_cell(first + len(data.rows), len(fields))
    sheet.raw.ignore_errors({"number_stored_as_text": f"A1:{corner}"})


def _heads(
    sheet: Sheet, fields: Sequence[Field], data: ExportData, labels: Labels, row: int
) -> None:
    look = sheet.styles
    sheet.raw.set_row(row, 32)
    for col, field in enumerate(fields):
        right = field.genre in (seed_tables.WHOLE, seed_tables.AMOUNT, seed_tables.YEAR)
        title = field.title[labels.lang]
        sheet.text(row, col, title, look.header_right if right else look.header)
        sheet.widths(_width(field, title, data.rows), first=col)


def _width(field: Field, title: str, rows: Sequence[Values]) -> float:
    least = max(len(word) for word in title.split()) + 3  # the button of the filter
    if field.genre in _WIDTHS:
        return max(_WIDTHS[field.genre], least)
    at = AT[field.champ]
    found = [values[at] for values in rows[:_SAMPLE] if values[at] is not None]
    if field.genre == seed_tables.TEXTS:
        found = [list_columns.JOIN.join(texts) for texts in found]
    longest = max((len(str(value)) for value in found), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
