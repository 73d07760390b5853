"""/ and /chiffres: the explorer, and the figures of its search.

The address contains the search, with the parameters of the API (§4.4). A page of results shows a
result of the API, with the same rights and the same meters (decision 044). Without parameters nothing
is searched, so the front page counts for nobody.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.access import admission, next_plan
from serve.access.admission import Call
from serve.access.envelope import SearchResult
from serve.access.result import CallResult, Response
from serve.api.societes import societes
from serve.contract.errors import ApiError
from serve.contract.seed_tables import label
from serve.data import company_ids, identifiers
from serve.data.open_generation import OpenGeneration
from serve.request.scalars import parse_decimal
from serve.website import error_pages, facet_bars, filter_options, result_table, search_form
from serve.website.facet_bars import Bars
from serve.website.formatting import Formatting
from serve.website.page_request import PageRequest, without
from serve.website.pages import export_form
from serve.website.render import page
from serve.website.result_table import ORDER_NAMES
from serve.website.search_form import LISTS, SearchForm
from shards.query import STATES, Query

ROWS: Final = 25  # of a page
_FRONT_BARS: Final = 12

_SEARCH: Final = "/api/v1/societes"
_NEAR_MICROSECONDS: Final = 30_000.0  # to compare a number with its neighbours in 25 countries
# The filters whose values are numbers to be read by people.
_AMOUNTS: Final = frozenset(
    f"{name}_{side}" for name in ("ca", "effectif", "actif") for side in ("min", "max")
)
_LONGEST_CHIP: Final = 120  # characters, those of `q`


async def explorer(request: PageRequest) -> Response:
    """The explorer, with the results of its search if there is one.

    Raises:
        ApiError: 429 or 503. An error in the search itself is shown beside the form.
        StoreUnavailable: nothing was counted.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        form = search_form.read(request.pairs, generation.names, generation.reference)
        values: dict[str, Any] = {"found": None, "error": None, "bars": None, "status": 200}
        if request.pairs:
            values |= await _results(request, generation, form)
        else:
            request.server.gate.lists(request.trace.address, request.now)
            values["bars"] = _known_bars(request, generation, form, Query(), _FRONT_BARS)
        return page(request, "explorer.html", **values, **_around(request, generation, form))


async def figures(request: PageRequest) -> Response:
    """The bars of a search on a page of their own, which a script inserts into the explorer.

    Raises:
        ApiError: 400, 429, 503.
    """
    request.server.gate.lists(request.trace.address, request.now)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        asked = generation.search(request.pairs)
        query, _ = await company_ids.looked_up(generation.shards, asked)
        counts = await request.context.facets.of(generation, query)
        form = search_form.read(request.pairs, generation.names, generation.reference)
        bars = facet_bars.of_counts(request, form, generation.reference, counts)
        return page(request, "figures.html", bars=bars, back=form.href())


async def _results(
    request: PageRequest, generation: OpenGeneration, form: SearchForm
) -> dict[str, Any]:
    """The values of the template for the result of the search, or for its error."""
    try:
        result = await _search(request)
        asked = generation.search(request.pairs)
        query, _ = await company_ids.looked_up(generation.shards, asked)
    except ApiError as error:
        if error.status != 400:
            raise
        return {"error": error_pages.text_of(request, error), "status": 400}
    found = result.content
    assert found is not None  # without If-None-Match there is no 304
    near = () if found.total else await _near(generation, query)
    return {
        "near": near,
        "outcome": result.outcome,
        "exports": await export_form.meter(request),
        "found": found,
        "societes": found.companies(),
        "offre": next_plan.offer(request.caller.plan, request.server.plans),
        "used": result.headers.get("X-Quota-Used"),
        "limit": result.headers.get("X-Quota-Limit"),
        "bars": _known_bars(request, generation, form, query) if found.total else None,
    }


async def _near(generation: OpenGeneration, query: Query) -> Sequence[Mapping[str, Any]]:
    """The companies of the searched countries whose identifier `q` may be, but for zeros or a typing error (X6)."""
    q = query.q or ""
    if not any(char.isdigit() for char in q):
        return ()
    chosen = query.pays or tuple(generation.shards)
    shards = {iso2: generation.shards[iso2] for iso2 in chosen}
    places = await generation.aside(_NEAR_MICROSECONDS, lambda: identifiers.nearest(shards, q))
    # Records are read on the event loop: a shard's decompressor is not for two threads at once.
    return [shards[iso2].company(row) for iso2, row in places]


