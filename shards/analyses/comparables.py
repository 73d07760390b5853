"""The companies most similar to a given company: same sector and sub-sector, nearest in size and place (X11).

A distance is the sum of three gaps:

- turnover: the difference of the natural logarithms of 1 + euros (with the sign of a loss kept);
- headcount: the same for 1 + persons; if one company has only a band, for the least numbers of both bands;
- place: 0 in the same town, 0.25 if the first two characters of the postcode agree, else 0.5.

Without a figure, a gap of turnover or headcount has a fixed size: `OTHER_UNKNOWN` if the other company has no figure,
`OWN_UNKNOWN` if the given company has no figure, 0 if both have none; `Comparable` then has None. For a company with a
turnover, companies with a turnover come before companies without. Companies of the country come before companies of
other countries, which are read only if there are too few. Equal distances: by country, then the greater turnover, then
the identifier. Ceased companies are left out.

The rows of a sub-sector are adjacent, in the order of turnover, rows without a turnover last (FORMAT.md §3). So the
nearest companies are found in a growing window around the given company: the gap of turnover of the first row beyond
each end of the window is a lower bound for the distances of all rows outside.
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

# The gap of turnover or headcount if the other company, or the given company, has no figure. OWN_UNKNOWN is small,
# because it does not distinguish the other companies much.
OTHER_UNKNOWN: Final = 3.0
OWN_UNKNOWN: Final = 1.0
# The gap of place: in another town with the same first characters of the postcode, or elsewhere.
_SAME_AREA: Final = 0.25
_ELSEWHERE: Final = 0.5
_AREA_LENGTH: Final = 2  # characters of a postcode
# Rows on either side of the given turnover at first; then four times as many each time.
_WINDOW: Final = 512
_CEASED: Final = STATES.index("cessee")
# The logarithm of the least number of each headcount band, by the codes of `bands.headcount_codes`: NaN for no band;
# the band of negative numbers counts as -1.
_BAND_LOGARITHMS: Final = np.append([np.nan, -np.log1p(1)], np.log1p(bands.HEADCOUNTS))

Floats = NDArray[np.float64]


class Comparable(NamedTuple):
    """A company and its distance; a gap of turnover or headcount is None if a figure is unknown."""

    iso2: str
    row: int
    distance: float
    ca: float | None
    effectif: float | None
    lieu: float


class _Subject(NamedTuple):
    """The given company.

    Attributes:
        cell: the cell of its row, which is its sector and sub-sector.
        key: its key in the order of turnover, which is the negated turnover.
        turnover, headcount, band: logarithms; `band` is of the least number of the headcount band. NaN if unknown.
        town: the code of the town in the shard, 0 for none.
        area: the codes of the postcodes in the same area, from the first to before the second.
    """

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
    """The `n` companies nearest to a company, the nearest first; empty for a company without a sector.

    Nearness is by turnover, headcount and place, among companies of the same sector and sub-sector. For a company with
    a turnover, all companies with a turnover come first; of these, and of the others, those of the same country come
    first.
    """
    subject = _subject(shards[iso2], row)
    if subject.cell.secteur is None or n < 1:
        return []
    abroad = [
        (shard, cell)
        for other_iso2, shard in sorted(shards.items())
        if other_iso2 != iso2 and (cell := _same_cell(shard, subject.cell))
    ]
    nearest: list[Comparable] = []
    with_and_without = (True, False)
    # Companies with and without a turnover are compared together only if the given company has no turnover. Otherwise
    # all companies with a turnover come before the companies without; in both cases, the same country comes first.
    for turnovers in (
        [with_and_without]
        if np.isnan(subject.turnover)
        else [(with_turnover,) for with_turnover in with_and_without]
    ):
        for cells in ([(subject.shard, subject.cell)], abroad):
            companies_left = n - len(nearest)
            candidates = [
                company
                for shard_and_cell in cells
                for with_turnover in turnovers
                if companies_left
                for company in _nearest_companies(
                    *shard_and_cell, subject, companies_left, with_turnover
                )
            ]
            candidates.sort(key=lambda company: (company.distance, company.iso2, company.row))
            nearest += candidates[:companies_left]
    return nearest


def count_cell_rows(shards: Mapping[str, Shard], iso2: str, row: int) -> int:
    """The number of companies of the same country and sub-sector, for an estimate of the cost."""
    cell = shards[iso2].cell_at(row)
    return cell.stop - cell.start


def _subject(shard: Shard, row: int) -> _Subject:
    """The values of the given company that distances use: turnover, headcount, place."""
    key = float(shard.keys("ca_desc", np.array([row], np.uint32))[0])
    headcounts = _headcount_logarithms(shard)
    codes = shard.codes("code_postal")
    return _Subject(
        shard,
        row,
        shard.cell_at(row),
        key,
        float(_signed_logarithm(np.array([-key]))[0]),
        float(headcounts[_headcount_codes(shard, row, row + 1)][0]),
        float(_BAND_LOGARITHMS[shard.codes("tranche")[row]]),
        int(shard.codes("ville")[row]),
        _area_codes(shard, int(codes[row])),
    )


def _same_cell(shard: Shard, target: Cell) -> Cell | None:
    """The cell of a shard with the sector and sub-sector of `target`; None if the shard has none."""
    names = target.secteur, target.sous_secteur
    cells = shard.layout.cells
    return next((cell for cell in cells if (cell.secteur, cell.sous_secteur) == names), None)


def _nearest_companies(
    shard: Shard, cell: Cell, subject: _Subject, n: int, with_turnover: bool
) -> list[Comparable]:
    """The `n` nearest companies of a cell, with a turnover (`with_turnover`) or without, the nearest first.

    Ranges of rows are read from the nearest on, until no later range can have a nearer company.
    """
    nearest: list[Comparable] = []
    ranges = (
        _row_ranges(shard, cell, subject) if with_turnover else [(cell.with_ca, cell.stop, np.inf)]
    )
    for first, end, least_later in ranges:  # `least_later` bounds the distances of the later ranges
        nearest += _nearest_rows(shard, first, end, cell, subject, n)
        nearest = sorted(nearest, key=lambda company: (company.distance, company.row))[:n]
        if len(nearest) == n and nearest[-1].distance < least_later:
            break
    return nearest


def _row_ranges(shard: Shard, cell: Cell, subject: _Subject) -> Iterator[tuple[int, int, float]]:
    """Ranges [first, end) of rows that cover the companies of a cell with a turnover, the nearest ranges first.

    The third value of a range is a lower bound of the distances in all later ranges.
    """
    if np.isnan(subject.turnover):
        yield cell.start, cell.with_ca, np.inf
        return
    step = shard.steps("ca_desc").keys.searchsorted(subject.key)
    rank = shard.rank("ca_desc")[cell.start : cell.with_ca]
    middle = cell.start + int(rank.searchsorted(shard.steps("ca_desc").places[step]))
    # The given turnover belongs at row `middle`; the rows [done_from, done_to) are covered.
    done_from = done_to = middle
    width = _WINDOW
    while done_from > cell.start or done_to < cell.with_ca:
        first, end = max(cell.start, middle - width), min(cell.with_ca, middle + width)
        rows_beyond = [first - 1] if first > cell.start else []
        rows_beyond += [end] if end < cell.with_ca else []
        gaps = np.abs(
            _turnover_logarithms(shard, np.array(rows_beyond, np.uint32)) - subject.turnover
        )
        least_beyond = min(gaps.tolist(), default=np.inf)
        yield first, done_from, -np.inf  # no bound, so the range on the other side always follows
        yield done_to, end, least_beyond
        done_from, done_to, width = first, end, 4 * width


def _nearest_rows(
    shard: Shard, first: int, end: int, cell: Cell, subject: _Subject, n: int
) -> list[Comparable]:
    """The companies of the `n` nearest rows of [first, end), the nearest first; ceased companies are left out.

    The rows either all have a turnover or all have none. The distance is the sum of the differences of the logarithms
    of turnover and headcount, and of the difference of place.
    """
    if first >= end:
        return []
    # All rows except ceased companies and the given company. A code is the state, plus STATES with statements.
    selected = shard.codes("etat")[first:end] % len(STATES) != _CEASED
    if shard is subject.shard and first <= subject.row < end:
        selected[subject.row - first] = False
    rows = (first + np.flatnonzero(selected)).astype(np.uint32)
    has_turnovers = first < cell.with_ca
    turnovers = _turnover_logarithms(shard, rows) if has_turnovers else np.full(len(rows), np.nan)
    headcounts = _headcount_logarithms(shard)[_headcount_codes(shard, first, end)[selected]]
    bands_of_rows = _BAND_LOGARITHMS[shard.codes("tranche")[first:end][selected]]
    # Where a headcount is unknown, the bands of headcount are compared.
    turnover, headcount = turnovers - subject.turnover, headcounts - subject.headcount
    headcount = np.where(np.isnan(headcount), bands_of_rows - subject.band, headcount)
    place = _place_gaps(shard, first, end, subject)[selected]
    distance = (
        _sized_gap(turnover, np.isnan(subject.turnover), np.isnan(turnovers))
        + _sized_gap(headcount, np.isnan(subject.band), np.isnan(bands_of_rows))
        + place
    )
    if len(rows) > n:
        # Only the rows up to the n-th smallest distance are sorted.
        order = np.flatnonzero(distance <= np.partition(distance, n - 1)[n - 1])
        order = order[np.argsort(distance[order], kind="stable")][:n]
    else:
        order = np.argsort(distance, kind="stable")
    columns = (distance, turnover, headcount, place)
    nearest = zip(
        rows[order].tolist(), *(column[order].tolist() for column in columns), strict=True
    )
    return [
        Comparable(
            shard.iso2,
            row,
            company_distance,
            _unsigned_gap(turnover_gap),
            _unsigned_gap(headcount_gap),
            place_gap,
        )
        for row, company_distance, turnover_gap, headcount_gap, place_gap in nearest
    ]


def _unsigned_gap(difference: float) -> float | None:
    """The size of a difference of logarithms; None if a figure is unknown (NaN)."""
    return None if np.isnan(difference) else abs(difference)


def _sized_gap(difference: Floats, own_unknown: np.bool_, unknown: NDArray[np.bool_]) -> Floats:
    """The size of each difference, or the fixed gap if a figure is unknown.

    Args:
        own_unknown: whether the given company has no figure; `unknown`: which other companies have none.
    """
    if own_unknown:
        return np.where(unknown, 0.0, OWN_UNKNOWN)
    return np.where(unknown, OTHER_UNKNOWN, np.abs(difference))


def _signed_logarithm(figures: NDArray[Any]) -> Floats:
    """The logarithm of 1 + a figure, with its sign: it ascends with the figure and is 0 at 0."""
    return np.asarray(np.copysign(np.log1p(np.abs(figures)), figures), np.float64)


def _turnover_logarithms(shard: Shard, rows: NDArray[np.uint32]) -> Floats:
    """The logarithm of the turnover of each row; NaN without a turnover."""
    return _signed_logarithm(-shard.keys("ca_desc", rows))


def _headcount_logarithms(shard: Shard) -> Floats:
    """The logarithm of the headcount of each code (FORMAT.md §7); NaN for code 0, an unknown headcount."""
    ascending = -shard.steps("effectif_desc").keys[::-1].astype(np.int64)
    return np.append(np.nan, _signed_logarithm(ascending))


def _headcount_codes(shard: Shard, first: int, end: int) -> NDArray[Any]:
    """The headcount code of each row of [first, end), without the bit for the website."""
    facts = shard.facts[first:end]
    return np.asarray(facts & facts.dtype.type(format.website_bit(facts.dtype.str) - 1))


def _area_codes(shard: Shard, code: int) -> tuple[int, int]:
    """The codes of the postcodes with the same first two characters as `code`: from the first to before the second.

    A shorter postcode shares its area with no other postcode; without a postcode there are none.
    """
    texts = shard.code_texts("code_postal")
    if not code:
        return 0, 0
    area = texts[code - 1].decode()[:_AREA_LENGTH]
    if len(area) < _AREA_LENGTH:
        return code, code + 1
    first, end = (bisect_left(texts, text.encode()) for text in (area, area + "\U0010ffff"))
    return 1 + first, 1 + end


def _place_gaps(shard: Shard, first: int, end: int, subject: _Subject) -> Floats:
    """The gap of place of each row of [first, end)."""
    gaps = np.full(end - first, _ELSEWHERE)
    if shard is subject.shard:
        codes = shard.codes("code_postal")[first:end]
        low, high = subject.area
        gaps[(codes >= low) & (codes < high)] = _SAME_AREA
        if subject.town:
            gaps[shard.codes("ville")[first:end] == subject.town] = 0.0
    return gaps
