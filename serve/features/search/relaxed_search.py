"""The search without one of its restrictions, for a search that finds nothing."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from serve.features.search.chips import Chip
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from shards.query import Query
from shards.search.search import search

_MOST: Final = 8  # restrictions that are tried


class RelaxedSearch(NamedTuple):
    """A restriction, the address of the search without it, and what that finds."""

    label: str
    href: str
    total: int


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
