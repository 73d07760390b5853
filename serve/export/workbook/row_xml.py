"""Rows of the long lists, written directly as XML.

xlsxwriter stores, checks and escapes cell by cell, with ten calls per cell: most of the time of an
export. The lists know the type of each column, so a cell is one call and one string (list_columns.py),
and a row is appended to the temporary file in which xlsxwriter keeps its own rows (`constant_memory`).
xlsxwriter writes the rest of the sheet.

Its documentation offers subclassing, but the methods used here are private. So pyproject.toml pins
the version, and the tests let other programs read back every value of a list.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from typing import Final

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

# Text that Excel would read as an escaped character; escaping its underscore prevents that.
_ESCAPED: Final = re.compile("(_x[0-9a-fA-F]{4}_)")


class RowWorksheet(Worksheet):  # type: ignore[misc]  # xlsxwriter has no types
    """A worksheet that takes whole rows, and links without a text."""

    def add_row(self, row: int, cells: Iterable[str]) -> None:
        """Append a row (0, 1, …) below all others, with its cells in the order of the columns."""
        if row > self.previous_row:
            self._write_single_row(row)
        self._write_row(row, None)
        self.fh.write("".join(cells))
        self._xml_end_tag("row")
        self.dim_rowmax = row

    def drop_rows(self) -> None:
        """Remove the temporary file of the rows; after `close` of the workbook, do nothing."""
        with suppress(OSError):  # its buffer cannot be written to a full disk either
            self._opt_close()

    def add_link(self, row: int, col: int, target: str) -> None:
        """Link a cell to `target`; the text of the cell is written separately."""
        self.ignore_write_string = True
        self.write_url(row, col, target)
        self.ignore_write_string = False


def inline(value: str) -> str:
    """The content of a cell of type `inlineStr`, for a text that `cell_values.clean` returned.

    >>> inline("A & B "), inline("_x0041_")
    ('<is><t xml:space="preserve">A &amp; B </t></is>', '<is><t>_x005F_x0041_</t></is>')
    """
    space = "" if value == value.strip() else ' xml:space="preserve"'
    if "&" in value or "<" in value or ">" in value:
        value = escape(value, quote=False)
    if "_x" in value:
        value = _ESCAPED.sub(r"_x005F\1", value)
    return f"<is><t{space}>{value}</t></is>"


def index(style: Format) -> int:
    """The number by which cells refer to a format."""
    number: int = style._get_xf_index()
    return number
