"""Bands: values in a few intervals, for distributions (extension X3).

In an order the rows of a band are adjacent, with the greatest values first and nulls last. So a band is a range of
places in the order. Turnover has fixed bands; dates have a band for each year. The band of a headcount is a code in a
column, because registers publish some bands without a number.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import sort_distinct
from shards.codec.codes import DistinctValues
from shards.codec.sort_keys import KeyRuns
from shards.format import EFFECTIF_NULL

# The lower bounds of the bands of turnover in euros, inclusive; lesser values are the first band.
TURNOVERS: Final = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# The lower bounds of the bands of headcount: the size classes of Eurostat's structural business statistics, with 0 and
# 1,000 added.
HEADCOUNTS: Final = (0, 1, 10, 20, 50, 250, 1_000)
# The bands of INSEE (Sirene, "tranche d'effectifs salariés"): the least and the greatest number of each code.
INSEE: Final[Mapping[str, tuple[int, int | None]]] = {
    "00": (0, 0), "01": (1, 2), "02": (3, 5), "03": (6, 9), "11": (10, 19), "12": (20, 49),
    "21": (50, 99), "22": (100, 199), "31": (200, 249), "32": (250, 499), "41": (500, 999),
    "42": (1_000, 1_999), "51": (2_000, 4_999), "52": (5_000, 9_999), "53": (10_000, None),
}  # fmt: skip
# The number of codes of `headcount_codes`: one for each band, one for headcounts below 0, and 0 for no band.
HEADCOUNT_CODES: Final = len(HEADCOUNTS) + 2
# A published band in numbers, as in Czechia: `6-9`, `10000+`, `0`.
_NUMBERS: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})|(\+))?")

_YEAR: Final = 10_000  # a date yyyymmdd divided by this is its year

# The orders that have bands.
BANDED: Final = ("ca_desc", "recent")


def names(tri: str, keys: NDArray[np.generic]) -> list[str | None]:
    """The names of the bands of an order with these keys, in the same order; None is the band of nulls.

    >>> names("ca_desc", np.array([]))[:2], names("recent", np.array([-20240229, -19990000]))
    (['1000000000+', '100000000-1000000000'], ['2024', '1999', None])
    """
    if tri == "ca_desc":
        return [*reversed(turnover_names()), None]
    return [*(f"{-year:04}" for year in sort_distinct(_years_of_keys(keys)).tolist()), None]


def turnover_names() -> list[str]:
    """The bands of turnover, ascending; the second number of a name is the exclusive upper bound.

    >>> turnover_names()[:3], turnover_names()[-1]
    (['<0', '0-10000', '10000-100000'], '1000000000+')
    """
    inner = [f"{low}-{high}" for low, high in pairwise(TURNOVERS)]
    return ["<0", *inner, f"{TURNOVERS[-1]}+"]


def headcount_names() -> list[str]:
    """The bands of headcount, ascending; a name has the first and the last number of the band.

    >>> headcount_names()
    ['<0', '0', '1-9', '10-19', '20-49', '50-249', '250-999', '1000+']
    """
    inner = [
        f"{low}" if low == high - 1 else f"{low}-{high - 1}" for low, high in pairwise(HEADCOUNTS)
    ]
    return ["<0", *inner, f"{HEADCOUNTS[-1]}+"]


def headcount_codes(effectif: NDArray[np.int32], published: DistinctValues) -> NDArray[np.uint8]:
    """The codes of the bands of headcount: 0 for no band, else 1 + the index in `headcount_names`.

    Args:
        effectif: the headcount of each row; null is `format.EFFECTIF_NULL`.
        published: the bands as published, for rows without a headcount.
    """
    code_by_value = np.array([published_code(value or "") for value in published.values], np.uint8)
    numbered = 1 + np.searchsorted(HEADCOUNTS, effectif, side="right").astype(np.uint8)
    from_band = code_by_value[published.numbers] if len(code_by_value) else np.zeros(0, np.uint8)
    return np.where(effectif == EFFECTIF_NULL, from_band, numbered)


def published_code(published: str) -> int:
    """The code of the band that contains the complete published band; 0 if no band does.

    >>> [published_code(band) for band in ("00", "1-5", "200-249", "53", "10000+", "5-12", "NN", "")]
    [2, 3, 6, 8, 8, 0, 0, 0]
    """
    bounds = published_bounds(published)
    if bounds is None:
        return 0
    least, most = (
        len(HEADCOUNTS) if bound is None else bisect_right(HEADCOUNTS, bound) for bound in bounds
    )
    return 1 + least if least == most else 0


def published_bounds(published: str) -> tuple[int, int | None] | None:
    """The least and the greatest number of a published band; None if the band has no numbers.

    >>> [published_bounds(band) for band in ("12", "53", "200-249", "10000+", "NN")]
    [(20, 49), (10000, None), (200, 249), (10000, None), None]
    """
    if published in INSEE:
        return INSEE[published]
    match = _NUMBERS.fullmatch(published)
    if match is None:
        return None
    least, most, open_ended = match.groups()
    return int(least), None if open_ended else int(most or least)


def ends(tri: str, runs: KeyRuns, rows: int) -> NDArray[np.uint32]:
    """The number of rows before each band of an order, then the number of all rows; the last band is of nulls.

    The bands of `recent` are years, the bands of `ca_desc` are the ranges between TURNOVERS.
    """
    if tri == "recent":
        years = _years_of_keys(runs.keys)  # ascending, as the keys are
        ends_year = np.append(years[1:] != years[:-1], True)[: len(years)]
        stops = np.flatnonzero(ends_year) + 1
    else:
        stops = runs.keys.searchsorted([-bound for bound in reversed(TURNOVERS)], side="right")
        stops = np.append(stops, len(runs.keys))
    return np.concatenate(([0], runs.places[stops], [rows])).astype(np.uint32)


def _years_of_keys(keys: NDArray[np.generic]) -> NDArray[np.int64]:
    """The negated year of each date key; keys are negated dates, so that the latest date comes first."""
    return -(-keys.astype(np.int64) // _YEAR)
