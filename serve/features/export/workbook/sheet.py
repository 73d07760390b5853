"""A workbook and its sheets while they are written, on top of xlsxwriter.

A text never becomes a formula, a number or a link by accident (F9): xlsxwriter's conversions are off,
and the function that writes a cell decides its type, not the value. xlsxwriter keeps all cells until
`close`, since Excel tables need them: a list of 10 000 rows has half a million.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.format import Format

from serve.features.export.workbook import cells

_OPTIONS: Final = {
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    # An amount beyond the range of a number is an error value of its cell, not of the export.
    "nan_inf_to_errors": True,
}
_A4: Final = 9

# Column widths are in digits of the default font, row heights in points.
_WIDTH: Final = 8.43
_CHARACTER: Final = 0.88  # mean width of a letter in running text
_LINE_HEIGHT: Final = 13.5
_ROW_HEIGHT: Final = 16
_TITLE_HEIGHT: Final = 32
_TALLEST: Final = 400.0


@dataclass(slots=True)
class AlterationCounts:
    """Counts of changed values: texts that were cut or cleaned, links that became text."""

    texts: int = 0
    links: int = 0


class Book:
    """A workbook that is being written; the file is complete after `close`."""

    def __init__(
        self, path: Path, temporary: Path, properties: Mapping[str, Any], lang: str
    ) -> None:
        """
        Args:
            temporary: a folder for the parts of the file; empty after `close`.
            properties: document properties; `created` is a naive datetime.
            lang: the language of the texts, a custom property of the document.
        """
        self._workbook = Workbook(str(path), {**_OPTIONS, "tmpdir": str(temporary)})
        self._workbook.set_properties(dict(properties))
        self._workbook.set_custom_property("Language", lang)
        # A size in which Intro fits: the default window is small.
        self._workbook.set_size(2_400, 1_500)
        self.styles = cells.add_styles(self._workbook)
        self.altered = AlterationCounts()

    def sheet(self, name: str, tab: str) -> "Sheet":
        """Add a sheet after all others; `tab` is the colour of its tab."""
        sheet = Sheet(self, name, self._workbook.add_worksheet(name))
        sheet.raw.set_tab_color(tab)
        sheet.raw.hide_gridlines(2)
        sheet.raw.set_default_row(_ROW_HEIGHT)
        return sheet

    def chart(self, kind: str = "bar") -> Chart:
        """Add a chart of horizontal bars or of columns, to be inserted into a sheet."""
        return self._workbook.add_chart({"type": kind})

    def close(self) -> None:
        """Write the file.

        Raises:
            OSError: the disk is full.
        """
        try:
            self._workbook.close()
        except FileCreateError as error:
            raise OSError(f"the workbook cannot be written: {error}") from error


class Sheet:
    """One sheet. `raw` is xlsxwriter's worksheet, for everything but the texts of companies."""

    def __init__(self, book: Book, name: str, raw: Any) -> None:
        self.book = book
        self.name = name
        self.raw = raw
        self._links = 0
        self._widths: dict[int, float] = {}

    @property
    def styles(self) -> cells.Styles:
        return self.book.styles

    def text(self, row: int, col: int, value: str, style: Format) -> None:
        """A text cell, whatever the text looks like."""
        fit, style = self.fit(value, style)
        self.raw.write_string(row, col, fit, style)

    def link(self, row: int, col: int, target: str, shown: str, style: Format) -> None:
        """A text that links to `target` (cells.py), or a text of a list if the sheet cannot have this link."""
        fit, quoted = self.fit(shown, style)
        if self._links < cells.MOST_LINKS and not self.raw.write_url(row, col, target, quoted, fit):
            self._links += 1
            return
        self.book.altered.links += 1
        self.raw.write_string(row, col, *self.fit(fit, self.styles.list_text))

    def formula(self, row: int, col: int, formula: str, value: float | None, style: Format) -> None:
        """A formula and its value, which readers show that do not calculate; None is an empty text."""
        self.raw.write_formula(row, col, f"={formula}", style, "" if value is None else value)

    def fit(self, value: str, style: Format) -> tuple[str, Format]:
        """`value` as a cell can hold it, and the format with which it stays a text; a change is counted."""
        fit = cells.clean(value)
        if fit is not value:
            self.book.altered.texts += 1
        if cells.is_active(fit):
            style = self.styles.palette.with_quote_prefix(style)
        return fit, style

    def title(self, row: int, value: str) -> None:
        """The title of the sheet, in a higher row."""
        self.raw.set_row(row, _TITLE_HEIGHT)
        self.text(row, 0, value, self.styles.title)

    def section(self, row: int, value: str, last: int = 0) -> None:
        """The heading of a section, with a rule from the first column to the `last` one."""
        self.text(row, 0, value, self.styles.section)
        for col in range(1, last + 1):
            self.raw.write_blank(row, col, None, self.styles.section)

    def texts(self, row: int, values: Iterable[str], style: Format) -> None:
        """Text cells side by side, from the first column on."""
        for col, value in enumerate(values):
            self.text(row, col, value, style)

    def write_merged(self, row: int, first: int, last: int, value: str, style: Format) -> None:
        """A text over the columns `first` to `last`, in a row as high as its lines need."""
        room = sum(self._widths.get(col, _WIDTH) for col in range(first, last + 1))
        lines = sum(1 + int(len(part) * _CHARACTER / room) for part in value.split("\n"))
        self.raw.set_row(row, min(_TALLEST, _LINE_HEIGHT * lines + 2.5))
        if first < last:
            self.raw.merge_range(row, first, row, last, "", style)
        self.text(row, first, value, style)

    def widths(self, *characters: float, first: int = 0) -> None:
        """Set the widths of the columns from `first` on."""
        for col, width in enumerate(characters, first):
            self._widths[col] = width
            self.raw.set_column(col, col, width)

    def set_page(self, footer: str, pages_high: int) -> None:
        """Set A4, one page wide and `pages_high` (0: as needed), with a footer on the left."""
        raw = self.raw
        raw.set_paper(_A4)
        raw.set_landscape()
        raw.fit_to_pages(1, pages_high)
        raw.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        raw.set_footer(f"&L&8{footer.replace('&', '&&')}&R&8&A   &P / &N")


def naive_moment(moment: datetime) -> datetime:
    """`moment` without its zone, to the second, as Excel stores it."""
    return moment.replace(tzinfo=None, microsecond=0)
