"""Rows of the long lists, written directly as XML.

xlsxwriter stores, checks and escapes cell by cell, with ten calls per cell: most of the time of an
export. The lists know the type of each column, so a cell is one string (column_cells.py), and a row is
appended to the temporary file in which xlsxwriter keeps its own rows (`constant_memory`). xlsxwriter
writes the rest of the sheet.

Its documentation offers subclassing, but the methods used here are private. So pyproject.toml pins
the version, and the tests let other programs read back every value of a list.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Final

from xlsxwriter.format import Format
from xlsxwriter.url import Url, UrlTypes
from xlsxwriter.utility import xl_range, xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

# Stands for the number of a row in its cells until they are joined: once a row is cheaper than once a cell. No text has
# it (`cell_values.clean`).
ROW: Final = "\0"

# Text that Excel would read as an escaped character; escaping its underscore prevents that.
_ESCAPED: Final = re.compile("(_x[0-9a-fA-F]{4}_)")


class RowWorksheet(Worksheet):  # type: ignore[misc]  # xlsxwriter has no types
    """A worksheet that takes whole rows, and links without a text."""

    previous_row: int  # the row that xlsxwriter writes to

    def add_rows(self, first: int, rows: Iterable[Iterable[str]]) -> None:
        """Append rows below all others, from row `first` (0, 1, …) on.

        Args:
            rows: the cells of each row as XML, in order; ROW in them is its number.
        """
        if first > self.previous_row:
            self._write_single_row(first)  # what xlsxwriter holds of the row before
        before = self._row_tag()
        made = [
            f"{before}{''.join(cells)}</row>".replace(ROW, str(number))
            for number, cells in enumerate(rows, first + 1)
        ]
        if made:
            self.fh.write("".join(made))
            self.dim_rowmax = self.previous_row = first + len(made) - 1

    def _write_optimized_sheet_data(self) -> None:
        """Copy the temporary file of the rows into the package as bytes; xlsxwriter decodes and encodes it again."""
        if self.dim_rowmin is None:
            super()._write_optimized_sheet_data()
            return
        self._xml_start_tag("sheetData")
        self.row_data_fh.close()
        self.fh.copy(Path(self.row_data_filename))
        Path(self.row_data_filename).unlink()
        self._xml_end_tag("sheetData")

    def _row_tag(self) -> str:
        """The start tag of a row of the default height."""
        height = self.default_row_height
        if height == self.original_row_height:
            return f'<row r="{ROW}">'
        return f'<row r="{ROW}" ht="{height * 0.75:.16g}" customHeight="1">'

    def add_plain_table(self, name: str, rows: tuple[int, int], titles: Sequence[str]) -> None:
        """Declare an Excel table from the first column on, whose cells are written separately.

        xlsxwriter's `add_table` writes the cells itself, and therefore not while rows are not kept.

        Args:
            name: unique in the workbook.
            rows: the row of the header, and the last row.
            titles: the texts of the header, different regardless of case.
        """
        top, last = rows
        span = xl_range(top, 0, last, len(titles) - 1)
        column = {"total_string": "", "total_function": "", "custom_total": "", "total_value": 0,
                  "formula": "", "format": None, "name_format": None}  # fmt: skip
        self.tables.append(
            {
                "name": name,
                "show_first_col": False,
                "show_last_col": False,
                "show_row_stripes": True,
                "show_col_stripes": False,
                "header_row_count": True,
                "totals_row_shown": False,
                "description": None,
                "title": None,
                "style": "TableStyleLight1",
                "range": span,
                "a_range": span,
                "autofilter": span,
                "columns": [
                    {**column, "id": number, "name": title}
                    for number, title in enumerate(titles, 1)
                ],
            }
        )

    def shared(self, text: str) -> int:
        """The number of a text among those that cells share; the same one for the same text."""
        number: int = self.str_table._get_shared_string_index(text)
        return number

    def drop_rows(self) -> None:
        """Remove the temporary file of the rows; after `close` of the workbook, do nothing."""
        with suppress(OSError):  # its buffer cannot be written to a full disk either
            self._opt_close()

    def add_link(self, row: int, col: int, target: str) -> None:
        """Link a cell to `target`; the text of the cell is written separately."""
        self.hlink_count += 1
        self.hyperlinks[row][col] = (
            Url(target) if target.startswith("internal:") else _PageLink(target)
        )

    def _write_hyperlink_external(self, row: int, col: int, id_num: int, url: Url) -> None:
        location = f' location="{escape(url._anchor)}"' if url._anchor else ""
        self.fh.write(
            f'<hyperlink ref="{xl_rowcol_to_cell(row, col)}" r:id="rId{id_num}"{location}/>'
        )


class _PageLink(Url):  # type: ignore[misc]  # xlsxwriter has no types
    """The address of a page that `cell_values.is_page` allows; xlsxwriter would look for what it cannot have."""

    def __init__(self, address: str) -> None:
        page, _, self._anchor = address.partition("#")
        if "%" in page or "[" in page:
            page = self._escape_url(page)
        self._link = self._relationship_link = page
        self._link_type, self._is_object_link = UrlTypes.URL, False


def inline_string(value: str) -> str:
    """The content of a cell of type `inlineStr`, for a text that `cell_values.clean` returned.

    >>> inline_string("A & B "), inline_string("_x0041_")
    ('<is><t xml:space="preserve">A &amp; B </t></is>', '<is><t>_x005F_x0041_</t></is>')
    """
    space = "" if value == value.strip() else ' xml:space="preserve"'
    if "&" in value or "<" in value or ">" in value:
        value = escape(value, quote=False)
    if "_x" in value:
        value = _ESCAPED.sub(r"_x005F\1", value)
    return f"<is><t{space}>{value}</t></is>"


def formula_cell(cell: str, style: int, formula: str, value: float | None) -> str:
    """A cell with a formula and its value; None as a value is an empty text.

    >>> formula_cell("B2", 3, 'IF(C2>0,1/C2,"")', None)
    '<c r="B2" s="3" t="str"><f>IF(C2&gt;0,1/C2,"")</f><v></v></c>'
    """
    text = escape(formula, quote=False)
    if value is None:
        return f'<c r="{cell}" s="{style}" t="str"><f>{text}</f><v></v></c>'
    return f'<c r="{cell}" s="{style}"><f>{text}</f><v>{value!r}</v></c>'


def index(style: Format) -> int:
    """The number by which cells refer to a format."""
    number: int = style._get_xf_index()
    return number
