"""The figures of a market: exact turnovers, bands and ratios of all companies that match a search (extension X11).

The countries of a search are divided into two parts with about the same number of companies, so that two threads can
work in parallel if the caller of `figures_of` has them. If at least one row in `_DENSE` of a part matches, the matching
rows are marked in a bitmap, and their values are read in the sort orders that the shards store, so nothing is sorted.
Otherwise the values of each matching row are looked up and sorted. `_ORDERED` decides how ratios are read.
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
    distribution_by_value,
    distributions,
    join_distributions,
    split_search,
)
from shards.search.row_bitmap import RowBitmap, turnover_sequence
from shards.search.search import UNLIMITED, ShardSet, search

_log: Final = logging.getLogger("shards.analyses.market")

# If at least one row in this many matches, rows are marked and read in a stored order: looking up one row takes as long
# as passing forty rows of an order.
_DENSE: Final = 32
# If at least one known figure of a ratio in this many is needed, figures are read in the stored order: gathering and
# sorting one figure takes as long as passing twelve figures of an order.
_ORDERED: Final = 12

GROWTH: Final = "croissance_ca"  # the code of a ratio
_CEASED: Final = "cessee"
# The dimensions by whose values companies are counted: headcount band and year of creation.
_COUNTED_DIMENSIONS: Final = ("tranche_effectif", "annee_creation")
_STATE: Final = "etat"


@dataclass(frozen=True, slots=True, eq=False)
class MarketPart:
    """The companies of a market in some countries.

    Attributes:
        total, ceased: the number of companies, and of ceased companies.
        counted: the distributions of headcount bands and years of creation.
        marks: the rows of the companies as a bitmap; None if the companies are few (`_DENSE`).
        figures: the known turnovers of the companies if they are few, unsorted; else empty.
        quantiles: by ratio, then by country; countries without figures are left out.
        growth: the growth of turnover of all companies with recent accounts, unsorted.
    """

    total: int
    ceased: int
    counted: Mapping[str, Distribution]
    marks: RowBitmap | None
    figures: Figures
    quantiles: Mapping[str, Mapping[str, Quantiles]]
    growth: Figures


def market_part(base: ShardSet, query: Query, oldest: int) -> MarketPart:
    """Read the companies that match `query`, a part of a search.

    Ratios and growth are those of companies whose last year of accounts is at least `oldest`.
    """
    total = search(base, query, offset=0, limit=0).total
    # Few matches are looked up one by one; many are marked in a bitmap.
    if _DENSE * total < sum(base[iso2].rows for iso2 in query.pays):
        _, counted = distributions(base, query, _COUNTED_DIMENSIONS, UNLIMITED) or (0, {})
        rows_by_shard = base.own_session().rows_by_shard(query)
        ceased = sum(_ceased_among(shard, rows) for shard, rows in rows_by_shard)
        figures = [_known_turnovers(shard, rows) for shard, rows in rows_by_shard]
        statements = [(shard, _statement_numbers(shard, rows)) for shard, rows in rows_by_shard]
        return MarketPart(
            total,
            ceased,
            counted,
            None,
            _concatenate(figures),
            *_ratios_and_growth(statements, oldest),
        )
    session = base.own_session()
    marks = RowBitmap(session.arrays)
    _, counts_by_slot = marks.mark(
        session, query, {DIMENSIONS[name] for name in (*_COUNTED_DIMENSIONS, _STATE)}
    )
    counted = {
        name: distribution_by_value(base, name, counts_by_slot[DIMENSIONS[name]])
        for name in _COUNTED_DIMENSIONS
    }
    states = distribution_by_value(base, _STATE, counts_by_slot[DIMENSIONS[_STATE]])
    ceased = dict(states.top_values()).get(_CEASED, 0)
    statements = [
        (shard, marks.marked_places(number, shard.statement_rows))
        for number, shard in enumerate(session.arrays.shards)
        if marks.totals[number]
    ]
    return MarketPart(
        total, ceased, counted, marks, np.empty(0), *_ratios_and_growth(statements, oldest)
    )


class MarketTurnovers:
    """The turnovers in euros of all companies of some parts, ascending; unknown turnovers are left out.

    Turnovers of marked rows are written to one array in two halves, so that two threads can work in parallel: the
    greater half (1) forwards from index `_middle`, the lesser half (0) backwards before it.
    """

    def __init__(self, base: ShardSet, parts: Sequence[MarketPart]) -> None:
        """Sort the turnovers that were looked up, and allocate the array for the turnovers of marked rows."""
        self._sequence = turnover_sequence(base)
        self._looked_up = np.sort(_concatenate([part.figures for part in parts]))
        marked = [part.marks for part in parts if part.marks is not None]
        self._marks = RowBitmap.union(marked) if marked else None
        self._middle, greater = self._marks.room(self._sequence) if self._marks else (0, 0)
        self._written = np.empty(self._middle + greater)
        # By half: the number of turnovers in `_written`; their moments, if `write` computed them.
        self._counts = [0, 0]
        self._moments: list[Moments | None] = [None, None]

    def write(self, half: int) -> None:
        """Write the turnovers of half 0 or 1 of the marked rows; each half must be written once.

        The moments of the half are computed here, in the same thread, unless there are looked-up turnovers to merge.
        """
        if self._marks is None:
            return
        self._counts[half] = self._marks.write(self._sequence, half, self._written, self._middle)
        if not len(self._looked_up):
            self._moments[half] = moments(self._marked_figures(half, 1 + half))

    def _marked_figures(self, first: int, end: int) -> Figures:
        """The turnovers of marked rows in the halves from `first` to before `end`."""
        middle = self._middle
        bounds = (middle - self._counts[0], middle, middle + self._counts[1])
        return self._written[bounds[first] : bounds[end]]

    def figures(self) -> Figures:
        """All turnovers; both halves must be written."""
        of_marked_rows = self._marked_figures(0, 2)
        return (
            np.sort(np.concatenate([self._looked_up, of_marked_rows]))
            if len(self._looked_up)
            else of_marked_rows
        )

    def concentration(self, figures: Figures) -> Concentration | None:
        """The concentration of `figures`, which are all turnovers; None if no turnover is positive."""
        by_half = [half for half in self._moments if half]
        return concentration(figures, by_half or [moments(figures)])


def moments(figures: Figures) -> Moments:
    """The sums over the positive figures in `figures`, which ascend, for a concentration."""
    positive_figures = figures[figures.searchsorted(0, side="right") :]
    sums = np.zeros(len(Moments._fields) - 1)
    sums_of(kernel_array(positive_figures), len(positive_figures), kernel_array(sums))
    return Moments(len(positive_figures), *sums.tolist())


def count_by(parts: Sequence[MarketPart], dimension: str) -> Distribution:
    """The number of companies of all these parts by a dimension of _COUNTED_DIMENSIONS."""
    return join_distributions([part.counted[dimension] for part in parts])


def _concatenate(figures: Sequence[Figures]) -> Figures:
    """All figures in one array; the added empty array allows an empty sequence."""
    return np.concatenate([*figures, np.empty(0)])


def _ceased_among(shard: Shard, rows: Rows) -> int:
    """The number of ceased companies among these rows."""
    # A code is the index of the state, plus len(STATES) if the company has statements.
    states = shard.codes("etat")[rows] % len(STATES)
    return int(np.count_nonzero(states == STATES.index(_CEASED)))


def _known_turnovers(shard: Shard, rows: Rows) -> Figures:
    """The known turnovers of these rows; unknown turnovers come last in the order, whose keys are negated."""
    steps = shard.steps("ca_desc")
    places = shard.rank("ca_desc")[rows]
    places = places[places < steps.non_null_count]
    places.sort()
    return np.asarray(-steps.key_at(places), np.float64)


def _statement_numbers(shard: Shard, rows: Rows) -> NDArray[np.intp]:
    """The indexes of these rows in `Shard.statement_rows`; rows without statements are left out."""
    statement_rows = shard.statement_rows
    # A code of at least len(STATES) means that the company has statements.
    rows = rows[shard.codes("etat")[rows] >= len(STATES)]
    rows.sort()
    places = statement_rows.searchsorted(rows)
    return np.asarray(places[statement_rows.take(places, mode="clip") == rows])


def _ratios_and_growth(
    statements: Sequence[tuple[Shard, NDArray[np.intp]]], oldest: int
) -> tuple[Mapping[str, Mapping[str, Quantiles]], Figures]:
    """The quantiles of all ratios by country, and the growth figures of all countries.

    Args:
        statements: each shard with the indexes of its matching companies in `Shard.statement_rows`.
        oldest: the least last year of accounts of a company that counts.
    """
    by_ratio: dict[str, dict[str, Quantiles]] = {code: {} for code in stored_codes()}
    growth: list[Figures] = []
    for shard, numbers in statements:
        recent = numbers[shard.ratio_years[numbers] >= max(1, oldest)]
        if not len(recent):
            continue
        growth.append(_non_null_figures(shard.ratio(GROWTH), recent, np.empty(len(recent))))
        known_figures = sum(map(len, shard.ratio_orders.values())) / len(by_ratio)
        read_quantiles = (
            _ordered_quantiles if _ORDERED * len(recent) >= known_figures else _sorted_quantiles
        )
        for code, ratio_quantiles in read_quantiles(shard, recent):
            by_ratio[code][shard.iso2] = ratio_quantiles
    return by_ratio, _concatenate(growth)


def _sorted_quantiles(shard: Shard, numbers: NDArray[np.int64]) -> Iterator[tuple[str, Quantiles]]:
    """The quantiles of each ratio that these companies have, from figures that are gathered and sorted.

    Args:
        numbers: the indexes of the companies in `Shard.statement_rows`, as in the functions below.
    """
    buffer = np.empty(len(numbers))
    for code, order in shard.ratio_orders.items():
        figures = (
            _non_null_figures(shard.ratio(code), numbers, buffer) if len(order) else buffer[:0]
        )
        if len(figures):
            figures.sort()
            yield code, quantiles(figures, ascending=True)


def _non_null_figures(figures: Figures, numbers: NDArray[np.int64], buffer: Figures) -> Figures:
    """The known figures at the indexes `numbers`, written to `buffer`; the kernel needs a fourth of NumPy's time."""
    addresses = (kernel_array(array) for array in (figures, numbers, buffer))
    source, chosen, target = addresses
    return buffer[: gather_known(source, len(figures), chosen, len(numbers), target)]


