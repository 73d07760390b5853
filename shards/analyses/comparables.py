"""The companies that are most like a company: same sector and sub-sector, nearest in size and place (X11).

A distance is the sum of three gaps:

- turnover: the difference of the natural logarithms of 1 + euros (with the sign of a loss kept);
- headcount: the same of 1 + persons; where one of the two has a band alone, of the least numbers of both bands;
- place: 0 in the same town, 0.25 where the first two characters of the postcode agree, else 0.5.

A gap of turnover or headcount is `OTHER_UNKNOWN` where the other company has no figure, `OWN_UNKNOWN` where the company
itself has none, and 0 where neither has; it is no measured gap then, and `Comparable` has None. Beside a company with a
turnover, companies with a turnover come before those without. Companies of the country come before those of other
countries, which are read only if there are too few. Equal distances: by country, then the greater turnover, then the
identifier. Companies that have ceased are left out.

The rows of a sub-sector are neighbours, in the order of turnover, those without one last (FORMAT.md §3). So the
nearest ones are found in a growing window around the company: no row outside it can be nearer than its edges.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import bands
from shards.codec.cells import Cell
from shards.errors import translate_errors
from shards.query import STATES
from shards.reader.shard import Shard

OTHER_UNKNOWN: Final = 3.0
OWN_UNKNOWN: Final = 1.0  # it says nothing of the others, so it moves them little
_SAME_AREA: Final = 0.25
_ELSEWHERE: Final = 0.5
_AREA: Final = 2  # characters of a postcode
_WINDOW: Final = 512  # rows on either side, at first
_CEASED: Final = STATES.index("cessee")
# The logarithm of the least number of each band of headcount (codes of `bands.headcount_codes`); -1 below 0.
_LEAST: Final = np.append([np.nan, -np.log1p(1)], np.log1p(bands.HEADCOUNTS))

Floats = NDArray[np.float64]


class Comparable(NamedTuple):
    """A company, and how far it is; a gap of turnover or headcount is None where a figure is not known."""

    iso2: str
    row: int
    distance: float
    ca: float | None
    effectif: float | None
    lieu: float


class _Subject(NamedTuple):
    """The compared company: logarithms, NaN for what is unknown; codes of its country, 0 for none."""

    shard: Shard
    row: int
    cell: Cell
    key: float
    turnover: float
    headcount: float
    band: float
    town: int
    area: tuple[int, int]


@translate_errors()
def comparables(shards: Mapping[str, Shard], iso2: str, row: int, n: int) -> list[Comparable]:
    """The `n` companies nearest to a company, the nearest first; none for one without a sector."""
    subject = _subject(shards[iso2], row)
    if subject.cell.secteur is None or n < 1:
        return []
    abroad = [
        (shard, cell)
        for other, shard in sorted(shards.items())
        if other != iso2 and (cell := _same_cell(shard, subject.cell))
    ]
    nearest: list[Comparable] = []
    together = (True, False)
    for turnovers in [together] if np.isnan(subject.turnover) else [(known,) for known in together]:
        for places in ([(subject.shard, subject.cell)], abroad):
            left = n - len(nearest)
            near = [
                company
                for place in places
                for known in turnovers
                if left
                for company in _nearest_companies(*place, subject, left, known)
            ]
            near.sort(key=lambda company: (company.distance, company.iso2, company.row))
            nearest += near[:left]
    return nearest


def rows_beside(shards: Mapping[str, Shard], iso2: str, row: int) -> int:
    """The companies of the same country and sub-sector, of which an estimate of the cost is made."""
    cell = shards[iso2].cell_at(row)
    return cell.stop - cell.start


def _subject(shard: Shard, row: int) -> _Subject:
    key = float(shard.keys("ca_desc", np.array([row], np.uint32))[0])
    headcounts = _headcounts(shard)
    codes = shard.codes("code_postal")
    return _Subject(
        shard,
        row,
        shard.cell_at(row),
        key,
        float(_logarithm(np.array([-key]))[0]),
        float(headcounts[_headcount_codes(shard, row, row + 1)][0]),
        float(_LEAST[shard.codes("tranche")[row]]),
        int(shard.codes("ville")[row]),
        _area(shard, int(codes[row])),
    )


def _same_cell(shard: Shard, wanted: Cell) -> Cell | None:
    names = wanted.secteur, wanted.sous_secteur
    cells = shard.layout.cells
    return next((cell for cell in cells if (cell.secteur, cell.sous_secteur) == names), None)


def _nearest_companies(
    shard: Shard, cell: Cell, subject: _Subject, n: int, known: bool
) -> list[Comparable]:
    """The `n` nearest companies of a cell, of those with a turnover (`known`) or of those without."""
    nearest: list[Comparable] = []
    parts = _parts(shard, cell, subject) if known else [(cell.with_ca, cell.stop, np.inf)]
    for first, end, beyond in parts:
        nearest += _gaps(shard, first, end, cell, subject, n)
        nearest = sorted(nearest, key=lambda company: (company.distance, company.row))[:n]
        if len(nearest) == n and nearest[-1].distance < beyond:
            break
    return nearest


def _parts(shard: Shard, cell: Cell, subject: _Subject) -> Iterator[tuple[int, int, float]]:
    """Ranges of rows that cover the companies of a cell with a turnover, the likely ones first.

    Each with a distance that no row of the ranges after it is below.
    """
    if np.isnan(subject.turnover):
        yield cell.start, cell.with_ca, np.inf
        return
    place = shard.steps("ca_desc").keys.searchsorted(subject.key)
    rank = shard.rank("ca_desc")[cell.start : cell.with_ca]
    middle = cell.start + int(rank.searchsorted(shard.steps("ca_desc").places[place]))
    low = high = middle
    width = _WINDOW
    while low > cell.start or high < cell.with_ca:
        first, end = max(cell.start, middle - width), min(cell.with_ca, middle + width)
        edges = [first - 1] if first > cell.start else []
        edges += [end] if end < cell.with_ca else []
        gaps = np.abs(_turnovers(shard, np.array(edges, np.uint32)) - subject.turnover)
        beyond = min(gaps.tolist(), default=np.inf)
        yield first, low, -np.inf
        yield high, end, beyond
        low, high, width = first, end, 4 * width


def _gaps(
    shard: Shard, first: int, end: int, cell: Cell, subject: _Subject, n: int
) -> list[Comparable]:
    """The `n` nearest of the rows [first, end), which are all with a turnover, or all without."""
    if first >= end:
        return []
    kept = shard.codes("etat")[first:end] % len(STATES) != _CEASED
    if shard is subject.shard and first <= subject.row < end:
        kept[subject.row - first] = False
    rows = (first + np.flatnonzero(kept)).astype(np.uint32)
    known = first < cell.with_ca
    figures = _turnovers(shard, rows) if known else np.full(len(rows), np.nan)
    heads = _headcounts(shard)[_headcount_codes(shard, first, end)[kept]]
    least = _LEAST[shard.codes("tranche")[first:end][kept]]
    turnover, headcount = figures - subject.turnover, heads - subject.headcount
    headcount = np.where(np.isnan(headcount), least - subject.band, headcount)
    place = _places(shard, first, end, subject)[kept]
    distance = (
        _gap(turnover, np.isnan(subject.turnover), np.isnan(figures))
        + _gap(headcount, np.isnan(subject.band), np.isnan(least))
        + place
    )
    if len(rows) > n:
        near = np.flatnonzero(distance <= np.partition(distance, n - 1)[n - 1])
        near = near[np.argsort(distance[near], kind="stable")][:n]
    else:
        near = np.argsort(distance, kind="stable")
    columns = (distance, turnover, headcount, place)
    found = zip(rows[near].tolist(), *(one[near].tolist() for one in columns), strict=True)
    return [
        Comparable(shard.iso2, row, far, _distance(turnover_gap), _distance(headcount_gap), beside)
        for row, far, turnover_gap, headcount_gap, beside in found
    ]


def _distance(difference: float) -> float | None:
    """A gap without its sign; None where one of the two figures is unknown (NaN)."""
    return None if np.isnan(difference) else abs(difference)


def _gap(difference: Floats, own_unknown: np.bool_, unknown: NDArray[np.bool_]) -> Floats:
    """The size of a difference, or the gap that takes its place where a figure is unknown."""
    if own_unknown:
        return np.where(unknown, 0.0, OWN_UNKNOWN)
    return np.where(unknown, OTHER_UNKNOWN, np.abs(difference))


def _logarithm(figures: NDArray[Any]) -> Floats:
    """The logarithm of 1 + a figure, with its sign: it ascends with the figure and is 0 at 0."""
    return np.asarray(np.copysign(np.log1p(np.abs(figures)), figures), np.float64)


def _turnovers(shard: Shard, rows: NDArray[np.uint32]) -> Floats:
    return _logarithm(-shard.keys("ca_desc", rows))


def _headcounts(shard: Shard) -> Floats:
    """The logarithm that each headcount code stands for (FORMAT.md §7)."""
    ascending = -shard.steps("effectif_desc").keys[::-1].astype(np.int64)
    return np.append(np.nan, _logarithm(ascending))


def _headcount_codes(shard: Shard, first: int, end: int) -> NDArray[Any]:
    facts = shard.facts[first:end]
    return np.asarray(facts & facts.dtype.type(format.website_bit(facts.dtype.str) - 1))


def _area(shard: Shard, code: int) -> tuple[int, int]:
    """The codes of the postcodes whose first two characters are those of `code`; a shorter one is its own area."""
    texts = shard.code_texts("code_postal")
    if not code:
        return 0, 0
    wanted = texts[code - 1].decode()[:_AREA]
    if len(wanted) < _AREA:
        return code, code + 1
    first, end = (bisect_left(texts, text.encode()) for text in (wanted, wanted + "\U0010ffff"))
    return 1 + first, 1 + end


def _places(shard: Shard, first: int, end: int, subject: _Subject) -> Floats:
    found = np.full(end - first, _ELSEWHERE)
    if shard is subject.shard:
        codes = shard.codes("code_postal")[first:end]
        low, high = subject.area
        found[(codes >= low) & (codes < high)] = _SAME_AREA
        if subject.town:
            found[shard.codes("ville")[first:end] == subject.town] = 0.0
    return found
