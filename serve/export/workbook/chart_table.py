"""A small table with a row of totals, and a bar chart beside it.

For sheets of up to a few hundred rows; company_sheets.py writes the long lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from xlsxwriter.format import Format

from serve.export.workbook import styles
from serve.export.workbook.sheet import Sheet

# More bars in one chart cannot be read.
MOST_BARS: Final = 12
_CHART_WIDTH: Final = 620
_BAR_HEIGHT: Final = 26

Kind = Literal["text", "whole", "share"]


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column of a table: one value per row (None: an empty cell), and its total."""

    title: str
    kind: Kind
    values: Sequence[Any]
    total: Any = None


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of a table: its first row of values, the row after the last, its columns."""

    first: int
    end: int
    columns: Mapping[str, int]


def write(sheet: Sheet, top: int, columns: Sequence[ChartColumn]) -> Placed:
    """Write a table with its header in row `top`; a column without a value is left out."""
    shown = [one for one in columns if any(value is not None for value in one.values)]
    look = sheet.styles
    for col, one in enumerate(shown):
        header = look.header if one.kind == "text" else look.header_right
        sheet.text(top, col, one.title, header)
    sheet.raw.set_row(top, 30)
    count = len(shown[0].values) if shown else 0
    for place in range(count):
        for col, one in enumerate(shown):
            _cell(sheet, top + 1 + place, col, one.values[place], one.kind, bold=False)
    end = top + 1 + count
    if any(one.total is not None for one in shown):
        for col, one in enumerate(shown):
            _cell(sheet, end, col, one.total, one.kind, bold=True)
    return Placed(top + 1, end, {one.title: col for col, one in enumerate(shown)})


def bars(
    sheet: Sheet,
    at: tuple[int, int],
    title: str,
    placed: Placed,
    label: ChartColumn,
    value: ChartColumn,
) -> None:
    """Insert a chart of the first rows of a table, the first row on top."""
    rows = min(MOST_BARS, placed.end - placed.first)
    if not rows or value.title not in placed.columns:
        return
    chart = sheet.book.chart()

    def ranged(column: ChartColumn) -> list[Any]:
        col = placed.columns[column.title]
        return [sheet.name, placed.first, col, placed.first + rows - 1, col]

    chart.add_series(
        {
            "name": value.title,
            "categories": ranged(label),
            "values": ranged(value),
            # Rows already written are not kept, so the values for previews are passed here.
            "categories_data": list(label.values[:rows]),
            "values_data": list(value.values[:rows]),
            "fill": {"color": styles.ACCENT},
            "gap": 45,
            "data_labels": {"value": True, "num_format": styles.WHOLE_FORMAT,
                            "font": {"size": 9, "color": styles.GREY}},
        }
    )  # fmt: skip
    chart.set_title({"name": title, "overlay": False,
                     "name_font": {"size": 12, "color": styles.DARK}})  # fmt: skip
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "num_font": {"size": 9},
                      "line": {"color": styles.GREY}, "major_tick_mark": "none"})  # fmt: skip
    chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}})
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": _CHART_WIDTH, "height": 90 + _BAR_HEIGHT * rows})
    sheet.raw.insert_chart(*at, chart, {"description": title, "object_position": 2})


def _cell(sheet: Sheet, row: int, col: int, value: Any, kind: Kind, *, bold: bool) -> None:
    style = _style(sheet, kind, bold)
    if value is None:
        sheet.raw.write_blank(row, col, None, style)
    elif kind == "text":
        sheet.across(row, col, col, value, style)
    else:
        sheet.raw.write_number(row, col, value, style)


def _style(sheet: Sheet, kind: Kind, bold: bool) -> Format:
    name = "wrapped" if kind == "text" and not bold else kind
    style: Format = getattr(sheet.styles, f"bold_{kind}" if bold else name)
    return style
