"""The figures of a market: turnovers, bands and ratios of all companies that a search finds, exactly (extension X11).

The countries of a search are divided in two parts of about as many companies, so that two threads can work beside each
other where the caller of `figures_of` has them. In a part whose rows are mostly found, these are marked and read along
the orders; else each is looked up. The same is true of the companies with statements of a country and their ratios.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from shards.codec import bands
from shards.codec.arrays import Rows
from shards.errors import REMEDY, CorruptError, translate_errors
from shards.generations import manifest as manifests
from shards.generations.generation_files import MARKET, Generation
from shards.generations.manifest import Manifest
from shards.kernel.memory import kernel_array
from shards.kernel.scope import moments as sums_of
from shards.kernel.scope import run_known as gather_known
from shards.kernel.scope import run_marked as gather_marked
from shards.query import ORDERS, STATES, Query
from shards.ratios.distribution import (
    QUANTILES,
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
    parts,
)
from shards.search.row_bitmap import RowBitmap, turnover_sequence
from shards.search.search import UNLIMITED, ShardSet, search

_log: Final = logging.getLogger("shards.analyses.market")

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


def part(base: ShardSet, query: Query, oldest: int) -> MarketPart:
    """The companies that `query`, a part of a search, finds; of ratios those whose last year is `oldest` or later."""
    found = search(base, query, offset=0, limit=0).total
    if _DENSE * found < sum(base[iso2].rows for iso2 in query.pays):
        _, counted = distributions(base, query, _COUNTED, UNLIMITED) or (0, {})
        looked_up = base.own_session().rows_by_shard(query)
        ceased = sum(_ceased_among(shard, rows) for shard, rows in looked_up)
        figures = [_turnovers(shard, rows) for shard, rows in looked_up]
        statements = [(shard, _statements(shard, rows)) for shard, rows in looked_up]
        return MarketPart(
            found, ceased, counted, None, _concatenate(figures), *_ratios(statements, oldest)
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
        self._few = np.sort(_concatenate([one.figures for one in parts]))
        marked = [one.marks for one in parts if one.marks is not None]
        self._marks = RowBitmap.union(marked) if marked else None
        self._middle, greater = self._marks.room(self._sequence) if self._marks else (0, 0)
        self._many = np.empty(self._middle + greater)
        self._counts = [0, 0]
        self._moments: list[Moments | None] = [None, None]

    def write(self, half: int) -> None:
        """Write one half, 0 or 1; each has to be written once."""
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


def _concatenate(figures: Sequence[Figures]) -> Figures:
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
    return found, _concatenate(growth)


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


# -- the figures -------------------------------------------------------------------------------

# Ratios are those of the last years of the data.
YEARS: Final = 3
_FIRST: Final = 10
# The last year of the data is that of at least one company in so many.
_SHARE: Final = 100


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The companies by value, and those without one; values of no company are left out."""

    counts: Mapping[str, int]
    null: int


@dataclass(frozen=True, slots=True)
class MarketFigures:
    """The figures of a market.

    Attributes:
        newest: the last year of the data, whatever the market; 0 without statements.
        ceased: the companies that have ceased.
        turnovers: their quantiles, in euros.
        turnover, sales: the sum of all turnovers, and of the positive ones.
        bands: the companies of each band of turnover, ascending.
        growth, growing: the growth of turnover, and how many companies grow.
        ratios: by ratio, then by country; countries without any figure are left out.
        first: the companies with the greatest turnovers, by country and row.
    """

    total: int
    newest: int
    ceased: int
    turnovers: Quantiles
    turnover: float
    sales: float
    bands: Sequence[int]
    concentration: Concentration | None
    headcounts: ValueCounts
    births: ValueCounts
    growth: Quantiles
    growing: int
    ratios: Mapping[str, Mapping[str, Quantiles]]
    first: Sequence[tuple[str, int]]


