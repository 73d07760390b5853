"""A small table with a row of totals, a bar chart next to the table, and the chart of a company's years.

For sheets of up to a few hundred rows; table_sheet.py writes the long lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from xlsxwriter.format import Format

from serve.features.export.workbook.sheet import ACCENT, CONTRAST, DARK, GREY, WHOLE_FORMAT, Sheet

# The most bars of a chart; with more bars, a chart would be unreadable.
MOST_BARS: Final = 12
_CHART_WIDTH: Final = 620  # pixels
_BAR_HEIGHT: Final = 26  # pixels

# The units of an axis: a bound in euros, the name of the unit, the number format. An axis has the first unit whose
# bound its largest amount reaches.
_UNITS: Final = ((1e7, "M€", "#,##0.0,,"), (1e4, "k€", "#,##0,"), (0.0, "€", "#,##0"))

# The kind of a value: a text, a whole number, or a fraction that is shown in percent.
CellKind = Literal["text", "whole", "share"]


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column of a table: one value per row (None: an empty cell), and its total."""

    title: str
    kind: CellKind
    values: Sequence[Any]
    total: Any = None


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The place of a table on its sheet.

    Attributes:
        first: the first row of values.
        end: the row after the last row of values.
        columns: the number of each column, by heading.
    """

    first: int
    end: int
    columns: Mapping[str, int]


def write(sheet: Sheet, top: int, columns: Sequence[ChartColumn]) -> TablePlace:
    """Write a table with its header in row `top`, and a row of totals if a column has a total.

    Columns without a value are left out.
    """
    shown_columns = [
        column for column in columns if any(value is not None for value in column.values)
    ]
    styles = sheet.styles
    for col, column in enumerate(shown_columns):
        header = styles.header if column.kind == "text" else styles.header_right
        sheet.text(top, col, column.title, header)
    sheet.raw.set_row(top, 30)  # points
    count = len(shown_columns[0].values) if shown_columns else 0
    for index in range(count):
        for col, column in enumerate(shown_columns):
            _write_cell(sheet, top + 1 + index, col, column.values[index], column.kind, bold=False)
    end = top + 1 + count
    if any(column.total is not None for column in shown_columns):
        for col, column in enumerate(shown_columns):
            _write_cell(sheet, end, col, column.total, column.kind, bold=True)
    return TablePlace(top + 1, end, {column.title: col for col, column in enumerate(shown_columns)})


def insert_bar_chart(
    sheet: Sheet,
    at: tuple[int, int],
    title: str,
    table: TablePlace,
    label: ChartColumn,
    value: ChartColumn,
) -> None:
    """Insert a bar chart of the first rows of a table, the first row on top.

    Args:
        at: the row and the column of the cell where the chart begins.
        label: the column with the names of the bars.
        value: the column with the lengths of the bars.
    """
    rows = min(MOST_BARS, table.end - table.first)
    if not rows or value.title not in table.columns:
        return
    chart = sheet.book.chart()

    def cell_range(column: ChartColumn) -> list[Any]:
        """The cells of the charted rows of a column, as xlsxwriter names them."""
        col = table.columns[column.title]
        return [sheet.name, table.first, col, table.first + rows - 1, col]

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
    # The first 90 pixels are for the title and the margins.
    chart.set_size({"width": _CHART_WIDTH, "height": 90 + _BAR_HEIGHT * rows})
    # Position 2: the chart moves with the cells but keeps its size.
    sheet.raw.insert_chart(*at, chart, {"description": title, "object_position": 2})


def insert_year_chart(
    sheet: Sheet,
    at: tuple[int, int],
    years_row: int,
    years: Sequence[int],
    series: Sequence[tuple[str, int, Sequence[float | None]]],
) -> None:
    """Insert a chart of amounts in euros by fiscal year, the oldest year at the left.

    Args:
        at: the row and the column of the cell where the chart begins.
        years_row: the row of the years, which begin in the second column, the newest first.
        series: the name, the row and the values of each amount.
    """
    chart = sheet.book.chart("column")
    last_col = len(years)
    colored = list(zip(series, (ACCENT, CONTRAST), strict=False))
    # The axis is reversed (below), which also reverses the bars of each year. So the last amount is added first.
    for (name, row, _), color in reversed(colored):
        chart.add_series(
            {
                "name": name,
                "categories": [sheet.name, years_row, 1, years_row, last_col],
                "values": [sheet.name, row, 1, row, last_col],
                "fill": {"color": color},
                "gap": 60,
            }
        )
    largest = max(
        (abs(value) for _, _, values in series for value in values if value is not None), default=0
    )
    unit, number_format = next(
        (unit, number_format)
        for bound, unit, number_format in _UNITS
        if largest >= bound or not bound
    )
    chart.set_title({"name": unit, "overlay": False, "name_font": {"size": 10, "bold": False}})
    chart.set_legend({"position": "bottom"})
    # The newest year is first on the sheet and last in the chart, so the axis is reversed.
    chart.set_x_axis({"reverse": True, "crossing": "max", "label_position": "low"})
    chart.set_y_axis({"num_format": number_format, "line": {"none": True},
                      "major_gridlines": {"visible": True, "line": {"color": "#D9D9D9"}}})  # fmt: skip
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": 520, "height": 300})  # pixels
    title = ", ".join(name for name, _, _ in series)
    # Position 2, as in `insert_bar_chart`: the chart keeps its size.
    sheet.raw.insert_chart(*at, chart, {"description": f"{title} ({unit})", "object_position": 2})


def _write_cell(
    sheet: Sheet, row: int, col: int, value: Any, kind: CellKind, *, bold: bool
) -> None:
    """Write one value with the format of its kind; None is an empty cell with the format."""
    style = _style(sheet, kind, bold)
    if value is None:
        sheet.raw.write_blank(row, col, None, style)
    elif kind == "text":
        sheet.write_merged(row, col, col, value, style)
    else:
        sheet.raw.write_number(row, col, value, style)


def _style(sheet: Sheet, kind: CellKind, bold: bool) -> Format:
    """The format of a kind of value; texts are wrapped except in the row of totals (`bold`)."""
    name = "wrapped" if kind == "text" and not bold else kind
    style: Format = getattr(sheet.styles, f"bold_{kind}" if bold else name)
    return style
