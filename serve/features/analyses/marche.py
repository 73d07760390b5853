"""GET /api/v1/analyses/marche: the companies of a search, analysed as a market (extension X11).

The answer has size, concentration, bands, births, growth, quartiles of the ratios by country, and the ten largest
companies. Figures are exact over the whole scope, whatever the plan shows in a search. A figure without input is null
with a reason. A search without results has no figures, and its analysis costs only a call.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
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
from serve.generation.company_ids import ResolvedCompanies
from serve.generation.open_generation import OpenGeneration
from serve.request.reader import ParsedParameters
from shards.analyses import market
from shards.analyses.market import MarketFigures
from shards.codec import bands, record
from shards.codec.folding import fold
from shards.query import ORDERS, STATES, Query, Range
from shards.ratios.distribution import Concentration, Quantiles
from shards.ratios.ratio_table import ratios
from shards.search.search import ShardSet

PARAMETERS: Final = (*SCOPE, *FILTERS, VERSION)
# The fields of each of the largest companies.
_COMPANY_FIELDS: Final = ("iso2", "id", "nom", "ville", "ca_eur", "ca_year")
# The most markets in the memo; each takes some 40 kB.
_MEMO_SIZE: Final = 64
# The estimated cost of a market that is not in the memo.
_MICROSECONDS: Final = 50_000.0

# The codes of the reasons for figures that are null.
_NO_COMPANY: Final = "aucune_societe"
_NO_TURNOVER: Final = "aucun_ca"
_NONE_POSITIVE: Final = "aucun_ca_positif"
_NO_SHARE: Final = "ca_non_positif"
_NO_RATIO: Final = "aucun_ratio"
# No imported source has the day on which a company ceased, so the number of cessations by year is always null.
_NO_DATE: Final = "date_absente"


def marche(request: Request, generation: OpenGeneration) -> PreparedCall[AnalyseMarche]:
    """Prepare the paid analysis of a market, which is the set of companies that a search finds.

    It is charged once a month for a market (`_subject`), and is free for a market without companies.

    Raises:
        ApiError: 400; 403 `module_non_inclus`; 409 for a `version` that is no longer open.
    """
    generation, parameters = generation.read(request.pairs, PARAMETERS)
    caller = request.caller
    terms = rights.terms(caller, rights.MARCHE, request.context.plans)
    subject = _subject(parameters, request.named, generation.shards)
    tag = etag(
        generation.id,
        caller.plan.slug,
        caller.souscrit,
        request.offer,
        subject,
        parameters,
        request.lang,
    )
    headers = private_headers(tag, generation.id, lang=request.lang)

    async def run() -> "Result[AnalyseMarche]":
        """Look up the companies of `ids`, and compute the figures unless they are cached."""
        base = generation.shards
        query, unknown = await company_ids.resolve_query(base, parameters, request.named)
        figures: ChiffresDuMarche | None = generation.markets.get(query)
        if figures is None:
            figures = await generation.run(_MICROSECONDS, lambda: _figures(generation, query))
        content = AnalyseMarche(
            plan=caller.plan.slug,
            module=rights.MARCHE,
            **vars(reasons.write_reasons(figures, request.lang)),
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            ids_inconnus=ABSENT if unknown is None else unknown,
            activites_comprises=activities_of(query.activites) or ABSENT,
            offre_suivante=request.offer,
        )
        return Result(200, content, headers, free=not figures.total)

    prepared = PreparedCall(run, tag, headers, subject, terms.cost, None, terms.trials)
    if parameters.companies and request.named is None:
        # The companies belong to the subject, so the call is prepared again after their look-up.
        find_named = partial(company_ids.find, generation.shards, parameters.companies)
        return prepared._replace(find_named=find_named)
    return prepared


def _subject(parameters: ParsedParameters, named: ResolvedCompanies | None, base: ShardSet) -> str:
    """The key by which a market is charged once a month.

    Neither the order and the spelling of filters nor values that change nothing are in the key.
    """
    query = replace(
        parameters.query,
        # A search for all states finds the same market as a search without states.
        etats=() if set(parameters.query.etats) >= set(STATES) else parameters.query.etats,
        avec_ca=parameters.query.avec_ca or parameters.query.range_of("ca_eur") != Range("ca_eur"),
        codes_postaux=_shortest_prefixes(parameters.query.codes_postaux),
        nace=_shortest_prefixes(parameters.query.nace),
        q=None if parameters.query.q is None else fold(parameters.query.q),
        villes=tuple(fold(town) for town in parameters.query.villes),
        ids=None if parameters.companies is None else tuple(named.existing if named else ()),
        # A search that names all countries finds the same market as a search without countries.
        pays=() if set(parameters.query.pays) >= base.keys() else parameters.query.pays,
    )
    values = {
        field.name: tuple(sorted(set(value))) if isinstance(value, tuple) else value
        for field in fields(Query)
        if (value := getattr(query, field.name)) is not None and field.name != "tri"
    }
    text = repr(sorted(values.items())).encode()
    return f"{rights.MARCHE}/{blake2b(text, digest_size=12).hexdigest()}"


def _shortest_prefixes(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The prefixes without those that begin with another one of them, sorted.

    >>> _shortest_prefixes(("62", "56.10", "56"))
    ('56', '62')
    """
    shortest: list[str] = []
    for prefix in sorted(
        prefixes
    ):  # a prefix is sorted directly before the texts that begin with it
        if not shortest or not prefix.startswith(shortest[-1]):
            shortest.append(prefix)
    return tuple(shortest)