def newest_year(base: ShardSet) -> int:
    """The last year of the data; 0 without statements."""
    counts = np.zeros(1, int)
    for shard in base.values():
        own = np.bincount(np.maximum(shard.ratio_years, 0))
        own[:1] = 0
        longer, shorter = sorted((counts, own), key=len, reverse=True)
        counts = longer + np.pad(shorter, (0, len(longer) - len(shorter)))
    (frequent,) = np.nonzero(counts * _SHARE >= max(1, counts.sum()))
    return int(frequent[-1]) if len(frequent) else 0


def of_whole_base(base: ShardSet) -> MarketFigures:
    """The figures of all companies. Raises CorruptError and MissingCountryError, as `figures_of`."""
    return figures_of(base, Query(), newest_year(base))


def in_turn(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of jobs, one after the other."""
    return [job() for job in jobs]


@translate_errors()
def figures_of(
    base: ShardSet,
    query: Query,
    newest: int,
    run: Callable[[Sequence[Callable[[], Any]]], list[Any]] = in_turn,
) -> MarketFigures:
    """The figures of the companies that `query` finds.

    Args:
        newest: the last year of the data (`newest_year`).
        run: runs jobs that may be run beside each other, and returns their results.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    oldest = newest - YEARS + 1
    halves = run([partial(part, base, half, oldest) for half in parts(base, query)])
    turnovers = MarketTurnovers(base, halves)
    first, *_ = run(
        [
            partial(first_companies, base, query),
            partial(turnovers.write, 0),
            partial(turnovers.write, 1),
        ]
    )
    return join(halves, turnovers, first, newest)


def first_companies(base: ShardSet, query: Query) -> Sequence[tuple[str, int]]:
    """The companies of a search with the greatest turnovers."""
    largest = replace(query, tri=ORDERS[0], avec_ca=True)
    return [(iso2, row) for iso2, row in search(base, largest, offset=0, limit=_FIRST).rows]


def join(
    halves: Sequence[MarketPart],
    turnovers: MarketTurnovers,
    first: Sequence[tuple[str, int]],
    newest: int,
) -> MarketFigures:
    """The figures of a market from those of its parts."""
    figures = turnovers.figures()
    growth = np.concatenate([one.growth for one in halves])
    stops = [*figures.searchsorted(bands.TURNOVERS).tolist(), len(figures)]
    return MarketFigures(
        total=sum(one.total for one in halves),
        newest=newest,
        ceased=sum(one.ceased for one in halves),
        turnovers=quantiles(figures, ascending=True),
        turnover=float(figures.sum()),
        sales=float(figures[figures.searchsorted(0, side="right") :].sum()),
        bands=np.diff([0, *stops]).tolist(),
        concentration=turnovers.concentration(figures),
        headcounts=_counts(count_by(halves, "tranche_effectif")),
        births=_counts(count_by(halves, "annee_creation")),
        growth=quantiles(growth),
        growing=int(np.count_nonzero(growth > 0)),
        ratios={
            code: dict(sorted(pair for one in halves for pair in one.quantiles[code].items()))
            for code in stored_codes()
        },
        first=first,
    )


def _counts(distribution: Distribution) -> ValueCounts:
    return ValueCounts(dict(sorted(distribution.top_values())), distribution.null)


# -- the document of all companies, `market.json` (FORMAT.md §14) --------------------------------

# A build writes it, since these figures take a second of both processors, and a server reads it.

# Figures that differ by less are equal.
_PRECISION: Final = 1e-9


def dump(figures: MarketFigures) -> bytes:
    """The bytes of `market.json`; equal figures give equal bytes."""
    return orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes) -> MarketFigures:
    """The figures that these bytes encode.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: they have another shape.
    """
    document: dict[str, Any] = orjson.loads(packed)
    return MarketFigures(**{name: read(document[name]) for name, read in _READERS.items()})


