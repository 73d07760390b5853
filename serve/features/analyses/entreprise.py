"""GET /api/v1/societes/{iso}/{id}/analyses/entreprise: the accounts of a company, analysed (extension X11).

The answer has ratios of up to five years with their formulas and the ratios of the sector; ranks by turnover; warnings;
and the parts of the score. If an input of a figure was not filed, the figure is null with a reason. A company without
statements has no ratios, and its analysis costs only a call.

The peers of a company are the companies of its sector whose own last year is one of the last three years of the data.
The last year of the data is the latest year in which the accounts of at least one company in a hundred end, so that a
wrong date in the future does not move it. With fewer than `FEWEST` values in the country, the sector of all countries
is used. Quantiles need `LEAST_QUANTILES` values, and a rank needs `LEAST_RANKED`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.company_path import locate, path_of, refuse_absent
from serve.access.rights import AnalysisTerms
from serve.contract import reasons, seed_tables
from serve.features.analyses.answers import (
    Alerte,
    AnalyseEntreprise,
    ExerciceDepose,
    PartDuScore,
    PerimetreCompare,
    RangParCa,
    Rangs,
    RatioAnalyse,
    ReperesDuSecteur,
    Score,
    SocieteAnalysee,
    ValeurDeRatio,
)
from serve.generation.open_generation import OpenGeneration
from shards.analyses import market
from shards.codec import record as codec
from shards.ratios import accounts
from shards.ratios.accounts import AnnualAccounts, RatioValue
from shards.ratios.distribution import FEWEST, Figures, Quantiles, quantiles
from shards.ratios.ratio_table import Ratio, ratios
from shards.reader.shard import Shard
from shards.search.search import ShardSet

LEAST_QUANTILES: Final = 10  # values of peers; fewer have no quantiles
LEAST_RANKED: Final = 5  # values of peers; among fewer, there is no rank
QUANTILES: Final = ("p10", "p25", "mediane", "p75", "p90")
# The estimated cost of an analysis whose sector, in a large country, is not in the memo of quantiles.
_MICROSECONDS: Final = 20_000.0

# Values by year, the latest first, then by the code of the ratio.
RatiosByYear = Mapping[int, Mapping[str, RatioValue]]
# Quantiles by country ("" for all), sector and code of the ratio.
QuantileMemo = dict[tuple[str, str, str], Quantiles]


class _Company(NamedTuple):
    """A company: its shard and row, its record, its annual accounts and its ratios by year."""

    shard: Shard
    row: int
    record: Mapping[str, Any]
    accounts: accounts.Accounts
    values: RatiosByYear


def entreprise(request: Request, generation: OpenGeneration) -> PreparedCall[AnalyseEntreprise]:
    """Prepare the paid analysis of a company: its ratios, ranks, warnings and score.

    It is charged once a month for a company, and costs no credits for a company without statements.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open; 403 `module_non_inclus`.
    """
    generation = generation.pinned_by(request.pairs)
    shard, row = locate(request, generation)
    caller = request.caller
    terms = rights.terms(caller, rights.ENTREPRISE, request.context.plans)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    company = f"{shard.iso2}/{shard.company(row)['id']}"
    tag = etag(
        generation.id,
        caller.plan.slug,
        caller.souscrit,
        request.offer,
        "analyse",
        company,
        request.lang,
    )
    path = f"{path_of(company)}/analyses/entreprise"
    headers = private_headers(tag, generation.id, path=path, lang=request.lang)
    if not shard.has_comptes(row):
        terms = AnalysisTerms(0)  # there is nothing to analyse: no credits

    async def run() -> "Result[AnalyseEntreprise]":
        """Analyse the company in a thread."""
        analysis = await generation.run(
            _MICROSECONDS,
            lambda: _analysis(
                _read_company(shard, row), generation, caller.plan.slug, request.offer
            ),
        )
        return Result(200, reasons.write_reasons(analysis, request.lang), headers)

    subject = f"{rights.ENTREPRISE}/{company}"
    return PreparedCall(run, tag, headers, subject, terms.cost, None, terms.trials)


def _read_company(shard: Shard, row: int) -> _Company:
    """Read a company and compute its ratios."""
    by_year = accounts.accounts_by_year(codec.lines(shard.comptes(row)))
    values = accounts.values(by_year, shard.withheld_codes(row))
    return _Company(shard, row, shard.company(row), by_year, values)


def _analysis(
    company: _Company, generation: OpenGeneration, plan: str, offer: bytes
) -> AnalyseEntreprise:
    """The analysis as an object of the answer.

    Null values have codes of reasons; `write_reasons` adds the words later, in the language of the caller.
    """
    record = company.record
    newest = generation.newest_year
    fields = {name: record[name] for name in ("iso2", "id", "nom", "secteur")}
    return AnalyseEntreprise(
        societe=SocieteAnalysee(**fields),
        plan=plan,
        module=rights.ENTREPRISE,
        exercices=[
            ExerciceDepose(
                exercice=year,
                devise=annual_accounts.devise,
                duree_mois=annual_accounts.months,
                motif_code=_currency_reason(annual_accounts),
            )
            for year, annual_accounts in company.accounts.items()
        ],
        ratios=_ratios(company, generation, newest),
        rangs=_ranks(company, generation),
        alertes=_warnings(company.values, newest),
        score=_score(record),
        offre_suivante=offer,
    )


def _currency_reason(annual_accounts: AnnualAccounts) -> str | None:
    """The reason why a year has no currency; None if it has one."""
    if annual_accounts.mixed:
        return "devises_multiples"
    return "devise_absente" if annual_accounts.devise is None else None


def _ratios(company: _Company, generation: OpenGeneration, newest: int) -> list[RatioAnalyse]:
    """The ratios that are not amounts, by year and compared with the sector; empty without statements."""
    if not company.values:
        return []
    division = company.shard.cell_at(company.row).secteur
    peers = None
    if division is not None and newest:
        shards, iso2 = generation.shards, company.shard.iso2
        peers = SectorPeers(shards, iso2, division, newest, generation.peers)
    return [
        RatioAnalyse(
            **ratio_texts(ratio),
            valeurs=[_value(year, of_year[code]) for year, of_year in company.values.items()],
            secteur=_sector_figures(company, code, peers, newest),
            sens=ratio.sens,
            motif_code=None if peers else "secteur_absent",
        )
        for code, ratio in ratios().items()
        if not ratio.is_amount
    ]


def ratio_texts(ratio: Ratio) -> dict[str, Any]:
    """The fields of a ratio in the answers, without its values."""
    return {
        "code": ratio.code,
        "libelle": ratio.libelle["fr"],
        "libelle_en": ratio.libelle["en"],
        "formule_code": ratio.formule,
        "unite": ratio.unite,
        "source": ratio.source,
    }


def _value(year: int, ratio_value: RatioValue) -> ValeurDeRatio:
    """A ratio of a year as an object of the answer; if it is null, the missing lines follow the code of its reason."""
    lacking = f": {', '.join(ratio_value.lacking)}" if ratio_value.lacking else ""
    code = f"{ratio_value.reason}{lacking}" if ratio_value.reason else None
    return ValeurDeRatio(exercice=year, valeur=ratio_value.value, motif_code=code)


def _sector_figures(
    company: _Company, code: str, peers: "SectorPeers | None", newest: int
) -> ReperesDuSecteur | None:
    """The quantiles of the ratio `code` in the sector, and the rank of the company in it; None without a sector.

    The ratio of the last year of the company is ranked only if this year is among the years of the peers, which end
    with `newest`.
    """
    if peers is None:
        return None
    year, of_year = next(iter(company.values.items()))
    oldest = newest - market.YEARS + 1
    value = of_year[code].value
    comparison = peers.compare(code, value if year >= oldest else None)
    scope = PerimetreCompare(
        pays=comparison.pays,
        secteur=company.record["secteur"],
        exercices=[oldest, newest],
        exercice_compare=year,
    )
    quantiles: dict[str, Any] = dict(zip(QUANTILES, comparison.quantiles.values, strict=True))
    n = comparison.quantiles.n
    return ReperesDuSecteur(
        perimetre=scope,
        n=n,
        **quantiles,
        rang=comparison.rang,
        motif_code=_sector_reason(code, n, value, is_peer=year >= oldest),
    )


def _sector_reason(code: str, n: int, value: float | None, *, is_peer: bool) -> str | None:
    """The reason why the sector has no quantiles, or else the company no rank; None if both are given.

    Args:
        code: the ratio; `n`: the number of peers that have it; `value`: the ratio of the company in its last year.
        is_peer: whether the last year of the company is recent enough for a peer.
    """
    if not n:
        return "aucun_ratio"
    if n < LEAST_QUANTILES:
        return "trop_peu_de_pairs"
    if not ratios()[code].sens:
        return "sans_sens"
    if value is None:
        return "valeur_absente"
    return None if is_peer else "hors_des_pairs"


def _ranks(company: _Company, generation: OpenGeneration) -> Rangs:
    """The ranks of the company by turnover, in its country and in all countries."""
    euros, shards = company.record["ca_eur"], generation.shards
    country = {company.shard.iso2: company.shard}
    code = "ca_absent" if euros is None else None
    return Rangs(
        pays=RangParCa(**turnover_rank(country, euros)._asdict(), motif_code=code),
        europe=RangParCa(**turnover_rank(shards, euros)._asdict(), motif_code=code),
    )


def _warnings(values: RatiosByYear, newest: int) -> list[Alerte]:
    """The warnings of the last accounts, with their year; consecutive losses need the accounts of the year before."""
    if not values:
        return []
    year, last_ratios = next(iter(values.items()))
    ratios_before = values.get(year - 1)
    losses = [
        _is_below_zero(of_year["resultat"]) for of_year in (last_ratios, ratios_before) if of_year
    ]
    warnings = {
        "capitaux_propres_negatifs": _is_below_zero(last_ratios["capitaux_propres"]),
        "pertes_consecutives": losses == [True, True],
        "ca_en_baisse": _is_below_zero(last_ratios["croissance_ca"]),
        "comptes_anciens": year <= newest - market.YEARS,
    }
    return [Alerte(code=code, exercice=year) for code, holds in warnings.items() if holds]


def _is_below_zero(ratio_value: RatioValue) -> bool:
    """Whether a value is known and negative."""
    return ratio_value.value is not None and ratio_value.value < 0


def _score(record: Mapping[str, Any]) -> Score:
    """The score, and the points of each field."""
    points = seed_tables.score_points()
    parts = [
        PartDuScore(champ=name, points=most if record[name] is not None else 0, maximum=most)
        for name, most in points.items()
    ]
    return Score(valeur=record["score"], maximum=sum(points.values()), parts=parts)


class SectorFigures(NamedTuple):
    """The distribution of a ratio in a sector, and the rank of a company in it.

    Attributes:
        pays: the country, None for all countries.
        rang: the rank of the compared value, the best first (`Ratio.sens`); None without a value or a direction, or
            with fewer than `LEAST_RANKED` values.
    """

    pays: str | None
    quantiles: Quantiles
    rang: int | None


class _SectorSlice(NamedTuple):
    """The companies of a sector that have statements, as a slice of the arrays of a shard.

    Attributes:
        bounds: the slice.
        recent: for each company of the slice, whether its last year is recent enough for a peer.
    """

    shard: Shard
    bounds: slice
    recent: NDArray[np.bool_]

    def figures(self, code: str) -> Figures:
        """The figures of a ratio of the peers."""
        return self.shard.ratio(code)[self.bounds][self.recent]

    def count_better(self, code: str, value: float, sens: str) -> int:
        """The number of companies with a better ratio than `value`, counted without a copy of the ratios."""
        figures = self.shard.ratio(code)[self.bounds]
        better = figures > value if sens == "haut" else figures < value
        return int(np.count_nonzero(np.logical_and(better, self.recent, out=better)))


class SectorPeers:
    """The peers of the companies of one sector in one country."""

    def __init__(
        self, shards: ShardSet, iso2: str, division: str, newest: int, memo: QuantileMemo
    ) -> None:
        """Find the peers in the country; those in all countries are found if they are needed.

        Args:
            division: the NACE division of the sector.
            newest: the newest year of the data; the last year of a peer is at most `market.YEARS` - 1 years older.
            memo: computed quantiles, by country ("" for all), sector and ratio; new quantiles are added.
        """
        self._iso2, self._division, self._memo = iso2, division, memo
        oldest = newest - market.YEARS + 1
        self._country = _sector_slices([shards[iso2]], division, oldest)
        self._shards, self._oldest = shards, oldest
        # The slices of all countries, once read.
        self._everywhere: Sequence[_SectorSlice] | None = None

    def compare(self, code: str, value: float | None) -> SectorFigures:
        """The distribution of a ratio and the rank of `value` in it.

        With fewer than `FEWEST` values in the country, both are those of all countries; too few values there have no
        quantiles or no rank.
        """
        country = self._quantiles(self._iso2, code)
        if country.n >= FEWEST:
            return SectorFigures(self._iso2, country, _rank(self._country, code, value))
        everywhere = self._quantiles("", code)
        is_ranked = everywhere.n >= LEAST_RANKED
        rank = _rank(self._slices(), code, value) if is_ranked else None
        if everywhere.n < LEAST_QUANTILES:
            everywhere = replace(everywhere, values=(None,) * len(everywhere.values))
        return SectorFigures(None, everywhere, rank)

    def _slices(self) -> Sequence[_SectorSlice]:
        """The slices of all countries, read at the first use."""
        if self._everywhere is None:
            shards = list(self._shards.values())
            self._everywhere = _sector_slices(shards, self._division, self._oldest)
        return self._everywhere

    def _quantiles(self, iso2: str, code: str) -> Quantiles:
        """The quantiles of a ratio in the country, or in all countries for ""; from the memo if it has them."""
        key = iso2, self._division, code
        sector_quantiles = self._memo.get(key)
        if sector_quantiles is None:
            slices = self._country if iso2 else self._slices()
            figures = [sector_slice.figures(code) for sector_slice in slices]
            sector_quantiles = quantiles(np.concatenate(figures or [np.empty(0)]))
            self._memo[key] = sector_quantiles
        return sector_quantiles


def _sector_slices(shards: Sequence[Shard], division: str, oldest: int) -> list[_SectorSlice]:
    """The slice of each shard that has the sector; a peer's last year is at least `oldest`."""
    slices = []
    for shard in shards:
        sector = shard.layout.sectors.get(division)
        if sector is not None:
            first, end = shard.statement_rows.searchsorted([sector.start, sector.stop]).tolist()
            bounds = slice(first, end)
            slices.append(_SectorSlice(shard, bounds, shard.ratio_years[bounds] >= max(1, oldest)))
    return slices


def _rank(slices: Sequence[_SectorSlice], code: str, value: float | None) -> int | None:
    """The rank of `value` among the peers, 1 for the best; None without a value, or if no direction is better."""
    sens = ratios()[code].sens
    if value is None or sens is None:
        return None
    return sum(sector_slice.count_better(code, value, sens) for sector_slice in slices) + 1


class TurnoverRank(NamedTuple):
    """The rank of a company among `n` companies with a turnover; equal turnovers share the best rank."""

    rang: int | None
    n: int


def turnover_rank(shards: Mapping[str, Shard], euros: float | None) -> TurnoverRank:
    """The rank of a turnover in euros among all companies of these shards."""
    # The orders are descending, so their keys are negated turnovers; `places` has the place where each key begins.
    orders = [shard.steps("ca_desc") for shard in shards.values()]
    n = sum(order.non_null_count for order in orders)
    if euros is None:
        return TurnoverRank(None, n)
    greater = sum(int(order.places[order.keys.searchsorted(-euros)]) for order in orders)
    return TurnoverRank(greater + 1, n)
