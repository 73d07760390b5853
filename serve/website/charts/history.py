"""The small chart of a company: two figures over its fiscal years, as shapes to draw.

The figures are turnover and result if the accounts have them. Small British companies file a balance
sheet only: then they are total assets and equity. Pure: numbers in, coordinates out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from serve.data.statement_table import StatementRow

# Codes of statement lines, the preferred one first (§2.4; seeds/postes.csv and the codes of RIK).
_TURNOVER: Final = ("TurnoverRevenue", "Revenue")
_RESULT: Final = (
    "ProfitLoss", "TotalAnnualPeriodProfitLoss", "TotalProfitLoss", "OperatingProfitLoss",
)  # fmt: skip
_ASSETS: Final = ("TotalAssets", "Assets")
_EQUITY: Final = ("Equity", "NetAssetsLiabilities")

WIDTH: Final = 560
_TOP, _BOTTOM = 16, 168  # the highest and lowest y of a figure
_LEFT: Final = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar or a point of one year; its title shows `value`."""

    year: int
    value: float
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class History:
    """The chart.

    Attributes:
        names: of both figures, in French and English.
        years: each year with the x of its label, oldest first.
        bars: the first figure.
        points: the second figure.
        zero: the y of the zero line.
    """

    names: tuple[tuple[str, str], tuple[str, str]]
    years: Sequence[tuple[int, float]]
    bars: Sequence[Shape]
    points: Sequence[Shape]
    bar_width: float
    zero: float

    @property
    def path(self) -> str:
        """The `points` of an SVG polyline."""
        return " ".join(f"{point.x:g},{point.y:g}" for point in self.points)


def history(lines: Sequence[StatementRow]) -> History | None:
    """The chart of these statements; None if fewer than two years have a figure."""
    rows = {line.code: line for line in lines}
    names = (("Chiffre d’affaires", "Turnover"), ("Résultat", "Result"))
    first, second = _values(rows, _TURNOVER), _values(rows, _RESULT)
    if len(set(first) | set(second)) < 2:
        names = (("Total de l’actif", "Total assets"), ("Capitaux propres", "Equity"))
        first, second = _values(rows, _ASSETS), _values(rows, _EQUITY)
    years = sorted(set(first) | set(second))
    return _drawn(names, years, first, second) if len(years) > 1 else None


def _drawn(
    names: tuple[tuple[str, str], tuple[str, str]],
    years: Sequence[int],
    first: dict[int, float],
    second: dict[int, float],
) -> History:
    values = [0.0, *first.values(), *second.values()]
    highest, lowest = max(values), min(values)
    scale = (_BOTTOM - _TOP) / ((highest - lowest) or 1.0)
    step = (WIDTH - 2 * _LEFT) / len(years)
    width = round(min(64.0, step * 0.5), 1)
    zero = round(_TOP + highest * scale, 1)
    centres = {year: round(_LEFT + step * (index + 0.5), 1) for index, year in enumerate(years)}

    def y(value: float) -> float:
        return round(_TOP + (highest - value) * scale, 1)

    bars = [
        Shape(year, value, round(centres[year] - width / 2, 1), min(y(value), zero),
              round(abs(y(value) - zero), 1))
        for year, value in sorted(first.items())
    ]  # fmt: skip
    points = [
        Shape(year, value, centres[year], y(value), 0) for year, value in sorted(second.items())
    ]
    return History(names, sorted(centres.items()), bars, points, width, zero)


def _values(rows: dict[str, StatementRow], codes: Sequence[str]) -> dict[int, float]:
    """The values by year of the first of `codes` that the statements have."""
    for code in codes:
        if code in rows:
            return rows[code].values
    return {}
