"""GET /api/v1/societes: the search (§4.4)."""

from functools import partial
from typing import Any, Final
from urllib.parse import quote_plus

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.rights import Caller, Window
from serve.contract import activities, seed_tables
from serve.contract.answers import activities_of
from serve.contract.company_answers import Recherche, TexteVoulu
from serve.contract.declaration import ABSENT
from serve.contract.parameters import SEARCH
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request.reader import ParsedParameters
from shards.query import Query
from shards.search import result_page
from shards.search.search import ShardSet, records, search, search_within
from shards.suggest import proposals
from shards.suggest.proposals import Vocabulary

# A longer Link header is left out: proxies refuse responses with larger headers, and the client knows
# its own query.
_LONGEST_LINK: Final = 4_000


def societes(request: Request, generation: OpenGeneration) -> PreparedCall[Recherche]:
    """A page of companies, for the caller's plan.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return page_of(request, *generation.read(request.pairs, SEARCH))


def page_of(
    request: Request, generation: OpenGeneration, asked: ParsedParameters
) -> PreparedCall[Recherche]:
    """The page of companies for parameters that were read with the generation that they name."""
    caller = request.caller
    plan = caller.plan
    window = rights.window(plan, asked.limit, asked.offset)
    shown = plan.resultats_par_recherche
    tag = etag(generation.id, plan.slug, shown, caller.souscrit, request.offer, asked.query, window)
    headers = private_headers(tag, generation.id)

    # Quoted annotations of inner functions are not evaluated at each request.
    async def run() -> "Result[Recherche]":
        base, query, limit = generation.shards, asked.query, window.limit
        # Past the cap only the total matters, however large the offset.
        first = window.offset if limit else 0
        further: dict[str, Any] = {}
        if asked.companies is not None:
            query, further["ids_inconnus"] = await company_ids.resolved_query(
                base, asked, request.named
            )
        page = search_within(base, query, EXPENSIVE_MICROSECONDS, offset=first, limit=limit)
        if page is None:
            page = await generation.in_thread(
                EXPENSIVE_MICROSECONDS, lambda: search(base, query, offset=first, limit=limit)
            )
        rows = records(base, page.rows, coordonnees=plan.coordonnees)
        former = result_page.former_name_matches(rows, query.q) if query.q else ()
        if query.q and not page.total:
            further |= await generation.in_thread(
                EXPENSIVE_MICROSECONDS, lambda: _proposals(base, query)
            )
        content = answer(
            caller,
            request.offer,
            window,
            page.total,
            rows,
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            noms_trouves={f"{one.iso2}:{one.id}": one.nom for one in former} or ABSENT,
            activites_comprises=activities_of(query.activites) or ABSENT,
            **further,
        )
        link = _link(request, generation.id, window, page.total)
        return Result(200, content, headers | link)

    prepared = PreparedCall(run, tag, headers)
    companies = asked.companies
    if companies and caller.account and len(companies) > rights.most_rows(plan):
        # More than the plan shows: it matters whether the account matched them (X19).
        return prepared._replace(find_named=partial(company_ids.find, generation.shards, companies))
    return prepared


def answer(
    caller: Caller, offer: bytes, window: Window, total: int, rows: bytes, **further: Any
) -> Recherche:
    """A page of a search, as far as the plan of the caller goes (§2.2).

    Args:
        offer: JSON of `offre_suivante`.
        rows: JSON of the companies of the page, joined by commas.
        further: the keys that only some searches have.
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
        apercu=rights.apercu(plan),
        societes=b"[%b]" % rows,
        **further,
    )


def _proposals(base: ShardSet, query: Query) -> dict[str, Any]:
    """The keys with texts and searches that find something where `query` finds nothing (X4, X13)."""
    vocabulary = Vocabulary(activities.classes, activities.named_classes, activities.SILENT)
    proposed = proposals.proposals(base, query, vocabulary)
    meant = proposals.nearest_texts(base, query, seed_tables.number_notation())
    if not proposed and not meant:
        meant = proposals.longest_parts(base, query, activities.function_words())
    return {
        "vouliez_vous_dire": [TexteVoulu(q=one.q, total=one.total) for one in meant] or ABSENT,
        "recherches_proposees": [one.filters() for one in proposed] or ABSENT,
    }


def _link(request: Request, version: str, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), only while another row can be reached (B20).

    It names the generation that answers, so that the pages of a walk belong to the same data.
    """
    after = rights.next_offset(request.caller.plan, window, total)
    if after is None:
        return {}
    kept = [
        f"{quote_plus(name)}={quote_plus(value)}"
        for name, value in request.pairs
        if name not in ("offset", "version")
    ]
    page = [*kept, f"offset={after}", f"version={version}"]
    target = f"{request.context.config.base_url}{request.path}?{'&'.join(page)}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
