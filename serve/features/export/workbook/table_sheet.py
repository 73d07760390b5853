"""A long list as a sheet: a header, rows, and the Excel table over both.

The cells of a column are made many at once (column_cells.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Final, Self

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from serve.contract import company_fields
from serve.features.export.workbook import column_cells
from serve.features.export.workbook.column_cells import Cells
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.list_columns import IDENTITY, ListColumn
from serve.features.export.workbook.sheet import Sheet

# Rows whose cells are made at once.
_BATCH: Final = 512
# The width of a column follows the longest value in the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {company_fields.AMOUNT: 18.0, company_fields.DATE: 11.0, company_fields.LINK: 30.0,
                  column_cells.HEADCOUNT: 16.0}  # fmt: skip
_RIGHT: Final = (company_fields.WHOLE, company_fields.AMOUNT, company_fields.YEAR,
                 column_cells.HEADCOUNT)  # fmt: skip
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
    _heads(sheet, columns)
    targets = {1 + row: target for row, target in (links or {}).items()}
    cells = [_cells(sheet, col, column, targets) for col, column in enumerate(columns)]
    for start in range(0, count, _BATCH):
        rows = range(start, min(start + _BATCH, count))
        top_row = 1 + start
        made = [make(top_row, one.part(rows)) for make, one in zip(cells, columns, strict=True)]
        sheet.raw.add_rows(top_row, zip(*made, strict=True))
    last = max(1, count)
    sheet.raw.add_plain_table(name, (0, last), [column.title for column in columns])
    sheet.raw.hide_gridlines(1)  # on paper only
    frozen = _frozen_columns(columns)
    sheet.raw.freeze_panes(1, frozen)
    sheet.raw.repeat_rows(0)
    if frozen:
        sheet.raw.repeat_columns(0, frozen - 1)
    # Excel marks digits stored as text as a mistake; identifiers and codes are meant as text.
    corner = xl_rowcol_to_cell(last, len(columns))
    sheet.raw.ignore_errors({"number_stored_as_text": f"A1:{corner}"})


def _frozen_columns(columns: Sequence[TableColumn]) -> int:
    """How many columns stay in view: the first ones that identify a company."""
    return sum(1 for _ in takewhile(lambda column: column.identifies, columns))


def _cells(sheet: Sheet, col: int, column: TableColumn, targets: Mapping[int, str]) -> Cells:
    if column.is_formula:
        assert column.style is not None
        return column_cells.formulas(sheet, col, column.style)
    if column.genre == NAME:
        return column_cells.name_cells(sheet, col, targets)
    if column.style is not None:
        return column_cells.numbers(sheet, col, column.style)
    return column_cells.column(sheet, col, column.genre)


def _heads(sheet: Sheet, columns: Sequence[TableColumn]) -> None:
    look = sheet.styles
    sheet.raw.set_row(0, 32)
    sheet.widths(*(column.width for column in columns))
    for col, column in enumerate(columns):
        right = column.genre in _RIGHT
        sheet.text(0, col, column.title, look.header_right if right else look.header)
        if column.is_closed:
            options = {"level": 1, "hidden": True}
            sheet.raw.set_column(col, col, column.width, None, options)
    if any(column.is_closed for column in columns):
        sheet.raw.set_column(len(columns), len(columns), None, None, {"collapsed": True})


def _width(column: ListColumn, values: Sequence[Any]) -> float:
    least = max(len(word) for word in column.title.split()) + 3  # the button of the filter
    if column.genre in _WIDTHS:
        return max(_WIDTHS[column.genre], least)
    texts = [
        column_cells.JOIN.join(one) if isinstance(one, list) else str(one)
        for one in values
        if one is not None
    ]
    longest = max(map(len, texts), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