async def _search(request: PageRequest) -> CallResult[SearchResult]:
    """A page of results, as the API gives it."""
    server, trace = request.server, request.trace
    pairs = (*without(request.pairs, ["limit"]), ("limit", str(ROWS)))
    call = Call(_SEARCH, (), lambda: pairs, head=request.head)
    admitted = await admission.admit_caller(server, request.caller, trace)
    return await admission.perform(server, admitted, societes, call, trace)


def _known_bars(
    request: PageRequest,
    generation: OpenGeneration,
    form: SearchForm,
    query: Query,
    drawn: int = facet_bars.DRAWN,
) -> Bars | None:
    """The bars, if their counts cost nothing."""
    counts = request.context.facets.known(generation, query)
    if counts is None:
        return None
    return facet_bars.of_counts(request, form, generation.reference, counts, drawn)


def _around(request: PageRequest, generation: OpenGeneration, form: SearchForm) -> dict[str, Any]:
    """The values of the template around the results: the form, the chips, the call of the API."""
    return {
        "form": form,
        "names": facet_bars.labels(request, generation.reference),
        "rows": ROWS,
        "pickers": filter_options.of_search(request, generation, form),
        "chips": _chips(request, generation, form),
        "heads": result_table.heads(request, form),
        "states": STATES,
        "orders": {tri: request.t(*names) for tri, names in ORDER_NAMES.items()},
        "total": generation.generation.manifest.total,
        "call": f"{_SEARCH}?{search_form.query_string([*form.pairs(), ('limit', str(ROWS))])}",
    }


def _chips(
    request: PageRequest, generation: OpenGeneration, form: SearchForm
) -> Sequence[tuple[str, str]]:
    """Each restriction of the search, and the address without it."""
    t, reference = request.t, generation.reference
    countries = {one.iso2: facet_bars.country_name(request, one) for one in reference.pays}
    sectors = {one.slug: facet_bars.sector_name(request, one) for one in reference.secteurs}
    chips = [(countries[code], form.without("pays", code)) for code in form.pays]
    chips += [(sectors[slug], form.without("secteur", slug)) for slug in form.secteurs]
    chips += [(one, form.without("sous_secteur", one)) for one in form.sous_secteurs]
    for name, fr, en in (
        ("q", "Nom ou identifiant : {}", "Name or identifier: {}"),
        ("ca_min", "CA ≥ {} €", "Turnover ≥ €{}"),
        ("ca_max", "CA ≤ {} €", "Turnover ≤ €{}"),
        ("effectif_min", "Effectif ≥ {}", "Headcount ≥ {}"),
        ("effectif_max", "Effectif ≤ {}", "Headcount ≤ {}"),
        ("site_web", "Avec site web", "With a website"),
        ("avec_ca", "CA publié", "Turnover published"),
        ("ids", "Sociétés : {}", "Companies: {}"),
        ("etat", "État : {}", "State: {}"),
        ("ville", "Ville : {}", "Town: {}"),
        ("code_postal", "Code postal : {}", "Postcode: {}"),
        ("forme", "Forme : {}", "Legal form: {}"),
        ("nace", "NACE : {}", "NACE: {}"),
        ("cree_min", "Création ≥ {}", "Founded ≥ {}"),
        ("cree_max", "Création ≤ {}", "Founded ≤ {}"),
        ("actif_min", "Total de l’actif ≥ {} €", "Total assets ≥ €{}"),
        ("actif_max", "Total de l’actif ≤ {} €", "Total assets ≤ €{}"),
        ("avec_comptes", "Comptes publiés", "Statements published"),
    ):
        if value := form.value(name):
            label = t(fr, en).format(_readable(request, name, value))
            chips.append((label, form.href(**{name: ""})))
    return chips


def _readable(request: PageRequest, name: str, value: str) -> str:
    """A bound with separated thousands, states in words; any other text as it is, if it is not long."""
    if name == "etat":
        words = (label("etat", "", one, request.lang) or one for one in value.split(LISTS[name]))
        return ", ".join(words)
    if name not in _AMOUNTS:
        return value if len(value) <= _LONGEST_CHIP else f"{value[:_LONGEST_CHIP]}…"
    try:
        return Formatting(request.lang).number(parse_decimal(value))
    except ValueError:
        return value
