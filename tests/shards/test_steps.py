"""The values along an order, and ranking by them, held to sorting itself."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import sort_keys
from shards.query import ORDERS
from shards.search.reader import Shard
from tests.shards.second_engine import top_rows
from tests.world import Company, companies, write_shard

KEYS = st.lists(st.integers(-5, 5), max_size=20).map(sorted)


@given(KEYS, st.integers(-6, 6), st.integers(-6, 6))
def test_steps_tell_the_key_at_each_place_and_the_places_of_keys(
    keys: list[int], low: int, high: int
) -> None:
    found = sort_keys.of_order(np.array(keys, dtype=np.int32))

    assert found.known == len(keys)
    null = np.iinfo(np.int32).max
    places = np.arange(len(keys) + 2, dtype=np.uint32)
    assert found.key_at(places).tolist() == [*keys, null, null]
    first, end = found.within(np.int32(low), np.int32(high))
    assert keys[first:end] == [key for key in keys if low <= key <= high]


@given(companies(), st.sampled_from(ORDERS), st.integers(1, 9), st.data())
def test_ranking_gives_the_first_rows_of_an_order(
    found: list[Company], tri: str, count: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_shard(Path(folder) / "EE", "EE", found)
        with Shard(Path(folder) / "EE") as shard:
            order = shard.order(tri).tolist()  # so few that it lists all
            chosen = data.draw(st.sets(st.sampled_from(order)) if order else st.just(set()))
            rows = np.array(sorted(chosen), dtype=np.uint32)

            ranked = top_rows.least_ranked(shard, tri, rows, count).tolist()

    assert ranked == [row for row in order if row in chosen][:count]
