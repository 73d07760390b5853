"""/societes/{iso}/{id}: one company, as far as the visitor may see it (§4.5).

A person who is logged in first sees the public preview, for nothing, with the price of the rest: a
record with statements costs credits, and every full one a call, so only a form requests it, never a link.
If the record was paid for this month, it comes at once and costs nothing more (decision 045).

The key figures above the statements come from the lines of `seeds/ratios.csv`. A change is that of a year to the year
before, in one currency; without it there is none.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, log, nextafter
from typing import Any, Final, NamedTuple, TypeVar

from serve.access import admission, billing, rights
from serve.access.call import Content, PreparedCall, Request, Response, Result
from serve.access.company_path import locate, path_of
from serve.access.rights import VISITOR, AnalysisTerms, Caller
from serve.contract import seed_tables, statement_table
from serve.contract.company_answers import Fiche
from serve.contract.errors import ApiError
from serve.contract.seed_tables import RECORD_CREDITS
from serve.contract.statement_table import (
    Lines,
    StatementRow,
    by_scope,
    currencies_of,
    rows_by_section,
)
from serve.features.record.groupe import groupe
from serve.features.record.operations import societe
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request import reader
from serve.surfaces.site import charts, formatting
from serve.surfaces.site.charts import HistogramColumn
from serve.surfaces.site.page_request import RECORD, Downloads, PageRequest, WebRoute, record_path
from serve.surfaces.site.render import page
from shards.codec import bands
from shards.codec import record as codec
from shards.generations.register_sources import RegisterImport
from shards.query import Query, Range
from shards.ratios import accounts
from shards.ratios.accounts import AnnualAccounts
from shards.reader.shard import Shard
from shards.search.distribution import distributions
from shards.search.search import UNLIMITED, ShardSet, search

_NEAR: Final = 5  # comparable companies
_NEAR_IN_SIZE: Final = log(4)  # the gap of a company four times larger or smaller
_CONTACTS: Final = {
    "site_web": ("site web", "website"),
    "email": ("e-mail", "e-mail"),
    "telephone": ("téléphone", "telephone"),
}
_SCOPES: Final = {
    "societe": ("Comptes sociaux", "Company accounts"),
    "groupe": ("Comptes consolidés", "Consolidated accounts"),
}
# The figures in the order in which they are shown, with their names.
FIGURE_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "chiffre_affaires": ("Chiffre d’affaires", "Turnover"),
    "resultat": ("Résultat", "Result"),
    "capitaux_propres": ("Capitaux propres", "Equity"),
    "total_actif": ("Total de l’actif", "Total assets"),
}
# The end of the label of a line of group accounts, as the build writes it; their heading says the same.
_OF_GROUP: Final = " (comptes consolidés)"
_BALANCE: Final = ("bilan_actif", "bilan_passif")
LEAST_PEERS: Final = 5  # among fewer a place says nothing

C = TypeVar("C", bound=Content)
Figures = Mapping[int, float]


class PeerRank(NamedTuple):
    """The place of a turnover among `number` of one sector; `pays` is None for all countries."""

    pays: str | None
    rank: int
    number: int


class PeerRanks(NamedTuple):
    """The ranks in the country and everywhere, and the companies of the scope of the first by band of turnover."""

    ranks: Sequence[PeerRank]
    columns: Sequence[HistogramColumn]


async def record(request: PageRequest) -> Response:
    """The company; in full if it was paid for this month.

    Raises:
        ApiError: 400, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    return await _record(request, paid=False)


async def full_record(request: PageRequest) -> Response:
    """The company in full, charged: what the form of the preview requests."""
    return await _record(request, paid=True)


async def _record(request: PageRequest, *, paid: bool) -> Response:
    server = request.server
    asked = request.ask("/api/v1/societes")
    await admission.admit_caller(asked)
    with server.published.lease() as generation:
        request.trace.generation = generation.id
        reader.refuse_parameters(request.pairs)
        call = replace(asked, caller=Caller(server.plans[VISITOR]))
        prepared = societe(call, generation)
        company = prepared.company
        usage, known, analysed = None, False, False
        if asked.caller.account and company:
            store, account = asked.store, asked.account.id
            with store.batch_reads():
                usage = store.usage(account, request.caller.plan, request.now)
                charged = None if paid else store.is_charged(account, company, request.now)
                subject = f"{rights.ENTREPRISE}/{company}"
                analysis = store.is_charged(account, subject, request.now)
            known = charged is not None and await charged
            analysed = await analysis
        if asked.caller.account and company and (paid or known):
            call, prepared = asked, societe(asked, generation)
        is_counted = paid and company and asked.caller.account
        result = await (billing.run(prepared, call) if is_counted else prepared.run())
        assert company  # a visitor's call to an absent company raises 404
        return page(
            request, "record.html",
            status=result.status,
            outcome=result.outcome,
            call=path_of(company),
            address=record_path(*company.split("/", 1)),
            credits=result.headers.get("X-Credits-Restants"),
            debited="0" if known else result.headers.get("X-Credits-Debites"),
            analysis=_analysis_terms(request),
            analysed=analysed,
            exports=(await usage).exports if usage and server.service(Downloads) else None,
            **_record_values(request, generation, result),
            **await _side_values(request, generation, call),
        )  # fmt: skip


