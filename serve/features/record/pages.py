"""/societes/{iso}/{id}: a company, as far as the visitor may see it (§4.5).

A person who is logged in first sees the public preview, which is free, with the price of the full record. The full
record costs a call, and credits if it has statements, so only a form requests it, never a link. If it was paid for this
month, it is shown at once and is free (decision 045).

The key figures above the statements come from the lines of `seeds/ratios.csv`. A change compares a year with the year
before, in the same currency; otherwise it is absent.
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
from serve.contract.errors import ApiError
from serve.contract.record_answers import Fiche
from serve.contract.seed_tables import RECORD_CREDITS
from serve.contract.statement_table import (
    StatementLines,
    StatementRow,
    currencies_of,
    rows_by_section,
    split_by_scope,
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

_NEAR: Final = 5  # comparable companies on the page
# The largest gap of companies called similar in size, as the logarithm of a ratio: four times larger or smaller.
_NEAR_IN_SIZE: Final = log(4)
# The contact fields with their names in a sentence, in French and English.
_CONTACTS: Final = {
    "site_web": ("site web", "website"),
    "email": ("e-mail", "e-mail"),
    "telephone": ("téléphone", "telephone"),
}
# The titles of the statements of the company and of its group, in French and English.
_SCOPES: Final = {
    "societe": ("Comptes sociaux", "Company accounts"),
    "groupe": ("Comptes consolidés", "Consolidated accounts"),
}
# The key figures with their names, in the order of the page.
FIGURE_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "chiffre_affaires": ("Chiffre d’affaires", "Turnover"),
    "resultat": ("Résultat", "Result"),
    "capitaux_propres": ("Capitaux propres", "Equity"),
    "total_actif": ("Total de l’actif", "Total assets"),
}
# The end of the label of a line of group accounts, as the build writes it; the heading of the table repeats it.
_GROUP_SUFFIX: Final = " (comptes consolidés)"
_BALANCE: Final = ("bilan_actif", "bilan_passif")  # the statements of the balance sheet
LEAST_PEERS: Final = 5  # companies; with fewer, a rank has no meaning

C = TypeVar("C", bound=Content)
FiguresByYear = Mapping[int, float]


class PeerRank(NamedTuple):
    """The rank of a turnover among `number` companies of a sector; `pays` is None for all countries."""

    pays: str | None
    rank: int
    number: int


class PeerRanks(NamedTuple):
    """The ranks in the country and everywhere, and the companies by turnover band in the scope of the first rank."""

    ranks: Sequence[PeerRank]
    columns: Sequence[HistogramColumn]


async def record(request: PageRequest) -> Response:
    """Show a company, in full if it was paid for this month.

    Raises:
        ApiError: 400, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    return await _record(request, is_purchase=False)


async def full_record(request: PageRequest) -> Response:
    """Show a company in full and charge it. The form of the preview sends this request."""
    return await _record(request, is_purchase=True)


