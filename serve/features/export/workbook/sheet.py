"""A workbook and its sheets while they are written, on top of xlsxwriter: formats, texts that are safe, cells.

Headings are dark blue, each row has a thin line below it, links are blue. Numbers and dates are stored as numbers, so
readers see them in the notation of their locale.

A text never becomes a formula, a number or a link by accident (F9): the conversions of xlsxwriter are off, and the
function that writes a cell decides its type, not the value. A cell holds at most 32 767 UTF-16 units of XML 1.0
characters (contract F8, F9). xlsxwriter cuts a longer text and escapes other characters as `_x0001_`, which only Excel
reads back. So texts are cut and cleaned here, where the changes are counted.

xlsxwriter keeps all cells until `close`, because an Excel table needs this: a list of 10 000 rows has half a million
cells.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.format import Format

# The colours of the workbook: of titles, of lines and bars, and of backgrounds.
DARK: Final = "#1F3A5F"
ACCENT: Final = "#2E75B6"
CONTRAST: Final = "#F4B183"  # differs from ACCENT in colour and, in print, in brightness
PALE: Final = "#EAF1F8"
BAR: Final = "#BFD7EE"  # data bars; numbers stay readable on this colour
GREY: Final = "#5F6B7A"
_LINE_COLOUR: Final = "#D5DDE6"
_LINK_COLOUR: Final = "#1A5FA8"

FONT: Final = "Calibri"
WHOLE_FORMAT: Final = "#,##0"
CENTS_FORMAT: Final = "#,##0.00"
DATE_FORMAT: Final = 14  # the short date of the reader's locale
SHARE_FORMAT: Final = "0.0%"
# The formats of ratios by their units (shards/ratios/ratio_table.py).
RATIO_FORMATS: Final = {
    "part": SHARE_FORMAT, "fois": "0.00", "jours": "0", "EUR": WHOLE_FORMAT, "indice": "0.00",
}  # fmt: skip
_MOMENT_FORMAT: Final = "yyyy-mm-dd hh:mm:ss"

# The format of a cell in a table: a thin line below the cell.
_BOTTOM_BORDER: Final = {"bottom": 1, "bottom_color": _LINE_COLOUR, "valign": "vcenter"}
# The format of totals and aggregates.
_TOTALS: Final = {"bold": True, "bg_color": PALE, "valign": "vcenter"}

# With these options, xlsxwriter does not convert texts (module docstring).
_OPTIONS: Final = {
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    # An amount out of the range of a number becomes an error value in its cell; the export does not fail.
    "nan_inf_to_errors": True,
}
_A4: Final = 9  # Excel's number of the paper size

# Column widths are in digits of the default font, row heights in points.
_DEFAULT_WIDTH: Final = 8.43  # Excel's default
_LETTER_WIDTH: Final = 0.88  # mean width of a letter in running text, in digits
_LINE_HEIGHT: Final = 13.5
_ROW_HEIGHT: Final = 16  # of a row with one line
_TITLE_HEIGHT: Final = 32
_TALLEST: Final = 400.0  # the height of the highest row; a longer text is not fully visible


@dataclass(frozen=True, slots=True)
class Styles:
    """The formats by purpose: `bold_` for totals and aggregates, `list_` for the long lists.

    Long lists show the grid of the sheet: lines below the rows would need a cell even for an empty value.
    """

    palette: "Palette"
    title: Format
    subtitle: Format
    section: Format
    header: Format
    header_right: Format
    label: Format
    prose: Format
    notice: Format
    text: Format
    wrapped: Format
    indented: Format
    whole: Format
    cents: Format
    share: Format
    rate: Format
    ratio: Mapping[str, Format]
    fact: Format
    moment: Format
    link: Format
    bare_link: Format
    list_text: Format
    list_whole: Format
    list_number: Format
    list_share: Format
    list_year: Format
    list_date: Format
    list_truth: Format
    list_link: Format
    list_ratio: Mapping[str, Format]
    bold_text: Format
    bold_whole: Format
    bold_cents: Format
    bold_share: Format


class Palette:
    """The formats of one workbook by their properties, with variants that keep texts from becoming formulas (F9)."""

    def __init__(self, workbook: Workbook) -> None:
        """Begin without formats; each is added to `workbook` when it is needed first."""
        self._workbook = workbook
        # Each format by its properties, the properties of each format, and its variant made by `quote_prefixed`.
        self._formats: dict[tuple[tuple[str, Any], ...], Format] = {}
        self._properties: dict[Format, dict[str, Any]] = {}
        self._quoted: dict[Format, Format] = {}

    def make(self, **properties: Any) -> Format:
        """The format with these properties, which is added to the workbook once."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            new_format = self._workbook.add_format(
                {"font_name": FONT, "font_size": 10, **properties}
            )
            self._formats[key] = new_format
            self._properties[new_format] = properties
        return self._formats[key]

    def quote_prefixed(self, style: Format) -> Format:
        """The variant of `style` that keeps a text a text when it is edited in Excel (F9)."""
        if style not in self._quoted:
            properties = {**self._properties[style], "quote_prefix": True}
            self._quoted[style] = self.make(**properties)
        return self._quoted[style]