def _analysis_terms(request: PageRequest) -> AnalysisTerms | None:
    """The price of the analysis; None for a plan without the module."""
    try:
        return rights.terms(request.caller, rights.ENTREPRISE, request.server.plans)
    except ApiError:
        return None


def _record_values(
    request: PageRequest, generation: OpenGeneration, result: Result[Fiche]
) -> dict[str, Any]:
    """The values of the template for a record: full, preview or refused (402)."""
    content = result.content
    assert content is not None  # without If-None-Match there is no 304
    lines = content.lines()
    company = content.company()
    figures = KeyFigures(lines)
    reference = generation.reference
    return {
        "societe": company,
        "contacts": content.droits.coordonnees,
        "offre": rights.offer(request.server.plans[content.plan], request.server.plans),
        "refused": result.error,
        "full": content.droits.etats_financiers,
        "names": formatting.labels(request, reference),
        "sub_sectors": formatting.sub_sector_names(request, reference),
        "slugs": {one.secteur: one.slug for one in reference.secteurs},
        "registers": {one.iso2: one.registre for one in reference.pays},
        "sections": {
            scope: {name: rows for name, rows in rows_by_section(own).items() if rows}
            for scope, own in by_scope(lines).items()
        },
        "scopes": _SCOPES,
        "english": english_label,
        "french": french_label,
        "figures": figures,
        "figure_names": FIGURE_NAMES,
        "sparkline": charts.sparkline_points,
        "years": figures.years,
        "currencies": currencies_of(lines),
        "chart": charts.history(figures.by_code),
        "history_height": charts.HISTORY_HEIGHT,
        "history_gutter": charts.HISTORY_GUTTER,
        "generation": generation.id,
        "linked_data": _organization(company, request.origin),
    }


