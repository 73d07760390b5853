"""A search over a whole generation: an exact total, and one page of it."""

from collections.abc import Mapping
from typing import NamedTuple

from shards.query import Query
from shards.search.compiled_query import compile_query
from shards.search.reader import Shard
from shards.search.result_page import MergedRow
from tests.shards.second_engine.merge import MergeSource, merge_page
from tests.shards.second_engine.planner import plans


class MergedPage(NamedTuple):
    """A page of this engine."""

    total: int
    rows: tuple[MergedRow, ...]


def search(shards: Mapping[str, Shard], query: Query, *, offset: int, limit: int) -> MergedPage:
    """Rows [offset, offset + limit) of the companies that match, and how many match."""
    compiled = compile_query(query)
    if compiled is None:
        return MergedPage(0, ())
    found = plans(shards, query.pays, compiled, offset + limit)
    matches = [(shard, plan.find()) for shard, plan in found]
    total = sum(held.total for _, held in matches)
    if not limit or offset >= total:
        return MergedPage(total, ())
    sources = [MergeSource(shard, held.total, held.first) for shard, held in matches if held.total]
    return MergedPage(total, merge_page(sources, query.tri, offset=offset, limit=limit))