async def _record(request: PageRequest, *, is_purchase: bool) -> Response:
    """The page of a company: the public preview, or the full record if it was paid for this month or is paid now.

    Only a payment is counted as a call and charged.

    Args:
        is_purchase: whether the visitor sent the form that pays for the full record.
    """
    server = request.server
    caller_request = request.ask("/api/v1/societes")
    await admission.admit_caller(caller_request)
    with server.published.lease() as generation:
        request.trace.generation = generation.id
        reader.refuse_parameters(request.pairs)
        # First everybody gets the public preview, as a visitor; it is free.
        call = replace(caller_request, caller=Caller(server.plans[VISITOR]))
        prepared = societe(call, generation)
        company = prepared.company
        usage, is_paid, analysed = None, False, False
        if caller_request.caller.account and company:
            store, account = caller_request.store, caller_request.account.id
            with store.batch_reads():
                usage = store.usage(account, request.caller.plan, request.now)
                charge_check = (
                    None if is_purchase else store.is_charged(account, company, request.now)
                )
                subject = f"{rights.ENTREPRISE}/{company}"
                analysis_check = store.is_charged(account, subject, request.now)
            is_paid = charge_check is not None and await charge_check
            analysed = await analysis_check
        if caller_request.caller.account and company and (is_purchase or is_paid):
            call, prepared = caller_request, societe(caller_request, generation)
        is_counted = is_purchase and company and caller_request.caller.account
        result = await (billing.run(prepared, call) if is_counted else prepared.run())
        assert company  # a visitor's call to an absent company raises 404
        return page(
            request, "record.html",
            status=result.status,
            outcome=result.outcome,
            call=path_of(company),
            address=record_path(*company.split("/", 1)),
            credits=result.headers.get("X-Credits-Restants"),
            debited="0" if is_paid else result.headers.get("X-Credits-Debites"),
            analysis=_analysis_terms(request),
            analysed=analysed,
            exports=(await usage).exports if usage and server.service(Downloads) else None,
            **_record_values(request, generation, result),
            **await _side_values(request, generation, call),
        )  # fmt: skip


