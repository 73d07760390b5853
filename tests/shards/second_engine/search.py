"""A search over a whole generation: an exact total, and one page of it."""

from collections.abc import Mapping

from shards.query import Query
from shards.search.compiled_query import compile_query
from shards.search.reader import Shard
from shards.search.result_page import ResultPage
from tests.shards.second_engine.merge import MergeSource, merge_page
from tests.shards.second_engine.planner import plans


def search(shards: Mapping[str, Shard], query: Query, *, offset: int, limit: int) -> ResultPage:
    """Rows [offset, offset + limit) of the companies that match, and how many match."""
    compiled = compile_query(query)
    if compiled is None:
        return ResultPage(0, ())
    found = plans(shards, query.pays, compiled, offset + limit)
    matches = [(shard, plan.find()) for shard, plan in found]
    total = sum(held.total for _, held in matches)
    if not limit or offset >= total:
        return ResultPage(total, ())
    sources = [MergeSource(shard, held.total, held.first) for shard, held in matches if held.total]
    return ResultPage(total, merge_page(sources, query.tri, offset=offset, limit=limit))
