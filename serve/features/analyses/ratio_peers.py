"""The companies of a sector that a company is compared with, by the ratios of their last year (X11).

Peers are those whose own last year is one of the last three of the data. The last year of the data is
the latest one that at least one company in a hundred ended with, so that a date in the future that a
register let pass moves nothing. Of fewer than `FEWEST` known values in the country, the sector of all
countries is taken. Among fewer than `LEAST_QUANTILES` values quantiles say nothing of a sector, and among fewer
than `LEAST_RANKED` a rank says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.analyses import market_figures
from shards.ratios.distribution import FEWEST, Figures, Quantiles, quantiles
from shards.ratios.ratio_table import ratios
from shards.reader.shard import Shard
from shards.search.search import ShardSet

LEAST_QUANTILES: Final = 10
LEAST_RANKED: Final = 5

Memo = dict[tuple[str, str, str], Quantiles]


class Peers(NamedTuple):
    """The distribution of a ratio in a sector.

    Attributes:
        pays: the country, None for all countries.
        rang: the place of the compared value, the best first (`Ratio.sens`); None without a value or a direction,
            and among fewer than `LEAST_RANKED`.
    """

    pays: str | None
    quantiles: Quantiles
    rang: int | None


class _Slice(NamedTuple):
    """The companies of a sector with statements, as a part of the arrays of a shard."""

    shard: Shard
    part: slice
    recent: NDArray[np.bool_]

    def figures(self, code: str) -> Figures:
        return self.shard.ratio(code)[self.part][self.recent]

    def count_better(self, code: str, value: float, sens: str) -> int:
        """How many have a better ratio than `value`; none of these is copied."""
        figures = self.shard.ratio(code)[self.part]
        better = figures > value if sens == "haut" else figures < value
        return int(np.count_nonzero(np.logical_and(better, self.recent, out=better)))


class SectorPeers:
    """The peers of the companies of one sector in one country.

    Args:
        memo: quantiles that were computed before, by country ("" for all), sector and ratio.
    """

    def __init__(self, shards: ShardSet, iso2: str, division: str, newest: int, memo: Memo) -> None:
        self._iso2, self._division, self._memo = iso2, division, memo
        oldest = newest - market_figures.YEARS + 1
        self._country = _slices([shards[iso2]], division, oldest)
        self._shards, self._oldest = shards, oldest
        self._everywhere: Sequence[_Slice] | None = None

    def compare(self, code: str, value: float | None) -> Peers:
        """The distribution of a ratio, and the place of `value` in it."""
        country = self._quantiles(self._iso2, code)
        if country.n >= FEWEST:
            return Peers(self._iso2, country, _rank(self._country, code, value))
        everywhere = self._quantiles("", code)
        ranked = everywhere.n >= LEAST_RANKED
        rank = _rank(self._all_slices(), code, value) if ranked else None
        if everywhere.n < LEAST_QUANTILES:
            everywhere = replace(everywhere, values=(None,) * len(everywhere.values))
        return Peers(None, everywhere, rank)

    def _all_slices(self) -> Sequence[_Slice]:
        if self._everywhere is None:
            shards = list(self._shards.values())
            self._everywhere = _slices(shards, self._division, self._oldest)
        return self._everywhere

    def _quantiles(self, iso2: str, code: str) -> Quantiles:
        key = iso2, self._division, code
        found = self._memo.get(key)
        if found is None:
            slices = self._country if iso2 else self._all_slices()
            figures = [one.figures(code) for one in slices]
            found = quantiles(np.concatenate(figures or [np.empty(0)]))
            self._memo[key] = found
        return found


def _slices(shards: Sequence[Shard], division: str, oldest: int) -> list[_Slice]:
    found = []
    for shard in shards:
        sector = shard.layout.sectors.get(division)
        if sector is not None:
            first, end = shard.statement_rows.searchsorted([sector.start, sector.stop]).tolist()
            part = slice(first, end)
            found.append(_Slice(shard, part, shard.ratio_years[part] >= max(1, oldest)))
    return found


def _rank(slices: Sequence[_Slice], code: str, value: float | None) -> int | None:
    sens = ratios()[code].sens
    if value is None or sens is None:
        return None
    return sum(one.count_better(code, value, sens) for one in slices) + 1


class TurnoverRank(NamedTuple):
    """The place of a company among the `n` with a turnover; equal turnovers share the best one."""

    rang: int | None
    n: int


def turnover_rank(shards: Mapping[str, Shard], euros: float | None) -> TurnoverRank:
    """The place of a turnover in euros among those of all companies of these shards."""
    steps = [shard.steps("ca_desc") for shard in shards.values()]
    n = sum(one.known_rows for one in steps)
    if euros is None:
        return TurnoverRank(None, n)
    greater = sum(int(one.places[one.keys.searchsorted(-euros)]) for one in steps)
    return TurnoverRank(greater + 1, n)