def add_styles(workbook: Workbook) -> Styles:
    """Add all formats to `workbook`, and return them by purpose."""
    palette = Palette(workbook)
    style = palette.make
    header = {"bold": True, "font_color": "#FFFFFF", "bg_color": DARK, "text_wrap": True,
              "valign": "vcenter", "border": 1, "border_color": DARK}  # fmt: skip
    return Styles(
        palette=palette,
        title=style(bold=True, font_size=20, font_color=DARK, valign="vcenter"),
        subtitle=style(font_size=11, font_color=GREY, valign="vcenter"),
        section=style(bold=True, font_size=12, font_color=DARK, bottom=1, bottom_color=ACCENT),
        header=style(**header),
        header_right=style(**header, align="right"),
        label=style(**_BOTTOM_BORDER, font_color=GREY, text_wrap=True),
        prose=style(text_wrap=True, valign="top"),
        notice=style(
            text_wrap=True,
            valign="vcenter",
            bold=True,
            font_color=DARK,
            bg_color=PALE,
            left=5,
            left_color=ACCENT,
        ),
        text=style(**_BOTTOM_BORDER, num_format="@"),
        wrapped=style(**_BOTTOM_BORDER, num_format="@", text_wrap=True),
        indented=style(**_BOTTOM_BORDER, num_format="@", indent=1, font_color=GREY),
        whole=style(**_BOTTOM_BORDER, num_format=WHOLE_FORMAT),
        cents=style(**_BOTTOM_BORDER, num_format=CENTS_FORMAT),
        share=style(**_BOTTOM_BORDER, num_format=SHARE_FORMAT),
        rate=style(**_BOTTOM_BORDER, num_format="0.0000"),
        ratio={
            unit: style(**_BOTTOM_BORDER, num_format=form) for unit, form in RATIO_FORMATS.items()
        },
        fact=style(**_BOTTOM_BORDER, align="left"),
        moment=style(**_BOTTOM_BORDER, align="left", num_format=_MOMENT_FORMAT),
        link=style(**_BOTTOM_BORDER, font_color=_LINK_COLOUR, underline=1),
        bare_link=style(font_color=_LINK_COLOUR, underline=1),
        list_text=style(num_format="@"),
        list_whole=style(num_format=WHOLE_FORMAT),
        list_number=style(num_format="General"),
        list_share=style(num_format=SHARE_FORMAT),
        list_year=style(num_format="0"),
        list_date=style(num_format=DATE_FORMAT, align="left"),
        list_truth=style(align="left"),
        list_link=style(num_format="@", font_color=_LINK_COLOUR, underline=1),
        list_ratio={unit: style(num_format=form) for unit, form in RATIO_FORMATS.items()},
        bold_text=style(**_TOTALS, num_format="@"),
        bold_whole=style(**_TOTALS, num_format=WHOLE_FORMAT),
        bold_cents=style(**_TOTALS, num_format=CENTS_FORMAT),
        bold_share=style(**_TOTALS, num_format=SHARE_FORMAT),
    )


LONGEST_CELL: Final = 32_767  # UTF-16 units
LONGEST_NAME: Final = 31  # UTF-16 units of a sheet's name

# Characters that XML 1.0 does not allow, and controls without a meaning in a cell. Tab and line feed stay. A carriage
# return becomes a line feed, because XML readers would read it as a line feed.
_CONTROLS: Final = re.compile(r"\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# The beginnings of texts that a program could take for a formula when the cell is edited (F9).
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\n", "\r")
# The characters that Excel or XML does not allow in the name of a sheet.
_NOT_IN_A_NAME: Final = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f-\x9f\ufffe\uffff]")

# Day 0 as a Python ordinal. Excel counts a 29 February 1900, which did not exist, so its numbers of earlier days are
# wrong by one. These days stay text, as do the days before 1900.
_EPOCH: Final = date(1899, 12, 30).toordinal()
_FIRST_DAY: Final = date(1900, 3, 1)

# Excel's own limits: links per sheet, characters per target.
MOST_LINKS: Final = 65_530
LONGEST_LINK: Final = 2_079

