"""The formats of cells, made once per set of properties.

Headings are dark blue, each row has a hairline below it, links are blue. Numbers and dates are stored
as numbers, so every reader sees them in the notation of their locale.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from xlsxwriter import Workbook
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


def make(workbook: Workbook) -> Styles:
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
