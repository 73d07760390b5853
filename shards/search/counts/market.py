"""The figures of a market: turnovers and ratios of all companies that a search finds, exactly (extension X11).

A search by country, sector and sub-sector is made of ranges of rows (FORMAT.md §3). Any other one is listed by the
compiled search, once for the companies with a turnover and once for those with statements: there are fewer of these
than of all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.query import ORDERS, Query
from shards.ratios.distribution import Figures, Quantiles, quantiles
from shards.ratios.ratio_table import stored_codes
from shards.search.reader import Shard
from shards.search.search import Base

# Of so many rows one or more: they are marked and read in the order of the file, instead of one by one.
_DENSE: Final = 16

GROWTH: Final = "croissance_ca"


class MarketRatios(NamedTuple):
    """The ratios of the companies of a market, each by its own last year, if that is not too old.

    Attributes:
        quantiles: by ratio, then by country; countries without any figure are left out.
        growth: the growth of turnover of all companies.
    """

    quantiles: Mapping[str, Mapping[str, Quantiles]]
    growth: Figures


def turnovers(base: Base, query: Query) -> Figures:
    """The turnovers in euros of the companies that `query` finds, ascending; unknown ones are left out.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    if is_plain(query):
        found = [_turnovers(shard, _ranges(shard, query, known=True)) for shard in _of(base, query)]
    else:
        listed = base.own_worker().listed(replace(query, avec_ca=True))
        found = [_turnovers(shard, rows) for shard, rows in listed]
    # Those of one country ascend already.
    return np.sort(np.concatenate(found)) if len(found) > 1 else np.concatenate([*found, []])


def ratios(base: Base, query: Query, oldest: int) -> MarketRatios:
    """The ratios of the companies that `query` finds and whose last year is `oldest` or later.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    if is_plain(query):
        listed = [(shard, _ranges(shard, query, known=False)) for shard in _of(base, query)]
    else:
        worker = base.own_worker()
        listed = list(worker.listed(replace(query, avec_comptes=True)))
    found: dict[str, dict[str, Quantiles]] = {code: {} for code in stored_codes()}
    growth: list[Figures] = []
    for shard, rows in sorted(listed, key=lambda one: one[0].iso2):
        recent = _statements(shard, rows)
        recent = recent[shard.ratio_years[recent] >= max(1, oldest)]
        if not len(recent):
            continue
        for code in found:
            figures = shard.ratio(code).take(recent)
            known = quantiles(figures)
            if known.n:
                found[code][shard.iso2] = known
            if code == GROWTH:
                growth.append(figures[~np.isnan(figures)])
    return MarketRatios(found, np.concatenate([*growth, []]))


def is_plain(query: Query) -> bool:
    """Whether a search has no filters but countries, sectors and sub-sectors."""
    return replace(query, pays=(), secteurs=(), sous_secteurs=None, tri=ORDERS[0]) == Query()


def _of(base: Base, query: Query) -> list[Shard]:
    return [shard for iso2, shard in sorted(base.items()) if not query.pays or iso2 in query.pays]


def _ranges(shard: Shard, query: Query, *, known: bool) -> Rows | None:
    """The rows of the sectors and sub-sectors of a search, only those with a turnover if `known`; None for all."""
    if not query.secteurs and query.sous_secteurs is None:
        return None
    parts: Sequence[NDArray[np.uint32]] = [
        np.arange(cell.start, cell.with_ca if known else cell.stop, dtype=np.uint32)
        for cell in shard.layout.cells
        if (not query.secteurs or cell.secteur in query.secteurs)
        and (query.sous_secteurs is None or cell.sous_secteur in query.sous_secteurs)
    ]
    return np.concatenate([*parts, np.empty(0, np.uint32)])


def _turnovers(shard: Shard, rows: Rows | None) -> Figures:
    """The turnovers of rows that have one, None for all rows, ascending."""
    steps = shard.steps("ca_desc")
    if rows is None:
        return -np.repeat(steps.keys, np.diff(steps.places))[::-1]
    places = shard.rank("ca_desc")[rows]
    if len(rows) * _DENSE < steps.known:
        return np.asarray(-steps.key_at(np.sort(places))[::-1], np.float64)
    marks = np.zeros(steps.known, np.bool_)
    marks[places] = True
    return -np.repeat(steps.keys, np.diff(steps.places))[marks][::-1]


def _statements(shard: Shard, rows: Rows | None) -> NDArray[np.intp]:
    """The numbers of the statements of these rows, None for all rows; rows without any are left out."""
    numbered = shard.statement_rows
    if rows is None:
        return np.arange(len(numbered))
    if len(rows) * _DENSE < len(numbered):
        rows = np.sort(rows)
        found = numbered.searchsorted(rows)
        return np.asarray(found[numbered.take(found, mode="clip") == rows])
    marks = np.zeros(shard.rows, np.bool_)
    marks[rows] = True
    return np.flatnonzero(marks[numbered])
