"""The chart of a company: two figures over its last years, at most six, as bars on a scale.

The figures are turnover and result if the accounts have them. Small British companies file a balance
sheet only: then they are total assets and equity. Places from left to right are percentages of the width, so
letters keep their size on every screen; heights are pixels. The values of the bars are in a table below them.
Pure: numbers in, coordinates out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

Figures = Mapping[int, float]  # by year

GUTTER: Final = 22  # percent, left of the bars: the scale
HEIGHT: Final = 200
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
    step = (100 - GUTTER) / len(years)
    lefts = {year: GUTTER + step * place for place, year in enumerate(years)}

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