def _ordered_quantiles(shard: Shard, numbers: NDArray[np.int64]) -> Iterator[tuple[str, Quantiles]]:
    """As `_sorted_quantiles`, but the marked companies are picked from the stored order of each ratio.

    So nothing is sorted, and only the figures at the quantiles are read.
    """
    marked = np.zeros(len(shard.statement_rows), np.bool_)
    marked[numbers] = True
    bits = np.packbits(marked, bitorder="little")
    buffer = np.empty(len(marked), np.uint32)
    bits_address, buffer_address = kernel_array(bits), kernel_array(buffer)
    for code, order in shard.ratio_orders.items():
        count = min(len(order), len(marked))
        gathered = gather_marked(
            kernel_array(order), count, bits_address, len(marked), buffer_address
        )
        if gathered:
            yield code, quantiles_along(shard.ratio(code), buffer[:gathered])


# -- the figures of a market, joined from its parts --------------------------------------------

# Ratios are of companies whose last year is one of this many last years of the data.
YEARS: Final = 3
_FIRST_COMPANIES: Final = 10  # companies in `MarketFigures.first`
# The last year of the data is the latest year in which the accounts of at least one company in this many end. So a few
# wrong dates in the future do not count.
_COMPANIES_PER_ENDING: Final = 100


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The number of companies by value, and without a value; values without companies are left out."""

    counts: Mapping[str, int]
    null: int


@dataclass(frozen=True, slots=True)
class MarketFigures:
    """The figures of a market.

    Attributes:
        newest: the last year of the data, the same for all markets; 0 without statements.
        ceased: the number of ceased companies.
        headcounts, births: the number of companies by headcount band, and by year of creation.
        turnovers: the quantiles of the turnovers, in euros.
        turnover, sales: the sum of all turnovers, and of the positive turnovers.
        bands: the number of companies of each band of turnover, ascending.
        growth, growing: the quantiles of the growth of turnover, and the number of growing companies.
        ratios: by ratio, then by country; countries without figures are left out.
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
        shard_counts = np.bincount(np.maximum(shard.ratio_years, 0))
        shard_counts[:1] = 0  # companies without a statement line have the year 0
        longer, shorter = sorted((counts, shard_counts), key=len, reverse=True)
        counts = longer + np.pad(shorter, (0, len(longer) - len(shorter)))
    (frequent_years,) = np.nonzero(counts * _COMPANIES_PER_ENDING >= max(1, counts.sum()))
    return int(frequent_years[-1]) if len(frequent_years) else 0


