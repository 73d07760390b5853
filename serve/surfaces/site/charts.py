"""Charts as shapes to draw: numbers in, coordinates out. The templates write them as SVG. Pure.

`history` draws two figures of a company over at most six years, as bars on a scale: turnover and result, or total
assets and equity if the annual accounts have only a balance sheet (small British companies). The page has the values in
a table below the bars. `histogram_columns` shows a company among its peers: companies by band of turnover, with the
band of the company marked. `sparkline_points` is a line of a few values without a scale. `tiles` is a map of Europe
with a square for each country, shaded by its number of companies.

Horizontal positions are percentages of the width, so that text keeps its size on every screen; heights are pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import Final

FiguresByYear = Mapping[int, float]  # by year

HISTORY_GUTTER: Final = 22  # percent of the width, left of the bars, for the scale
HISTORY_HEIGHT: Final = 200  # pixels
_TOP, _BOTTOM = 12, 192  # pixels: y of the highest and of the lowest value of the scale
_YEARS: Final = 6  # the most years
_STEPS: Final = 4  # approximate number of steps of the scale


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar of one year: `x` and `width` in percent, `y` and `height` in pixels."""

    year: int
    value: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class History:
    """A chart of two figures of a company, by year.

    Attributes:
        codes: the codes of the two figures.
        years: the years of the columns, oldest first.
        ticks: each value of the scale with its y.
        first: the bars of the first figure.
        second: the bars of the second figure.
        values: for each figure, its value in each year, None if there is none.
    """

    codes: tuple[str, str]
    years: Sequence[int]
    ticks: Sequence[tuple[float, float]]
    first: Sequence[Shape]
    second: Sequence[Shape]
    values: Sequence[Sequence[float | None]]


def history(figures: Mapping[str, FiguresByYear]) -> History | None:
    """The chart of turnover and result, or else of total assets and equity, from `figures` by code and year.

    None if fewer than two years have a figure.
    """
    for codes in (("chiffre_affaires", "resultat"), ("total_actif", "capitaux_propres")):
        first, second = figures.get(codes[0], {}), figures.get(codes[1], {})
        years = sorted(set(first) | set(second))[-_YEARS:]
        if len(years) > 1:
            return _history(codes, years, first, second)
    return None


def _history(
    codes: tuple[str, str], years: Sequence[int], first: FiguresByYear, second: FiguresByYear
) -> History:
    """The chart of two figures, with a bar for each figure and year."""
    amounts = [figures[year] for figures in (first, second) for year in years if year in figures]
    ticks = scale(min([0.0, *amounts]), max([0.0, *amounts]))
    factor = (_BOTTOM - _TOP) / ((ticks[-1] - ticks[0]) or 1.0)
    column_width = (100 - HISTORY_GUTTER) / len(years)
    column_lefts = {year: HISTORY_GUTTER + column_width * place for place, year in enumerate(years)}

    def y(value: float) -> float:
        """The vertical position of a value, in pixels from the top."""
        return round(_TOP + (ticks[-1] - value) * factor, 1)

    def bars(figures: FiguresByYear, start: float, width: float) -> list[Shape]:
        """The bars of one figure; `start` and `width` are fractions of the column of a year."""
        return [
            Shape(
                year,
                figures[year],
                round(column_lefts[year] + start * column_width, 2),
                min(y(figures[year]), y(0)),
                round(width * column_width, 2),
                # At least a pixel, so that a small value is visible.
                max(1.0, round(abs(y(figures[year]) - y(0)), 1)),
            )
            for year in years
            if year in figures
        ]

    return History(
        codes,
        years,
        [(tick, y(tick)) for tick in ticks],
        # In the column of a year, the first bar is wider, and the second bar stands to its right.
        bars(first, 0.12, 0.44),
        bars(second, 0.6, 0.26),
        [[figures.get(year) for year in years] for figures in (first, second)],
    )


def scale(least: float, most: float) -> list[float]:
    """Round values at equal distances; the first is ≤ `least`, the last ≥ `most`.

    >>> scale(0, 91), scale(-2, 9)
    ([0.0, 50.0, 100.0], [-5.0, 0.0, 5.0, 10.0])
    """
    least_step = (most - least) / _STEPS or 1.0
    unit = 10.0 ** floor(log10(least_step))
    # The distance is 1, 2, 5 or 10 times a power of ten.
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= least_step)
    return [step * number for number in range(floor(least / step), ceil(most / step) + 1)]


HISTOGRAM_HEIGHT: Final = 120  # pixels
# Pixels: y of the top of the highest column, and of the base of all columns.
_HISTOGRAM_TOP, _HISTOGRAM_BOTTOM = 18, 98
_GAP: Final = 1.5  # percent of the width, between two columns


