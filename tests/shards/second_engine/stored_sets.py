"""The row sets that a shard stores, by their keys."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.strings import Interval, interval_key, pair_key
from shards.search.reader import Shard
from tests.shards.second_engine import row_sets
from tests.shards.second_engine.row_sets import Counted, Packed


def heavy(shard: Shard, interval: Interval) -> Packed | Counted | None:
    """The rows of an interval of suffixes, or only their number and heads."""
    packed = _by_number(shard, format.HEAVY, interval_key(interval))
    return None if packed is None else row_sets.unpack_union(packed, shard.rows)


def junction(shard: Shard, pair: bytes) -> Packed | None:
    """The rows of a pair of characters around a blank."""
    packed = _by_number(shard, format.JUNCTION, pair_key(pair))
    return None if packed is None else row_sets.unpack(packed, shard.rows)


def prefix(shard: Shard, interval: Interval) -> Packed | None:
    """The rows of an interval of identifiers."""
    packed = _by_number(shard, format.PREFIX, interval_key(interval))
    return None if packed is None else row_sets.unpack(packed, shard.rows)


def phrase(shard: Shard, text: bytes) -> Packed | None:
    """The rows whose names hold a text with a blank."""
    texts, places = shard.phrases
    for index in range(len(texts)):
        if texts[index] == text:
            return row_sets.unpack(_at(shard, int(places[index])), shard.rows)
    return None


def _by_number(shard: Shard, table: bytes, key: int) -> memoryview | None:
    keys, places = shard.set_index(table)
    index = int(keys.searchsorted(np.uint64(key)))
    found = index < len(keys) and int(keys[index]) == key
    return _at(shard, int(places[index])) if found else None


def _at(shard: Shard, place: int) -> memoryview:
    """The set at a place."""
    ends = _places(shard)
    index = int(ends.searchsorted(place, side="right"))
    whole = shard.sets.view(np.uint8).data
    end = int(ends[index]) * format.SET_ALIGNMENT if index < len(ends) else len(whole)
    return whole[place * format.SET_ALIGNMENT : end]


@lru_cache(maxsize=64)
def _places(shard: Shard) -> NDArray[np.uint32]:
    """The places of all sets, ascending."""
    tables = (format.HEAVY, format.JUNCTION, format.PREFIX)
    places = [shard.set_index(table).places for table in tables]
    return np.sort(np.concatenate((*places, shard.phrases[1])))
