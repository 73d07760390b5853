"""A map of Europe in tiles: a square a country, shaded by its number of companies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

SIDE: Final = 48  # of a tile
_STEP: Final = 52
SHADES: Final = 5

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
WIDTH: Final = _COLUMNS * _STEP - (_STEP - SIDE)


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
        drawn_tiles.append(Tile(iso2, number, column * _STEP, row * _STEP, _shade(number, most)))
    return drawn_tiles


def height(drawn: Sequence[Tile]) -> int:
    """The height of the map with these tiles."""
    return max((one.y for one in drawn), default=0) + SIDE


def _shade(number: int, most: int) -> int:
    return ceil(SHADES * sqrt(number / most))
