"""The figures of a market: turnovers, bands and ratios of all companies that a search finds, exactly (extension X11).

The countries of a search are divided in two parts of about as many companies, so that two threads can work beside each
other. In a part whose rows are mostly found, these are marked and read along the orders; else each is looked up. The
same is true of the companies with statements of a country and their ratios.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.errors import translate_errors
from shards.kernel.memory import kernel_array
from shards.kernel.scope import moments as sums_of
from shards.kernel.scope import run_known as gather_known
from shards.kernel.scope import run_marked as gather_marked
from shards.query import STATES, Query
from shards.ratios.distribution import (
    Concentration,
    Figures,
    Moments,
    Quantiles,
    concentration,
    quantiles,
    quantiles_along,
)
from shards.ratios.ratio_table import stored_codes
from shards.reader.shard import Shard
from shards.search.distribution import (
    DIMENSIONS,
    Distribution,
    distribution,
    distributions,
    join_distributions,
)
from shards.search.row_bitmap import RowBitmap, turnover_sequence
from shards.search.search import UNLIMITED, ShardSet, search

# Of so many rows one or more: they are marked, and read along the orders. A row that is looked up costs as much as
# forty that are passed.
_DENSE: Final = 32
# Of so many known figures of a ratio one or more: the chosen ones are read along the order. One that is gathered and
# sorted costs as much as twelve that are passed.
_ORDERED: Final = 12

GROWTH: Final = "croissance_ca"
_CEASED: Final = "cessee"
# The dimensions that are counted.
_COUNTED: Final = ("tranche_effectif", "annee_creation")
_STATE: Final = "etat"


@dataclass(frozen=True, slots=True, eq=False)
class MarketPart:
    """The companies of a market in some countries.

    Attributes:
        total, ceased: how many there are, and how many of them have ceased.
        counted: their bands of headcount and years of creation.
        marks, figures: their rows or, of few, their turnovers, in no order.
        quantiles: by ratio, then by country; countries without any figure are left out.
        growth: the growth of turnover of all companies with recent accounts, in no order.
    """

    total: int
    ceased: int
    counted: Mapping[str, Distribution]
    marks: RowBitmap | None
    figures: Figures
    quantiles: Mapping[str, Mapping[str, Quantiles]]
    growth: Figures


@translate_errors()
def part(base: ShardSet, query: Query, oldest: int) -> MarketPart:
    """The companies that `query`, a part of a search, finds; of ratios those whose last year is `oldest` or later.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
    """
    found = search(base, query, offset=0, limit=0).total
    if _DENSE * found < sum(base[iso2].rows for iso2 in query.pays):
        _, counted = distributions(base, query, _COUNTED, UNLIMITED) or (0, {})
        looked_up = base.own_session().rows_by_shard(query)
        ceased = sum(_ceased_among(shard, rows) for shard, rows in looked_up)
        figures = [_turnovers(shard, rows) for shard, rows in looked_up]
        statements = [(shard, _statements(shard, rows)) for shard, rows in looked_up]
        return MarketPart(
            found, ceased, counted, None, _join(figures), *_ratios(statements, oldest)
        )
    session = base.own_session()
    marks = RowBitmap(session.arrays)
    _, slots = marks.mark(session, query, {DIMENSIONS[name] for name in (*_COUNTED, _STATE)})
    counted = {name: distribution(base, name, slots[DIMENSIONS[name]]) for name in _COUNTED}
    states = distribution(base, _STATE, slots[DIMENSIONS[_STATE]])
    ceased = dict(states.top_values()).get(_CEASED, 0)
    statements = [
        (shard, marks.marked_places(number, shard.statement_rows))
        for number, shard in enumerate(session.arrays.shards)
        if marks.totals[number]
    ]
    return MarketPart(found, ceased, counted, marks, np.empty(0), *_ratios(statements, oldest))


class MarketTurnovers:
    """The turnovers in euros of all companies of some parts, ascending; unknown ones are left out.

    Those of marked rows are written in two halves, so that two threads can work beside each other.
    """

    def __init__(self, base: ShardSet, parts: Sequence[MarketPart]) -> None:
        self._sequence = turnover_sequence(base)
        self._few = np.sort(_join([one.figures for one in parts]))
        marked = [one.marks for one in parts if one.marks is not None]
        self._marks = RowBitmap.union(marked) if marked else None
        self._middle, greater = self._marks.room(self._sequence) if self._marks else (0, 0)
        self._many = np.empty(self._middle + greater)
        self._counts = [0, 0]
        self._moments: list[Moments | None] = [None, None]

    @translate_errors()
    def write(self, half: int) -> None:
        """Write one half, 0 or 1; each has to be written once.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        if self._marks is None:
            return
        self._counts[half] = self._marks.write(self._sequence, half, self._many, self._middle)
        if not len(self._few):
            self._moments[half] = moments(self._marked_figures(half, 1 + half))

    def _marked_figures(self, first: int, end: int) -> Figures:
        """The marked figures of these halves."""
        middle = self._middle
        bounds = (middle - self._counts[0], middle, middle + self._counts[1])
        return self._many[bounds[first] : bounds[end]]

    def figures(self) -> Figures:
        """All of them, once both halves are written."""
        many = self._marked_figures(0, 2)
        return np.sort(np.concatenate([self._few, many])) if len(self._few) else many

    def concentration(self, figures: Figures) -> Concentration | None:
        """That of `figures`, which are all of them; None if none is positive."""
        known = [one for one in self._moments if one]
        return concentration(figures, known or [moments(figures)])


