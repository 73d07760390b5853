"""The columns of a long list: per column, one function that makes the XML of its cells."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from serve.contract import seed_tables
from serve.export.workbook.cell_values import is_active, is_page, serial, within
from serve.export.workbook.row_xml import index, inline
from serve.export.workbook.sheet import Sheet

JOIN: Final = "; "  # between the texts of a list

# A function from a row (0, 1, …) and a value that is not None to the XML of the cell.
Cell = Callable[[int, Any], str]


def column(sheet: Sheet, col: int, genre: str) -> Cell:
    """The function for a column of values of the kind `genre` (serve/contract/seed_tables.py)."""
    return _BY_KIND[genre](sheet, col)


def named(sheet: Sheet, col: int, targets: Mapping[int, str]) -> Cell:
    """The function for names, which link to the sheet that `targets` has for their row."""
    plain = _text(sheet, col)
    linked = _strings(sheet, col, sheet.styles.list_link)

    def cell(row: int, value: str) -> str:
        leads = row in targets and sheet.leads(row, col, within(targets[row]))
        return linked(row, value) if leads else plain(row, value)

    return cell


def _strings(sheet: Sheet, col: int, style: Format) -> Cell:
    letter = xl_col_to_name(col)
    plain, quoted = index(style), index(sheet.styles.palette.quoted(style))

    def cell(row: int, value: str) -> str:
        fit = sheet.fit(value)
        number = quoted if is_active(fit) else plain
        return f'<c r="{letter}{row + 1}" s="{number}" t="inlineStr">{inline(fit)}</c>'

    return cell


def _text(sheet: Sheet, col: int) -> Cell:
    return _strings(sheet, col, sheet.styles.list_text)


def _numbers(sheet: Sheet, col: int, style: Format) -> Cell:
    letter, number = xl_col_to_name(col), index(style)
    # `repr` has every digit; Excel rounds to the digits that it stores.
    return lambda row, value: f'<c r="{letter}{row + 1}" s="{number}"><v>{value!r}</v></c>'


def _whole(sheet: Sheet, col: int) -> Cell:
    return _numbers(sheet, col, sheet.styles.list_whole)


def _year(sheet: Sheet, col: int) -> Cell:
    return _numbers(sheet, col, sheet.styles.list_year)


def _date(sheet: Sheet, col: int) -> Cell:
    """Real dates if Excel has that day, else the text."""
    day, text = _numbers(sheet, col, sheet.styles.list_date), _text(sheet, col)

    def cell(row: int, value: str) -> str:
        number = serial(value)
        return text(row, value) if number is None else day(row, number)

    return cell


def _page(sheet: Sheet, col: int) -> Cell:
    """Web addresses, as links if they are valid."""
    plain, linked = _text(sheet, col), _strings(sheet, col, sheet.styles.list_link)

    def cell(row: int, value: str) -> str:
        leads = is_page(value) and sheet.leads(row, col, value)
        return linked(row, value) if leads else plain(row, value)

    return cell


def _truth(sheet: Sheet, col: int) -> Cell:
    letter, number = xl_col_to_name(col), index(sheet.styles.list_truth)
    return lambda row, value: f'<c r="{letter}{row + 1}" s="{number}" t="b"><v>{value:d}</v></c>'


def _texts(sheet: Sheet, col: int) -> Cell:
    """Lists of texts, as one text."""
    whole = _text(sheet, col)
    return lambda row, value: whole(row, JOIN.join(value))


_BY_KIND: Final[Mapping[str, Callable[[Sheet, int], Cell]]] = {
    seed_tables.TEXT: _text,
    seed_tables.WHOLE: _whole,
    seed_tables.AMOUNT: _whole,
    seed_tables.YEAR: _year,
    seed_tables.DATE: _date,
    seed_tables.LINK: _page,
    seed_tables.TRUTH: _truth,
    seed_tables.TEXTS: _texts,
}