def base_figures(base: ShardSet) -> MarketFigures:
    """The figures of all companies. Raises CorruptError and MissingCountryError, as `figures_of`."""
    return figures_of(base, Query(), newest_year(base))


def run_in_turn(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run jobs one after the other, and return their results."""
    return [job() for job in jobs]


@translate_errors()
def figures_of(
    base: ShardSet,
    query: Query,
    newest: int,
    run: Callable[[Sequence[Callable[[], Any]]], list[Any]] = run_in_turn,
) -> MarketFigures:
    """The figures of the companies that match `query`.

    Args:
        newest: the last year of the data (`newest_year`).
        run: runs jobs, possibly in parallel, and returns their results.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    oldest = newest - YEARS + 1
    market_parts = run(
        [partial(market_part, base, half, oldest) for half in split_search(base, query)]
    )
    turnovers = MarketTurnovers(base, market_parts)
    first, *_ = run(
        [
            partial(first_companies, base, query),
            partial(turnovers.write, 0),
            partial(turnovers.write, 1),
        ]
    )
    return join_parts(market_parts, turnovers, first, newest)


def first_companies(base: ShardSet, query: Query) -> Sequence[tuple[str, int]]:
    """The companies of a search with the greatest turnovers, at most _FIRST_COMPANIES, by country and row."""
    largest = replace(query, tri=ORDERS[0], avec_ca=True)  # the first order is `ca_desc`
    return [
        (iso2, row) for iso2, row in search(base, largest, offset=0, limit=_FIRST_COMPANIES).rows
    ]


def join_parts(
    market_parts: Sequence[MarketPart],
    turnovers: MarketTurnovers,
    first: Sequence[tuple[str, int]],
    newest: int,
) -> MarketFigures:
    """The figures of a market, joined from the parts of its companies that `market_part` read.

    `turnovers` must have both halves written; `first` and `newest` are taken over.
    """
    figures = turnovers.figures()
    growth = np.concatenate([one_part.growth for one_part in market_parts])
    band_ends = [*figures.searchsorted(bands.TURNOVERS).tolist(), len(figures)]
    return MarketFigures(
        total=sum(one_part.total for one_part in market_parts),
        newest=newest,
        ceased=sum(one_part.ceased for one_part in market_parts),
        turnovers=quantiles(figures, ascending=True),
        turnover=float(figures.sum()),
        sales=float(figures[figures.searchsorted(0, side="right") :].sum()),
        bands=np.diff([0, *band_ends]).tolist(),
        concentration=turnovers.concentration(figures),
        headcounts=_value_counts(count_by(market_parts, "tranche_effectif")),
        births=_value_counts(count_by(market_parts, "annee_creation")),
        growth=quantiles(growth),
        growing=int(np.count_nonzero(growth > 0)),
        ratios={
            code: dict(
                sorted(
                    pair for one_part in market_parts for pair in one_part.quantiles[code].items()
                )
            )
            for code in stored_codes()
        },
        first=first,
    )


def _value_counts(distribution: Distribution) -> ValueCounts:
    """The counts of a distribution, sorted by value, so that equal figures have equal bytes."""
    return ValueCounts(dict(sorted(distribution.top_values())), distribution.null)


# -- the document of all companies, `market.json` (FORMAT.md §14) --------------------------------

# A build writes this document and a server reads it, because computing the figures takes a second on two processors.

# A relative difference of two figures up to this is ignored.
_PRECISION: Final = 1e-9


def dump(figures: MarketFigures) -> bytes:
    """The bytes of `market.json`; equal figures give equal bytes."""
    return orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes) -> MarketFigures:
    """The figures that these bytes encode.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: they are not a document of this version.
    """
    document: dict[str, Any] = orjson.loads(packed)
    return MarketFigures(**{name: read(document[name]) for name, read in _READERS.items()})


