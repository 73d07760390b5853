"""Sorting of texts as numbers, compared with `sorted` on their bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import strings
from shards.codec.arrays import Rows
from shards.codec.strings import SortedRows

# Long common beginnings, so that several depths are needed.
TEXTS = st.lists(st.text(st.sampled_from("aéb 0"), max_size=30), max_size=40)
LONG = "abcdefgh" * 4


@given(TEXTS)
def test_texts_are_sorted_by_their_bytes_and_ties_stay_in_place(given_texts: list[str]) -> None:
    found = strings.sort_texts(strings.pack(given_texts))

    expected = sorted(range(len(given_texts)), key=lambda i: given_texts[i].encode())
    assert found.rows.tolist() == expected


@given(TEXTS)
def test_equal_texts_share_a_group_and_different_ones_do_not(given_texts: list[str]) -> None:
    found = strings.sort_texts(strings.pack(given_texts))

    ordered = [given_texts[row] for row in found.rows]
    assert [ordered[place] for place in found.group] == ordered
    assert [ordered.index(text) for text in ordered] == found.group.tolist()


def test_a_prefix_comes_first_at_every_length() -> None:
    held = [LONG[:length] for length in range(len(LONG), -1, -1)]

    assert strings.sort_texts(strings.pack(held)).rows.tolist() == list(range(len(held)))[::-1]


@given(TEXTS)
def test_groups_that_are_given_are_kept_and_sorted_inside(held: list[str]) -> None:
    half = len(held) // 2
    group = np.array([0] * half + [half] * (len(held) - half), dtype=np.int64)
    rows: Rows = np.arange(len(held), dtype=np.uint32)

    found = strings.sort_texts(strings.pack(held), SortedRows(rows, group))

    def key(row: int) -> bytes:
        return held[row].encode()

    expected = sorted(range(half), key=key) + sorted(range(half, len(held)), key=key)
    assert found.rows.tolist() == expected


def test_no_text_is_no_row() -> None:
    assert strings.sort_texts(strings.pack([])).rows.tolist() == []
