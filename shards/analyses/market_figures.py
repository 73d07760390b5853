"""The figures of a market, each of its companies counted: what `/analyses/marche` says without a caller (X11).

Those of all companies are static data: a build writes them into `market.json` of a generation (FORMAT.md §14), for they
take a second of both processors, and a server reads them.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from shards.analyses import market
from shards.analyses.market import MarketPart, MarketTurnovers
from shards.codec import bands
from shards.errors import REMEDY, CorruptError, translate_errors
from shards.generations import manifest as manifests
from shards.generations.generation_files import MARKET, Generation
from shards.generations.manifest import Manifest
from shards.query import ORDERS, Query
from shards.ratios.distribution import QUANTILES, Concentration, Quantiles, quantiles
from shards.ratios.ratio_table import stored_codes
from shards.search.distribution import Distribution, parts
from shards.search.search import ShardSet, search

_log: Final = logging.getLogger("shards.analyses.market_figures")

# Ratios are those of the last years of the data.
YEARS: Final = 3
_FIRST: Final = 10
# The last year of the data is that of at least one company in so many.
_SHARE: Final = 100
# Figures that differ by less are equal.
_PRECISION: Final = 1e-9


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


@translate_errors()
def of_whole_base(base: ShardSet) -> MarketFigures:
    """The figures of all companies.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country is left out.
    """
    newest = newest_year(base)
    oldest = newest - YEARS + 1
    halves = [market.part(base, one, oldest) for one in parts(base, Query())]
    turnovers = MarketTurnovers(base, halves)
    for half in (0, 1):
        turnovers.write(half)
    return join(halves, turnovers, first_companies(base, Query()), newest)


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
        headcounts=_counts(market.count_by(halves, "tranche_effectif")),
        births=_counts(market.count_by(halves, "annee_creation")),
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


# -- the document ------------------------------------------------------------------


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


def _bands(value: Any) -> Sequence[int]:
    if len(value) != len(bands.turnover_names()):
        raise ValueError(f"{len(value)} bands of turnover are not those of this version")
    return [_integer(one) for one in value]


def _counts_of(value: Any) -> ValueCounts:
    counts = {str(name): _integer(number) for name, number in value["counts"].items()}
    return ValueCounts(counts, _integer(value["null"]))


def _quantiles(value: Any) -> Quantiles:
    count, values = _integer(value["n"]), value["values"]
    if len(values) != len(QUANTILES):
        raise ValueError(f"{len(values)} quantiles are not those of this version")
    return Quantiles(count, tuple(_number(one) if count else None for one in values))


def _concentration(value: Any) -> Concentration | None:
    return value and Concentration(**{name: _number(share) for name, share in value.items()})


def _ratios(value: Any) -> Mapping[str, Mapping[str, Quantiles]]:
    if value.keys() != set(stored_codes()):
        raise ValueError("its ratios are not those of this version")
    return {
        code: {str(iso2): _quantiles(one) for iso2, one in value[code].items()}
        for code in stored_codes()
    }


def _first(value: Any) -> Sequence[tuple[str, int]]:
    return [(str(iso2), _integer(row)) for iso2, row in value]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("total", "newest", "ceased", "growing"), _integer),
    **dict.fromkeys(("turnover", "sales"), _number),
    **dict.fromkeys(("turnovers", "growth"), _quantiles),
    **dict.fromkeys(("headcounts", "births"), _counts_of),
    "bands": _bands,
    "concentration": _concentration,
    "ratios": _ratios,
    "first": _first,
}
