"""The place of a company by turnover among its peers: exact counts of the companies that publish one.

A rank costs two searches without rows, so it is shown to everybody; the ranks by ratio are an analysis (X11).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from math import inf, nextafter
from typing import Final, NamedTuple

from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.surfaces.site.charts import histogram
from serve.surfaces.site.charts.histogram import HistogramColumn
from shards.codec import bands
from shards.query import Query, Range
from shards.search.distribution import distributions
from shards.search.search import UNLIMITED, ShardSet, search

LEAST_PEERS: Final = 5  # among fewer a place says nothing


class PeerRank(NamedTuple):
    """The place of a turnover among `number` of one sector; `pays` is None for all countries."""

    pays: str | None
    rank: int
    number: int


class PeerRanks(NamedTuple):
    """The ranks in the country and everywhere, and the companies of the scope of the first by band of turnover."""

    ranks: Sequence[PeerRank]
    columns: Sequence[HistogramColumn]


async def of_company(
    generation: OpenGeneration, iso2: str, division: str | None, turnover: float | None
) -> PeerRanks | None:
    """The ranks of a company; None without a sector, a turnover or a peer, or while a country is damaged."""
    base = generation.shards
    if division is None or turnover is None or base.missing:
        return None
    query = Query(pays=(iso2,), secteurs=(division,), avec_ca=True)
    return await generation.in_thread(EXPENSIVE_MICROSECONDS, lambda: _ranks(base, query, turnover))


def _ranks(base: ShardSet, query: Query, turnover: float) -> PeerRanks | None:
    scopes = (query, replace(query, pays=()))
    ranks = [(scope, _rank(base, scope, turnover)) for scope in scopes]
    shown = [(scope, rank) for scope, rank in ranks if rank.number >= LEAST_PEERS]
    if not shown:
        return None
    distribution = distributions(base, shown[0][0], ["tranche_ca"], UNLIMITED)
    assert distribution is not None  # nothing is over this budget
    counts = dict(distribution[1]["tranche_ca"].top_values())
    bounds = [None, *bands.TURNOVERS]
    drawn = [
        (least, counts.get(name, 0))
        for least, name in zip(bounds, bands.turnover_names(), strict=True)
    ]
    own = bisect_right(bands.TURNOVERS, turnover)
    while own and not drawn[0][1]:  # nobody has as little
        drawn, own = drawn[1:], own - 1
    while len(drawn) > own + 1 and not drawn[-1][1]:  # nobody has as much
        drawn = drawn[:-1]
    ranks_shown = [rank for _, rank in shown]
    if len({rank[1:] for rank in ranks_shown}) == 1:  # the sector has no companies elsewhere
        ranks_shown = ranks_shown[:1]
    return PeerRanks(ranks_shown, histogram.columns(drawn, own))


def _rank(base: ShardSet, query: Query, turnover: float) -> PeerRank:
    above = replace(query, ranges=(Range("ca_eur", nextafter(turnover, inf)),))
    greater = search(base, above, offset=0, limit=0).total
    number = search(base, query, offset=0, limit=0).total
    return PeerRank(query.pays[0] if query.pays else None, greater + 1, number)
