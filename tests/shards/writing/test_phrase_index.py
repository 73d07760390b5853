"""The stored texts with blanks, compared with every substring of every name."""

from collections import defaultdict
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

from shards import format
from shards.codec.folding import fold
from shards.codec.row_sets import Packing
from shards.query import ORDERS
from shards.writing import name_index
from tests.shards.unpacked import unpack
from tests.shards.writing.test_name_index import NAMES, folded_names, packing


@pytest.mark.parametrize("least", [0, 1, 3])
@given(noms=NAMES)
def test_every_text_with_a_blank_that_many_rows_hold_is_listed(
    least: int, noms: list[list[str]]
) -> None:
    expected: dict[str, set[int]] = defaultdict(set)
    for row, name in ((row, fold(nom)) for row, names in enumerate(noms) for nom in names):
        for first, last in combinations(range(len(name) + 1), 2):
            text = name[first:last]
            if " " in text.strip() and text == text.strip() and len(text) > 3:
                expected[text].add(row)

    with patch.multiple(name_index, phrase_size=lambda _: least, counted_size=lambda _: least):
        found = dict(name_index.phrase_sets(folded_names(noms), packing(noms)))

    assert {key.decode(): set(unpack(value).rows or ()) for key, value in found.items()} == {
        text: rows
        for text, rows in expected.items()
        if len(rows) > least and len(text.encode()) <= format.SUFFIX_BYTES
    }
    assert list(found) == sorted(found)


def test_of_a_less_frequent_text_the_size_and_the_first_rows_are_listed() -> None:
    noms = [["bois de chauffage"] if row % 3 else ["bois et fils"] for row in range(300)]
    backwards = Packing(300, [np.arange(300, dtype=np.uint32)[::-1]] * len(ORDERS))

    with patch.multiple(name_index, phrase_size=lambda _: 150, counted_size=lambda _: 60):
        found = dict(name_index.phrase_sets(folded_names(noms), backwards))

    rarer, frequent = unpack(found[b"is et"]), unpack(found[b"is de"])
    first = list(range(297, 0, -3))[: format.HEAD_ROWS]
    assert (rarer.size, rarer.rows, rarer.heads) == (100, None, [first] * len(ORDERS))
    assert (frequent.size, len(frequent.rows or ())) == (200, 200)
    assert found[b"is e"] is found[b"bois et f"]
