"""Charts as shapes to draw: numbers in, coordinates out. The templates write them as SVG. Pure.

`history` draws two figures of a company over its last years, at most six, as bars on a scale: turnover and result if
the accounts have them. Small British companies file a balance sheet only: then they are total assets and equity. The
values of the bars are in a table below them. `histogram_columns` places a turnover among its peers: companies by band,
with one band marked. `sparkline_points` is a line of a few values without a scale. `tiles` is a map of Europe: a square
a country, shaded by its number of companies.

Places from left to right are percentages of the width, so letters keep their size on every screen; heights are pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import Final

Figures = Mapping[int, float]  # by year

HISTORY_GUTTER: Final = 22  # percent, left of the bars: the scale
HISTORY_HEIGHT: Final = 200
_TOP, _BOTTOM = 12, 192  # the highest and lowest y of a figure
_YEARS: Final = 6
_STEPS: Final = 4  # of the scale, about


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
    """The chart.

    Attributes:
        codes: of both figures.
        years: of the columns, oldest first.
        ticks: each value of the scale with its y.
        first: the bars of the first figure.
        second: those of the second.
        values: both figures by column, None for a year without.
    """

    codes: tuple[str, str]
    years: Sequence[int]
    ticks: Sequence[tuple[float, float]]
    first: Sequence[Shape]
    second: Sequence[Shape]
    values: Sequence[Sequence[float | None]]


def history(figures: Mapping[str, Figures]) -> History | None:
    """The chart of these key figures; None if fewer than two years have one of them."""
    for codes in (("chiffre_affaires", "resultat"), ("total_actif", "capitaux_propres")):
        first, second = figures.get(codes[0], {}), figures.get(codes[1], {})
        years = sorted(set(first) | set(second))[-_YEARS:]
        if len(years) > 1:
            return _history(codes, years, first, second)
    return None


def _history(
    codes: tuple[str, str], years: Sequence[int], first: Figures, second: Figures
) -> History:
    shown = [own[year] for own in (first, second) for year in years if year in own]
    ticks = scale(min([0.0, *shown]), max([0.0, *shown]))
    factor = (_BOTTOM - _TOP) / ((ticks[-1] - ticks[0]) or 1.0)
    step = (100 - HISTORY_GUTTER) / len(years)
    lefts = {year: HISTORY_GUTTER + step * place for place, year in enumerate(years)}

    def y(value: float) -> float:
        return round(_TOP + (ticks[-1] - value) * factor, 1)

    def bars(own: Figures, start: float, width: float) -> list[Shape]:
        return [
            Shape(
                year,
                own[year],
                round(lefts[year] + start * step, 2),
                min(y(own[year]), y(0)),
                round(width * step, 2),
                max(1.0, round(abs(y(own[year]) - y(0)), 1)),
            )
            for year in years
            if year in own
        ]

    return History(
        codes,
        years,
        [(tick, y(tick)) for tick in ticks],
        bars(first, 0.12, 0.44),
        bars(second, 0.6, 0.26),
        [[own.get(year) for year in years] for own in (first, second)],
    )


def scale(least: float, most: float) -> list[float]:
    """Round values from at most `least` to at least `most`, the same distance apart.

    >>> scale(0, 91), scale(-2, 9)
    ([0.0, 50.0, 100.0], [-5.0, 0.0, 5.0, 10.0])
    """
    rough = (most - least) / _STEPS or 1.0
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    return [step * number for number in range(floor(least / step), ceil(most / step) + 1)]


HISTOGRAM_HEIGHT: Final = 120
_HISTOGRAM_TOP, _HISTOGRAM_BOTTOM = 18, 98
_GAP: Final = 1.5  # percent


@dataclass(frozen=True, slots=True)
class HistogramColumn:
    """A band: its lower bound, None for the one below 0; its companies and its place."""

    least: int | None
    number: int
    marked: bool
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 2)


def histogram_columns(
    bands: Sequence[tuple[int | None, int]], marked: int
) -> Sequence[HistogramColumn]:
    """The columns of these bands; number `marked` has the company.

    >>> [(one.y, one.height) for one in histogram_columns([(0, 4), (10, 1), (100, 0)], 1)]
    [(18.0, 80.0), (78.0, 20.0), (98.0, 0.0)]
    """
    most = max((number for _, number in bands), default=0) or 1
    width = 100 / max(1, len(bands))
    drawn_columns = []
    for place, (least, number) in enumerate(bands):
        height = round((_HISTOGRAM_BOTTOM - _HISTOGRAM_TOP) * number / most, 1)
        height = max(height, 1.5) if number else 0.0
        drawn_columns.append(
            HistogramColumn(least, number, place == marked, round(place * width + _GAP / 2, 2),
                   round(_HISTOGRAM_BOTTOM - height, 1), round(width - _GAP, 2), height)
        )  # fmt: skip
    return drawn_columns


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


_TILE_SIDE: Final = 48  # of a tile
_TILE_STEP: Final = 52
_SHADES: Final = 5

# The column and the row of each country, about where it lies.
_PLACES: Final[Mapping[str, tuple[int, int]]] = {
    "NO": (4, 0), "SE": (5, 0), "FI": (6, 0),
    "IE": (0, 1), "UK": (1, 1), "DK": (4, 1), "EE": (7, 1),
    "BE": (2, 2), "NL": (3, 2), "DE": (4, 2), "PL": (5, 2), "LT": (6, 2), "LV": (7, 2),
    "FR": (1, 3), "LU": (2, 3), "CZ": (4, 3), "SK": (5, 3),
    "PT": (0, 4), "ES": (1, 4), "CH": (3, 4), "AT": (4, 4), "RO": (6, 4),
    "IT": (3, 5), "HR": (4, 5), "BG": (6, 5),
}  # fmt: skip
_COLUMNS: Final = 8
_ROWS: Final = 6
MAP_WIDTH: Final = _COLUMNS * _TILE_STEP - (_TILE_STEP - _TILE_SIDE)


@dataclass(frozen=True, slots=True)
class Tile:
    """A country at its place; `shade` from 0, none, to SHADES, the most."""

    iso2: str
    number: int
    x: int
    y: int
    shade: int


def tiles(counts: Mapping[str, int]) -> Sequence[Tile]:
    """The tiles of these countries; one without a place of its own stands below the map.

    The shade is that of the square root: a country with a quarter of the most companies has half of the shades.

    >>> [(one.x, one.y, one.shade) for one in tiles({"FR": 1_000_000, "LU": 900, "XX": 0})]
    [(52, 156, 5), (104, 156, 1), (0, 312, 0)]
    """
    most = max([1, *counts.values()])
    others = sorted(counts.keys() - _PLACES.keys())
    drawn_tiles = []
    for iso2, number in counts.items():
        if iso2 in _PLACES:
            column, row = _PLACES[iso2]
        else:
            below, column = divmod(others.index(iso2), _COLUMNS)
            row = _ROWS + below
        drawn_tiles.append(
            Tile(iso2, number, column * _TILE_STEP, row * _TILE_STEP, _shade(number, most))
        )
    return drawn_tiles


def map_height(drawn: Sequence[Tile]) -> int:
    """The height of the map with these tiles."""
    return max((one.y for one in drawn), default=0) + _TILE_SIDE


def _shade(number: int, most: int) -> int:
    return ceil(_SHADES * sqrt(number / most))
