"""GET /api/v1/analyses/marche: the companies of a search, analysed as a market (extension X11).

Size, concentration, bands, births, growth, quartiles of the ratios by country, the ten first companies: all of it
exact over the whole scope, whatever the plan shows of a search. A figure without its parts is null and says why. A
search that finds nothing has no figures, and its analysis costs a call alone.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from hashlib import blake2b
from typing import Any, Final

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.contract import reasons
from serve.contract.answers import activities_of
from serve.contract.declaration import ABSENT
from serve.contract.parameters import FILTERS, SCOPE, VERSION
from serve.features.analyses.answers import (
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
from serve.features.analyses.entreprise import QUANTILES, ratio_texts
from serve.generation import company_ids
from serve.generation.open_generation import OpenGeneration
from serve.request.reader import ParsedParameters
from shards.analyses import market
from shards.analyses.market import MarketFigures
from shards.codec import bands, record
from shards.codec.folding import fold_id
from shards.query import ORDERS, Query
from shards.ratios.distribution import Concentration, Quantiles
from shards.ratios.ratio_table import ratios
from shards.search.search import ShardSet

PARAMETERS: Final = (*SCOPE, *FILTERS, VERSION)
_SHOWN: Final = ("iso2", "id", "nom", "ville", "ca_eur", "ca_year")
# Markets by country and sector that are remembered: some 40 kB each.
_REMEMBERED: Final = 64
# The estimated cost of a market that is not remembered.
_MICROSECONDS: Final = 50_000.0

_NO_COMPANY: Final = "aucune_societe"
_NO_TURNOVER: Final = "aucun_ca"
_NONE_POSITIVE: Final = "aucun_ca_positif"
_NO_SHARE: Final = "ca_non_positif"
_NO_RATIO: Final = "aucun_ratio"
# No register file that is read has a day on which a company ceased.
_NO_DATE: Final = "date_absente"


def marche(request: Request, generation: OpenGeneration) -> PreparedCall[AnalyseMarche]:
    """The analysis of a market.

    Raises:
        ApiError: 400; 403 `module_non_inclus`; 409 for a `version` that is not open any more.
    """
    generation, asked = generation.read(request.pairs, PARAMETERS)
    caller = request.caller
    terms = rights.terms(caller, rights.MARCHE, request.context.plans)
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

    async def run() -> "Result[AnalyseMarche]":
        base = generation.shards
        query, unknown = await company_ids.resolved_query(base, asked)
        figures: ChiffresDuMarche | None = generation.markets.get(query)
        if figures is None:
            figures = await generation.in_thread(_MICROSECONDS, lambda: _figures(generation, query))
        content = AnalyseMarche(
            plan=caller.plan.slug,
            module=rights.MARCHE,
            **vars(reasons.with_reasons(figures, request.lang)),
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            ids_inconnus=ABSENT if unknown is None else unknown,
            activites_comprises=activities_of(query.activites) or ABSENT,
            offre_suivante=request.offer,
        )
        return Result(200, content, headers, free=not figures.total)

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
    return f"{rights.MARCHE}/{blake2b(text, digest_size=12).hexdigest()}"


def _figures(generation: OpenGeneration, query: Query) -> ChiffresDuMarche:
    """The analysis without what depends on the caller; those of plain markets are remembered.

    Those of all companies come from the files of the generation.
    """
    base = generation.shards
    base.require(query.pays)
    figures = generation.market if _is_whole(query, base) else None
    if figures is None:
        newest = generation.newest_year
        figures = market.figures_of(base, query, newest, generation.in_free_threads)
    document = _document(figures, base)
    if _is_plain(query):
        remembered = generation.markets
        while len(remembered) >= _REMEMBERED:
            # The market of the whole base is requested most, and costs most.
            remembered.pop(next(kept for kept in list(remembered) if kept != Query()), None)
        remembered[query] = document
    return document


def _is_whole(query: Query, base: ShardSet) -> bool:
    """Whether a search finds all companies: no filter, or all countries by name."""
    return replace(query, pays=()) == Query() and not base.keys() - set(query.pays or base)


def _is_plain(query: Query) -> bool:
    """Whether a search has no filters but countries, sectors and sub-sectors."""
    return replace(query, pays=(), secteurs=(), sous_secteurs=None, tri=ORDERS[0]) == Query()


def _document(figures: MarketFigures, base: ShardSet) -> ChiffresDuMarche:
    total, newest = figures.total, figures.newest
    lacking = None if total else _NO_COMPANY
    return ChiffresDuMarche(
        total=total,
        exercices=[newest - market.YEARS + 1, newest] if newest else None,
        taille=_size(figures, lacking or _NO_TURNOVER),
        concentration=_concentration(
            figures.concentration,
            lacking or (_NONE_POSITIVE if figures.turnovers.n else _NO_TURNOVER),
        ),
        tranches=Tranches(
            ca=_with_null(
                [
                    Tranche(valeur=name, n=n)
                    for name, n in zip(bands.turnover_names(), figures.bands, strict=True)
                ],
                total - figures.turnovers.n,
            ),
            effectif=_with_null(
                [
                    Tranche(valeur=name, n=figures.headcounts.counts.get(name, 0))
                    for name in bands.headcount_names()
                ],
                figures.headcounts.null,
            ),
        ),
        creations=Creations(
            annees=[
                Annee(annee=year, n=n)
                for year, n in sorted((int(year), n) for year, n in figures.births.counts.items())
            ],
            sans_date=figures.births.null,
        ),
        cessations=Cessations(annees=None, societes=figures.ceased, motif_code=_NO_DATE),
        croissance=Croissance(
            n=figures.growth.n,
            en_hausse=figures.growing,
            **_quantiles(figures.growth),
            motif_code=None if figures.growth.n else lacking or _NO_RATIO,
        ),
        ratios=_ratios(figures.ratios, lacking or _NO_RATIO),
        premieres=_first_companies(figures, base),
    )


def _size(figures: MarketFigures, lacking: str) -> Taille:
    known = figures.turnovers.n
    return Taille(
        avec_ca=known,
        ca_total=figures.turnover if known else None,
        **_quantiles(figures.turnovers),
        motif_code=None if known else lacking,
    )


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


def _with_null(entries: list[Tranche], null: int) -> list[Tranche]:
    """The companies of each of these values, and those without one."""
    return [*entries, Tranche(valeur=None, n=null)]


def _ratios(by_code: Mapping[str, Mapping[str, Quantiles]], lacking: str) -> list[RatioDuMarche]:
    return [
        RatioDuMarche(
            **ratio_texts(ratios()[code]),
            pays=[
                QuartilesDuPays(pays=iso2, n=one.n, **dict(list(_quantiles(one).items())[1:-1]))
                for iso2, one in by_country.items()
            ],
            motif_code=None if by_country else lacking,
        )
        for code, by_country in by_code.items()
    ]


def _first_companies(figures: MarketFigures, base: ShardSet) -> list[PremiereSociete]:
    """The companies with the greatest turnovers, with their shares of all positive ones."""
    companies = [
        record.company(base[iso2].record(row, coordonnees=False)) for iso2, row in figures.first
    ]
    return [
        PremiereSociete(
            **{name: company[name] for name in _SHOWN},
            part=company["ca_eur"] / figures.sales if company["ca_eur"] > 0 else None,
            motif_code=None if company["ca_eur"] > 0 else _NO_SHARE,
        )
        for company in companies
    ]
