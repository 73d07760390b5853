"""/ and /chiffres: the explorer, and the figures of its search.

The address contains the search, with the parameters of the API (§4.4). A page of results shows the answer of the API to
the same search, with the same rights and meters (decision 044). Without parameters, `/` is the front page, which does
not count as a call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from serve.access import admission, rights
from serve.access.call import Response, Result
from serve.contract import seed_tables
from serve.contract.errors import ApiError
from serve.contract.parameters import SEARCH
from serve.features.search import explorer_filters, home_page, societes
from serve.features.search.answers import Recherche
from serve.features.search.explorer_filters import Chip, OptionCounts, SearchView
from serve.features.search.facet_counts import counter_of
from serve.generation import company_ids
from serve.generation.open_generation import OpenGeneration
from serve.request.scalars import plain_number
from serve.surfaces.site import render, search_form
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page, see_other
from serve.surfaces.site.search_form import LISTS, SearchForm
from shards.query import Query
from shards.search import company_numbers

ROWS: Final = 25  # results on a page

_SEARCH: Final = "/api/v1/societes"  # the route of the API that answers a search
# The keys of an error that list unknown values, each with the parameter that has these values.
_PARAMETERS_BY_KEY: Final = {
    "pays_inconnus": "pays",
    "secteurs_inconnus": "secteur",
    "sous_secteurs_inconnus": "sous_secteur",
    "formes_inconnues": "forme",
    "nace_inconnus": "nace",
    "activites_inconnues": "activite",
}
# The parameters of a search by text alone.
_PLAIN_PARAMETERS: Final = frozenset({"q", "tri"})
# The estimated time of `_nearest_companies` in 25 countries.
_NEAREST_MICROSECONDS: Final = 30_000.0


async def explorer(request: PageRequest) -> Response:
    """The results of a search, or the front page; the number of a single company redirects to its page.

    Raises:
        ApiError: 409, 429 or 503. An error 400 of the search is shown next to the form.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """
    if not request.pairs:
        return await home_page.home(request)
    request = _normalise_numbers(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        numbered = _find_by_number(request, generation)
        if len(numbered) == 1:  # the number of one company leads directly to its page
            company = numbered[0]
            return see_other(request.context.pages.company_path(company["iso2"], company["id"]))
        view = explorer_filters.search_view(request, generation)
        restrictions = explorer_filters.chips(view)
        try:
            result, query = await _search(view)
        except ApiError as error:
            if error.status != 400:
                raise
            options = explorer_filters.NOT_COUNTED
            values = _error_values(view, error)
        else:
            options = explorer_filters.cheap_counts(counter_of(request.server), generation, query)
            values = await _result_values(view, restrictions, result, query)
        # Several companies with the searched number replace companies with similar numbers.
        values["near"] = numbered or values["near"]
        return page(
            request, "explorer.html", **values, **_frame_values(view, restrictions, options)
        )


async def figures(request: PageRequest) -> Response:
    """The bars and filters of a search as a separate page; a script inserts them into the explorer.

    Raises:
        ApiError: 400, 429, 503.
    """
    request = _normalise_numbers(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        parsed = generation.search(request.pairs)
        query, _ = await company_ids.resolve_query(generation.shards, parsed)
        facets = counter_of(request.server)
        counts = await facets.counts_of(generation, query)
        options = await explorer_filters.option_counts(facets, generation, query)
        view = explorer_filters.search_view(request, generation)
        form = view.form
        return page(
            request,
            "figures.html",
            bars=explorer_filters.facet_bars(view, counts),
            pickers=explorer_filters.pickers(view, options),
            other_pairs=[
                pair for pair in form.pairs() if pair[0] not in explorer_filters.PICKER_PARAMETERS
            ],
            back=form.href(),
        )


def _find_by_number(
    request: PageRequest, generation: OpenGeneration
) -> Sequence[Mapping[str, Any]]:
    """The companies whose number is the only text of the search: identifier, VAT number, SIRET or LEI (X6).

    Only a text that is certainly a number is looked up. A look-up counts as a request for a public list, because it
    can lead to a record without a counted search.

    Raises:
        ApiError: 429.
    """
    filled = {name: value for name, value in request.pairs if value.strip()}
    typed = filled.get("q", "")
    if (
        filled.keys() - _PLAIN_PARAMETERS
        or not seed_tables.number_notation().read(typed).is_certain
    ):
        return ()
    request.server.gate.lists(request.trace.address, request.now)
    return company_ids.find_by_number(generation.shards, typed, most=ROWS)


def _normalise_numbers(request: PageRequest) -> PageRequest:
    """The request with its numeric bounds in the notation of the API instead of the visitor's."""
    pairs = tuple(
        (
            name,
            plain_number(value, request.lang, is_whole=_NUMERIC_BOUNDS[name] == "integer")
            if name in _NUMERIC_BOUNDS
            else value,
        )
        for name, value in request.pairs
    )
    return replace(request, pairs=pairs)


