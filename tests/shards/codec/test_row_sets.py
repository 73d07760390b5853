"""Row sets as bytes, compared with Python sets and with a decoder after FORMAT.md §8."""

import random
import struct
from itertools import accumulate

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
from tests.shards.second_engine import row_sets as sets
from tests.shards.second_engine.row_sets import Bits, Counted, RowSet


def unpacked(value: bytes, rows: int) -> list[int]:
    """The rows of a packed set, read as FORMAT.md §8 says."""
    kind, count = struct.unpack_from("<II", value)
    payload = value[8:]
    if kind == LIST:
        found = [number for (number,) in struct.iter_unpack("<I", payload)]
    elif kind == GAPS:
        places = list(accumulate(payload))
        found = [place for place, gap in zip(places, payload, strict=True) if gap != 255]
    else:
        assert kind == BITS
        assert len(payload) == (rows + 63) // 64 * 8
        found = [row for row in range(rows) if payload[row >> 3] >> (row & 7) & 1]
    assert len(found) == count
    return found


def some_rows(rows: int) -> st.SearchStrategy[tuple[int, set[int]]]:
    return st.tuples(st.just(rows), st.sets(st.integers(0, rows - 1)))


CASES = st.one_of(st.integers(1, 300), st.integers(1_000, 9_000)).flatmap(some_rows)


@given(CASES)
def test_what_is_packed_is_what_is_read(case: tuple[int, set[int]]) -> None:
    rows, held = case
    ascending = np.array(sorted(held), dtype=np.uint32)
    mask = np.zeros(rows, dtype=bool)
    mask[ascending] = True

    assert unpacked(row_sets.pack(ascending, rows), rows) == sorted(held)
    assert row_sets.pack_mask(mask) == row_sets.pack(ascending, rows)


@given(CASES)
def test_the_reader_has_the_same_rows(case: tuple[int, set[int]]) -> None:
    rows, held = case
    packed = row_sets.pack(np.array(sorted(held), dtype=np.uint32), rows)

    found = sets.expand(sets.unpack(packed, rows))

    assert found.size == len(held)
    assert found.rows().tolist() == sorted(held)
    every = np.arange(rows, dtype=np.uint32)
    assert np.flatnonzero(found.test(every)).tolist() == sorted(held)


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
        found = sets.unpack(packed, rows)

    assert found.size == len(held)
    assert sets.expand(found).rows().tolist() == sorted(held)
    if len(held) <= max(3, rows // 64):
        assert found.heads is None
    else:
        assert found.heads is not None
        heads = [[row for row in order if row in held][:3] for order in orders]
        assert found.heads.tolist() == heads


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
        found = sets.unpack_union(packed, rows)

    assert found.size == len(held)
    if len(held) < 3:
        assert not isinstance(found, Counted)
        assert sets.expand(found).rows().tolist() == sorted(held)
    else:
        assert isinstance(found, Counted)
        heads = [[row for row in order if row in held][:3] for order in orders]
        assert found.heads.tolist() == heads


@given(CASES, st.sets(st.integers(0, 9_000)), st.booleans(), st.booleans())
def test_what_two_sets_have_in_common_is_counted(
    case: tuple[int, set[int]], others: set[int], dense: bool, also: bool
) -> None:
    rows, held = case
    others = {row for row in others if row < rows}

    def found(numbers: set[int], bits: bool) -> RowSet:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_sets, "_DENSE", 10_000 if bits else 0)
            packed = row_sets.pack(np.array(sorted(numbers), dtype=np.uint32), rows)
        return sets.expand(sets.unpack(packed, rows))

    assert sets.common_size(found(held, dense), found(others, also)) == len(held & others)


@given(CASES, st.lists(st.integers(0, 9_000), max_size=12))
def test_bits_are_counted_in_ranges(case: tuple[int, set[int]], bounds: list[int]) -> None:
    rows, held = case
    mask = np.zeros(rows, dtype=bool)
    mask[sorted(held)] = True
    every = np.zeros(-(-rows // 64) * 8, dtype=np.uint8)
    every[: -(-rows // 8)] = np.packbits(mask, bitorder="little")
    places = sorted({min(bound, rows) for bound in bounds})
    ends = np.array(places[: len(places) // 2 * 2], dtype=np.int64)

    counted = Bits(every, len(held), rows).within(ends[::2], ends[1::2])

    assert counted == sum(mask[a:b].sum() for a, b in zip(ends[::2], ends[1::2], strict=True))


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
