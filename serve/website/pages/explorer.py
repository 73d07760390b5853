"""/ and /chiffres: the explorer, and the figures of its search.

The address holds the search, with the parameters of the API (§4.4). A page of results is the answer
of the API, by the same functions: the same rights, the same meters (decision 044). Without any
parameter nothing is searched, so that the front page counts for nobody.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from serve.access import admission
from serve.access.admission import Call
from serve.access.result import Response
from serve.api.societes import societes
from serve.contract.errors import ApiError
from serve.data.open_generation import OpenGeneration
from serve.request.scalars import parse_decimal
from serve.website import error_pages, facet_bars, filter_options, result_table
from serve.website import search_form as searches
from serve.website.facet_bars import Bars
from serve.website.formatting import Formatting
from serve.website.page_request import PageContext, PageRequest, without
from serve.website.render import page
from serve.website.result_table import ORDER_NAMES
from serve.website.search_form import SearchForm
from shards.query import Query

ROWS: Final = 25  # of a page
_FRONT_BARS: Final = 12

_SEARCH: Final = "/api/v1/societes"


async def explorer(desk: PageContext, visit: PageRequest) -> Response:
    """The explorer, with the results of its search where there is one.

    Raises:
        ApiError: 429 or 503. What is wrong with the search itself is shown beside its form.
        StoreUnavailable: nothing was counted.
    """
    with desk.site.published.lease() as edition:
        visit.trace.generation = edition.id
        asked = searches.read(visit.pairs, edition.names, edition.reference)
        values: dict[str, Any] = {"found": None, "error": None, "bars": None, "status": 200}
        if visit.pairs:
            values |= await _results(desk, visit, edition, asked)
        else:
            desk.site.gate.lists(visit.trace.address, visit.now)
            values["bars"] = _known_bars(desk, visit, edition, asked, Query(), _FRONT_BARS)
        return page(desk, visit, "explorer.html", **values, **_around(desk, visit, edition, asked))


async def _results(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, asked: SearchForm
) -> dict[str, Any]:
    """What the template draws of the answer of the API to this search, or of what is wrong."""
    try:
        answer = await _search(desk, visit)
        query = edition.search(visit.pairs).query
    except ApiError as error:
        if error.status != 400:
            raise
        return {"error": error_pages.told(visit, error), "status": 400}
    found = orjson.loads(answer.body)
    return {
        "outcome": answer.outcome,
        "found": found,
        "used": answer.headers.get("X-Quota-Used"),
        "limit": answer.headers.get("X-Quota-Limit"),
        "bars": _known_bars(desk, visit, edition, asked, query) if found["total"] else None,
    }


async def figures(desk: PageContext, visit: PageRequest) -> Response:
    """The bars of a search, on a page of their own; a script puts them into the explorer.

    Raises:
        ApiError: 400, 429, 503.
    """
    desk.site.gate.lists(visit.trace.address, visit.now)
    with desk.site.published.lease() as edition:
        visit.trace.generation = edition.id
        query = edition.search(visit.pairs).query
        counts = await desk.figures.of(edition, query)
        asked = searches.read(visit.pairs, edition.names, edition.reference)
        drawn = facet_bars.of_counts(visit, asked, edition.reference, counts)
        return page(desk, visit, "figures.html", bars=drawn, back=asked.href())


async def _search(desk: PageContext, visit: PageRequest) -> Response:
    """The answer of the API to this search, a page of it."""
    given = (*without(visit.pairs, ["limit"]), ("limit", str(ROWS)))
    call = Call(_SEARCH, (), lambda: given, head=visit.head)
    return await admission.worked(desk.site, societes, call, visit.caller, visit.trace)


def _known_bars(
    desk: PageContext,
    visit: PageRequest,
    edition: OpenGeneration,
    asked: SearchForm,
    query: Query,
    drawn: int = facet_bars.DRAWN,
) -> Bars | None:
    counts = desk.figures.known(edition, query)
    return facet_bars.of_counts(visit, asked, edition.reference, counts, drawn) if counts else None


def _around(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, asked: SearchForm
) -> dict[str, Any]:
    """What surrounds the results: the form, the chips, the links, the call of the API."""
    return {
        "asked": asked,
        "names": facet_bars.labels(visit, edition.reference),
        "rows": ROWS,
        "pickers": filter_options.of_search(desk, visit, edition, asked),
        "chips": _chips(visit, edition, asked),
        "heads": result_table.heads(visit, asked),
        "orders": {tri: visit.t(*names) for tri, names in ORDER_NAMES.items()},
        "total": sum(shard.rows for shard in edition.shards.values()),
        "call": f"{_SEARCH}?{searches.query_string([*asked.pairs(), ('limit', str(ROWS))])}",
    }


def _chips(
    visit: PageRequest, edition: OpenGeneration, asked: SearchForm
) -> Sequence[tuple[str, str]]:
    """What the search is restricted to, and the address without each restriction."""
    t = visit.t
    countries = {one.iso2: facet_bars.country_name(visit, one) for one in edition.reference.pays}
    sectors = {one.slug: facet_bars.sector_name(visit, one) for one in edition.reference.secteurs}
    chips = [(countries[code], asked.without("pays", code)) for code in asked.pays]
    chips += [(sectors[slug], asked.without("secteur", slug)) for slug in asked.secteurs]
    chips += [(one, asked.without("sous_secteur", one)) for one in asked.sous_secteurs]
    for name, fr, en in (
        ("q", "Nom ou identifiant : {}", "Name or identifier: {}"),
        ("ca_min", "CA ≥ {} €", "Turnover ≥ €{}"),
        ("ca_max", "CA ≤ {} €", "Turnover ≤ €{}"),
        ("effectif_min", "Effectif ≥ {}", "Headcount ≥ {}"),
        ("effectif_max", "Effectif ≤ {}", "Headcount ≤ {}"),
        ("site_web", "Avec site web", "With a website"),
        ("avec_ca", "CA publié", "Turnover published"),
    ):
        if value := asked.value(name):
            told = t(fr, en).format(value if name == "q" else _readable(visit, value))
            chips.append((told, asked.href(**{name: ""})))
    return chips


def _readable(visit: PageRequest, value: str) -> str:
    """A bound with its thousands apart; one that is no number as it was written."""
    try:
        return Formatting(visit.lang).number(parse_decimal(value))
    except ValueError:
        return value
