"""The workbook while it is written: sheets whose cells hold what they are given and nothing else.

Text is text, never a formula, a number or a link by accident (F9): xlsxwriter is told so, and the
writing functions choose the type of a cell, not its value. Rows of a sheet are written from top to
bottom and kept no longer than that (`constant_memory`): memory does not grow with the rows, and a
cell above the last one written is lost.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.format import Format

from serve.workbook import styles, text

# Excel's own limits: links of a sheet, and characters of the target of one.
MOST_LINKS: Final = 65_530
LONGEST_TARGET: Final = 2_079
_PAGE: Final = re.compile(r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")

_OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
}
_A4: Final = 9

# Column widths are in digits of the default font, row heights in points.
_WIDTH: Final = 8.43
_CHARACTER: Final = 0.88  # the mean width of a letter of prose
_LINE_HEIGHT: Final = 13.5
_ROW_HEIGHT: Final = 16
_TITLE_HEIGHT: Final = 32
_TALLEST: Final = 400.0

# Day 0 of Excel's dates, as a Python ordinal. Excel counts a 29 February 1900, so its days before
# the next one are others; these few, like all before, stay text.
_EPOCH: Final = date(1899, 12, 30).toordinal()
FIRST_DAY: Final = date(1900, 3, 1)


@dataclass(slots=True)
class Altered:
    """What could not be written as it is: texts that were cut or cleaned, links that are text."""

    texts: int = 0
    links: int = 0


class Book:
    """A workbook that is being written; nothing is in the file before `close`."""

    def __init__(self, path: Path, temporary: Path, properties: Mapping[str, Any]) -> None:
        """
        Args:
            temporary: a folder for the rows of each sheet; it holds nothing after `close`.
            properties: of the document; `created` is a naive datetime.
        """
        self._workbook = Workbook(str(path), {**_OPTIONS, "tmpdir": str(temporary)})
        self._workbook.set_properties(dict(properties))
        # A size in which Intro fits: the default window is small.
        self._workbook.set_size(2_400, 1_500)
        self.styles = styles.make(self._workbook)
        self.altered = Altered()

    def sheet(self, name: str, tab: str) -> "Sheet":
        """A new sheet after all others; `tab` is the colour of its tab."""
        sheet = Sheet(self, name, self._workbook.add_worksheet(name))
        sheet.raw.set_tab_color(tab)
        sheet.raw.hide_gridlines(2)
        sheet.raw.set_default_row(_ROW_HEIGHT)
        return sheet

    def chart(self) -> Chart:
        """A chart of horizontal bars, to be inserted into a sheet."""
        return self._workbook.add_chart({"type": "bar"})

    def close(self) -> None:
        """Write the file.

        Raises:
            OSError: there is no room for it.
        """
        try:
            self._workbook.close()
        except FileCreateError as error:
            raise OSError(f"the workbook cannot be written: {error}") from error


class Sheet:
    """One sheet. `raw` is xlsxwriter's own, for what holds no text of a company."""

    def __init__(self, book: Book, name: str, raw: Any) -> None:
        self.book = book
        self.name = name
        self.raw = raw
        self._links = 0
        self._widths: dict[int, float] = {}

    @property
    def styles(self) -> styles.Styles:
        return self.book.styles

    def text(self, row: int, col: int, value: str, style: Format) -> None:
        """A text cell, whatever the text looks like."""
        fit = text.clean(value)
        if fit is not value:
            self.book.altered.texts += 1
        if text.is_active(fit):
            style = self.styles.palette.quoted(style)
        self.raw.write_string(row, col, fit, style)

    def date(self, row: int, col: int, value: str, style: Format) -> None:
        """A real date where Excel has that day; else the text as it is (C8: `2015`, `2015-06`)."""
        serial = _serial(value)
        if serial is None:
            self.text(row, col, value, self.styles.list_text)
        else:
            self.raw.write_number(row, col, serial, style)

    def link(self, row: int, col: int, target: str, shown: str, style: Format) -> None:
        """A link to `target` (see `within` and `is_page`); plain text where no more may be made."""
        if self._links == MOST_LINKS:
            self.book.altered.links += 1
            self.text(row, col, shown, self.styles.list_text)
            return
        self._links += 1
        fit = text.clean(shown)
        if text.is_active(fit):
            style = self.styles.palette.quoted(style)
        self.raw.write_url(row, col, target, style, fit)

    def page(self, row: int, col: int, url: str, style: Format) -> None:
        """A page of the web, as a link if it can be one."""
        if is_page(url):
            self.link(row, col, url, url, style)
        else:
            self.text(row, col, url, self.styles.list_text)

    def title(self, row: int, value: str) -> None:
        """What the sheet is about, in a row as high as that needs."""
        self.raw.set_row(row, _TITLE_HEIGHT)
        self.text(row, 0, value, self.styles.title)

    def section(self, row: int, value: str, last: int = 0) -> None:
        """The head of a part of the sheet, ruled from the first column to the `last` one."""
        self.text(row, 0, value, self.styles.section)
        for col in range(1, last + 1):
            self.raw.write_blank(row, col, None, self.styles.section)

    def texts(self, row: int, values: Sequence[str], style: Format, col: int = 0) -> None:
        """Text cells side by side."""
        for place, value in enumerate(values, col):
            self.text(row, place, value, style)

    def across(self, row: int, first: int, last: int, value: str, style: Format) -> None:
        """A text over the columns [first, last] of a row, as high as its lines need."""
        room = sum(self._widths.get(col, _WIDTH) for col in range(first, last + 1))
        lines = sum(1 + int(len(part) * _CHARACTER / room) for part in value.split("\n"))
        self.raw.set_row(row, min(_TALLEST, _LINE_HEIGHT * lines + 2.5))
        if first < last:
            self.raw.merge_range(row, first, row, last, "", style)
        self.text(row, first, value, style)

    def widths(self, *characters: float, first: int = 0) -> None:
        """The widths of the columns from `first` on."""
        for col, width in enumerate(characters, first):
            self._widths[col] = width
            self.raw.set_column(col, col, width)

    def on_paper(
        self, footer: str, *, landscape: bool = True, across: int = 1, down: int = 0
    ) -> None:
        """A4, so many pages wide and long (0: as needed); `footer` stands on the left of each."""
        raw = self.raw
        raw.set_paper(_A4)
        if landscape:
            raw.set_landscape()
        raw.fit_to_pages(across, down)
        raw.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        raw.set_footer(f"&L&8{footer.replace('&', '&&')}&R&8&A   &P / &N")


def within(name: str, cell: str = "A1") -> str:
    """The target of a link to a cell of the sheet `name`.

    >>> within("FR l'un")
    "internal:'FR l''un'!A1"
    """
    doubled = name.replace("'", "''")
    return f"internal:'{doubled}'!{cell}"


def is_page(url: str) -> bool:
    """Can `url` be the target of a link: http or https, spelt as RFC 3986 has it, short enough?

    >>> is_page("https://ariregister.rik.ee/est/company/10000018"), is_page("http://a b")
    (True, False)
    """
    return len(url) <= LONGEST_TARGET and _PAGE.fullmatch(url) is not None


def naive(moment: datetime) -> datetime:
    """`moment` without its zone, to the second, as document properties are written."""
    return moment.replace(tzinfo=None, microsecond=0)


def _serial(value: str) -> int | None:
    """The number that Excel has for a day, or None.

    >>> _serial("2026-11-21"), _serial("1864-05-04"), _serial("2015")
    (46347, None, None)
    """
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # `fromisoformat` reads other spellings too, such as weeks, which are no day of contract C8.
    if day < FIRST_DAY or value[7:8] != "-":
        return None
    return day.toordinal() - _EPOCH
