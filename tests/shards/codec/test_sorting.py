"""Sorting of texts as numbers, compared with `sorted` on their bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import strings
from shards.codec.arrays import Rows
from shards.codec.strings import SortedRows

# Texts with long common beginnings: they are compared in pieces of 8 bytes, so several pieces are needed.
TEXTS = st.lists(st.text(st.sampled_from("aéb 0"), max_size=30), max_size=40)
LONG = "abcdefgh" * 4


@given(TEXTS)
def test_texts_are_sorted_by_their_bytes_and_ties_stay_in_place(texts: list[str]) -> None:
    result = strings.sort_texts(strings.pack(texts))

    expected = sorted(range(len(texts)), key=lambda i: texts[i].encode())
    assert result.rows.tolist() == expected


@given(TEXTS)
def test_equal_texts_share_a_group_and_different_texts_do_not(texts: list[str]) -> None:
    result = strings.sort_texts(strings.pack(texts))

    ordered = [texts[row] for row in result.rows]
    assert [ordered[place] for place in result.group] == ordered
    assert [ordered.index(text) for text in ordered] == result.group.tolist()


def test_a_prefix_comes_first_at_every_length() -> None:
    texts = [LONG[:length] for length in range(len(LONG), -1, -1)]

    assert strings.sort_texts(strings.pack(texts)).rows.tolist() == list(range(len(texts)))[::-1]


@given(TEXTS)
def test_rows_are_sorted_within_the_given_groups(texts: list[str]) -> None:
    middle = len(texts) // 2
    group = np.array([0] * middle + [middle] * (len(texts) - middle), dtype=np.int64)
    rows: Rows = np.arange(len(texts), dtype=np.uint32)

    result = strings.sort_texts(strings.pack(texts), SortedRows(rows, group))

    def key(row: int) -> bytes:
        """The bytes of the text of a row."""
        return texts[row].encode()

    expected = sorted(range(middle), key=key) + sorted(range(middle, len(texts)), key=key)
    assert result.rows.tolist() == expected


def test_a_sort_of_no_texts_has_no_rows() -> None:
    assert strings.sort_texts(strings.pack([])).rows.tolist() == []