def load_figures(packed: bytes, manifest: Manifest) -> MarketFigures:
    """The figures in the `market.json` of a generation.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: they are not a document of this version, or do not fit
            the manifest.
    """
    figures = load(packed)
    if figures.total != manifest.total:
        raise ValueError(f"it counts {figures.total} companies, the manifest {manifest.total}")
    for iso2, row in figures.first:
        if not 0 <= row < manifest.counts[iso2]:
            raise ValueError(f"{iso2} has no row {row}")
    return figures


def read_stored(folder: Path, manifest: Manifest) -> MarketFigures | None:
    """The stored figures of a generation, which include countries that a server leaves out.

    None if the build has not written them, or if their file is damaged; the caller can then compute them.
    """
    if MARKET not in manifest.files:
        return None
    try:
        if manifests.has_digest(folder / MARKET, manifest.files[MARKET]):
            return load_figures((folder / MARKET).read_bytes(), manifest)
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
    """The file with the figures of a generation, by name."""
    return {MARKET: dump(base_figures(generation.shards))}


def verify(generation: Generation) -> None:
    """Compute the figures of all companies again, and compare them with `market.json` (FORMAT.md §9, invariant 8).

    Raises:
        CorruptError: the figures differ.
    """
    if MARKET not in generation.manifest.files:
        return
    path = generation.folder / MARKET
    try:
        stored = orjson.loads(path.read_bytes())
    except ValueError:
        stored = None
    if not agree(stored, orjson.loads(dump(base_figures(generation.shards)))):
        raise CorruptError(
            f"{path} does not have the figures of the companies of the generation; build or fetch it again"
        )


