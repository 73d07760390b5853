"""The rows whose identifier begins with a text, in NumPy."""

from typing import Final

from shards import format
from shards.codec.arrays import distinct
from shards.codec.sparse_index import Probe
from shards.search.reader import Shard
from tests.shards.second_engine import stored_sets
from tests.shards.second_engine.row_sets import NO_LOOKUP, Listed, Lookup, lazy_lookup

_LISTING: Final = 5.0  # nanoseconds per row


def rows_beginning_with(shard: Shard, prefix: Probe) -> Lookup:
    """The rows whose folded identifier begins with `prefix`, which is folded."""
    index = shard.idents
    interval = index.folded.beginning_with(prefix)
    first, end = interval
    if first == end:
        return NO_LOOKUP
    if end - first > format.heavy_size(shard.rows):
        stored = stored_sets.prefix(shard, interval)
        if stored is not None:
            return lazy_lookup(stored)
    cost = _LISTING * (end - first)
    return Lookup(cost, lambda: Listed(distinct(index.rows[first:end].copy())))