async def _search(view: SearchView) -> tuple[Result[Recherche], Query]:
    """The API's page of results for the search, and the query of the search.

    Raises:
        ApiError: 400, 409, 429, 503.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """
    call = view.request.ask(_SEARCH)
    await admission.admit_caller(call)
    pinned_generation, parsed = view.generation.read(call.pairs, SEARCH)
    parsed = replace(parsed, limit=ROWS)
    result = await admission.perform(
        call, lambda call, _: societes.page_of(call, pinned_generation, parsed)
    )
    # The query for the figures; `named` has the companies of `ids` if the call has looked them up.
    query, _ = await company_ids.resolve_query(view.generation.shards, parsed, call.named)
    return result, query


async def _result_values(
    view: SearchView,
    restrictions: Sequence[Chip],
    result: Result[Recherche],
    query: Query,
) -> dict[str, Any]:
    """The template values that show the result of the search."""
    request, generation, search_result = view.request, view.generation, result.content
    assert search_result is not None  # None only in a 304, which needs If-None-Match
    if search_result.total:
        # `counts` is None if counting is expensive; the page then requests the figures separately.
        counts = counter_of(request.server).cheap_counts(generation, query)
        bars = counts and explorer_filters.facet_bars(view, counts)
        specific: dict[str, Any] = {"near": (), "relaxed": (), "bars": bars}
    else:
        relaxed = await explorer_filters.relaxed_searches(generation, restrictions)
        near = await _nearest_companies(generation, query)
        specific = {"near": near, "relaxed": relaxed, "bars": None}
    return {
        **specific,
        "error": None,
        "outcome": result.outcome,
        "exports": await request.export_meter(),
        "result": search_result,
        "offset": int(search_result.offset),
        "proposed": [
            _proposal(view.form, proposed) for proposed in search_result.recherches_proposees or ()
        ],
        "societes": search_result.companies(),
        "understood": search_result.activites_comprises or (),
        "offre": rights.offer(request.caller.plan, request.server.plans),
        "used": result.headers.get("X-Quota-Used"),
        "limit": result.headers.get("X-Quota-Limit"),
    }


def _proposal(form: SearchForm, proposed: Mapping[str, Any]) -> dict[str, Any]:
    """A proposed search with its address; missing filters are ""."""
    filters = {name: str(value) for name, value in proposed.items() if name != "total"}
    href = form.href(**{"q": "", **filters})
    return {"activite": "", "ville": "", "q": "", **proposed, "href": href}


def _error_values(view: SearchView, error: ApiError) -> dict[str, Any]:
    """The template values that show the error of a search."""
    return {
        "result": None,
        "error": render.error_text(view.request, error),
        "meant": _corrected_searches(view, error),
        "near": (),
        "status": error.status,
    }


def _corrected_searches(view: SearchView, error: ApiError) -> Mapping[str, str]:
    """The addresses of the search with an unknown value replaced by a suggestion, by the label of the suggestion."""
    form, names = view.form, view.names
    sectors = {sector.slug: names[sector.secteur] for sector in view.reference.secteurs}
    links = {}
    for key, name in _PARAMETERS_BY_KEY.items():
        for word in error.extra.get(key, ()):
            for meant in error.extra["suggestions"].get(word, ()):
                label = f"{names[meant]} ({meant})" if name == "pays" else sectors.get(meant, meant)
                links[label] = form.href(**{name: _replace_word(form, name, word, meant)})
    return links


def _replace_word(form: SearchForm, name: str, word: str, meant: str) -> str:
    """The value of a parameter with `word` replaced by `meant`; the form has dropped unknown countries and sectors."""
    values = {"pays": form.pays, "secteur": form.secteurs, "sous_secteur": form.sous_secteurs}
    separator = LISTS.get(name)
    if separator is None:
        return meant
    items = values.get(name) or form.value(name).split(separator)
    other_items = [item for item in items if item and item != word]
    return separator.join(dict.fromkeys([*other_items, meant]))


