"""The columns of a long list: what makes the XML of each cell, chosen once a column by its kind."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from serve.contract import seed_tables
from serve.export.workbook.cell_values import is_active, is_page, serial, within
from serve.export.workbook.row_xml import index, inline
from serve.export.workbook.sheet import Sheet

# The XML of a cell, of its row (0, 1, …) and its value, which is not None.
Cell = Callable[[int, Any], str]


def column(sheet: Sheet, col: int, genre: str) -> Cell:
    """What writes the cells of a column of that kind."""
    return _BY_KIND[genre](sheet, col)


def named(sheet: Sheet, col: int, targets: Mapping[int, str]) -> Cell:
    """Text, which leads to the sheet in `targets` in those rows that are there."""
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
    # `repr` has every digit; Excel reads as many as it keeps.
    return lambda row, value: f'<c r="{letter}{row + 1}" s="{number}"><v>{value!r}</v></c>'


def _whole(sheet: Sheet, col: int) -> Cell:
    return _numbers(sheet, col, sheet.styles.list_whole)


def _year(sheet: Sheet, col: int) -> Cell:
    return _numbers(sheet, col, sheet.styles.list_year)


def _date(sheet: Sheet, col: int) -> Cell:
    """Real dates where Excel has that day, else the text as it is."""
    day, text = _numbers(sheet, col, sheet.styles.list_date), _text(sheet, col)

    def cell(row: int, value: str) -> str:
        number = serial(value)
        return text(row, value) if number is None else day(row, number)

    return cell


def _page(sheet: Sheet, col: int) -> Cell:
    """A page of the web, as a link if it can be one."""
    plain, linked = _text(sheet, col), _strings(sheet, col, sheet.styles.list_link)

    def cell(row: int, value: str) -> str:
        leads = is_page(value) and sheet.leads(row, col, value)
        return linked(row, value) if leads else plain(row, value)

    return cell


def _truth(sheet: Sheet, col: int) -> Cell:
    letter, number = xl_col_to_name(col), index(sheet.styles.list_truth)
    return lambda row, value: f'<c r="{letter}{row + 1}" s="{number}" t="b"><v>{value:d}</v></c>'


_BY_KIND: Final[Mapping[str, Callable[[Sheet, int], Cell]]] = {
    seed_tables.TEXT: _text,
    seed_tables.WHOLE: _whole,
    seed_tables.AMOUNT: _whole,
    seed_tables.YEAR: _year,
    seed_tables.DATE: _date,
    seed_tables.LINK: _page,
    seed_tables.TRUTH: _truth,
}
