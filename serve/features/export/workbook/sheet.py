"""A workbook and its sheets while they are written, on top of xlsxwriter: formats, texts that are safe, cells.

Headings are dark blue, each row has a hairline below it, links are blue. Numbers and dates are stored as numbers, so
every reader sees them in the notation of their locale.

A text never becomes a formula, a number or a link by accident (F9): xlsxwriter's conversions are off, and the function
that writes a cell decides its type, not the value. A cell holds at most 32 767 UTF-16 units of XML 1.0 characters
(contract F8, F9). xlsxwriter cuts a longer text and escapes other characters as `_x0001_`, which only Excel reads back;
so texts are cut and cleaned here, where the changes can be counted.

xlsxwriter keeps all cells until `close`, since Excel tables need them: a list of 10 000 rows has half a million.
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

DARK: Final = "#1F3A5F"
ACCENT: Final = "#2E75B6"
CONTRAST: Final = "#F4B183"  # beside the accent, in light and in print
PALE: Final = "#EAF1F8"
BAR: Final = "#BFD7EE"  # behind numbers
GREY: Final = "#5F6B7A"
_RULE: Final = "#D5DDE6"
_LINK: Final = "#1A5FA8"

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

# The rule below every cell of a table.
_LINE: Final = {"bottom": 1, "bottom_color": _RULE, "valign": "vcenter"}
_BOLD: Final = {"bold": True, "bg_color": PALE, "valign": "vcenter"}

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


@dataclass(frozen=True, slots=True)
class Styles:
    """The formats by purpose: `bold_` for totals and aggregates, `list_` for the long lists.

    The long lists show the grid instead of rules, which would have to be written into empty cells too.
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
    """The formats of one workbook by their properties, each with a variant for active text (F9)."""

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook
        self._made: dict[tuple[tuple[str, Any], ...], Format] = {}
        self._properties: dict[Format, dict[str, Any]] = {}
        self._quoted: dict[Format, Format] = {}

    def make(self, **properties: Any) -> Format:
        """The format with these properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._made:
            made = self._workbook.add_format({"font_name": FONT, "font_size": 10, **properties})
            self._made[key] = made
            self._properties[made] = properties
        return self._made[key]

    def with_quote_prefix(self, style: Format) -> Format:
        """A variant of `style` with which a text stays a text when it is edited in Excel (F9)."""
        if style not in self._quoted:
            properties = {**self._properties[style], "quote_prefix": True}
            self._quoted[style] = self.make(**properties)
        return self._quoted[style]


def add_styles(workbook: Workbook) -> Styles:
    """Add all formats to `workbook`."""
    palette = Palette(workbook)
    of = palette.make
    header = {"bold": True, "font_color": "#FFFFFF", "bg_color": DARK, "text_wrap": True,
              "valign": "vcenter", "border": 1, "border_color": DARK}  # fmt: skip
    return Styles(
        palette=palette,
        title=of(bold=True, font_size=20, font_color=DARK, valign="vcenter"),
        subtitle=of(font_size=11, font_color=GREY, valign="vcenter"),
        section=of(bold=True, font_size=12, font_color=DARK, bottom=1, bottom_color=ACCENT),
        header=of(**header),
        header_right=of(**header, align="right"),
        label=of(**_LINE, font_color=GREY, text_wrap=True),
        prose=of(text_wrap=True, valign="top"),
        notice=of(
            text_wrap=True,
            valign="vcenter",
            bold=True,
            font_color=DARK,
            bg_color=PALE,
            left=5,
            left_color=ACCENT,
        ),
        text=of(**_LINE, num_format="@"),
        wrapped=of(**_LINE, num_format="@", text_wrap=True),
        indented=of(**_LINE, num_format="@", indent=1, font_color=GREY),
        whole=of(**_LINE, num_format=WHOLE_FORMAT),
        cents=of(**_LINE, num_format=CENTS_FORMAT),
        share=of(**_LINE, num_format=SHARE_FORMAT),
        rate=of(**_LINE, num_format="0.0000"),
        ratio={unit: of(**_LINE, num_format=form) for unit, form in RATIO_FORMATS.items()},
        fact=of(**_LINE, align="left"),
        moment=of(**_LINE, align="left", num_format=_MOMENT_FORMAT),
        link=of(**_LINE, font_color=_LINK, underline=1),
        bare_link=of(font_color=_LINK, underline=1),
        list_text=of(num_format="@"),
        list_whole=of(num_format=WHOLE_FORMAT),
        list_number=of(num_format="General"),
        list_share=of(num_format=SHARE_FORMAT),
        list_year=of(num_format="0"),
        list_date=of(num_format=DATE_FORMAT, align="left"),
        list_truth=of(align="left"),
        list_link=of(num_format="@", font_color=_LINK, underline=1),
        list_ratio={unit: of(num_format=form) for unit, form in RATIO_FORMATS.items()},
        bold_text=of(**_BOLD, num_format="@"),
        bold_whole=of(**_BOLD, num_format=WHOLE_FORMAT),
        bold_cents=of(**_BOLD, num_format=CENTS_FORMAT),
        bold_share=of(**_BOLD, num_format=SHARE_FORMAT),
    )


LONGEST_CELL: Final = 32_767  # UTF-16 units
LONGEST_NAME: Final = 31  # UTF-16 units of a sheet's name

# Characters that XML 1.0 lacks, and controls without a meaning in a cell. Tab and line feed stay; a
# carriage return would be read back as a line feed, so it becomes one.
_CONTROLS: Final = re.compile(r"\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# The beginnings of texts that a program could take for a formula when the cell is edited (F9).
_ACTIVE: Final = ("=", "+", "-", "@", "\t", "\n", "\r")
_NOT_IN_A_NAME: Final = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f-\x9f\ufffe\uffff]")

# Day 0 as a Python ordinal. Excel counts a 29 February 1900, which never was: earlier days have other
# numbers, and stay text like those before 1900.
_EPOCH: Final = date(1899, 12, 30).toordinal()
_FIRST_DAY: Final = date(1900, 3, 1)

# Excel's own limits: links per sheet, characters per target.
MOST_LINKS: Final = 65_530
LONGEST_LINK: Final = 2_079

_PAGE: Final = re.compile(
    r"https?://[A-Za-z0-9\-._~:\[\]!$&'()*+,;=%]+(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*)?"
)


def clean(text: str) -> str:
    """`text` as a cell can hold it; the same object if nothing has to change.

    >>> clean("a\\x00b\\r\\nc"), len(clean("x" * 40_000))
    ('a b\\nc', 32767)
    """
    if not text.isprintable():
        text = _CONTROLS.sub(lambda found: "\n" if found[0][0] == "\r" else " ", text)
    # xlsxwriter would take such a text for its own markup and write it unescaped.
    if text.startswith("<r>") and text.endswith("</r>"):
        text += " "
    # A character takes at most two units, so this test decides nearly every text.
    if 2 * len(text) > LONGEST_CELL:
        text = shorten(text, LONGEST_CELL)
    return text


def is_active(text: str) -> bool:
    """Could a program take `text` for a formula? Such a cell is marked as text.

    >>> is_active("=1+1"), is_active("A=1")
    (True, False)
    """
    return text.startswith(_ACTIVE)


def shorten(text: str, units: int) -> str:
    """`text` within so many UTF-16 units; an ellipsis marks a text that was cut.

    >>> shorten("Orléans", 4), shorten("🚀🚀", 3), shorten("Ψ", 1)
    ('Orl…', '🚀…', 'Ψ')
    """
    encoded = text.encode("utf-16-le")
    if len(encoded) <= 2 * units:
        return text
    # Half a surrogate pair at the end is dropped.
    return encoded[: 2 * (units - 1)].decode("utf-16-le", "ignore") + "…"


def sheet_names(wanted: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """Names of sheets close to those wanted: valid in Excel, and different regardless of case.

    >>> list(sheet_names(["FR a/b", "FR A:B", "'x'"], taken=["Intro"]))
    ['FR a_b', 'FR A_B~2', '_x_']
    """
    known = {name.casefold() for name in taken}
    for text in wanted:
        plain = _NOT_IN_A_NAME.sub("_", text)
        # Excel allows an apostrophe inside a name, not at its ends.
        plain = re.sub(r"^'|'$", "_", plain).strip() or "_"
        name, number = shorten(plain, LONGEST_NAME), 1
        while name.casefold() in known:
            number += 1
            ending = f"~{number}"
            name = shorten(plain, LONGEST_NAME - len(ending)) + ending
        known.add(name.casefold())
        yield name


def day_serial(value: str) -> int | None:
    """Excel's number of a day, or None if it has none (C8: `2015`, `2015-06`).

    >>> day_serial("2026-11-21"), day_serial("1864-05-04"), day_serial("2015")
    (46347, None, None)
    """
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # `fromisoformat` also reads other spellings, such as weeks, which contract C8 does not have.
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


def is_page(url: str) -> bool:
    """Can `url` be a link: http or https, in the characters of RFC 3986, no user before the host, short enough?

    >>> is_page("https://ariregister.rik.ee/est/company/10000018"), is_page("http://a b")
    (True, False)
    """
    return len(url) <= LONGEST_LINK and _PAGE.fullmatch(url) is not None


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
        self.styles = add_styles(self._workbook)
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
    def styles(self) -> Styles:
        return self.book.styles

    def text(self, row: int, col: int, value: str, style: Format) -> None:
        """A text cell, whatever the text looks like."""
        fit, style = self.fit(value, style)
        self.raw.write_string(row, col, fit, style)

    def link(self, row: int, col: int, target: str, shown: str, style: Format) -> None:
        """A text that links to `target` (`link_target`), or a text of a list if the sheet cannot have this link."""
        fit, quoted = self.fit(shown, style)
        if self._links < MOST_LINKS and not self.raw.write_url(row, col, target, quoted, fit):
            self._links += 1
            return
        self.book.altered.links += 1
        self.raw.write_string(row, col, *self.fit(fit, self.styles.list_text))

    def formula(self, row: int, col: int, formula: str, value: float | None, style: Format) -> None:
        """A formula and its value, which readers show that do not calculate; None is an empty text."""
        self.raw.write_formula(row, col, f"={formula}", style, "" if value is None else value)

    def fit(self, value: str, style: Format) -> tuple[str, Format]:
        """`value` as a cell can hold it, and the format with which it stays a text; a change is counted."""
        fit = clean(value)
        if fit is not value:
            self.book.altered.texts += 1
        if is_active(fit):
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