def _figures(generation: OpenGeneration, query: Query) -> ChiffresDuMarche:
    """The figures of a market; they do not depend on the caller.

    Figures of markets with only plain filters (`_is_plain`) go into the memo. Those of all companies are stored in the
    generation.
    """
    base = generation.shards
    base.require(query.pays)
    figures = generation.market if _is_whole(query, base) else None
    if figures is None:
        newest = generation.newest_year
        figures = market.figures_of(base, query, newest, generation.run_in_free_threads)
    document = _market_document(figures, base)
    if _is_plain(query):
        memo = generation.markets
        while len(memo) >= _MEMO_SIZE:
            # The market of the whole base is requested most and costs most, so it is kept.
            memo.pop(next(plain for plain in list(memo) if plain != Query()), None)
        memo[query] = document
    return document


def _is_whole(query: Query, base: ShardSet) -> bool:
    """Whether a search finds all companies: no filter, or all countries by name."""
    return replace(query, pays=()) == Query() and not base.keys() - set(query.pays or base)


def _is_plain(query: Query) -> bool:
    """Whether a search has no filters except countries, sectors and sub-sectors."""
    return replace(query, pays=(), secteurs=(), sous_secteurs=None, tri=ORDERS[0]) == Query()


def _market_document(figures: MarketFigures, base: ShardSet) -> ChiffresDuMarche:
    """The figures as objects of the answer; a null figure has the code of its reason."""
    total, newest = figures.total, figures.newest
    empty_reason = None if total else _NO_COMPANY
    return ChiffresDuMarche(
        total=total,
        exercices=[newest - market.YEARS + 1, newest] if newest else None,
        taille=_size(figures, empty_reason or _NO_TURNOVER),
        concentration=_concentration(
            figures.concentration,
            empty_reason or (_NONE_POSITIVE if figures.turnovers.n else _NO_TURNOVER),
        ),
        tranches=Tranches(
            ca=_with_unknown(
                [
                    Tranche(valeur=name, n=n)
                    for name, n in zip(bands.turnover_names(), figures.bands, strict=True)
                ],
                total - figures.turnovers.n,
            ),
            effectif=_with_unknown(
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
            **_quantile_fields(figures.growth),
            motif_code=None if figures.growth.n else empty_reason or _NO_RATIO,
        ),
        ratios=_ratios(figures.ratios, empty_reason or _NO_RATIO),
        premieres=_first_companies(figures, base),
    )


def _size(figures: MarketFigures, empty_reason: str) -> Taille:
    """The turnovers of the market; `empty_reason` is the code of the reason if there are none."""
    count = figures.turnovers.n
    return Taille(
        avec_ca=count,
        ca_total=figures.turnover if count else None,
        **_quantile_fields(figures.turnovers),
        motif_code=None if count else empty_reason,
    )


def _quantile_fields(figure_quantiles: Quantiles) -> dict[str, Any]:
    """The fields `p10` to `p90` of an answer."""
    return dict(zip(QUANTILES, figure_quantiles.values, strict=True))


def _concentration(concentration: Concentration | None, empty_reason: str) -> PartsDuMarche:
    """The measures of concentration, all null with the code `empty_reason` if no turnover is positive."""
    if concentration is None:
        return PartsDuMarche(hhi=None, cr4=None, cr10=None, gini=None, motif_code=empty_reason)
    return PartsDuMarche(
        hhi=concentration.hhi,
        cr4=concentration.cr4,
        cr10=concentration.cr10,
        gini=concentration.gini,
        motif_code=None,
    )


def _with_unknown(entries: list[Tranche], null: int) -> list[Tranche]:
    """The bands of a market, and an entry with the number of companies without a value."""
    return [*entries, Tranche(valeur=None, n=null)]


def _ratios(
    by_code: Mapping[str, Mapping[str, Quantiles]], empty_reason: str
) -> list[RatioDuMarche]:
    """The quartiles of each ratio by country: its quantiles without the first and the last, `p10` and `p90`.

    A ratio without countries has `empty_reason`, the code of the reason.
    """
    return [
        RatioDuMarche(
            **ratio_texts(ratios()[code]),
            pays=[
                QuartilesDuPays(
                    pays=iso2,
                    n=quartiles.n,
                    **dict(list(_quantile_fields(quartiles).items())[1:-1]),
                )
                for iso2, quartiles in by_country.items()
            ],
            motif_code=None if by_country else empty_reason,
        )
        for code, by_country in by_code.items()
    ]


def _first_companies(figures: MarketFigures, base: ShardSet) -> list[PremiereSociete]:
    """The companies with the greatest turnovers, with their shares of all positive turnovers."""
    companies = [
        record.company(base[iso2].record(row, coordonnees=False)) for iso2, row in figures.first
    ]
    return [
        PremiereSociete(
            **{name: company[name] for name in _COMPANY_FIELDS},
            part=company["ca_eur"] / figures.sales if company["ca_eur"] > 0 else None,
            motif_code=None if company["ca_eur"] > 0 else _NO_SHARE,
        )
        for company in companies
    ]
