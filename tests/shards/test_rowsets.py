"""A set of rows as bytes: a list where rows are few, bits where they are many."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import rowsets
from shards.format import BITS, LIST


def unpacked(value: bytes, rows: int) -> list[int]:
    """The rows of a packed set, read as FORMAT.md §8 says."""
    kind, count = struct.unpack_from("<II", value)
    payload = value[8:]
    if kind == LIST:
        found = [number for (number,) in struct.iter_unpack("<I", payload)]
    else:
        assert kind == BITS
        assert len(payload) == (rows + 63) // 64 * 8
        found = [row for row in range(rows) if payload[row >> 3] >> (row & 7) & 1]
    assert len(found) == count
    return found


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_what_is_packed_is_what_is_read(case: tuple[int, set[int]]) -> None:
    rows, held = case
    ascending = np.array(sorted(held), dtype=np.uint32)
    mask = np.zeros(rows, dtype=bool)
    mask[ascending] = True

    assert unpacked(rowsets.pack(ascending, rows), rows) == sorted(held)
    assert rowsets.pack_mask(mask) == rowsets.pack(ascending, rows)


@pytest.mark.parametrize(("count", "kind"), [(10, LIST), (11, BITS)])
def test_bits_are_taken_where_a_list_would_be_longer(count: int, kind: int) -> None:
    packed = rowsets.pack(np.arange(count, dtype=np.uint32), 320)

    assert packed[0] == kind
