"""A query string as pairs: the same as the standard library reads; and the bounded memo of texts that clients wrote."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.request import reader
from serve.request.reader import memoise


def test_a_short_text_is_read_once_and_a_long_one_each_time() -> None:
    read: list[str] = []

    @memoise
    def recall(text: str) -> int:
        read.append(text)
        return len(text)

    assert [recall("a"), recall("a"), recall("b" * 500), recall("b" * 500)] == [1, 1, 500, 500]
    assert read == ["a", "b" * 500, "b" * 500]


def test_what_cannot_be_read_is_read_again() -> None:
    recall = memoise(int)

    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            recall("x")
    assert recall("7") == 7


@given(st.text(alphabet="ab=&;?/ é%2+", max_size=40))
@example("a")
@example("a=&&=b&a=b=c")
@example("é=é")
def test_the_pairs_are_those_of_the_standard_library(raw: str) -> None:
    expected = parse_qsl(raw, keep_blank_values=True, errors="replace")
    if "\N{REPLACEMENT CHARACTER}" in str(expected):
        return  # an error, which other tests expect

    assert list(reader.query_pairs(raw)) == expected
