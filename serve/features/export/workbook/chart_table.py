"""A small table with a row of totals, a bar chart beside it, and the chart of a company's years.

For sheets of up to a few hundred rows; table_sheet.py writes the long lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from xlsxwriter.format import Format

from serve.features.export.workbook.sheet import ACCENT, CONTRAST, DARK, GREY, WHOLE_FORMAT, Sheet

# More bars in one chart cannot be read.
MOST_BARS: Final = 12
_CHART_WIDTH: Final = 620
_BAR_HEIGHT: Final = 26

# Units of amounts on an axis, from the largest amount on.
_UNITS: Final = ((1e7, "M€", "#,##0.0,,"), (1e4, "k€", "#,##0,"), (0.0, "€", "#,##0"))

Kind = Literal["text", "whole", "share"]


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column of a table: one value per row (None: an empty cell), and its total."""

    title: str
    kind: Kind
    values: Sequence[Any]
    total: Any = None


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The place of a table: its first row of values, the row after the last, its columns."""

    first: int
    end: int
    columns: Mapping[str, int]


def write(sheet: Sheet, top: int, columns: Sequence[ChartColumn]) -> TablePlace:
    """Write a table with its header in row `top`; a column without a value is left out."""
    shown = [one for one in columns if any(value is not None for value in one.values)]
    look = sheet.styles
    for col, column in enumerate(shown):
        header = look.header if column.kind == "text" else look.header_right
        sheet.text(top, col, column.title, header)
    sheet.raw.set_row(top, 30)
    count = len(shown[0].values) if shown else 0
    for place in range(count):
        for col, column in enumerate(shown):
            _cell(sheet, top + 1 + place, col, column.values[place], column.kind, bold=False)
    end = top + 1 + count
    if any(one.total is not None for one in shown):
        for col, column in enumerate(shown):
            _cell(sheet, end, col, column.total, column.kind, bold=True)
    return TablePlace(top + 1, end, {one.title: col for col, one in enumerate(shown)})


def bars(
    sheet: Sheet,
    at: tuple[int, int],
    title: str,
    placed: TablePlace,
    label: ChartColumn,
    value: ChartColumn,
) -> None:
    """Insert a chart of the first rows of a table, the first row on top."""
    rows = min(MOST_BARS, placed.end - placed.first)
    if not rows or value.title not in placed.columns:
        return
    chart = sheet.book.chart()

    def cell_range(column: ChartColumn) -> list[Any]:
        col = placed.columns[column.title]
        return [sheet.name, placed.first, col, placed.first + rows - 1, col]

    chart.add_series(
        {
            "name": value.title,
            "categories": cell_range(label),
            "values": cell_range(value),
            "fill": {"color": ACCENT},
            "gap": 45,
            "data_labels": {"value": True, "num_format": WHOLE_FORMAT,
                            "font": {"size": 9, "color": GREY}},
        }
    )  # fmt: skip
    chart.set_title({"name": title, "overlay": False,
                     "name_font": {"size": 12, "color": DARK}})  # fmt: skip
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "num_font": {"size": 9},
                      "line": {"color": GREY}, "major_tick_mark": "none"})  # fmt: skip
    chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}})
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": _CHART_WIDTH, "height": 90 + _BAR_HEIGHT * rows})
    sheet.raw.insert_chart(*at, chart, {"description": title, "object_position": 2})


def columns(
    sheet: Sheet,
    at: tuple[int, int],
    head: int,
    years: Sequence[int],
    series: Sequence[tuple[str, int, Sequence[float | None]]],
) -> None:
    """Insert a chart of amounts in euros by fiscal year, the oldest year at the left.

    Args:
        head: the row of the years, which stand from the second column on, the newest first.
        series: of each amount its name, its row, its values.
    """
    chart = sheet.book.chart("column")
    last = len(years)
    colored = list(zip(series, (ACCENT, CONTRAST), strict=False))
    # The axis is reversed, and with it the order of the bars of a year.
    for (name, row, _), color in reversed(colored):
        chart.add_series(
            {
                "name": name,
                "categories": [sheet.name, head, 1, head, last],
                "values": [sheet.name, row, 1, row, last],
                "fill": {"color": color},
                "gap": 60,
            }
        )
    largest = max(
        (abs(one) for _, _, found in series for one in found if one is not None), default=0
    )
    unit, number_format = next(
        (unit, form) for least, unit, form in _UNITS if largest >= least or not least
    )
    chart.set_title({"name": unit, "overlay": False, "name_font": {"size": 10, "bold": False}})
    chart.set_legend({"position": "bottom"})
    # The newest year stands first on the sheet and last in the chart.
    chart.set_x_axis({"reverse": True, "crossing": "max", "label_position": "low"})
    chart.set_y_axis({"num_format": number_format, "line": {"none": True},
                      "major_gridlines": {"visible": True, "line": {"color": "#D9D9D9"}}})  # fmt: skip
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": 520, "height": 300})
    title = ", ".join(name for name, _, _ in series)
    sheet.raw.insert_chart(*at, chart, {"description": f"{title} ({unit})", "object_position": 2})


def _cell(sheet: Sheet, row: int, col: int, value: Any, kind: Kind, *, bold: bool) -> None:
    style = _style(sheet, kind, bold)
    if value is None:
        sheet.raw.write_blank(row, col, None, style)
    elif kind == "text":
        sheet.write_merged(row, col, col, value, style)
    else:
        sheet.raw.write_number(row, col, value, style)


def _style(sheet: Sheet, kind: Kind, bold: bool) -> Format:
    name = "wrapped" if kind == "text" and not bold else kind
    style: Format = getattr(sheet.styles, f"bold_{kind}" if bold else name)
    return style
