"""Keys and runs of keys, compared with plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import sort_keys

KEYS = st.lists(st.integers(-5, 5), max_size=20).map(sorted)


@given(KEYS, st.integers(-6, 6), st.integers(-6, 6))
def test_key_runs_give_the_key_at_each_place_and_the_places_of_keys(
    keys: list[int], low: int, high: int
) -> None:
    result = sort_keys.key_runs(np.array(keys, dtype=np.int32))

    assert result.non_null_count == len(keys)
    # The key of a null is the greatest number, so nulls are last.
    null = np.iinfo(np.int32).max
    places = np.arange(len(keys) + 2, dtype=np.uint32)
    assert result.key_at(places).tolist() == [*keys, null, null]
    first, end = result.places_within(np.int32(low), np.int32(high))
    assert keys[first:end] == [key for key in keys if low <= key <= high]


def test_ranks_are_the_inverse_of_an_order() -> None:
    order = np.array([2, 0, 1], dtype=np.uint32)

    assert sort_keys.ranks(order)[order].tolist() == [0, 1, 2]
