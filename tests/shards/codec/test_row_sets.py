"""Packed row sets, unpacked by a decoder written from FORMAT.md §8 and compared with Python sets."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shards import format
from shards.codec import row_sets
from shards.codec.row_sets import Packing
from shards.format import BITS, GAPS, LIST
from shards.query import ORDERS
from tests.shards.set_decoder import unpack


def shard_size_and_rows(rows: int) -> st.SearchStrategy[tuple[int, set[int]]]:
    """The number of rows of a shard, and a set of its row numbers."""
    return st.tuples(st.just(rows), st.sets(st.integers(0, rows - 1)))


# Small shards, whose sets have few gaps over a byte, and larger shards.
CASES = st.one_of(st.integers(1, 300), st.integers(1_000, 9_000)).flatmap(shard_size_and_rows)


@given(CASES)
def test_a_packed_set_unpacks_to_its_rows(case: tuple[int, set[int]]) -> None:
    shard_rows, members = case
    ascending = np.array(sorted(members), dtype=np.uint32)
    mask = np.zeros(shard_rows, dtype=bool)
    mask[ascending] = True

    packed = row_sets.pack(ascending, shard_rows)
    assert unpack(packed) == (len(members), sorted(members), None)
    # Bits are stored in words of 64, after a header of 8 bytes.
    assert packed[0] != BITS or len(packed) == 8 + (shard_rows + 63) // 64 * 8
    assert row_sets.pack_mask(mask) == row_sets.pack(ascending, shard_rows)


# A set with more than one row in `dense_from` is stored as bits: no set, a dense set, nearly every set.
@pytest.mark.parametrize("dense_from", [0, 16, 10_000])
@given(CASES, st.integers(0, 2**32))
def test_a_large_set_has_its_first_rows_in_each_order(
    dense_from: int, case: tuple[int, set[int]], seed: int
) -> None:
    shard_rows, members = case
    chance = random.Random(seed)
    ascending = np.array(sorted(members), dtype=np.uint32)
    orders = [chance.sample(range(shard_rows), shard_rows) for _ in ORDERS]
    packing = Packing(shard_rows, [np.array(order, dtype=np.uint32) for order in orders])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sets, "_DENSE_FROM", dense_from)
        # A set of more than three rows has heads of three rows.
        patch.setattr(format, "HEADED_LEAST", 3)
        patch.setattr(format, "HEAD_ROWS", 3)
        packed = packing.pack_rows(ascending)
        assert packing.pack_mask(np.isin(np.arange(shard_rows), ascending)) == packed
        result = unpack(packed)

    assert (result.size, result.rows) == (len(members), sorted(members))
    # Only a set with more rows than this has heads (`format.headed_size`).
    if len(members) <= max(3, shard_rows // 64):
        assert result.heads is None
    else:
        assert result.heads == [[row for row in order if row in members][:3] for order in orders]


@given(CASES, st.integers(0, 2**32))
def test_a_set_may_be_counted_without_its_rows(case: tuple[int, set[int]], seed: int) -> None:
    """The heads of a small set are found by the ranks of its rows, those of a large set by reading each order."""
    shard_rows, members = case
    chance = random.Random(seed)
    orders = [chance.sample(range(shard_rows), shard_rows) for _ in ORDERS]
    packing = Packing(shard_rows, [np.array(order, dtype=np.uint32) for order in orders])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "HEAD_ROWS", 3)
        packed = packing.pack_count(np.array(sorted(members), dtype=np.uint32))
        result = unpack(packed)

    heads = [[row for row in order if row in members][:3] for order in orders]
    expected = (
        (len(members), sorted(members), None) if len(members) < 3 else (len(members), None, heads)
    )
    assert result == expected


@pytest.mark.parametrize(
    ("rows", "shard_rows", "kind"),
    [
        (np.arange(20), 320, GAPS),  # one row in 16
        (np.arange(21), 320, BITS),  # more than one row in 16
        (np.arange(3) * 700, 9_000, GAPS),  # gaps of a few bytes
        (np.arange(3) * 4_000, 9_000, LIST),  # as gaps, the rows would take more bytes
        (np.arange(0), 9_000, LIST),
    ],
)
def test_the_kind_of_a_set_depends_on_the_number_of_rows_and_their_gaps(
    rows: NDArray[np.int64], shard_rows: int, kind: int
) -> None:
    packed = row_sets.pack(rows.astype(np.uint32), shard_rows)

    assert packed[0] == kind