def moments(figures: Figures) -> Moments:
    """The moments of the positive figures among these, which ascend."""
    positive = figures[figures.searchsorted(0, side="right") :]
    sums = np.zeros(len(Moments._fields) - 1)
    sums_of(kernel_array(positive), len(positive), kernel_array(sums))
    return Moments(len(positive), *sums.tolist())


def count_by(parts: Sequence[MarketPart], dimension: str) -> Distribution:
    """The companies of these parts by a dimension that is counted."""
    return join_distributions([one.counted[dimension] for one in parts])


def _join(figures: Sequence[Figures]) -> Figures:
    return np.concatenate([*figures, np.empty(0)])


def _ceased_among(shard: Shard, rows: Rows) -> int:
    states = shard.codes("etat")[rows] % len(STATES)
    return int(np.count_nonzero(states == STATES.index(_CEASED)))


def _turnovers(shard: Shard, rows: Rows) -> Figures:
    """The turnovers of those of these rows that have one."""
    steps = shard.steps("ca_desc")
    places = shard.rank("ca_desc")[rows]
    places = places[places < steps.known_rows]
    places.sort()
    return np.asarray(-steps.key_at(places), np.float64)


def _statements(shard: Shard, rows: Rows) -> NDArray[np.intp]:
    """The numbers of the statements of these rows; rows without any are left out."""
    numbered = shard.statement_rows
    rows = rows[shard.codes("etat")[rows] >= len(STATES)]
    rows.sort()
    found = numbered.searchsorted(rows)
    return np.asarray(found[numbered.take(found, mode="clip") == rows])


def _ratios(
    statements: Sequence[tuple[Shard, NDArray[np.intp]]], oldest: int
) -> tuple[Mapping[str, Mapping[str, Quantiles]], Figures]:
    """The quantiles of all ratios by country, and the growth of all companies together."""
    found: dict[str, dict[str, Quantiles]] = {code: {} for code in stored_codes()}
    growth: list[Figures] = []
    for shard, numbers in statements:
        recent = numbers[shard.ratio_years[numbers] >= max(1, oldest)]
        if not len(recent):
            continue
        growth.append(_known_figures(shard.ratio(GROWTH), recent, np.empty(len(recent))))
        known = sum(map(len, shard.ratio_orders.values())) / len(found)
        read = _along_orders if _ORDERED * len(recent) >= known else _of_few
        for code, one in read(shard, recent):
            found[code][shard.iso2] = one
    return found, _join(growth)


def _of_few(shard: Shard, numbers: NDArray[np.int64]) -> Iterator[tuple[str, Quantiles]]:
    """The quantiles of each ratio that some of these statements have; its figures are gathered and sorted."""
    room = np.empty(len(numbers))
    for code, order in shard.ratio_orders.items():
        figures = _known_figures(shard.ratio(code), numbers, room) if len(order) else room[:0]
        if len(figures):
            figures.sort()
            yield code, quantiles(figures, ascending=True)


def _known_figures(figures: Figures, numbers: NDArray[np.int64], room: Figures) -> Figures:
    """The figures of these numbers that are known, in `room`: a fourth of the time that NumPy takes for it."""
    addresses = (kernel_array(one) for one in (figures, numbers, room))
    source, chosen, target = addresses
    return room[: gather_known(source, len(figures), chosen, len(numbers), target)]


def _along_orders(shard: Shard, numbers: NDArray[np.int64]) -> Iterator[tuple[str, Quantiles]]:
    """The same, read along the orders of the shard: nothing is sorted, and of the figures a few are read."""
    marked = np.zeros(len(shard.statement_rows), np.bool_)
    marked[numbers] = True
    bits = np.packbits(marked, bitorder="little")
    room = np.empty(len(marked), np.uint32)
    marks, target = kernel_array(bits), kernel_array(room)
    for code, order in shard.ratio_orders.items():
        count = min(len(order), len(marked))
        known = gather_marked(kernel_array(order), count, marks, len(marked), target)
        if known:
            yield code, quantiles_along(shard.ratio(code), room[:known])
