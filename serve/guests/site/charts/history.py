"""The chart of a company: two figures over its last years, at most six, as bars with their values on a scale.

The figures are turnover and result if the accounts have them. Small British companies file a balance
sheet only: then they are total assets and equity. Pure: numbers in, coordinates out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

Figures = Mapping[int, float]  # by year

WIDTH: Final = 640
HEIGHT: Final = 250
GUTTER: Final = (
    104  # left of the bars; the scale fits in it in the large letters of phones and paper
)
_TOP, _BOTTOM = 36, 214  # the highest and lowest y of a figure
_YEARS: Final = 6
_STEPS: Final = 4  # of the scale, about


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar of one year; `label` is the y of its value."""

    year: int
    value: float
    x: float
    y: float
    width: float
    height: float
    label: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 1)


@dataclass(frozen=True, slots=True)
class History:
    """The chart.

    Attributes:
        codes: of both figures.
        years: each year with the x of its label, oldest first.
        ticks: each value of the scale with its y.
    """

    codes: tuple[str, str]
    years: Sequence[tuple[int, float]]
    ticks: Sequence[tuple[float, float]]
    first: Sequence[Shape]
    second: Sequence[Shape]


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
    step = (WIDTH - GUTTER) / len(years)
    lefts = {year: GUTTER + step * place for place, year in enumerate(years)}

    def y(value: float) -> float:
        return round(_TOP + (ticks[-1] - value) * factor, 1)

    def bars(own: Figures, start: float, width: float) -> list[Shape]:
        found = []
        for year in years:
            if year in own:
                top = min(y(own[year]), y(0))
                height = max(1.0, round(abs(y(own[year]) - y(0)), 1))
                x = round(lefts[year] + start * step, 1)
                found.append(
                    Shape(year, own[year], x, top, round(width * step, 1), height, top - 5)
                )
        return found

    return History(
        codes,
        [(year, round(left + step / 2, 1)) for year, left in lefts.items()],
        [(tick, y(tick)) for tick in ticks],
        bars(first, 0.12, 0.44),
        bars(second, 0.6, 0.26),
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
