"""/ and /chiffres: the explorer, and the figures of its search.

The address contains the search, with the parameters of the API (§4.4). A page of results shows a
result of the API, with the same rights and the same meters (decision 044). Without parameters
it is the front page, which costs no call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from serve.access import admission, rights
from serve.access.call import Response, Result
from serve.contract import seed_tables
from serve.contract.company_answers import Recherche
from serve.contract.errors import ApiError
from serve.contract.parameters import SEARCH
from serve.features.search import explorer_filters, home_page, societes
from serve.features.search.explorer_filters import Chip, OptionCounts, SearchView
from serve.features.search.facet_counts import counter_of
from serve.generation import company_ids
from serve.generation.open_generation import OpenGeneration
from serve.request.scalars import NumberError, parse_decimal
from serve.surfaces.site import render, search_form
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page, see_other
from serve.surfaces.site.search_form import LISTS, SearchForm
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
            company = numbered[0]
            return see_other(request.context.pages.company_path(company["iso2"], company["id"]))
        shown = explorer_filters.view(request, generation)
        restrictions = explorer_filters.chips(shown)
        try:
            result, query = await _search(shown)
        except ApiError as error:
            if error.status != 400:
                raise
            options = explorer_filters.NOT_COUNTED
            values = _error_values(shown, error)
        else:
            options = explorer_filters.cheap_counts(counter_of(request.server), generation, query)
            values = await _result_values(shown, restrictions, result, query)
        values["near"] = numbered or values["near"]
        return page(
            request, "explorer.html", **values, **_frame_values(shown, restrictions, options)
        )


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
        facets = counter_of(request.server)
        counts = await facets.counts_of(generation, query)
        options = await explorer_filters.all_counts(facets, generation, query)
        shown = explorer_filters.view(request, generation)
        form = shown.form
        return page(
            request,
            "figures.html",
            bars=explorer_filters.facet_bars(shown, counts),
            pickers=explorer_filters.pickers(shown, options),
            kept=[pair for pair in form.pairs() if pair[0] not in explorer_filters.PICKED],
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
    """The request with the bounds of its form in the spelling of the API."""
    pairs = tuple(
        (name, plain_number(value, request.lang) if name in _BOUNDS else value)
        for name, value in request.pairs
    )
    return replace(request, pairs=pairs)


async def _search(shown: SearchView) -> tuple[Result[Recherche], Query]:
    """A page of results, as the API gives it, and its query.

    Raises:
        ApiError: 400, 409, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    call = shown.request.ask(_SEARCH)
    await admission.admit_caller(call)
    named, asked = shown.generation.read(call.pairs, SEARCH)
    asked = replace(asked, limit=ROWS)
    result = await admission.perform(call, lambda call, _: societes.page_of(call, named, asked))
    query, _ = await company_ids.resolved_query(shown.generation.shards, asked, call.named)
    return result, query


async def _result_values(
    shown: SearchView,
    restrictions: Sequence[Chip],
    result: Result[Recherche],
    query: Query,
) -> dict[str, Any]:
    """The values of the template for the result of the search."""
    request, generation, search_result = shown.request, shown.generation, result.content
    assert search_result is not None  # without If-None-Match there is no 304
    if search_result.total:
        # The bars, if their counts cost little.
        counts = counter_of(request.server).cheap_counts(generation, query)
        bars = counts and explorer_filters.facet_bars(shown, counts)
        instead: dict[str, Any] = {"near": (), "relaxed": (), "bars": bars}
    else:
        relaxed = await explorer_filters.relaxed_searches(generation, restrictions)
        near = await _near_companies(generation, query)
        instead = {"near": near, "relaxed": relaxed, "bars": None}
    return {
        **instead,
        "error": None,
        "outcome": result.outcome,
        "exports": await request.export_meter(),
        "found": search_result,
        "offset": int(search_result.offset),
        "proposed": [
            _proposal(shown.form, one) for one in search_result.recherches_proposees or ()
        ],
        "societes": search_result.companies(),
        "understood": search_result.activites_comprises or (),
        "offre": rights.offer(request.caller.plan, request.server.plans),
        "used": result.headers.get("X-Quota-Used"),
        "limit": result.headers.get("X-Quota-Limit"),
    }