def _analysis_terms(request: PageRequest) -> AnalysisTerms | None:
    """The price of the analysis of the company; None if the plan of the visitor allows no analysis."""
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
        "slugs": {sector.secteur: sector.slug for sector in reference.secteurs},
        "registers": {country.iso2: country.registre for country in reference.pays},
        "sections": {
            scope: {name: rows for name, rows in rows_by_section(scope_lines).items() if rows}
            for scope, scope_lines in split_by_scope(lines).items()
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
    """The company as an `Organization` of schema.org, for search engines, with public fields only."""
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


def _sources_to_credit(
    imports: Iterable[RegisterImport], company: Mapping[str, Any], has_accounts: bool
) -> list[RegisterImport]:
    """The imports to name on a record: of its registers, and of its accounts and its LEI if it has them.

    Each attribution is named once; an attribution that another one contains is left out.
    """
    # A source of accounts is named only if the company has accounts. A source that only completes the register gives
    # the LEI, so it is named only if the company has an LEI.
    used_sources = [
        source
        for source in imports
        if (
            has_accounts
            if source.table == "comptes"
            else company["lei"] or not source.completes(company["iso2"])
        )
    ]
    distinct_sources = {source.attribution: source for source in used_sources}.values()
    return [
        source
        for source in distinct_sources
        if not any(_has_attribution(other, source) for other in distinct_sources)
    ]


def _has_attribution(longer: RegisterImport, source: RegisterImport) -> bool:
    """Whether the attribution of `longer`, under the same licence, contains that of `source`."""
    return (
        len(longer.attribution) > len(source.attribution)
        and longer.licence == source.licence
        and formatting.credit(source.attribution) in longer.attribution
        and formatting.credit(source.attribution_en) in longer.attribution_en
    )


async def _side_values(
    request: PageRequest, generation: OpenGeneration, call: Request
) -> dict[str, Any]:
    """The values of the template around the record: contacts, price, sources, ranks, comparable companies, group."""
    shard, row = locate(call, generation)
    assert row is not None  # the call for the record has found this company before
    company = shard.company(row)
    division = shard.cell_at(row).secteur
    peers = await _peer_ranks(generation, shard.iso2, division, company["ca_eur"])
    has_accounts = shard.has_comptes(row)
    # Without the right to contacts, the page must not even show which contacts exist.
    may_see_contacts = bool(request.session) and request.caller.plan.coordonnees
    return {
        "may_see_contacts": may_see_contacts,
        "published_contacts": [
            words for field, words in _CONTACTS.items() if may_see_contacts and company[field]
        ],
        "cost": RECORD_CREDITS if has_accounts else 0,
        "credit_of": _sources_to_credit(
            generation.sources[shard.iso2].imports, company, has_accounts
        ),
        "peers": peers,
        "computable": _count_computable(shard, row) if request.session and has_accounts else (0, 0),
        "histogram_height": charts.HISTOGRAM_HEIGHT,
        **await _comparable_companies(request, generation),
        "group": await _read_route(request, generation, groupe),
    }


async def _peer_ranks(
    generation: OpenGeneration, iso2: str, division: str | None, turnover: float | None
) -> PeerRanks | None:
    """The ranks of a company by turnover; None without a sector, a turnover or enough peers, or if a shard is missing.

    A rank costs two searches without rows, so everybody sees it; ranks by ratio are part of an analysis (X11).
    """
    base = generation.shards
    if division is None or turnover is None or base.missing:
        return None
    query = Query(pays=(iso2,), secteurs=(division,), avec_ca=True)
    return await generation.run(EXPENSIVE_MICROSECONDS, lambda: _ranks(base, query, turnover))


def _ranks(base: ShardSet, query: Query, turnover: float) -> PeerRanks | None:
    """The ranks in the country of `query` and in all countries; None if both have fewer than LEAST_PEERS companies."""
    scopes = (query, replace(query, pays=()))
    ranks = [(scope, _rank(base, scope, turnover)) for scope in scopes]
    ranked_scopes = [(scope, rank) for scope, rank in ranks if rank.number >= LEAST_PEERS]
    if not ranked_scopes:
        return None
    distribution = distributions(base, ranked_scopes[0][0], ["tranche_ca"], UNLIMITED)
    assert distribution is not None  # `UNLIMITED` is never exceeded
    counts = dict(distribution[1]["tranche_ca"].top_values())
    bounds = [None, *bands.TURNOVERS]
    band_counts = [
        (least, counts.get(name, 0))
        for least, name in zip(bounds, bands.turnover_names(), strict=True)
    ]
    own_band = bisect_right(bands.TURNOVERS, turnover)  # the index of the band of the company
    # Empty bands at both ends are left out, but not the band of the company.
    while own_band and not band_counts[0][1]:
        band_counts, own_band = band_counts[1:], own_band - 1
    while len(band_counts) > own_band + 1 and not band_counts[-1][1]:
        band_counts = band_counts[:-1]
    shown_ranks = [rank for _, rank in ranked_scopes]
    # Equal ranks and numbers mean that the sector has no companies in other countries.
    if len({rank[1:] for rank in shown_ranks}) == 1:
        shown_ranks = shown_ranks[:1]
    return PeerRanks(shown_ranks, charts.histogram_columns(band_counts, own_band))


def _rank(base: ShardSet, query: Query, turnover: float) -> PeerRank:
    """The rank of a turnover among the companies of a search: 1 + the number of companies with a greater turnover."""
    above = replace(query, ranges=(Range("ca_eur", nextafter(turnover, inf)),))
    greater = search(base, above, offset=0, limit=0).total
    number = search(base, query, offset=0, limit=0).total
    return PeerRank(query.pays[0] if query.pays else None, greater + 1, number)


def _count_computable(shard: Shard, row: int) -> tuple[int, int]:
    """The number of ratios that an analysis can compute, and the number of all ratios."""
    return accounts.count_computable(codec.lines(shard.comptes(row)), shard.withheld_codes(row))


async def _comparable_companies(request: PageRequest, generation: OpenGeneration) -> dict[str, Any]:
    """Values of the template for comparable companies, as many as the plan shows, and for the gaps in size."""
    operation = request.server.product.operation("findComparables")
    if operation is None or operation.run is None:
        return {"near": [], "is_sized": False, "is_near_in_size": False}
    answer = await _read_route(request, generation, operation.run, ("n", str(_NEAR)))
    gaps = [near.ecarts for near in answer.comparables]
    sizes = [gap.effectif if gap.ca_eur is None else gap.ca_eur for gap in gaps]
    return {
        "near": [near.societe for near in answer.comparables],
        "is_sized": any(size is not None for size in sizes),
        "is_near_in_size": all(size is not None and size <= _NEAR_IN_SIZE for size in sizes),
    }


async def _read_route(
    request: PageRequest,
    generation: OpenGeneration,
    prepare: Callable[[Request, OpenGeneration], PreparedCall[C]],
    *pairs: tuple[str, str],
) -> C:
    """The answer of a route whose path extends that of the company, for this visitor, without counting a call."""
    call = request.ask("/api/v1/societes", pairs)
    content = (await prepare(call, generation).run()).content
    assert content is not None  # without If-None-Match there is no 304
    return content


class KeyFigure(NamedTuple):
    """A figure in the last year that has it.

    Attributes:
        change: the change from the year before (see `statement_table.change`); None if it cannot be computed.
        values: the values of all years, the oldest first.
    """

    code: str
    year: int
    value: float
    devise: str | None
    change: float | str | None
    values: Sequence[float]


class KeyFigures:
    """The key figures of a company.

    Attributes:
        by_code: the values of each figure of FIGURE_NAMES by year.
        years: the years of the statements, the last year first.
    """

    def __init__(self, lines: StatementLines) -> None:
        """Compute the figures of each year from the statement lines of the company."""
        self._accounts: Mapping[int, AnnualAccounts] = accounts.accounts_by_year(lines)
        self.years = tuple(self._accounts)
        by_code: dict[str, dict[int, float]] = {code: {} for code in FIGURE_NAMES}
        for year, ratio_values in accounts.values(self._accounts).items():
            for code, by_year in by_code.items():
                if (value := ratio_values[code].value) is not None:
                    by_year[year] = value
        self.by_code: Mapping[str, FiguresByYear] = by_code

    def latest_figures(self) -> Sequence[KeyFigure]:
        """Each figure that any year has, with the last year that has it."""
        figures = []
        for code, by_year in self.by_code.items():
            if by_year:
                year = max(by_year)
                values = [by_year[any_year] for any_year in sorted(by_year)]
                devise = self._accounts[year].devise
                figures.append(
                    KeyFigure(code, year, by_year[year], devise, self.change(by_year), values)
                )
        return figures

    def change(self, by_year: FiguresByYear) -> float | str | None:
        """The change of the last value from the year before (see `statement_table.change`), or None."""
        if not by_year:
            return None
        year = max(by_year)
        before = by_year.get(year - 1)
        if before is None or not self._accounts[year].has_same_currency(self._accounts[year - 1]):
            return None
        return statement_table.change(by_year[year], before)

    def share(self, row: StatementRow) -> float | None:
        """A line of the last year as a share of total assets, or of turnover in the income statement."""
        if not self.years or row.etat not in (*_BALANCE, "compte_resultat"):
            return None
        totals = self.by_code["total_actif" if row.etat in _BALANCE else "chiffre_affaires"]
        year = self.years[0]
        if year not in row.values or not totals.get(year):
            return None
        return row.values[year] / totals[year]

    def line_change(self, row: StatementRow) -> float | str | None:
        """The change of a line in the last year of the statements."""
        return self.change(row.values) if self.years and self.years[0] in row.values else None


def english_label(row: StatementRow) -> str | None:
    """The English label of a line of the chart of accounts; None for a line that only the register has."""
    labels = seed_tables.line_labels().get((row.code or "").removesuffix(statement_table.GROUP))
    return labels[1] if labels else None


def french_label(row: StatementRow) -> str:
    """The label as published, without the words that mark group accounts.

    >>> french_label(StatementRow("bilan_actif", "AssetsConsolidated", "Actif (comptes consolidés)", 1))
    'Actif'
    """
    return row.libelle.removesuffix(_GROUP_SUFFIX)


PAGES: Final = (WebRoute(RECORD, "fiche", record, full_record, example="/societes/FR/552100554"),)