async def _nearest_companies(
    generation: OpenGeneration, query: Query
) -> Sequence[Mapping[str, Any]]:
    """The companies of the searched countries whose identifier is `q` except for zeros or a typing error (X6)."""
    q = query.q or ""
    letters = sum(char.isalpha() for char in q)
    # A text with fewer digits than letters is taken for a name, not for an identifier.
    if sum(char.isdigit() for char in q) < max(1, letters):
        return ()
    chosen = query.pays or tuple(generation.shards)
    shards = {iso2: generation.shards[iso2] for iso2 in chosen}
    places = await generation.run(
        _NEAREST_MICROSECONDS,
        lambda: company_numbers.nearest_companies(shards, q, seed_tables.number_notation()),
    )
    return [shards[iso2].company(row) for iso2, row in places]


def _frame_values(
    view: SearchView, restrictions: Sequence[Chip], options: OptionCounts
) -> dict[str, Any]:
    """The template values around the results: the form, the chips, the API request for the same search."""
    form = view.form
    return {
        "form": form,
        "fields": search_form,
        "names": view.names,
        "sub_sectors": view.sub_sectors,
        "rows": ROWS,
        "pickers": explorer_filters.pickers(view, options),
        "uncounted": None in options.values(),
        "chips": restrictions,
        "search_title": explorer_filters.search_title(view, restrictions),
        "heads": _headings(view),
        "orders": {tri: view.request.t(*names) for tri, names in _ORDER_NAMES.items()},
        "total": view.generation.generation.manifest.total,
        "call": f"{_SEARCH}?{search_form.query_string([*form.pairs(), ('limit', str(ROWS))])}",
    }


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the table of results.

    Attributes:
        orders: the sort orders that successive clicks on the heading select; empty if the column cannot be sorted.
        look: CSS classes.
    """

    name: str
    fr: str
    en: str
    orders: tuple[str, ...] = ()
    look: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column; `sorted` is its aria-sort, or "" if the results are not sorted by this column."""

    name: str
    label: str
    look: str
    href: str | None
    sorted: str


# The columns of the table of results, in order.
_COLUMNS: Final = (
    ResultColumn("nom", "Société", "Company", ("nom",)),
    ResultColumn("secteur", "Secteur", "Sector", look="wide"),
    ResultColumn("creation", "Création", "Founded", ("recent",), look="num wide"),
    ResultColumn("effectif", "Effectif", "Headcount", ("effectif_desc",), look="num"),
    ResultColumn("capital", "Capital", "Capital", ("capital_desc",), look="num wide"),
    ResultColumn("ca", "Chiffre d’affaires", "Turnover", ("ca_desc", "ca_asc"), look="num"),
)
# The sort orders whose first results have the lowest values.
_ASCENDING: Final = ("nom", "ca_asc")

# The names of the sort orders in French and English.
_ORDER_NAMES: Final = {
    "ca_desc": ("Chiffre d’affaires, décroissant", "Turnover, highest first"),
    "ca_asc": ("Chiffre d’affaires, croissant", "Turnover, lowest first"),
    "nom": ("Nom, de A à Z", "Name, A to Z"),
    "effectif_desc": ("Effectif, décroissant", "Headcount, highest first"),
    "recent": ("Création, la plus récente", "Founded most recently"),
    "capital_desc": ("Capital social, décroissant", "Share capital, highest first"),
    "score": ("Fiches les plus complètes", "Most complete records"),
}


def _headings(view: SearchView) -> Sequence[Head]:
    """The headings of the table of results for this search."""
    form = view.form
    return [
        Head(
            column.name,
            _column_label(view, column),
            column.look,
            form.href(tri=_next_order(column, form.tri)) if column.orders else None,
            _aria_sort(column, form.tri),
        )
        for column in _COLUMNS
    ]


def _column_label(view: SearchView, column: ResultColumn) -> str:
    """The label of a column; in a search of one sector the column has sub-sectors."""
    if column.name == "secteur" and len(view.form.secteurs) == 1:
        return view.request.t("Sous-secteur", "Sub-sector")
    return view.request.t(column.fr, column.en)


def _next_order(column: ResultColumn, tri: str) -> str:
    """The sort order after a click: the column's next order, or its first if the results are sorted otherwise."""
    if tri not in column.orders:
        return column.orders[0]
    return column.orders[(column.orders.index(tri) + 1) % len(column.orders)]


def _aria_sort(column: ResultColumn, tri: str) -> str:
    """The value of aria-sort for a column; "" if the results are not sorted by this column."""
    if tri not in column.orders:
        return ""
    return "ascending" if tri in _ASCENDING else "descending"


# The parameters that are numeric bounds, as `ca_min`, with their kind.
_NUMERIC_BOUNDS: Final = {
    parameter.name: parameter.kind
    for parameter in SEARCH
    if parameter.bound and parameter.kind in ("number", "integer")
}