def _proposal(form: SearchForm, proposed: Mapping[str, Any]) -> dict[str, Any]:
    """A proposed search with its address; a filter that it lacks is ""."""
    filters = {name: str(value) for name, value in proposed.items() if name != "total"}
    href = form.href(**{"q": "", **filters})
    return {"activite": "", "ville": "", "q": "", **proposed, "href": href}


def _error_values(shown: SearchView, error: ApiError) -> dict[str, Any]:
    """The values of the template for the error of a search."""
    return {
        "found": None,
        "error": render.error_text(shown.request, error),
        "meant": _meant(shown, error),
        "near": (),
        "status": error.status,
    }


def _meant(shown: SearchView, error: ApiError) -> Mapping[str, str]:
    """The search with each value that an unknown one may mean in its place, by the words of that value."""
    form, names = shown.form, shown.names
    sectors = {one.slug: names[one.secteur] for one in shown.reference.secteurs}
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


def _frame_values(
    shown: SearchView, restrictions: Sequence[Chip], options: OptionCounts
) -> dict[str, Any]:
    """The values of the template around the results: the form, the chips, the call of the API."""
    form = shown.form
    return {
        "form": form,
        "fields": search_form,
        "names": shown.names,
        "sub_sectors": shown.sub_sectors,
        "rows": ROWS,
        "pickers": explorer_filters.pickers(shown, options),
        "uncounted": None in options.values(),
        "chips": restrictions,
        "search_title": explorer_filters.search_title(shown, restrictions),
        "heads": _heads(shown),
        "orders": {tri: shown.request.t(*names) for tri, names in _ORDER_NAMES.items()},
        "total": shown.generation.generation.manifest.total,
        "call": f"{_SEARCH}?{search_form.query_string([*form.pairs(), ('limit', str(ROWS))])}",
    }


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the table of results.

    Attributes:
        orders: the orders that its head leads to, that of the first click first.
        look: CSS classes.
    """

    name: str
    fr: str
    en: str
    orders: tuple[str, ...] = ()
    look: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; `sorted` is a value of aria-sort, or ""."""

    name: str
    label: str
    look: str
    href: str | None
    sorted: str


_COLUMNS: Final = (
    ResultColumn("nom", "Société", "Company", ("nom",)),
    ResultColumn("secteur", "Secteur", "Sector", look="wide"),
    ResultColumn("creation", "Création", "Founded", ("recent",), look="num wide"),
    ResultColumn("effectif", "Effectif", "Headcount", ("effectif_desc",), look="num"),
    ResultColumn("capital", "Capital", "Capital", ("capital_desc",), look="num wide"),
    ResultColumn("ca", "Chiffre d’affaires", "Turnover", ("ca_desc", "ca_asc"), look="num"),
)
_ASCENDING: Final = ("nom", "ca_asc")

_ORDER_NAMES: Final = {
    "ca_desc": ("Chiffre d’affaires, décroissant", "Turnover, highest first"),
    "ca_asc": ("Chiffre d’affaires, croissant", "Turnover, lowest first"),
    "nom": ("Nom, de A à Z", "Name, A to Z"),
    "effectif_desc": ("Effectif, décroissant", "Headcount, highest first"),
    "recent": ("Création, la plus récente", "Founded most recently"),
    "capital_desc": ("Capital social, décroissant", "Share capital, highest first"),
    "score": ("Fiches les plus complètes", "Most complete records"),
}


