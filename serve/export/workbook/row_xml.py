"""Rows of the long lists, written as the XML that they are.

xlsxwriter keeps, checks and escapes cell by cell: ten calls a cell, most of the time of an export.
The lists know what each column holds, so there a cell is one function and one string (list_columns.py),
and a row goes to the file where xlsxwriter keeps its own rows (`constant_memory`); it writes all
else of a sheet.

Its documentation offers subclassing, but not what is used of the parent: the version is pinned, and
the tests have every value of a list read back by other programs.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from typing import Final

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

# What Excel would read as a character; the escape of its first one is read as that one.
_ESCAPED: Final = re.compile("(_x[0-9a-fA-F]{4}_)")


class RowWorksheet(Worksheet):  # type: ignore[misc]  # it comes without types
    """A worksheet to which whole rows, and links without a text, can be added."""

    def add_row(self, row: int, cells: Iterable[str]) -> None:
        """Write the cells of a row (0, 1, …) below all others, in the order of their columns."""
        if row > self.previous_row:
            self._write_single_row(row)
        self._write_row(row, None)
        self.fh.write("".join(cells))
        self._xml_end_tag("row")
        self.dim_rowmax = row

    def drop_rows(self) -> None:
        """Let go of the file of the rows; once the workbook is closed, nothing happens."""
        with suppress(OSError):  # what was to be written yet finds no room either
            self._opt_close()

    def add_link(self, row: int, col: int, target: str) -> None:
        """Let a cell lead to `target`; what it shows is written apart."""
        self.ignore_write_string = True
        self.write_url(row, col, target)
        self.ignore_write_string = False


def inline(value: str) -> str:
    """A text that is clean, as the content of a cell of type `inlineStr`.

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
    """The number by which cells name a format."""
    number: int = style._get_xf_index()
    return number
