"""GET /api/v1/analyses/marche: the companies of a search, analysed as a market (extension X11).

Size, concentration, bands, births, growth, quartiles of the ratios by country, the ten first companies: all of it
exact over the whole scope, whatever the plan shows of a search. A figure without its parts is null and says why. A
search that finds nothing has no figures, and its analysis costs a call alone.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import orjson

from quota.plans import Plan
from serve.access import modules
from serve.access.call import CallResult, PreparedCall, Request, private_headers
from serve.access.etag import etag
from serve.api.analyses.entreprise import QUANTILES, ratio_texts
from serve.contract import parameters, reasons
from serve.contract.objects.common import activities_of
from serve.contract.objects.declaration import ABSENT
from serve.contract.objects.markets import (
    AnalyseMarche,
    Annee,
    Cessations,
    ChiffresDuMarche,
    Creations,
    Croissance,
    PartsDuMarche,
    PremiereSociete,
    QuartilesDuPays,
    RatioDuMarche,
    Taille,
    Tranche,
    Tranches,
)
from serve.generation import company_ids, ratio_peers
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from serve.request.reader import ParsedParameters
from shards.codec import bands, record
from shards.codec.folding import fold_id
from shards.query import ORDERS, Query
from shards.ratios.distribution import Concentration, Figures, Quantiles, quantiles
from shards.ratios.ratio_table import ratios, stored_codes
from shards.search.counts import market
from shards.search.counts.distribution import Distribution, parts
from shards.search.counts.market import MarketPart, MarketTurnovers
from shards.search.search import ShardSet, records, search

MARCHE: Final = "marche"
_FIRST: Final = 10
_SHOWN: Final = ("iso2", "id", "nom", "ville", "ca_eur", "ca_year")
# Markets by country and sector that are remembered: some 40 kB each.
_REMEMBERED: Final = 64
# A market that nobody asked for before.
_MICROSECONDS: Final = 50_000.0

_NO_COMPANY: Final = "aucune_societe"
_NO_TURNOVER: Final = "aucun_ca"
_NO_RATIO: Final = "aucun_ratio"
# No register file that is read has a day on which a company ceased.
_NO_DATE: Final = "date_absente"


def marche(
    request: Request, generation: OpenGeneration, plans: Mapping[str, Plan]
) -> PreparedCall[AnalyseMarche]:
    """The analysis of a market.

    Raises:
        ApiError: 400; 403 `module_non_inclus`; 409 for a `version` that is not open any more.
    """
    generation = generation.named_by(request.pairs)
    asked = reader.read(request.pairs, parameters.MARCHE, generation.names)
    generation = generation.at_version(asked.version)
    caller = request.caller
    terms = modules.terms(caller, MARCHE, plans)
    subject = _subject(asked, generation.shards)
    tag = etag(
        generation.id,
        caller.plan.slug,
        caller.souscrit,
        request.offer,
        subject,
        asked,
        request.lang,
    )
    headers = private_headers(tag, generation.id, lang=request.lang)

    async def run() -> "CallResult[AnalyseMarche]":
        base = generation.shards
        query, unknown = await company_ids.resolved_query(base, asked)
        figures = generation.markets.get(query) or await _figures(generation, query)
        content = AnalyseMarche(
            plan=caller.plan.slug,
            module=MARCHE,
            **vars(reasons.with_reasons(figures, request.lang)),
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            ids_inconnus=ABSENT if unknown is None else unknown,
            activites_comprises=activities_of(query.activites) or ABSENT,
            offre_suivante=orjson.Fragment(request.offer),
        )
        return CallResult(200, content, headers, free=not figures.total)

    return PreparedCall(run, tag, headers, subject, terms.cost, None, terms.trials)


def _subject(asked: ParsedParameters, base: ShardSet) -> str:
    """The market that filters name, whatever their order and spelling: it is paid for once a month."""
    values = {
        one.name: tuple(sorted(set(value))) if isinstance(value, tuple) else value
        for one in fields(Query)
        if (value := getattr(asked.query, one.name)) is not None and one.name != "tri"
    }
    if set(asked.query.pays) >= base.keys():
        values["pays"] = ()
    companies = sorted({(one.iso2, fold_id(one.identifier)) for one in asked.companies or ()})
    if asked.companies is not None:
        values["ids"] = tuple(companies)
    text = repr(sorted(values.items())).encode()
    return f"{MARCHE}/{blake2b(text, digest_size=12).hexdigest()}"


async def whole_base(generation: OpenGeneration) -> None:
    """Make the analysis of all companies, so that nobody who asks for it has to wait.

    Raises:
        MissingCountryError: a country is left out.
        CorruptError: a shard refers to a row, a word or a place that it does not have.
    """
    await _figures(generation, Query())


async def _figures(generation: OpenGeneration, query: Query) -> ChiffresDuMarche:
    """The analysis without what depends on the caller; those of plain markets are remembered.

    Its parts are made beside each other, in the threads of the generation.
    """
    base = generation.shards
    newest = await generation.in_thread(
        _MICROSECONDS,
        lambda: generation.get_or_make("newest year", lambda: ratio_peers.newest_year(base)),
    )
    oldest = newest - ratio_peers.YEARS + 1
    halves = await asyncio.gather(
        *(
            generation.in_thread(_MICROSECONDS, partial(market.part, base, part_query, oldest))
            for part_query in parts(base, query)
        )
    )
    turnovers = MarketTurnovers(base, halves)
    first, growth, _, _ = await asyncio.gather(
        generation.in_thread(_MICROSECONDS, lambda: _first_companies(base, query)),
        generation.in_thread(_MICROSECONDS, lambda: _growth(halves)),
        generation.in_thread(_MICROSECONDS, lambda: turnovers.write(0)),
        generation.in_thread(_MICROSECONDS, lambda: turnovers.write(1)),
    )
    made = await generation.in_thread(
        _MICROSECONDS,
        lambda: _document(halves, turnovers, growth, first, [oldest, newest] if newest else None),
    )
    if _is_plain(query):
        remembered = generation.markets
        while len(remembered) >= _REMEMBERED:
            # The whole base is asked for most, and costs most.
            remembered.pop(next(kept for kept in list(remembered) if kept != Query()), None)
        remembered[query] = made
    return made


def _is_plain(query: Query) -> bool:
    """Whether a search has no filters but countries, sectors and sub-sectors."""
    return replace(query, pays=(), secteurs=(), sous_secteurs=None, tri=ORDERS[0]) == Query()


def _document(
    parts: Sequence[MarketPart],
    market_turnovers: MarketTurnovers,
    growth: Croissance,
    first: Sequence[PremiereSociete],
    years: list[int] | None,
) -> ChiffresDuMarche:
    turnovers = market_turnovers.figures()
    total = sum(part.total for part in parts)
    lacking = None if total else _NO_COMPANY
    headcounts, births = (
        market.count_by(parts, name) for name in ("tranche_effectif", "annee_creation")
    )
    return ChiffresDuMarche(
        total=total,
        exercices=years,
        taille=_size(turnovers, lacking or _NO_TURNOVER),
        concentration=_concentration(
            market_turnovers.concentration(turnovers), lacking or _NO_TURNOVER
        ),
        tranches=Tranches(
            ca=_turnover_bands(turnovers, total),
            effectif=_entries(headcounts, bands.headcount_names()),
        ),
        creations=_births(births),
        cessations=Cessations(
            annees=None, societes=sum(part.ceased for part in parts), motif_code=_NO_DATE
        ),
        croissance=growth,
        ratios=_ratios(parts, lacking or _NO_RATIO),
        premieres=_with_shares(first, turnovers),
    )


def _size(turnovers: Figures, lacking: str) -> Taille:
    known = len(turnovers)
    return Taille(
        avec_ca=known,
        ca_total=float(turnovers.sum()) if known else None,
        **_quantiles(_of_sorted(turnovers)),
        motif_code=None if known else lacking,
    )


def _of_sorted(turnovers: Figures) -> Quantiles:
    return quantiles(turnovers, ascending=True)


def _quantiles(figure_quantiles: Quantiles) -> dict[str, Any]:
    return dict(zip(QUANTILES, figure_quantiles.values, strict=True))


def _concentration(concentration: Concentration | None, lacking: str) -> PartsDuMarche:
    if concentration is None:
        return PartsDuMarche(hhi=None, cr4=None, cr10=None, gini=None, motif_code=lacking)
    return PartsDuMarche(
        hhi=concentration.hhi,
        cr4=concentration.cr4,
        cr10=concentration.cr10,
        gini=concentration.gini,
        motif_code=None,
    )


def _turnover_bands(turnovers: Figures, total: int) -> list[Tranche]:
    """The companies of each band, ascending, and those without a turnover."""
    stops = [*turnovers.searchsorted(bands.TURNOVERS).tolist(), len(turnovers)]
    counts = np.diff([0, *stops]).tolist()
    named = zip(bands.turnover_names(), counts, strict=True)
    return _with_null([Tranche(valeur=name, n=n) for name, n in named], total - len(turnovers))


def _entries(distribution: Distribution, names: Sequence[str]) -> list[Tranche]:
    """The companies of each of these values, and those without one."""
    counts = dict(distribution.top_values())
    return _with_null(
        [Tranche(valeur=name, n=counts.get(name, 0)) for name in names], distribution.null
    )


def _with_null(entries: list[Tranche], null: int) -> list[Tranche]:
    return [*entries, Tranche(valeur=None, n=null)]


def _births(distribution: Distribution) -> Creations:
    years = sorted((int(year), n) for year, n in distribution.top_values())
    return Creations(
        annees=[Annee(annee=year, n=n) for year, n in years], sans_date=distribution.null
    )


def _growth(parts: Sequence[MarketPart]) -> Croissance:
    figures = np.concatenate([part.growth for part in parts])
    lacking = _NO_RATIO if any(part.total for part in parts) else _NO_COMPANY
    found = quantiles(figures)
    growing = int(np.count_nonzero(figures > 0))
    return Croissance(
        n=found.n,
        en_hausse=growing,
        **_quantiles(found),
        motif_code=None if found.n else lacking,
    )


def _ratios(parts: Sequence[MarketPart], lacking: str) -> list[RatioDuMarche]:
    by_code = {
        code: sorted(pair for part in parts for pair in part.quantiles[code].items())
        for code in stored_codes()
    }
    return [
        RatioDuMarche(
            **ratio_texts(ratios()[code]),
            pays=[
                QuartilesDuPays(pays=iso2, n=one.n, **dict(list(_quantiles(one).items())[1:-1]))
                for iso2, one in by_country
            ],
            motif_code=None if by_country else lacking,
        )
        for code, by_country in by_code.items()
    ]


def _first_companies(base: ShardSet, query: Query) -> list[PremiereSociete]:
    """The companies with the greatest turnovers."""
    largest = replace(query, tri=ORDERS[0], avec_ca=True)
    page = search(base, largest, offset=0, limit=_FIRST)
    rows = record.companies(records(base, page.places, coordonnees=False))
    return [PremiereSociete(**{name: row[name] for name in _SHOWN}, part=None) for row in rows]


def _with_shares(first: Sequence[PremiereSociete], turnovers: Figures) -> list[PremiereSociete]:
    """These companies with their shares of all positive turnovers."""
    whole = float(turnovers[turnovers.searchsorted(0, side="right") :].sum())
    return [replace(one, part=one.ca_eur / whole if one.ca_eur > 0 else None) for one in first]
