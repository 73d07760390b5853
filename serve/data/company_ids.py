"""The companies that a search names by their identifiers (`ids`, extensions X2), looked up in a generation.

An identifier is understood as in the path of a record (contract E2), so that one spelling of it is never found by one
route and unknown to another.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from serve.request.params import Breakdown, Export, Search
from shards.query import Query
from shards.search.search import Base

# A look-up reads a record, so other requests are served between so many of them: about a millisecond.
_AT_ONCE: Final = 50


async def looked_up(
    base: Base, asked: Search | Export | Breakdown
) -> tuple[Query, Sequence[str] | None]:
    """The query with the companies that exist, and the items of `ids` that name none, as they were written.

    The second value is None where `ids` is absent. This runs on the event loop: a shard's decompressor is not for two
    threads at once.
    """
    if asked.companies is None:
        return asked.query, None
    known, unknown = set(), []
    for number, one in enumerate(asked.companies):
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        shard = base[one.iso2]
        row = shard.find(one.identifier)
        if row is None:
            unknown.append(one.given)
        else:
            known.add((one.iso2, str(shard.company(row)["id"])))
    return replace(asked.query, ids=tuple(sorted(known))), unknown