def _organization(company: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The company as an `Organization` of schema.org, for search engines: public fields alone."""
    address = {
        "streetAddress": company["adresse"],
        "postalCode": company["code_postal"],
        "addressLocality": company["ville"],
        "addressRegion": company["region"],
        "addressCountry": "GB" if company["iso2"] == "UK" else company["iso2"],
    }
    fields = {
        "legalName": company["nom"],
        "identifier": company["id"],
        "vatID": company["tva"],
        "leiCode": company["lei"],
        "foundingDate": company["date_creation"],
        "numberOfEmployees": company["effectif"],
        "sameAs": formatting.web(company["url_registre"]),
    }
    return {
        "@context": "https://schema.org",
        "@type": "Organization",
        "name": company["nom"],
        "url": origin + record_path(company["iso2"], company["id"]),
        **{name: value for name, value in fields.items() if value is not None},
        "address": {
            "@type": "PostalAddress",
            **{name: value for name, value in address.items() if value is not None},
        },
    }


def _credits(
    imports: Iterable[RegisterImport], company: Mapping[str, Any], has_accounts: bool
) -> list[RegisterImport]:
    """The sources of what the record shows, each attribution once: registers, and those of its accounts and LEI."""
    shown = [
        one
        for one in imports
        if (
            has_accounts
            if one.table == "comptes"
            else company["lei"] or not one.completes(company["iso2"])
        )
    ]
    distinct = {one.attribution: one for one in shown}.values()
    return [
        source
        for source in distinct
        if not any(_has_attribution(other, source) for other in distinct)
    ]


def _has_attribution(longer: RegisterImport, source: RegisterImport) -> bool:
    """Whether the longer attribution of another source, under the same licence, has that of this source."""
    return (
        len(longer.attribution) > len(source.attribution)
        and longer.licence == source.licence
        and formatting.credit(source.attribution) in longer.attribution
        and formatting.credit(source.attribution_en) in longer.attribution_en
    )


async def _side_values(
    request: PageRequest, generation: OpenGeneration, call: Request
) -> dict[str, Any]:
    """The values of the template for the price of the company, its ranks and comparable companies."""
    shard, row = locate(call, generation)
    assert row is not None  # the record was found
    company = shard.company(row)
    division = shard.cell_at(row).secteur
    peers = await _peer_ranks(generation, shard.iso2, division, company["ca_eur"])
    has_accounts = shard.has_comptes(row)
    # Without the right to contacts the page does not depend on them.
    may_see_contacts = bool(request.session) and request.caller.plan.coordonnees
    return {
        "may_see_contacts": may_see_contacts,
        "published_contacts": [
            words for field, words in _CONTACTS.items() if may_see_contacts and company[field]
        ],
        "cost": RECORD_CREDITS if has_accounts else 0,
        "credit_of": _credits(generation.sources[shard.iso2].imports, company, has_accounts),
        "peers": peers,
        "computable": _computable(shard, row) if request.session and has_accounts else (0, 0),
        "histogram_height": charts.HISTOGRAM_HEIGHT,
        **await _comparable_companies(request, generation),
        "group": await _ask(request, generation, groupe),
    }


async def _peer_ranks(
    generation: OpenGeneration, iso2: str, division: str | None, turnover: float | None
) -> PeerRanks | None:
    """The ranks by turnover of a company; None without a sector, a turnover or a peer, or while a country is damaged.

    A rank costs two searches without rows, so it is shown to everybody; the ranks by ratio are an analysis (X11).
    """
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
    return PeerRanks(ranks_shown, charts.histogram_columns(drawn, own))


def _rank(base: ShardSet, query: Query, turnover: float) -> PeerRank:
    above = replace(query, ranges=(Range("ca_eur", nextafter(turnover, inf)),))
    greater = search(base, above, offset=0, limit=0).total
    number = search(base, query, offset=0, limit=0).total
    return PeerRank(query.pays[0] if query.pays else None, greater + 1, number)


def _computable(shard: Shard, row: int) -> tuple[int, int]:
    """How many ratios an analysis can give, of how many."""
    return accounts.count_computable(codec.lines(shard.comptes(row)), shard.withheld_codes(row))


async def _comparable_companies(request: PageRequest, generation: OpenGeneration) -> dict[str, Any]:
    """The comparable companies, as many as the visitor's plan shows, and how their sizes compare."""
    operation = request.server.product.operation("findComparables")
    if operation is None or operation.run is None:
        return {"near": [], "is_sized": False, "is_near_in_size": False}
    found = (await _ask(request, generation, operation.run, ("n", str(_NEAR)))).comparables
    gaps = [one.ecarts for one in found]
    sizes = [gap.effectif if gap.ca_eur is None else gap.ca_eur for gap in gaps]
    return {
        "near": [one.societe for one in found],
        "is_sized": any(size is not None for size in sizes),
        "is_near_in_size": all(size is not None and size <= _NEAR_IN_SIZE for size in sizes),
    }


async def _ask(
    request: PageRequest,
    generation: OpenGeneration,
    prepare: Callable[[Request, OpenGeneration], PreparedCall[C]],
    *pairs: tuple[str, str],
) -> C:
    """What a route below the company answers to the visitor; nothing is counted for it."""
    asked = request.ask("/api/v1/societes", pairs)
    found = (await prepare(asked, generation).run()).content
    assert found is not None  # without If-None-Match there is no 304
    return found


class KeyFigure(NamedTuple):
    """A figure of the last year, its change in parts of one, and its values of all years, oldest first."""

    code: str
    year: int
    value: float
    devise: str | None
    change: float | str | None
    values: Sequence[float]


class KeyFigures:
    """The key figures of a company.

    Attributes:
        by_code: the values of each figure by year.
        years: of the statements, the last one first.
    """

    def __init__(self, lines: Lines) -> None:
        self._accounts: Mapping[int, AnnualAccounts] = accounts.by_year(lines)
        self.years = tuple(self._accounts)
        by_code: dict[str, dict[int, float]] = {code: {} for code in FIGURE_NAMES}
        for year, found in accounts.values(self._accounts).items():
            for code, own in by_code.items():
                if (value := found[code].value) is not None:
                    own[year] = value
        self.by_code: Mapping[str, Figures] = by_code

    def latest_figures(self) -> Sequence[KeyFigure]:
        """Each figure that a year has, of the last such year."""
        found = []
        for code, own in self.by_code.items():
            if own:
                year = max(own)
                values = [own[one] for one in sorted(own)]
                devise = self._accounts[year].devise
                found.append(KeyFigure(code, year, own[year], devise, self.change(own), values))
        return found

    def change(self, own: Figures) -> float | str | None:
        """The change of the last of these values to that of the year before, as `statement_table.change` says it."""
        if not own:
            return None
        year = max(own)
        before = own.get(year - 1)
        if before is None or not self._accounts[year].joins(self._accounts[year - 1]):
            return None
        return statement_table.change(own[year], before)

    def share(self, row: StatementRow) -> float | None:
        """A line of the last year in parts of total assets, or of turnover in the income statement."""
        if not self.years or row.etat not in (*_BALANCE, "compte_resultat"):
            return None
        whole = self.by_code["total_actif" if row.etat in _BALANCE else "chiffre_affaires"]
        year = self.years[0]
        if year not in row.values or not whole.get(year):
            return None
        return row.values[year] / whole[year]

    def line_change(self, row: StatementRow) -> float | str | None:
        """The change of a line in the last year of the statements."""
        return self.change(row.values) if self.years and self.years[0] in row.values else None


def english_label(row: StatementRow) -> str | None:
    """The English label of a line of the chart of accounts; None for a line of the register's own."""
    labels = seed_tables.line_labels().get((row.code or "").removesuffix(statement_table.GROUP))
    return labels[1] if labels else None


def french_label(row: StatementRow) -> str:
    """The label as published, without the words that head the lines of a group.

    >>> french_label(StatementRow("bilan_actif", "AssetsConsolidated", "Actif (comptes consolidés)", 1))
    'Actif'
    """
    return row.libelle.removesuffix(_OF_GROUP)


PAGES: Final = (WebRoute(RECORD, "fiche", record, full_record, example="/societes/FR/552100554"),)
