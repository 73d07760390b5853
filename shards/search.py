"""A search over a whole generation: an exact total, and one page of it.

Counts add up over countries, and the page needs only the first rows of each. The batch job checks a
generation with it before publication, the server answers with it: there is one search.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shards.merge import Head, Row, page
from shards.query import Query
from shards.reader import Shard
from shards.select import select


@dataclass(frozen=True, slots=True)
class Page:
    """`total` companies match in the whole base (§8.2 rule 3); `rows` are the ones asked for."""

    total: int
    rows: tuple[Row, ...]


def search(shards: Mapping[str, Shard], query: Query, *, offset: int, limit: int) -> Page:
    """Rows [offset, offset + limit) of the companies that match, and how many match.

    Args:
        shards: all countries of the generation; those of `query.pays` must be among them.
        offset, limit: at least 0, at most `query.DEEPEST` together.
    """
    scope = sorted(set(query.pays) or shards)
    matches = [(shards[iso2], select(shards[iso2], query)) for iso2 in scope]
    total = sum(found.total for _, found in matches)
    if not limit or offset >= total:
        return Page(total, ())
    count = offset + limit
    heads = [Head(shard, found.first(count)) for shard, found in matches if found.total]
    return Page(total, page(heads, query.tri, offset=offset, limit=limit))
