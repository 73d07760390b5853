"""A line of a few values without a scale."""

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 100
HEIGHT: Final = 30
_EDGE: Final = 2


def points(values: Sequence[float]) -> str:
    """The `points` of an SVG polyline; "" for fewer than two values.

    >>> points([1, 3, 2]), points([5])
    ('0,28 50,2 100,15', '')
    """
    if len(values) < 2:
        return ""
    least, most = min(values), max(values)
    factor = (HEIGHT - 2 * _EDGE) / ((most - least) or 1.0)
    step = WIDTH / (len(values) - 1)
    return " ".join(
        f"{round(place * step, 1):g},{round(HEIGHT - _EDGE - (value - least) * factor, 1):g}"
        for place, value in enumerate(values)
    )
