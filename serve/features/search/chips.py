"""The restrictions of a search in words, each with the address of the search without it: the chips above its results.

A search without results shows how many companies it has without each of them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from serve.contract import parameters
from serve.contract.parameters import Parameter, Q
from serve.contract.seed_tables import label
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request.scalars import parse_decimal
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.search_form import SearchForm
from shards.generations.reference import Reference
from shards.query import Query
from shards.search.search import search

_LONGEST: Final = 120  # characters, those of `q`
_NAMED: Final = 4  # restrictions in the title of a page
_MOST: Final = 8  # restrictions that are tried

# Every parameter that restricts a search and is no list of places, in the order of the form.
_RESTRICTIONS: Final = (Q, *parameters.FILTERS)


class Chip(NamedTuple):
    """A restriction: its words, and the address of the search without it."""

    label: str
    href: str


class RelaxedSearch(NamedTuple):
    """A restriction, the address of the search without it, and what that finds."""

    label: str
    href: str
    total: int


def chips(request: PageRequest, reference: Reference, form: SearchForm) -> Sequence[Chip]:
    """Each restriction of the search."""
    countries = {one.iso2: formatting.country_name(request, one) for one in reference.pays}
    sectors = {one.slug: formatting.sector_name(request, one) for one in reference.secteurs}
    groups = formatting.sub_sector_names(request, reference)
    restrictions = [Chip(countries[code], form.href_without("pays", code)) for code in form.pays]
    restrictions += [
        Chip(sectors[slug], form.href_without("secteur", slug)) for slug in form.secteurs
    ]
    restrictions += [
        Chip(groups.get(one, one), form.href_without("sous_secteur", one))
        for one in form.sous_secteurs
    ]
    for parameter in _RESTRICTIONS:
        if value := form.value(parameter.name):
            words = _list_words(request, value) if parameter is parameters.IDS else ""
            words = words or request.t(*parameter.chip).format(
                _readable_value(request, parameter, value)
            )
            restrictions.append(Chip(words, form.href(**{parameter.name: ""})))
    return restrictions


def title(request: PageRequest, restrictions: Sequence[Chip]) -> str:
    """The search in a few words, for the title of its page."""
    named = [one.label for one in restrictions[:_NAMED]]
    if len(restrictions) > _NAMED:
        named.append("…")
    return " · ".join(named) or request.t("Toutes les sociétés", "All companies")


async def without_each(
    generation: OpenGeneration, restrictions: Sequence[Chip]
) -> Sequence[RelaxedSearch]:
    """The restrictions without which something is found, the most companies first.

    A search with a single restriction has nothing to be left of it.
    """
    if len(restrictions) < 2:
        return ()
    tried = restrictions[:_MOST]
    queries = [await _query(generation, one.href) for one in tried]
    totals = await generation.in_thread(
        EXPENSIVE_MICROSECONDS,
        lambda: [search(generation.shards, one, offset=0, limit=0).total for one in queries],
    )
    searches = [
        RelaxedSearch(chip.label, chip.href, total)
        for chip, total in zip(tried, totals, strict=True)
        if total
    ]
    return sorted(searches, key=lambda one: -one.total)


async def _query(generation: OpenGeneration, href: str) -> Query:
    asked = generation.search(tuple(parse_qsl(urlsplit(href).query)))
    query, _ = await company_ids.resolved_query(generation.shards, asked)
    return query


def _list_words(request: PageRequest, value: str) -> str:
    """A list of companies by their number; "" for one company, which is named."""
    count = sum(1 for one in value.split(",") if one.strip())
    number = formatting.formats_of(request.lang).number(count)
    return request.t(f"Ma liste · {number}", f"My list · {number}") if count > 1 else ""


def _readable_value(request: PageRequest, parameter: Parameter, value: str) -> str:
    """A bound with separated thousands, states in words; any other text as it is, if it is not long."""
    if parameter.kind == "choices":
        words = (
            label(parameter.name, "", word, request.lang) or word
            for word in value.split(parameter.separator)
        )
        return ", ".join(words)
    if parameter.kind in ("number", "integer"):
        try:
            return formatting.formats_of(request.lang).number(parse_decimal(value))
        except ValueError:
            return value
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