def _heads(shown: SearchView) -> Sequence[Head]:
    """The heads of the table for this search."""
    form = shown.form
    return [
        Head(
            column.name,
            _label(shown, column),
            column.look,
            form.href(tri=_next_order(column, form.tri)) if column.orders else None,
            _aria_sort(column, form.tri),
        )
        for column in _COLUMNS
    ]


def _label(shown: SearchView, column: ResultColumn) -> str:
    """The label of a column; in one sector its rows have their sub-sectors."""
    if column.name == "secteur" and len(shown.form.secteurs) == 1:
        return shown.request.t("Sous-secteur", "Sub-sector")
    return shown.request.t(column.fr, column.en)


def _next_order(column: ResultColumn, tri: str) -> str:
    """The order after a click: the other one if the column has two and one of them applies."""
    if tri not in column.orders:
        return column.orders[0]
    return column.orders[(column.orders.index(tri) + 1) % len(column.orders)]


def _aria_sort(column: ResultColumn, tri: str) -> str:
    if tri not in column.orders:
        return ""
    return "ascending" if tri in _ASCENDING else "descending"


# The parameters that bound a number.
_BOUNDS: Final = frozenset(
    one.name for one in SEARCH if one.bound and one.kind in ("number", "integer")
)

_TYPED: Final = re.compile(r"(?P<digits>[+-]?[0-9][0-9.,]*)(?P<unit>[a-z]*)")
_SPACES: Final = re.compile(r"[\s'’_€$£]+")  # between thousands, and signs of currencies
_UNITS: Final[Mapping[str, int]] = MappingProxyType({
    "": 0, "eur": 0, "euro": 0, "euros": 0, "k": 3, "mille": 3, "keur": 3, "m": 6, "mio": 6, "mn": 6,
    "million": 6, "millions": 6, "meur": 6, "md": 9, "mds": 9, "mrd": 9, "bn": 9, "b": 9, "milliard": 9,
    "milliards": 9, "billion": 9,
})  # fmt: skip
_THOUSANDS: Final = re.compile(r"[+-]?[0-9]{1,3}([.,][0-9]{3})+")


def plain_number(text: str, lang: str) -> str:
    """A number as people type it (`1 000 000`, `1,5 M€`, `250k`) in the spelling of the API; any other text as it is.

    The API takes one spelling (contract B22). A text that is no number stays, so that the API's error names it.

    One comma before three digits separates thousands in English and decimals in French.

    >>> [plain_number(text, "fr") for text in ("1 000 000", "1,5 M€", "1,000", "2.500.000,50", "1e6", "beaucoup")]
    ['1000000', '1500000', '1', '2500000.5', '1e6', 'beaucoup']
    >>> plain_number("1,000", "en"), plain_number("250k", "en")
    ('1000', '250000')
    """
    try:
        parse_decimal(text.strip())
    except NumberError:
        pass
    else:
        return text.strip()
    match = _TYPED.fullmatch(_SPACES.sub("", text).lower())
    if match is None or match["unit"] not in _UNITS:
        return text
    digits = _decimal(match["digits"], lang)
    if digits is None:
        return text
    number = Decimal(digits).scaleb(_UNITS[match["unit"]])
    whole = number.to_integral_value()
    return f"{whole:f}" if number == whole else f"{number.normalize():f}"


def _decimal(digits: str, lang: str) -> str | None:
    """The digits with a point before the decimals, and nothing between thousands."""
    marks = {mark for mark in ".," if mark in digits}
    last = max(digits.rfind("."), digits.rfind(","))
    if len(marks) == 2:
        head, tail = digits[:last], digits[last + 1 :]
        return re.sub(r"[.,]", "", head) + "." + tail if digits.count(digits[last]) == 1 else None
    mark = marks.pop() if marks else ""
    is_grouped = digits.count(mark) > 1 or (mark == "," and lang == "en") if mark else False
    if is_grouped and _THOUSANDS.fullmatch(digits):
        return digits.replace(mark, "")
    return digits.replace(",", ".") if digits.count(mark or " ") <= 1 else None
