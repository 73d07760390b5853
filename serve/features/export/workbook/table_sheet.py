"""A long list as a sheet: a header, rows, and the Excel table over both.

The kind of a column chooses the function that writes its cells, once for all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Final, Self

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_range

from serve.contract import company_fields
from serve.features.export.workbook.cells import day_serial, is_page, link_target
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.list_columns import HEADCOUNT, IDENTITY, Band, ListColumn
from serve.features.export.workbook.sheet import Sheet

# A function that writes the values of a column below the header; None is no cell.
ColumnWriter = Callable[[Sheet, int, Sequence[Any]], None]

_JOIN: Final = "; "  # between the texts of a list
# Bands that have a number format; Excel takes some 200 in a workbook. Others are texts.
_BANDS: Final = 100
# The width of a column follows the longest value in the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {company_fields.AMOUNT: 18.0, company_fields.DATE: 11.0, company_fields.LINK: 30.0,
                  HEADCOUNT: 16.0}  # fmt: skip
_RIGHT: Final = (company_fields.WHOLE, company_fields.AMOUNT, company_fields.YEAR, HEADCOUNT)
# Names of companies lead to their sheets.
NAME: Final = "nom"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a list.

    Attributes:
        genre: the kind of its values; NAME for names that are links.
        values: one per row, or a function from a range of rows to theirs.
        style: the format of numbers; None for that of the kind.
        identifies: whether it says which company a row is.
        is_closed: whether it belongs to the closed group at the right.
        is_formula: whether the values are pairs of a formula and its value.
    """

    title: str
    genre: str
    values: Sequence[Any] | Callable[[range], Sequence[Any]]
    width: float
    style: Format | None = None
    is_closed: bool = False
    is_formula: bool = False
    identifies: bool = False

    @classmethod
    def of_company(
        cls, column: ListColumn, data: ExportData, rows: Sequence[int] | None = None
    ) -> Self:
        """A column of the list of companies; `rows`: the company of each row, all by default."""
        count = data.count
        width = _width(column, column.values(data, range(min(_SAMPLE, count))))
        genre = NAME if column.name == NAME else column.genre
        values: Sequence[Any] | Callable[[range], Sequence[Any]] = partial(column.values, data)
        if rows is not None:
            known = {
                row: column.values(data, range(row, row + 1))[0] for row in dict.fromkeys(rows)
            }
            values = [known[row] for row in rows]
        return cls(
            column.title, genre, values, width,
            is_closed=column.is_raw, identifies=column.name in IDENTITY,
        )  # fmt: skip

    def part(self, rows: range) -> Sequence[Any]:
        """The values of some rows."""
        return self.values(rows) if callable(self.values) else self.values[rows.start : rows.stop]


def write(
    sheet: Sheet,
    name: str,
    columns: Sequence[TableColumn],
    links: Mapping[int, str] | None = None,
    count: int | None = None,
) -> None:
    """Write a list: its header, then its rows.

    Args:
        name: of the Excel table, unique in the workbook.
        links: the sheets to which names lead, by row of the list (0, 1, …).
        count: the rows, where no column has its values as a sequence.
    """
    if count is None:
        count = next(len(one.values) for one in columns if not callable(one.values))
    last, last_col = max(1, count), len(columns) - 1
    table = {"name": name, "style": "TableStyleLight1", "columns": _heads(sheet, columns)}
    sheet.raw.add_table(0, 0, last, last_col, table)
    for col, column in enumerate(columns):
        _write_column(sheet, col, column, column.part(range(count)), links or {})
    sheet.raw.hide_gridlines(1)  # on paper only
    frozen = _frozen_columns(columns)
    sheet.raw.freeze_panes(1, frozen)
    sheet.raw.repeat_rows(0)
    if frozen:
        sheet.raw.repeat_columns(0, frozen - 1)
    # Excel marks digits stored as text as a mistake; identifiers and codes are meant as text.
    sheet.raw.ignore_errors({"number_stored_as_text": xl_range(0, 0, last, len(columns))})


def _frozen_columns(columns: Sequence[TableColumn]) -> int:
    """How many columns stay in view: the first ones that identify a company."""
    return sum(1 for _ in takewhile(lambda column: column.identifies, columns))