# A web address of the characters of RFC 3986, without a user before the host.
_WEB_ADDRESS: Final = re.compile(
    r"https?://[A-Za-z0-9\-._~:\[\]!$&'()*+,;=%]+(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*)?"
)


def clean(text: str) -> str:
    """`text` as a cell can hold it; the same object if nothing changes.

    >>> clean("a\\x00b\\r\\nc"), len(clean("x" * 40_000))
    ('a b\\nc', 32767)
    """
    if not text.isprintable():
        text = _CONTROLS.sub(lambda match: "\n" if match[0][0] == "\r" else " ", text)
    # xlsxwriter would take a text between <r> and </r> for its own markup, and write it unescaped.
    if text.startswith("<r>") and text.endswith("</r>"):
        text += " "
    # A character takes at most two units, so nearly all texts pass this test.
    if 2 * len(text) > LONGEST_CELL:
        text = shorten(text, LONGEST_CELL)
    return text


def could_be_formula(text: str) -> bool:
    """Whether a program could take `text` for a formula. The cell of such a text is marked as text.

    >>> could_be_formula("=1+1"), could_be_formula("A=1")
    (True, False)
    """
    return text.startswith(_FORMULA_STARTS)


def shorten(text: str, units: int) -> str:
    """`text` in at most `units` UTF-16 units; an ellipsis marks a text that was cut.

    >>> shorten("Orléans", 4), shorten("🚀🚀", 3), shorten("Ψ", 1)
    ('Orl…', '🚀…', 'Ψ')
    """
    encoded = text.encode("utf-16-le")
    if len(encoded) <= 2 * units:
        return text
    # If the cut splits a surrogate pair, `ignore` drops the half at the end.
    return encoded[: 2 * (units - 1)].decode("utf-16-le", "ignore") + "…"


