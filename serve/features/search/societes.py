"""GET /api/v1/societes: the search (§4.4)."""

from functools import partial
from typing import Any, Final
from urllib.parse import quote_plus

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.rights import Caller, Window
from serve.contract import activities, seed_tables
from serve.contract.answers import activities_of
from serve.contract.declaration import ABSENT
from serve.contract.parameters import SEARCH
from serve.features.search.answers import Recherche, TexteVoulu
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request.reader import ParsedParameters
from shards.query import Query
from shards.search import result_page
from shards.search.search import ShardSet, records, search, search_within
from shards.suggest import proposals
from shards.suggest.proposals import Vocabulary

# A longer address of the next page is left out of the headers, as headers.csv says: proxies refuse responses with
# larger headers, and the client has the query.
_LONGEST_LINK: Final = 4_000
_UNQUOTED: Final = ":,"  # in `ids`; a query may contain them (RFC 3986 §3.4)


def societes(request: Request, generation: OpenGeneration) -> PreparedCall[Recherche]:
    """A page of the companies of a search, as many as the caller's plan allows.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return page_of(request, *generation.read(request.pairs, SEARCH))


def page_of(
    request: Request, generation: OpenGeneration, parsed: ParsedParameters
) -> PreparedCall[Recherche]:
    """The page of companies for parsed parameters; `generation` is that of `version`, or the current one."""
    caller = request.caller
    plan = caller.plan
    window = rights.window(plan, parsed.limit, parsed.offset)
    most_rows = plan.resultats_par_recherche
    tag = etag(
        generation.id, plan.slug, most_rows, caller.souscrit, request.offer, parsed.query, window
    )
    headers = private_headers(tag, generation.id)

    # The annotation is quoted, because it would otherwise be evaluated at each request.
    async def run() -> "Result[Recherche]":
        """Search, and make the page."""
        base, query, limit = generation.shards, parsed.query, window.limit
        # Beyond the limit of the plan, `limit` is 0 and only the total is needed, however large the offset.
        first_row = window.offset if limit else 0
        further_keys: dict[str, Any] = {}
        if parsed.companies is not None:
            query, further_keys["ids_inconnus"] = await company_ids.resolve_query(
                base, parsed, request.named
            )
        page = search_within(base, query, EXPENSIVE_MICROSECONDS, offset=first_row, limit=limit)
        if page is None:
            page = await generation.run(
                EXPENSIVE_MICROSECONDS, lambda: search(base, query, offset=first_row, limit=limit)
            )
        rows = records(base, page.rows, coordonnees=plan.coordonnees)
        former_names = result_page.former_name_matches(rows, query.q) if query.q else ()
        if query.q and not page.total:
            further_keys |= await generation.run(
                EXPENSIVE_MICROSECONDS, lambda: _proposals(base, query)
            )
        content = answer(
            caller,
            request.offer,
            window,
            page.total,
            rows,
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            noms_trouves={f"{match.iso2}:{match.id}": match.nom for match in former_names}
            or ABSENT,
            activites_comprises=activities_of(query.activites) or ABSENT,
            **further_keys,
        )
        link = _next_page_link(request, generation.id, window, page.total)
        return Result(200, content, headers | link)

    prepared = PreparedCall(run, tag, headers)
    companies = parsed.companies
    if companies and caller.account and len(companies) > rights.most_rows(plan):
        # The request names more companies than the plan shows. If the account has matched all of these companies, all
        # are shown (X19).
        return prepared._replace(find_named=partial(company_ids.find, generation.shards, companies))
    return prepared


def answer(
    caller: Caller, offer: bytes, window: Window, total: int, rows: bytes, **further: Any
) -> Recherche:
    """A page of a search, within the plan of the caller (§2.2).

    `window` has the limit and the offset of the page, as far as the plan allows.

    Args:
        offer: JSON of `offre_suivante`.
        rows: JSON of the companies of the page, joined by commas.
        further: keys that only some searches have.
    """
    plan = caller.plan
    visible = rights.visible_rows(plan, total)
    return Recherche(
        total=total,
        limit=rights.effective_limit(window, total),
        offset=b"%d" % window.offset,
        **caller.plan_keys(),
        plafond_resultats=plan.resultats_par_recherche,
        visibles=visible,
        tronque=visible < total,
        restantes=total - visible,
        coordonnees=plan.coordonnees,
        offre_suivante=offer,
        apercu=rights.is_visitor_plan(plan),
        societes=b"[%b]" % rows,
        **further,
    )


def _proposals(base: ShardSet, query: Query) -> dict[str, Any]:
    """The keys with other texts and searches to try when `query` matches no company (X4, X13)."""
    vocabulary = Vocabulary(
        activities.classes, activities.activity_classes, activities.IGNORED_WORDS
    )
    searches = proposals.proposals(base, query, vocabulary)
    texts = proposals.nearest_texts(base, query, seed_tables.number_notation())
    if not searches and not texts:
        texts = proposals.longest_parts(base, query, activities.function_words())
    return {
        "vouliez_vous_dire": [TexteVoulu(q=text.q, total=text.total) for text in texts] or ABSENT,
        "recherches_proposees": [proposed.filters() for proposed in searches] or ABSENT,
    }


def _next_page_link(request: Request, version: str, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), if the plan allows another row (B20).

    The address has the `version` of the generation, so that all pages of one paginated query come from the same data.
    """
    next_offset = rights.next_offset(request.caller.plan, window, total)
    if next_offset is None:
        return {}
    pairs = [
        f"{quote_plus(name)}={quote_plus(value, safe=_UNQUOTED)}"
        for name, value in request.pairs
        if name not in ("offset", "version")
    ]
    page_pairs = [*pairs, f"offset={next_offset}", f"version={version}"]
    target = f"{request.context.config.base_url}{request.path}?{'&'.join(page_pairs)}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
