"""GET /api/v1/societes/{iso}/{id}/analyses/entreprise: the accounts of a company, analysed (extension X11).

Ratios of up to five years with their formulas, beside those of the sector; ranks by turnover; warnings; the
parts of the score. A figure is null with its reason where a part of it was not filed. A company without
statements has no ratios, and its analysis costs a call alone.

The peers of a company in its sector are those whose own last year is one of the last three of the data. The last year
of the data is the latest one that at least one company in a hundred ended with, so that a date in the future that a
register let pass moves nothing. Of fewer than `FEWEST` known values in the country, the sector of all countries is
taken. Among fewer than `LEAST_QUANTILES` values quantiles say nothing of a sector, and among fewer than `LEAST_RANKED`
a rank says nothing.
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

LEAST_QUANTILES: Final = 10
LEAST_RANKED: Final = 5
QUANTILES: Final = ("p10", "p25", "mediane", "p75", "p90")
# A sector of a large country that nobody asked for before.
_MICROSECONDS: Final = 20_000.0

Values = Mapping[int, Mapping[str, RatioValue]]
Memo = dict[tuple[str, str, str], Quantiles]


class _Company(NamedTuple):
    """A company: its shard and row, its record, and the values of its statements by year."""

    shard: Shard
    row: int
    record: Mapping[str, Any]
    accounts: accounts.Accounts
    values: Values


def entreprise(request: Request, generation: OpenGeneration) -> PreparedCall[AnalyseEntreprise]:
    """The analysis of a company.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more; 403 `module_non_inclus`.
    """
    generation = generation.at_version_of(request.pairs)
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
        terms = AnalysisTerms(0)

    async def run() -> "Result[AnalyseEntreprise]":
        made = await generation.in_thread(
            _MICROSECONDS,
            lambda: _analysis(_company(shard, row), generation, caller.plan.slug, request.offer),
        )
        return Result(200, reasons.with_reasons(made, request.lang), headers)

    subject = f"{rights.ENTREPRISE}/{company}"
    return PreparedCall(run, tag, headers, subject, terms.cost, None, terms.trials)


def _company(shard: Shard, row: int) -> _Company:
    by_year = accounts.by_year(codec.lines(shard.comptes(row)))
    values = accounts.values(by_year, shard.withheld_codes(row))
    return _Company(shard, row, shard.company(row), by_year, values)


def _analysis(
    company: _Company, generation: OpenGeneration, plan: str, offer: bytes
) -> AnalyseEntreprise:
    record = company.record
    newest = generation.newest_year
    named = {name: record[name] for name in ("iso2", "id", "nom", "secteur")}
    return AnalyseEntreprise(
        societe=SocieteAnalysee(**named),
        plan=plan,
        module=rights.ENTREPRISE,
        exercices=[
            ExerciceDepose(
                exercice=year,
                devise=found.devise,
                duree_mois=found.months,
                motif_code=_currency_reason(found),
            )
            for year, found in company.accounts.items()
        ],
        ratios=_ratios(company, generation, newest),
        rangs=_ranks(company, generation),
        alertes=_warnings(company.values, newest),
        score=_score(record),
        offre_suivante=offer,
    )


def _currency_reason(annual_accounts: AnnualAccounts) -> str | None:
    """Why a year has no currency."""
    if annual_accounts.mixed:
        return "devises_multiples"
    return "devise_absente" if annual_accounts.devise is None else None


def _ratios(company: _Company, generation: OpenGeneration, newest: int) -> list[RatioAnalyse]:
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
    """What the answers say of a ratio, by field."""
    return {
        "code": ratio.code,
        "libelle": ratio.libelle["fr"],
        "libelle_en": ratio.libelle["en"],
        "formule_code": ratio.formule,
        "unite": ratio.unite,
        "source": ratio.source,
    }


def _value(year: int, ratio_value: RatioValue) -> ValeurDeRatio:
    """A value with its reason: what lacks stands behind a colon."""
    lacking = f": {', '.join(ratio_value.lacking)}" if ratio_value.lacking else ""
    code = f"{ratio_value.reason}{lacking}" if ratio_value.reason else None
    return ValeurDeRatio(exercice=year, valeur=ratio_value.value, motif_code=code)


def _sector_figures(
    company: _Company, code: str, peers: "SectorPeers | None", newest: int
) -> ReperesDuSecteur | None:
    """The sector beside the last year of the company; None for a company without a sector."""
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
        motif_code=_peers_reason(code, n, value, is_peer=year >= oldest),
    )


def _peers_reason(code: str, n: int, value: float | None, *, is_peer: bool) -> str | None:
    """Why the sector has no quantiles, or else no rank; None where it has both."""
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
    euros, shards = company.record["ca_eur"], generation.shards
    country = {company.shard.iso2: company.shard}
    code = "ca_absent" if euros is None else None
    return Rangs(
        pays=RangParCa(**turnover_rank(country, euros)._asdict(), motif_code=code),
        europe=RangParCa(**turnover_rank(shards, euros)._asdict(), motif_code=code),
    )


def _warnings(values: Values, newest: int) -> list[Alerte]:
    """What the last accounts warn of, each with the year that it is about."""
    if not values:
        return []
    year, last = next(iter(values.items()))
    before = values.get(year - 1)
    losses = [_is_below_zero(one["resultat"]) for one in (last, before) if one]
    warnings = {
        "capitaux_propres_negatifs": _is_below_zero(last["capitaux_propres"]),
        "pertes_consecutives": losses == [True, True],
        "ca_en_baisse": _is_below_zero(last["croissance_ca"]),
        "comptes_anciens": year <= newest - market.YEARS,
    }
    return [Alerte(code=code, exercice=year) for code, holds in warnings.items() if holds]


def _is_below_zero(ratio_value: RatioValue) -> bool:
    return ratio_value.value is not None and ratio_value.value < 0


def _score(record: Mapping[str, Any]) -> Score:
    """The score, and what each known field adds to it."""
    points = seed_tables.score_points()
    parts = [
        PartDuScore(champ=name, points=most if record[name] is not None else 0, maximum=most)
        for name, most in points.items()
    ]
    return Score(valeur=record["score"], maximum=sum(points.values()), parts=parts)


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
        oldest = newest - market.YEARS + 1
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