def _heads(sheet: Sheet, columns: Sequence[TableColumn]) -> list[dict[str, Any]]:
    """Set the widths of the columns; return their headings for the table."""
    look = sheet.styles
    sheet.raw.set_row(0, 32)
    sheet.widths(*(column.width for column in columns))
    heads = []
    for col, column in enumerate(columns):
        right = column.genre in _RIGHT
        title, style = sheet.fit(column.title, look.header_right if right else look.header)
        heads.append({"header": title, "header_format": style})
        if column.is_closed:
            options = {"level": 1, "hidden": True}
            sheet.raw.set_column(col, col, column.width, None, options)
    if any(column.is_closed for column in columns):
        sheet.raw.set_column(len(columns), len(columns), None, None, {"collapsed": True})
    return heads


def _write_column(
    sheet: Sheet, col: int, column: TableColumn, values: Sequence[Any], links: Mapping[int, str]
) -> None:
    if column.is_formula:
        assert column.style is not None
        _write_formulas(sheet, col, values, column.style)
    elif column.genre == NAME:
        _write_names(sheet, col, values, links)
    elif column.style is not None:
        _write_numbers(sheet, col, values, column.style)
    else:
        _WRITERS[column.genre](sheet, col, values)


def _write_texts(sheet: Sheet, col: int, values: Sequence[str | None], style: Format) -> None:
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.text(row, col, value, style)


def _write_numbers(sheet: Sheet, col: int, values: Sequence[float | None], style: Format) -> None:
    write = sheet.raw.write_number
    for row, value in enumerate(values, 1):
        if value is not None:
            write(row, col, value, style)


def _write_formulas(
    sheet: Sheet, col: int, pairs: Sequence[tuple[str, float | None]], style: Format
) -> None:
    for row, (formula, value) in enumerate(pairs, 1):
        sheet.formula(row, col, formula, value, style)


def _write_names(
    sheet: Sheet, col: int, values: Sequence[str | None], links: Mapping[int, str]
) -> None:
    """Names, which link to the sheet that `links` has for their row of the list."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and row - 1 in links:
            sheet.link(row, col, link_target(links[row - 1]), value, look.list_link)
        elif value is not None:
            sheet.text(row, col, value, look.list_text)


def _write_headcounts(sheet: Sheet, col: int, values: Sequence[int | Band | str | None]) -> None:
    """Numbers; a band is its lower bound in a format that shows its words, so it sorts among them."""
    look = sheet.styles
    bands = dict.fromkeys(value for value in values if isinstance(value, Band))
    formats = {
        band: look.palette.make(num_format=f'"{band.words}"', align="right")
        for band in list(bands)[:_BANDS]
    }
    for row, value in enumerate(values, 1):
        if isinstance(value, int):
            sheet.raw.write_number(row, col, value, look.list_whole)
        elif isinstance(value, Band) and value in formats:
            sheet.raw.write_number(row, col, value.least, formats[value])
        elif value is not None:
            sheet.text(row, col, str(value), look.list_text)


def _write_dates(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Real dates if Excel has that day, else the text."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is None:
            continue
        day = day_serial(value)
        if day is None:
            sheet.text(row, col, value, look.list_text)
        else:
            sheet.raw.write_number(row, col, day, look.list_date)


def _write_pages(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Web addresses, as links if they are valid."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and is_page(value):
            sheet.link(row, col, value, value, look.list_link)
        elif value is not None:
            sheet.text(row, col, value, look.list_text)


def _write_truths(sheet: Sheet, col: int, values: Sequence[bool | None]) -> None:
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.raw.write_boolean(row, col, value, sheet.styles.list_truth)


def _write_joined(sheet: Sheet, col: int, values: Sequence[list[str] | None]) -> None:
    """Lists of texts, as one text."""
    joined = [None if value is None else _JOIN.join(value) for value in values]
    _write_texts(sheet, col, joined, sheet.styles.list_text)


_WRITERS: Final[Mapping[str, ColumnWriter]] = {
    company_fields.TEXT: lambda sheet, col, values: _write_texts(
        sheet, col, values, sheet.styles.list_text
    ),
    company_fields.WHOLE: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_whole
    ),
    company_fields.AMOUNT: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_whole
    ),
    company_fields.YEAR: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_year
    ),
    HEADCOUNT: _write_headcounts,
    company_fields.DATE: _write_dates,
    company_fields.LINK: _write_pages,
    company_fields.TRUTH: _write_truths,
    company_fields.TEXTS: _write_joined,
}


def _width(column: ListColumn, values: Sequence[Any]) -> float:
    least = max(len(word) for word in column.title.split()) + 3  # the button of the filter
    if column.genre in _WIDTHS:
        return max(_WIDTHS[column.genre], least)
    texts = [
        _JOIN.join(one) if isinstance(one, list) else str(one) for one in values if one is not None
    ]
    longest = max(map(len, texts), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
