"""/ and /chiffres: the explorer, and the figures of its search.

The address contains the search, with the parameters of the API (§4.4). A page of results shows a
result of the API, with the same rights and the same meters (decision 044). Without parameters
it is the front page, which costs no call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from serve.access import admission, next_plan
from serve.access.admission import Call
from serve.access.call import CallResult, Response
from serve.access.envelope import SearchResult
from serve.contract import seed_tables
from serve.contract.answers import activities_of
from serve.contract.errors import ApiError
from serve.features.search import (
    chips,
    filter_options,
    home_page,
    relaxed_search,
    result_table,
    typed_numbers,
)
from serve.features.search.chips import Chip
from serve.features.search.filter_options import OptionCounts
from serve.features.search.result_table import ORDER_NAMES
from serve.features.search.societes import societes
from serve.generation import company_ids
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import error_pages, exports, formatting
from serve.surfaces.site.page_request import PageRequest, pairs_without
from serve.surfaces.site.render import page, see_other
from serve.surfaces.site.search import facet_bars, form_fields, search_form
from serve.surfaces.site.search.facet_bars import Bars
from serve.surfaces.site.search.search_form import LISTS, SearchForm
from shards.query import Query
from shards.search import company_numbers

ROWS: Final = 25  # of a page

_SEARCH: Final = "/api/v1/societes"
# The parameter of the unknown values that a key of an error has.
_UNKNOWN: Final = {
    "pays_inconnus": "pays",
    "secteurs_inconnus": "secteur",
    "sous_secteurs_inconnus": "sous_secteur",
    "formes_inconnues": "forme",
    "nace_inconnus": "nace",
    "activites_inconnues": "activite",
}
_BESIDE: Final = frozenset({"q", "tri"})  # what stands in the address of a plain search
_NEAR_MICROSECONDS: Final = 30_000.0  # to compare a number with its neighbours in 25 countries


async def explorer(request: PageRequest) -> Response:
    """The results of a search, or the front page.

    Raises:
        ApiError: 429 or 503. An error in the search itself is shown beside the form.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    if not request.pairs:
        return await home_page.home(request)
    request = _normalise_numbers(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        numbered = _by_number(request, generation)
        if len(numbered) == 1:
            return see_other(formatting.record_path(numbered[0]["iso2"], numbered[0]["id"]))
        form = search_form.read(request.pairs, generation.names, generation.reference)
        restrictions = chips.chips(request, generation.reference, form)
        values = await _results(request, generation, form, restrictions)
        options = values.pop("options")
        around = _frame_values(request, generation, form, restrictions, options)
        values["near"] = numbered or values.get("near", ())
        return page(request, "explorer.html", **values, **around)


async def figures(request: PageRequest) -> Response:
    """The bars and the filters of a search on a page of their own, which a script inserts into the explorer.

    Raises:
        ApiError: 400, 429, 503.
    """
    request = _normalise_numbers(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        asked = generation.search(request.pairs)
        query, _ = await company_ids.resolved_query(generation.shards, asked)
        facets = request.context.facets
        counts = await facets.counts_of(generation, query)
        options = await filter_options.all_counts(facets, generation, query)
        form = search_form.read(request.pairs, generation.names, generation.reference)
        return page(
            request,
            "figures.html",
            bars=facet_bars.of_counts(request, form, generation.reference, counts),
            pickers=filter_options.of_search(request, generation, form, options),
            kept=[pair for pair in form.pairs() if pair[0] not in filter_options.PICKED],
            back=form.href(),
        )


def _by_number(request: PageRequest, generation: OpenGeneration) -> Sequence[Mapping[str, Any]]:
    """The companies whose number was typed alone in the box: identifier, VAT number, SIRET or LEI (X6).

    A text that is rather a name is never looked up. A look counts as a public list, since one that leads to a record
    is no search.

    Raises:
        ApiError: 429.
    """
    filled = {name: value for name, value in request.pairs if value.strip()}
    typed = filled.get("q", "")
    if filled.keys() - _BESIDE or not seed_tables.number_notation().read(typed).is_certain:
        return ()
    request.server.gate.lists(request.trace.address, request.now)
    return company_ids.by_number(generation.shards, typed, most=ROWS)


def _normalise_numbers(request: PageRequest) -> PageRequest:
    """The request with the numbers of its form in the spelling of the API."""
    return replace(request, pairs=typed_numbers.respell(request.pairs, request.lang))


async def _results(
    request: PageRequest,
    generation: OpenGeneration,
    form: SearchForm,
    restrictions: Sequence[Chip],
) -> dict[str, Any]:
    """The values of the template for the result of the search, or for its error."""
    try:
        result = await _search(request)
        asked = generation.search(request.pairs)
        query, _ = await company_ids.resolved_query(generation.shards, asked)
    except ApiError as error:
        if error.status != 400:
            raise
        wrong = error_pages.text_of(request, error)
        return {
            "found": None,
            "error": wrong,
            "meant": _meant(request, generation, form, error),
            "status": 400,
            "options": filter_options.NOT_COUNTED,
        }
    search_result = result.content
    assert search_result is not None  # without If-None-Match there is no 304
    facets = request.context.facets
    return {
        "error": None,
        "near": () if search_result.total else await _near_companies(generation, query),
        "relaxed": (
            ()
            if search_result.total
            else await relaxed_search.without_each(generation, restrictions)
        ),
        "outcome": result.outcome,
        "exports": await exports.meter(request),
        "found": search_result,
        "societes": search_result.companies(),
        "understood": activities_of(search_result.activites),
        "offre": next_plan.offer(request.caller.plan, request.server.plans),
        "used": result.headers.get("X-Quota-Used"),
        "limit": result.headers.get("X-Quota-Limit"),
        "bars": _known_bars(request, generation, form, query) if search_result.total else None,
        "options": filter_options.cheap_counts(facets, generation, query),
    }


def _meant(
    request: PageRequest, generation: OpenGeneration, form: SearchForm, error: ApiError
) -> Mapping[str, str]:
    """The search with each value that an unknown one may mean in its place, by the words of that value."""
    names = facet_bars.labels(request, generation.reference)
    sectors = {one.slug: names[one.secteur] for one in generation.reference.secteurs}
    links = {}
    for unknown, name in _UNKNOWN.items():
        for word in error.extra.get(unknown, ()):
            for meant in error.extra["suggestions"].get(word, ()):
                label = f"{names[meant]} ({meant})" if name == "pays" else sectors.get(meant, meant)
                links[label] = form.href(**{name: _replaced(form, name, word, meant)})
    return links


def _replaced(form: SearchForm, name: str, word: str, meant: str) -> str:
    """The values of a list with the one that is meant; the form has no unknown countries and sectors."""
    values = {"pays": form.pays, "secteur": form.secteurs, "sous_secteur": form.sous_secteurs}
    separator = LISTS.get(name)
    if separator is None:
        return meant
    items = values.get(name) or form.value(name).split(separator)
    kept = [one for one in items if one and one != word]
    return separator.join(dict.fromkeys([*kept, meant]))


async def _near_companies(generation: OpenGeneration, query: Query) -> Sequence[Mapping[str, Any]]:
    """The companies of the searched countries whose identifier `q` may be, but for zeros or a typing error (X6)."""
    q = query.q or ""
    letters = sum(char.isalpha() for char in q)
    if sum(char.isdigit() for char in q) < max(1, letters):  # a name with a number is no identifier
        return ()
    chosen = query.pays or tuple(generation.shards)
    shards = {iso2: generation.shards[iso2] for iso2 in chosen}
    places = await generation.in_thread(
        _NEAR_MICROSECONDS,
        lambda: company_numbers.nearest_companies(shards, q, seed_tables.number_notation()),
    )
    return [shards[iso2].company(row) for iso2, row in places]


async def _search(request: PageRequest) -> CallResult[SearchResult]:
    """A page of results, as the API gives it."""
    server, trace = request.server, request.trace
    pairs = (*pairs_without(request.pairs, ["limit"]), ("limit", str(ROWS)))
    call = Call(_SEARCH, (), lambda: pairs, head=request.head)
    admitted = await admission.admit_caller(server, request.caller, trace)
    return await admission.perform(server, admitted, societes, call, trace)


def _known_bars(
    request: PageRequest, generation: OpenGeneration, form: SearchForm, query: Query
) -> Bars | None:
    """The bars, if their counts cost little."""
    counts = request.context.facets.cheap_counts(generation, query)
    if counts is None:
        return None
    return facet_bars.of_counts(request, form, generation.reference, counts)


def _frame_values(
    request: PageRequest,
    generation: OpenGeneration,
    form: SearchForm,
    restrictions: Sequence[Chip],
    options: OptionCounts,
) -> dict[str, Any]:
    """The values of the template around the results: the form, the chips, the call of the API."""
    return {
        "form": form,
        "fields": form_fields,
        "names": facet_bars.labels(request, generation.reference),
        "sub_sectors": facet_bars.sub_sector_names(request, generation.reference),
        "rows": ROWS,
        "pickers": filter_options.of_search(request, generation, form, options),
        "uncounted": None in options.values(),
        "chips": restrictions,
        "search_title": chips.title(request, restrictions),
        "heads": result_table.heads(request, form),
        "orders": {tri: request.t(*names) for tri, names in ORDER_NAMES.items()},
        "total": generation.generation.manifest.total,
        "call": f"{_SEARCH}?{search_form.query_string([*form.pairs(), ('limit', str(ROWS))])}",
    }