def load_of(packed: bytes, manifest: Manifest) -> MarketFigures:
    """The figures that `market.json` of a generation has.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: they have another shape, or are of other companies.
    """
    figures = load(packed)
    if figures.total != manifest.total:
        raise ValueError(f"it counts {figures.total} companies, the manifest {manifest.total}")
    for iso2, row in figures.first:
        if not 0 <= row < manifest.counts[iso2]:
            raise ValueError(f"{iso2} has no row {row}")
    return figures


def read_stored(folder: Path, manifest: Manifest) -> MarketFigures | None:
    """The stored figures of a generation, those of countries that are left out too.

    None if the build has not written them, or their file is damaged: they can be computed.
    """
    if MARKET not in manifest.files:
        return None
    try:
        if manifests.has_digest(folder / MARKET, manifest.files[MARKET]):
            return load_of((folder / MARKET).read_bytes(), manifest)
        fault = "its digest differs"
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        fault = repr(error)
    _log.error(
        "%s is not used (%s), so the first analysis of all companies takes longer; %s",
        folder / MARKET,
        fault,
        REMEDY,
    )
    return None


def files(generation: Generation) -> Mapping[str, bytes]:
    """The file of a generation that has its figures, by name."""
    return {MARKET: dump(of_whole_base(generation.shards))}


def verify(generation: Generation) -> None:
    """Compute the figures of all companies again, and compare them with `market.json` (FORMAT.md §9, invariant 8).

    Raises:
        CorruptError: they are others.
    """
    if MARKET not in generation.manifest.files:
        return
    path = generation.folder / MARKET
    try:
        stored = orjson.loads(path.read_bytes())
    except ValueError:
        stored = None
    if not agree(stored, orjson.loads(dump(of_whole_base(generation.shards)))):
        raise CorruptError(
            f"{path} has other figures than the companies of the generation; build or fetch it again"
        )


def agree(stored: Any, computed: Any) -> bool:
    """Whether two documents, as JSON has them, are equal but for the last digits, which depend on the processor."""
    if isinstance(stored, dict) and isinstance(computed, dict):
        return stored.keys() == computed.keys() and all(
            agree(stored[name], computed[name]) for name in stored
        )
    if isinstance(stored, list) and isinstance(computed, list):
        return len(stored) == len(computed) and all(map(agree, stored, computed))
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=_PRECISION)
    return bool(stored == computed)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _read_bands(value: Any) -> Sequence[int]:
    if len(value) != len(bands.turnover_names()):
        raise ValueError(f"{len(value)} bands of turnover are not those of this version")
    return [_integer(one) for one in value]


def _read_counts(value: Any) -> ValueCounts:
    counts = {str(name): _integer(number) for name, number in value["counts"].items()}
    return ValueCounts(counts, _integer(value["null"]))


def _read_quantiles(value: Any) -> Quantiles:
    count, values = _integer(value["n"]), value["values"]
    if len(values) != len(QUANTILES):
        raise ValueError(f"{len(values)} quantiles are not those of this version")
    return Quantiles(count, tuple(_number(one) if count else None for one in values))


def _read_concentration(value: Any) -> Concentration | None:
    return value and Concentration(**{name: _number(share) for name, share in value.items()})


def _read_ratios(value: Any) -> Mapping[str, Mapping[str, Quantiles]]:
    if value.keys() != set(stored_codes()):
        raise ValueError("its ratios are not those of this version")
    return {
        code: {str(iso2): _read_quantiles(one) for iso2, one in value[code].items()}
        for code in stored_codes()
    }


def _read_first(value: Any) -> Sequence[tuple[str, int]]:
    return [(str(iso2), _integer(row)) for iso2, row in value]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("total", "newest", "ceased", "growing"), _integer),
    **dict.fromkeys(("turnover", "sales"), _number),
    **dict.fromkeys(("turnovers", "growth"), _read_quantiles),
    **dict.fromkeys(("headcounts", "births"), _read_counts),
    "bands": _read_bands,
    "concentration": _read_concentration,
    "ratios": _read_ratios,
    "first": _read_first,
}
