"""Bands: the values of an order in a few intervals, for distributions (extension X3).

An order has the rows of a band side by side, the greatest values first and nulls last, so a band is a range of its
places. Turnover and headcount have fixed bands; of dates each year is one.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.sort_keys import KeyRuns

# Where bands begin, each including its lower bound; what is less is the first band.
TURNOVERS: Final = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# The size classes of Eurostat's structural business statistics, with 0 and 1,000 added.
HEADCOUNTS: Final = (0, 1, 10, 20, 50, 250, 1_000)

_YEAR: Final = 10_000  # of a date yyyymmdd

# The orders that have bands.
BANDED: Final = ("ca_desc", "effectif_desc", "recent")


def names(tri: str, keys: NDArray[np.generic]) -> list[str | None]:
    """The names of the bands of an order with these keys, in its order; None stands for null.

    >>> names("effectif_desc", np.array([]))[:3], names("recent", np.array([-20240229, -19990000]))
    (['1000+', '250-999', '50-249'], ['2024', '1999', None])
    """
    if tri == "ca_desc":
        return [*reversed(turnover_names()), None]
    if tri == "effectif_desc":
        return [*reversed(headcount_names()), None]
    return [*(f"{-year:04}" for year in _years(keys)), None]


def turnover_names() -> list[str]:
    """The bands of turnover, ascending; a name has the bound that is not included, too.

    >>> turnover_names()[:3], turnover_names()[-1]
    (['<0', '0-10000', '10000-100000'], '1000000000+')
    """
    inner = [f"{low}-{high}" for low, high in pairwise(TURNOVERS)]
    return ["<0", *inner, f"{TURNOVERS[-1]}+"]


def headcount_names() -> list[str]:
    """The bands of headcount, ascending; a name has the first and the last number.

    >>> headcount_names()
    ['<0', '0', '1-9', '10-19', '20-49', '50-249', '250-999', '1000+']
    """
    inner = [
        f"{low}" if low == high - 1 else f"{low}-{high - 1}" for low, high in pairwise(HEADCOUNTS)
    ]
    return ["<0", *inner, f"{HEADCOUNTS[-1]}+"]


def ends(tri: str, runs: KeyRuns, rows: int) -> NDArray[np.uint32]:
    """How many rows come before each band of an order, and all rows at the end."""
    if tri == "recent":
        stops = _of_years(runs.keys).searchsorted(_years(runs.keys), side="right")
    else:
        bounds: Sequence[int] = TURNOVERS if tri == "ca_desc" else HEADCOUNTS
        stops = runs.keys.searchsorted([-bound for bound in reversed(bounds)], side="right")
        stops = np.append(stops, len(runs.keys))
    return np.concatenate(([0], runs.places[stops], [rows])).astype(np.uint32)


def _of_years(keys: NDArray[np.generic]) -> NDArray[np.int64]:
    """The years of the keys of dates, negated as these are."""
    return -(-keys.astype(np.int64) // _YEAR)


def _years(keys: NDArray[np.generic]) -> list[int]:
    found: list[int] = np.unique(_of_years(keys)).tolist()
    return found
