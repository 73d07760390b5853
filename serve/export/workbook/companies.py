"""The sheets Liste and Contacts: a row a company, in the order of the scope.

Nearly all cells of an export are here; how they are written is decided once a column (list_columns.py).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from xlsxwriter.utility import xl_rowcol_to_cell

from serve.contract import seed_tables
from serve.contract.seed_tables import Field
from serve.export.workbook import list_columns
from serve.export.workbook.content import AT, Content, Values
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet
from shards.codec.record import CONTACTS

# Who a company is: the columns that stay in view, here and on the sheet Contacts.
_IDENTITY: Final = ("iso2", "id", "nom")

# The width of a column follows its longest values, of the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {seed_tables.AMOUNT: 18.0, seed_tables.DATE: 11.0, seed_tables.LINK: 30.0}


def liste(sheet: Sheet, content: Content, words: Labels, comptes: Mapping[int, str]) -> None:
    """Every public field that some company has; `comptes` are names of statements sheets, by row.

    A name leads to the sheet with the company's statements, the address of its page to the page.
    """
    fields = [
        field
        for field in seed_tables.public_fields()
        if field.champ in _IDENTITY or content.filled(field.champ)
    ]
    _rows(sheet, fields, content, words, 0, comptes)
    sheet.raw.repeat_columns(0, len(_IDENTITY) - 1)


def contacts(sheet: Sheet, content: Content, words: Labels) -> None:
    """The contact fields: on a plan without the right their columns are there, and empty (§4.6)."""
    wanted = (*_IDENTITY, "ville", *CONTACTS)
    fields = [field for field in seed_tables.fields() if field.champ in wanted]
    fields.sort(key=lambda field: wanted.index(field.champ))
    top = 0
    if not content.asked.plan.coordonnees:
        sheet.text(0, 0, words("no_contacts"), sheet.styles.notice)
        for col in range(1, len(fields)):
            sheet.raw.write_blank(0, col, None, sheet.styles.notice)
        sheet.raw.set_row(0, 24)
        top = 1
    _rows(sheet, fields, content, words, top, {})


def _rows(
    sheet: Sheet,
    fields: Sequence[Field],
    content: Content,
    words: Labels,
    top: int,
    comptes: Mapping[int, str],
) -> None:
    """A header in row `top`, a row a company below it, and what makes a long list handy."""
    _heads(sheet, fields, content, words, top)
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
    for place, values in enumerate(content.rows):
        row = first + place
        cells = [cell(row, value) for at, cell in columns if (value := values[at]) is not None]
        sheet.raw.add_row(row, cells)
    sheet.raw.hide_gridlines(1)  # on paper only
    sheet.raw.freeze_panes(first, len(_IDENTITY))
    sheet.raw.autofilter(top, 0, max(first, top + len(content.rows)), len(fields) - 1)
    sheet.raw.repeat_rows(top)
    # Excel marks digits that are text as a mistake; identifiers and codes are meant.
    corner = xl_rowcol_to_cell(first + len(content.rows), len(fields))
    sheet.raw.ignore_errors({"number_stored_as_text": f"A1:{corner}"})


def _heads(
    sheet: Sheet, fields: Sequence[Field], content: Content, words: Labels, row: int
) -> None:
    look = sheet.styles
    sheet.raw.set_row(row, 32)
    for col, field in enumerate(fields):
        right = field.genre in (seed_tables.WHOLE, seed_tables.AMOUNT, seed_tables.YEAR)
        title = field.title[words.lang]
        sheet.text(row, col, title, look.header_right if right else look.header)
        sheet.widths(_width(field, title, content.rows), first=col)


def _width(field: Field, title: str, rows: Sequence[Values]) -> float:
    words = max(len(word) for word in title.split()) + 3  # the button of the filter
    if field.genre in _WIDTHS:
        return max(_WIDTHS[field.genre], words)
    at = AT[field.champ]
    longest = max((len(str(values[at])) for values in rows[:_SAMPLE] if values[at] is not None),
                  default=0)  # fmt: skip
    return min(_WIDEST, max(_NARROWEST, words, longest + 2))
