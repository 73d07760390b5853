"""Row sets as bytes, compared with Python sets and with a decoder after FORMAT.md §8."""

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
from tests.shards.unpacked import unpack


def some_rows(rows: int) -> st.SearchStrategy[tuple[int, set[int]]]:
    return st.tuples(st.just(rows), st.sets(st.integers(0, rows - 1)))


CASES = st.one_of(st.integers(1, 300), st.integers(1_000, 9_000)).flatmap(some_rows)


@given(CASES)
def test_what_is_packed_is_what_is_read(case: tuple[int, set[int]]) -> None:
    rows, held = case
    ascending = np.array(sorted(held), dtype=np.uint32)
    mask = np.zeros(rows, dtype=bool)
    mask[ascending] = True

    packed = row_sets.pack(ascending, rows)
    assert unpack(packed) == (len(held), sorted(held), None)
    assert packed[0] != BITS or len(packed) == 8 + (rows + 63) // 64 * 8
    assert row_sets.pack_mask(mask) == row_sets.pack(ascending, rows)


@pytest.mark.parametrize("dense", [0, 16, 10_000])
@given(CASES, st.integers(0, 2**32))
def test_a_large_set_has_its_first_rows_in_each_order(
    dense: int, case: tuple[int, set[int]], seed: int
) -> None:
    rows, held = case
    chance = random.Random(seed)
    ascending = np.array(sorted(held), dtype=np.uint32)
    orders = [chance.sample(range(rows), rows) for _ in ORDERS]
    packing = Packing(rows, [np.array(order, dtype=np.uint32) for order in orders])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sets, "_DENSE", dense)
        patch.setattr(format, "HEADED_LEAST", 3)
        patch.setattr(format, "HEAD_ROWS", 3)
        packed = packing.of_rows(ascending)
        assert packing.of_mask(np.isin(np.arange(rows), ascending)) == packed
        found = unpack(packed)

    assert (found.size, found.rows) == (len(held), sorted(held))
    if len(held) <= max(3, rows // 64):
        assert found.heads is None
    else:
        assert found.heads == [[row for row in order if row in held][:3] for order in orders]


@given(CASES, st.integers(0, 2**32))
def test_a_set_may_be_counted_without_its_rows(case: tuple[int, set[int]], seed: int) -> None:
    """Few rows are ranked, many are met on a walk: both give the same heads."""
    rows, held = case
    chance = random.Random(seed)
    orders = [chance.sample(range(rows), rows) for _ in ORDERS]
    packing = Packing(rows, [np.array(order, dtype=np.uint32) for order in orders])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "HEAD_ROWS", 3)
        packed = packing.of_count(np.array(sorted(held), dtype=np.uint32))
        found = unpack(packed)

    heads = [[row for row in order if row in held][:3] for order in orders]
    expected = (len(held), sorted(held), None) if len(held) < 3 else (len(held), None, heads)
    assert found == expected


@pytest.mark.parametrize(
    ("rows", "size", "kind"),
    [
        (np.arange(20), 320, GAPS),
        (np.arange(21), 320, BITS),
        (np.arange(3) * 700, 9_000, GAPS),
        (np.arange(3) * 4_000, 9_000, LIST),
        (np.arange(0), 9_000, LIST),
    ],
)
def test_the_kind_is_the_one_that_suits_so_many(
    rows: NDArray[np.int64], size: int, kind: int
) -> None:
    packed = row_sets.pack(rows.astype(np.uint32), size)

    assert packed[0] == kind