def agree(stored: Any, computed: Any) -> bool:
    """Whether two JSON values are equal, except for the last digits of floats, which depend on the processor."""
    if isinstance(stored, dict) and isinstance(computed, dict):
        return stored.keys() == computed.keys() and all(
            agree(stored[name], computed[name]) for name in stored
        )
    if isinstance(stored, list) and isinstance(computed, list):
        return len(stored) == len(computed) and all(map(agree, stored, computed))
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=_PRECISION)
    return bool(stored == computed)


# The readers of the values of the document, by name in `_READERS`; they raise the errors of `load`.


def _integer(value: Any) -> int:
    """The value if it is a whole number; `type` also refuses true and false, which are integers in Python."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _number(value: Any) -> float:
    """The value as a float if it is a number; true and false are refused, as in `_integer`."""
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _read_bands(value: Any) -> Sequence[int]:
    """The counts of the bands of turnover in a JSON value."""
    if len(value) != len(bands.turnover_names()):
        raise ValueError(f"{len(value)} bands of turnover are not those of this version")
    return [_integer(count) for count in value]


def _read_counts(value: Any) -> ValueCounts:
    """The counts by value in a JSON value."""
    counts = {str(name): _integer(number) for name, number in value["counts"].items()}
    return ValueCounts(counts, _integer(value["null"]))


def _read_quantiles(value: Any) -> Quantiles:
    """The quantiles, which are null if no company has the figure (`n` is 0)."""
    count, values = _integer(value["n"]), value["values"]
    if len(values) != len(QUANTILES):
        raise ValueError(f"{len(values)} quantiles are not those of this version")
    return Quantiles(count, tuple(_number(quantile) if count else None for quantile in values))


def _read_concentration(value: Any) -> Concentration | None:
    """The concentration; null for a market without a positive turnover."""
    return value and Concentration(**{name: _number(share) for name, share in value.items()})


def _read_ratios(value: Any) -> Mapping[str, Mapping[str, Quantiles]]:
    """The quantiles of each ratio in each country, in a JSON value."""
    if value.keys() != set(stored_codes()):
        raise ValueError("its ratios are not those of this version")
    return {
        code: {str(iso2): _read_quantiles(packed) for iso2, packed in value[code].items()}
        for code in stored_codes()
    }


def _read_first(value: Any) -> Sequence[tuple[str, int]]:
    """The country and the row of each of the largest companies."""
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
