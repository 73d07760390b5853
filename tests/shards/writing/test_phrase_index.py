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
from tests.shards.set_decoder import unpack
from tests.shards.writing.test_name_index import NAMES, folded_names, packing


@pytest.mark.parametrize("most_unstored", [0, 1, 3])
@given(noms=NAMES)
def test_every_frequent_text_with_a_blank_is_stored(
    most_unstored: int, noms: list[list[str]]
) -> None:
    """A text is stored if more than `most_unstored` companies have it in a name."""
    expected: dict[str, set[int]] = defaultdict(set)
    for row, name in ((row, fold(nom)) for row, names in enumerate(noms) for nom in names):
        for first, last in combinations(range(len(name) + 1), 2):
            text = name[first:last]
            # Three characters around a blank are in the table of junctions.
            if " " in text.strip() and text == text.strip() and len(text) > 3:
                expected[text].add(row)

    with patch.multiple(
        name_index, phrase_size=lambda _: most_unstored, counted_size=lambda _: most_unstored
    ):
        result = dict(name_index.phrase_sets(folded_names(noms), packing(noms)))

    assert {key.decode(): set(unpack(value).rows or ()) for key, value in result.items()} == {
        text: rows
        for text, rows in expected.items()
        if len(rows) > most_unstored and len(text.encode()) <= format.SUFFIX_BYTES
    }
    assert list(result) == sorted(result)


def test_a_less_frequent_text_has_its_size_and_its_first_rows() -> None:
    noms = [["bois de chauffage"] if row % 3 else ["bois et fils"] for row in range(300)]
    reverse_packing = Packing(300, [np.arange(300, dtype=np.uint32)[::-1]] * len(ORDERS))

    # Of the two names, one has 200 rows and is stored as a set; the other has 100 rows and is only counted.
    with patch.multiple(name_index, phrase_size=lambda _: 150, counted_size=lambda _: 60):
        result = dict(name_index.phrase_sets(folded_names(noms), reverse_packing))

    rarer, frequent = unpack(result[b"is et"]), unpack(result[b"is de"])
    head = list(range(297, 0, -3))[: format.HEAD_ROWS]
    assert (rarer.size, rarer.rows, rarer.heads) == (100, None, [head] * len(ORDERS))
    assert (frequent.size, len(frequent.rows or ())) == (200, 200)
    assert result[b"is e"] is result[b"bois et f"]  # texts of the same rows share one set
