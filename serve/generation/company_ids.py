"""Look-ups of the companies that a request names by identifier (`ids`, extensions X2 and X8).

An identifier is read as in the path of a record, so all routes accept the same spellings. A number typed in the place
of a name is read in the same way (`find_by_number`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from serve.contract import seed_tables
from serve.request.reader import ParsedParameters
from serve.request.values import RequestedCompany
from shards.query import Query
from shards.search import company_numbers
from shards.search.search import ShardSet

# The look-ups in a row before other requests get a turn: each takes 20 µs for a known company, 0.1 ms for an unknown
# company.
_LOOKUPS_IN_A_ROW: Final = 10


class ResolvedCompanies(NamedTuple):
    """Requested companies after the look-up.

    Attributes:
        existing: the companies of the base, each as country and stored identifier.
        unknown: the items of the request without a company.
    """

    existing: Sequence[tuple[str, str]]
    unknown: Sequence[RequestedCompany]


async def find(base: ShardSet, companies: Sequence[RequestedCompany]) -> ResolvedCompanies:
    """Look up companies; duplicates are merged.

    This runs on the event loop, in parts of ten: a thousand companies take 10 to 100 ms.
    """
    existing: set[tuple[str, str]] = set()
    unknown: list[RequestedCompany] = []
    for start in range(0, len(companies), _LOOKUPS_IN_A_ROW):
        if start:
            await asyncio.sleep(0)
        batch = companies[start : start + _LOOKUPS_IN_A_ROW]
        identifiers = [(company.iso2, company.identifier) for company in batch]
        found_companies = company_numbers.find_companies(
            base, identifiers, seed_tables.number_notation()
        )
        existing.update(filter(None, found_companies))
        unknown += [
            company
            for company, found_company in zip(batch, found_companies, strict=True)
            if found_company is None
        ]
    return ResolvedCompanies(sorted(existing), unknown)


def find_by_number(
    base: ShardSet, text: str, pays: Sequence[str] = (), most: int = _LOOKUPS_IN_A_ROW
) -> list[Mapping[str, Any]]:
    """At most `most` companies with the number `text`; none if the text is more likely a name (extensions X4, X6).

    Their contact fields are included, so the caller must remove them if the request has no right to them.
    """
    notation = seed_tables.number_notation()
    if not notation.read(text).is_certain:
        return []
    shards = {iso2: base[iso2] for iso2 in pays or tuple(base)}
    places = company_numbers.find(shards, text, notation).places
    return [shards[iso2].company(row) for iso2, row in places[:most]]


async def resolve_query(
    base: ShardSet, parameters: ParsedParameters, looked_up: ResolvedCompanies | None = None
) -> tuple[Query, Sequence[str] | None]:
    """The query with the existing companies, and the items of `ids` without a company, as written.

    The second value is None if `ids` is absent. `looked_up` are the companies, if they have been looked up already.
    """
    if parameters.companies is None:
        return parameters.query, None
    companies = looked_up or await find(base, parameters.companies)
    return replace(parameters.query, ids=tuple(companies.existing)), [
        company.text for company in companies.unknown
    ]
