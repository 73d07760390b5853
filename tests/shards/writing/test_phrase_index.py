"""The stored texts with blanks, compared with every substring of every name."""

from collections import defaultdict
from itertools import combinations
from unittest.mock import patch

import pytest
from hypothesis import given

from shards import format
from shards.codec.folding import fold
from shards.writing import phrase_index
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

    with patch.object(phrase_index, "phrase_size", lambda _: least):
        found = dict(phrase_index.phrase_sets(folded_names(noms), packing(noms)))

    assert {key.decode(): set(unpack(value).rows or ()) for key, value in found.items()} == {
        text: rows
        for text, rows in expected.items()
        if len(rows) > least and len(text.encode()) <= format.SUFFIX_BYTES
    }
    assert list(found) == sorted(found)