@dataclass(frozen=True, slots=True)
class HistogramColumn:
    """A band: its lower bound (None for the band below 0), its companies and its position."""

    least: int | None
    number: int
    marked: bool
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The middle of the column, in percent of the width."""
        return round(self.x + self.width / 2, 2)


def histogram_columns(
    bands: Sequence[tuple[int | None, int]], marked: int
) -> Sequence[HistogramColumn]:
    """The columns of the bands, each a lower bound and a number of companies; the band at `marked` has the company.

    >>> [(column.y, column.height) for column in histogram_columns([(0, 4), (10, 1), (100, 0)], 1)]
    [(18.0, 80.0), (78.0, 20.0), (98.0, 0.0)]
    """
    most = max((number for _, number in bands), default=0) or 1
    width = 100 / max(1, len(bands))
    drawn_columns = []
    for place, (least, number) in enumerate(bands):
        height = round((_HISTOGRAM_BOTTOM - _HISTOGRAM_TOP) * number / most, 1)
        height = max(height, 1.5) if number else 0.0  # a band with few companies stays visible
        drawn_columns.append(
            HistogramColumn(least, number, place == marked, round(place * width + _GAP / 2, 2),
                   round(_HISTOGRAM_BOTTOM - height, 1), round(width - _GAP, 2), height)
        )  # fmt: skip
    return drawn_columns


# In units of the SVG. _EDGE is left free above and below, so that the whole thickness of the line is visible.
_SPARKLINE_WIDTH: Final = 100
_SPARKLINE_HEIGHT: Final = 30
_EDGE: Final = 2


def sparkline_points(values: Sequence[float]) -> str:
    """The `points` of an SVG polyline; "" for fewer than two values.

    >>> sparkline_points([1, 3, 2]), sparkline_points([5])
    ('0,28 50,2 100,15', '')
    """
    if len(values) < 2:
        return ""
    least, most = min(values), max(values)
    factor = (_SPARKLINE_HEIGHT - 2 * _EDGE) / ((most - least) or 1.0)
    step = _SPARKLINE_WIDTH / (len(values) - 1)
    return " ".join(
        f"{round(place * step, 1):g},{round(_SPARKLINE_HEIGHT - _EDGE - (value - least) * factor, 1):g}"
        for place, value in enumerate(values)
    )


_TILE_SIDE: Final = 48  # pixels
_TILE_STEP: Final = 52  # pixels, from a tile to the next tile
_SHADES: Final = 5  # the shade of the largest number

# The column and row of each country on the map, roughly as in Europe.
_TILE_POSITIONS: Final[Mapping[str, tuple[int, int]]] = {
    "NO": (4, 0), "SE": (5, 0), "FI": (6, 0),
    "IE": (0, 1), "UK": (1, 1), "DK": (4, 1), "EE": (7, 1),
    "BE": (2, 2), "NL": (3, 2), "DE": (4, 2), "PL": (5, 2), "LT": (6, 2), "LV": (7, 2),
    "FR": (1, 3), "LU": (2, 3), "CZ": (4, 3), "SK": (5, 3),
    "PT": (0, 4), "ES": (1, 4), "CH": (3, 4), "AT": (4, 4), "RO": (6, 4),
    "IT": (3, 5), "HR": (4, 5), "BG": (6, 5),
}  # fmt: skip
_COLUMNS: Final = 8  # of the map, in tiles
_ROWS: Final = 6  # of the map, without the rows of countries that have no position
# Pixels, without a gap after the last column.
MAP_WIDTH: Final = _COLUMNS * _TILE_STEP - (_TILE_STEP - _TILE_SIDE)


@dataclass(frozen=True, slots=True)
class Tile:
    """A country on the map; `shade` is 0 for no companies, up to 5 for the most."""

    iso2: str
    number: int
    x: int
    y: int
    shade: int


def tiles(counts: Mapping[str, int]) -> Sequence[Tile]:
    """The tiles of the countries; countries without a position on the map are drawn below the map.

    The shade grows with the square root: a quarter of the largest number has half of the shades.

    >>> [(tile.x, tile.y, tile.shade) for tile in tiles({"FR": 1_000_000, "LU": 900, "XX": 0})]
    [(52, 156, 5), (104, 156, 1), (0, 312, 0)]
    """
    most = max([1, *counts.values()])
    unplaced = sorted(counts.keys() - _TILE_POSITIONS.keys())
    drawn_tiles = []
    for iso2, number in counts.items():
        if iso2 in _TILE_POSITIONS:
            column, row = _TILE_POSITIONS[iso2]
        else:
            extra_row, column = divmod(unplaced.index(iso2), _COLUMNS)
            row = _ROWS + extra_row
        drawn_tiles.append(
            Tile(iso2, number, column * _TILE_STEP, row * _TILE_STEP, _shade(number, most))
        )
    return drawn_tiles


def map_height(map_tiles: Sequence[Tile]) -> int:
    """The height of the map with these tiles."""
    return max((tile.y for tile in map_tiles), default=0) + _TILE_SIDE


def _shade(number: int, most: int) -> int:
    """The shade of a number of companies, from 0 to _SHADES for `most`, the largest number."""
    return ceil(_SHADES * sqrt(number / most))
