"""A histogram of companies by band of turnover, with one band marked.

Places from left to right are percentages of the width, heights are pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HEIGHT: Final = 120
_TOP, _BOTTOM = 18, 98
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


def columns(bands: Sequence[tuple[int | None, int]], marked: int) -> Sequence[HistogramColumn]:
    """The columns of these bands; number `marked` has the company.

    >>> [(one.y, one.height) for one in columns([(0, 4), (10, 1), (100, 0)], 1)]
    [(18.0, 80.0), (78.0, 20.0), (98.0, 0.0)]
    """
    most = max((number for _, number in bands), default=0) or 1
    width = 100 / max(1, len(bands))
    drawn_columns = []
    for place, (least, number) in enumerate(bands):
        height = round((_BOTTOM - _TOP) * number / most, 1)
        height = max(height, 1.5) if number else 0.0
        drawn_columns.append(
            HistogramColumn(least, number, place == marked, round(place * width + _GAP / 2, 2),
                   round(_BOTTOM - height, 1), round(width - _GAP, 2), height)
        )  # fmt: skip
    return drawn_columns
