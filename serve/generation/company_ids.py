"""The companies that a request names by their identifiers (`ids`, extensions X2 and X8), looked up in a generation.

An identifier is understood as in the path of a record, so that all routes understand the same spellings. So is a number
that somebody types in the place of a name (`by_number`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from serve.contract import seed_tables
from serve.request.reader import ParsedParameters
from serve.request.values import AskedCompany
from shards.query import Query
from shards.search import company_numbers
from shards.search.search import ShardSet

# Look-ups between which other requests are served: 20 µs for a known company, 0.1 ms for an unknown one.
_AT_ONCE: Final = 10


class FoundCompanies(NamedTuple):
    """Requested companies.

    Attributes:
        known: those that exist, by country and stored identifier.
        unknown: the others, as they were requested.
    """

    known: Sequence[tuple[str, str]]
    unknown: Sequence[AskedCompany]


async def find(base: ShardSet, companies: Sequence[AskedCompany]) -> FoundCompanies:
    """Look companies up, each once.

    This runs on the event loop: a thousand are 10 to 100 ms, in parts of ten.
    """
    known: set[tuple[str, str]] = set()
    unknown: list[AskedCompany] = []
    for start in range(0, len(companies), _AT_ONCE):
        if start:
            await asyncio.sleep(0)
        part = companies[start : start + _AT_ONCE]
        wanted = [(one.iso2, one.identifier) for one in part]
        places = company_numbers.find_each(base, wanted, seed_tables.number_notation())
        known.update(filter(None, places))
        unknown += [one for one, place in zip(part, places, strict=True) if place is None]
    return FoundCompanies(sorted(known), unknown)


def by_number(
    base: ShardSet, text: str, pays: Sequence[str] = (), most: int = _AT_ONCE
) -> list[Mapping[str, Any]]:
    """At most `most` companies whose number is `text`; none if the text is rather a name (extensions X4, X6).

    They have their contact fields, whatever the caller may see.
    """
    notation = seed_tables.number_notation()
    if not notation.read(text).is_certain:
        return []
    shards = {iso2: base[iso2] for iso2 in pays or tuple(base)}
    places = company_numbers.find(shards, text, notation).places
    return [shards[iso2].company(row) for iso2, row in places[:most]]


async def resolved_query(
    base: ShardSet, asked: ParsedParameters, named: FoundCompanies | None = None
) -> tuple[Query, Sequence[str] | None]:
    """The query with the companies that exist, and the items of `ids` that name no company, as they were written.

    The second value is None where `ids` is absent. `named` are the companies, if they have been looked up.
    """
    if asked.companies is None:
        return asked.query, None
    found = named or await find(base, asked.companies)
    return replace(asked.query, ids=tuple(found.known)), [one.given for one in found.unknown]
