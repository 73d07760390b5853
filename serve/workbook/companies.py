"""The sheets Liste and Contacts: a row a company, in the order of the scope.

This is where an export spends its time, so a cell costs one call: which function and format write a
column is decided once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from xlsxwriter.format import Format

from serve.workbook import tables
from serve.workbook.content import AT, Content, Values
from serve.workbook.sheet import Sheet, within
from serve.workbook.tables import Field
from serve.workbook.words import Words
from shards.record import CONTACTS

# Who a company is: the columns that stay in view, here and on the sheet Contacts.
_IDENTITY: Final = ("iso2", "id", "nom")

# The width of a column follows its longest values, of the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {tables.AMOUNT: 18.0, tables.DATE: 11.0, tables.LINK: 30.0}

Writer = Callable[[int, int, Any, Format], object]


def liste(sheet: Sheet, content: Content, words: Words, comptes: Mapping[int, str]) -> None:
    """Every public field that some company has; `comptes` are names of statements sheets, by row.

    A name links to the sheet with the company's statements, the address of its page to the page.
    """
    fields = [
        field for field in tables.public_fields()
        if field.champ in _IDENTITY or content.filled(field.champ)
    ]  # fmt: skip
    _heads(sheet, fields, content, words, 0)
    rows = len(content.rows)
    nom = [field.champ for field in fields].index("nom")
    cells = _cells(sheet, fields)
    for row, values in enumerate(content.rows):
        for col, at, write, style in cells:
            value = values[at]
            if value is not None:
                write(row + 1, col, value, style)
        if row in comptes:
            sheet.link(
                row + 1, nom, within(comptes[row]), values[AT["nom"]], sheet.styles.list_link
            )
    sheet.raw.hide_gridlines(1)  # on paper only
    sheet.raw.freeze_panes(1, len(_IDENTITY))
    sheet.raw.autofilter(0, 0, max(1, rows), len(fields) - 1)
    sheet.raw.repeat_rows(0)
    sheet.raw.repeat_columns(0, len(_IDENTITY) - 1)
    _no_green_corners(sheet, rows)


def contacts(sheet: Sheet, content: Content, words: Words) -> None:
    """The contact fields: on a plan without the right their columns are there, and empty (§4.6)."""
    wanted = (*_IDENTITY, "ville", *CONTACTS)
    fields = [field for field in tables.fields() if field.champ in wanted]
    fields.sort(key=lambda field: wanted.index(field.champ))
    top = 0
    if not content.asked.plan.coordonnees:
        sheet.text(0, 0, words("no_contacts"), sheet.styles.notice)
        for col in range(1, len(fields)):
            sheet.raw.write_blank(0, col, None, sheet.styles.notice)
        sheet.raw.set_row(0, 24)
        top = 1
    _heads(sheet, fields, content, words, top)
    cells = _cells(sheet, fields)
    for row, values in enumerate(content.rows, top + 1):
        for col, at, write, style in cells:
            value = values[at]
            if value is not None:
                write(row, col, value, style)
    rows = len(content.rows)
    sheet.raw.hide_gridlines(1)  # on paper only
    sheet.raw.freeze_panes(top + 1, len(_IDENTITY))
    sheet.raw.autofilter(top, 0, top + max(1, rows), len(fields) - 1)
    sheet.raw.repeat_rows(top)
    _no_green_corners(sheet, top + rows)


def _heads(sheet: Sheet, fields: Sequence[Field], content: Content, words: Words, row: int) -> None:
    look = sheet.styles
    sheet.raw.set_row(row, 32)
    for col, field in enumerate(fields):
        right = field.genre in (tables.WHOLE, tables.AMOUNT, tables.YEAR)
        title = field.title[words.lang]
        sheet.text(row, col, title, look.header_right if right else look.header)
        sheet.widths(_width(field, title, content.rows), first=col)


def _cells(sheet: Sheet, fields: Sequence[Field]) -> list[tuple[int, int, Writer, Format]]:
    """For each column: its place, that of its value, what writes it, in which format."""
    look = sheet.styles
    number = sheet.raw.write_number
    by_kind: Mapping[str, tuple[Writer, Format]] = {
        tables.TEXT: (sheet.text, look.list_text),
        tables.WHOLE: (number, look.list_whole),
        tables.AMOUNT: (number, look.list_whole),
        tables.YEAR: (number, look.list_year),
        tables.DATE: (sheet.date, look.list_date),
        tables.LINK: (sheet.page, look.list_link),
        tables.TRUTH: (sheet.raw.write_boolean, look.list_truth),
    }
    return [(col, AT[field.champ], *by_kind[field.genre]) for col, field in enumerate(fields)]


def _width(field: Field, title: str, rows: Sequence[Values]) -> float:
    words = max(len(word) for word in title.split()) + 3  # the button of the filter
    if field.genre in _WIDTHS:
        return max(_WIDTHS[field.genre], words)
    at = AT[field.champ]
    longest = max((len(str(values[at])) for values in rows[:_SAMPLE] if values[at] is not None),
                  default=0)  # fmt: skip
    return min(_WIDEST, max(_NARROWEST, words, longest + 2))


def _no_green_corners(sheet: Sheet, last: int) -> None:
    """Excel marks digits that are text as a mistake; identifiers and codes are meant."""
    sheet.raw.ignore_errors({"number_stored_as_text": f"A1:AN{last + 1}"})