def sheet_names(names: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """Names of sheets close to `names`: valid in Excel, and different regardless of case.

    >>> list(sheet_names(["FR a/b", "FR A:B", "'x'"], taken=["Intro"]))
    ['FR a_b', 'FR A_B~2', '_x_']
    """
    used = {name.casefold() for name in taken}
    for text in names:
        valid_name = _NOT_IN_A_NAME.sub("_", text)
        # Excel allows an apostrophe inside a name, not at its ends.
        valid_name = re.sub(r"^'|'$", "_", valid_name).strip() or "_"
        name, number = shorten(valid_name, LONGEST_NAME), 1
        while name.casefold() in used:
            number += 1
            ending = f"~{number}"
            name = shorten(valid_name, LONGEST_NAME - len(ending)) + ending
        used.add(name.casefold())
        yield name


def day_serial(value: str) -> int | None:
    """Excel's number of a day; None for an incomplete date (C8: `2015`, `2015-06`) and before March 1900.

    >>> day_serial("2026-11-21"), day_serial("1864-05-04"), day_serial("2015")
    (46347, None, None)
    """
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # `fromisoformat` also reads other forms, such as weeks, which are not in contract C8.
    if day < _FIRST_DAY or value[7:8] != "-":
        return None
    return day.toordinal() - _EPOCH


def link_target(name: str, cell: str = "A1") -> str:
    """The target of a link to a cell of the sheet `name`.

    >>> link_target("FR l'un")
    "internal:'FR l''un'!A1"
    """
    doubled = name.replace("'", "''")
    return f"internal:'{doubled}'!{cell}"


def can_be_link(url: str) -> bool:
    """Whether `url` can be a link: http or https, characters of RFC 3986, no user before the host, not too long.

    >>> can_be_link("https://ariregister.rik.ee/est/company/10000018"), can_be_link("http://a b")
    (True, False)
    """
    return len(url) <= LONGEST_LINK and _WEB_ADDRESS.fullmatch(url) is not None


@dataclass(slots=True)
class AlterationCounts:
    """Counts of changed values: texts that were cut or cleaned, and links that became text."""

    texts: int = 0
    links: int = 0


class Book:
    """A workbook that is being written. The file is complete after `close`."""

    def __init__(
        self, path: Path, temporary: Path, properties: Mapping[str, Any], lang: str
    ) -> None:
        """Begin a workbook, which `close` writes to `path`.

        Args:
            temporary: a folder for the parts of the file; it is empty after `close`.
            properties: document properties; `created` is a naive datetime.
            lang: the language of the texts, a custom property of the document.
        """
        self._workbook = Workbook(str(path), {**_OPTIONS, "tmpdir": str(temporary)})
        self._workbook.set_properties(dict(properties))
        self._workbook.set_custom_property("Language", lang)
        # A window in which Intro fits; the default window is small.
        self._workbook.set_size(2_400, 1_500)  # pixels
        self.styles = add_styles(self._workbook)
        self.altered = AlterationCounts()

    def sheet(self, name: str, tab: str) -> "Sheet":
        """Add a sheet as the last sheet; `tab` is the colour of its tab."""
        sheet = Sheet(self, name, self._workbook.add_worksheet(name))
        sheet.raw.set_tab_color(tab)
        sheet.raw.hide_gridlines(2)  # on the screen and on paper
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
    """One sheet. `raw` is the worksheet of xlsxwriter, for everything except the texts of companies."""

    def __init__(self, book: Book, name: str, raw: Any) -> None:
        """Write into `raw`, the worksheet of xlsxwriter."""
        self.book = book
        self.name = name
        self.raw = raw
        self._links = 0  # links written so far; Excel limits their number
        self._widths: dict[int, float] = {}  # by column, if set

    @property
    def styles(self) -> Styles:
        """The formats of the workbook."""
        return self.book.styles

    def text(self, row: int, col: int, value: str, style: Format) -> None:
        """Write a text cell, even if the text looks like a number or a formula."""
        fit, style = self.fit(value, style)
        self.raw.write_string(row, col, fit, style)

    def link(self, row: int, col: int, target: str, text: str, style: Format) -> None:
        """Write a text that links to `target` (`link_target`), or a plain text if the sheet cannot have the link."""
        fit, quoted = self.fit(text, style)
        # `write_url` returns 0 if it has written the link.
        if self._links < MOST_LINKS and not self.raw.write_url(row, col, target, quoted, fit):
            self._links += 1
            return
        self.book.altered.links += 1
        self.raw.write_string(row, col, *self.fit(fit, self.styles.list_text))

    def formula(self, row: int, col: int, formula: str, value: float | None, style: Format) -> None:
        """Write a formula and its value, for readers that do not calculate; None is an empty text."""
        self.raw.write_formula(row, col, f"={formula}", style, "" if value is None else value)

    def fit(self, value: str, style: Format) -> tuple[str, Format]:
        """`value` as a cell can hold it, and the format that keeps it a text; a change is counted."""
        fit = clean(value)
        if fit is not value:
            self.book.altered.texts += 1
        if could_be_formula(fit):
            style = self.styles.palette.quote_prefixed(style)
        return fit, style

    def title(self, row: int, value: str) -> None:
        """Write the title of the sheet, in a row that is higher than normal rows."""
        self.raw.set_row(row, _TITLE_HEIGHT)
        self.text(row, 0, value, self.styles.title)

    def section(self, row: int, value: str, last: int = 0) -> None:
        """Write the heading of a section, with a line from the first column to the column `last`."""
        self.text(row, 0, value, self.styles.section)
        for col in range(1, last + 1):
            self.raw.write_blank(row, col, None, self.styles.section)

    def texts(self, row: int, values: Iterable[str], style: Format) -> None:
        """Write text cells side by side, from the first column on."""
        for col, value in enumerate(values):
            self.text(row, col, value, style)

    def write_merged(self, row: int, first: int, last: int, value: str, style: Format) -> None:
        """Write a text over the columns `first` to `last`, in a row as high as the lines of the text need."""
        width = sum(self._widths.get(col, _DEFAULT_WIDTH) for col in range(first, last + 1))
        lines = sum(
            1 + int(len(paragraph) * _LETTER_WIDTH / width) for paragraph in value.split("\n")
        )
        self.raw.set_row(row, min(_TALLEST, _LINE_HEIGHT * lines + 2.5))  # 2.5 points: the margin
        if first < last:
            self.raw.merge_range(row, first, row, last, "", style)
        self.text(row, first, value, style)

    def widths(self, *characters: float, first: int = 0) -> None:
        """Set the widths of the columns from `first` on, in digits of the default font."""
        for col, width in enumerate(characters, first):
            self._widths[col] = width
            self.raw.set_column(col, col, width)

    def set_page(self, footer: str, pages_high: int) -> None:
        """Set the paper to A4, one page wide and `pages_high` (0: as needed), with a footer on the left."""
        raw = self.raw
        raw.set_paper(_A4)
        raw.set_landscape()
        raw.fit_to_pages(1, pages_high)
        raw.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        # Codes of Excel: L and R are the sides, 8 the font size, A the name of the sheet, P of N the page.
        raw.set_footer(f"&L&8{footer.replace('&', '&&')}&R&8&A   &P / &N")


def naive_moment(moment: datetime) -> datetime:
    """`moment` without its zone, to the second, as Excel stores it."""
    return moment.replace(tzinfo=None, microsecond=0)
