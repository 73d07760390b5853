"""A query string as pairs, like the standard library reads it."""

from urllib.parse import parse_qsl

from hypothesis import example, given
from hypothesis import strategies as st

from serve.request import reader


@given(st.text(alphabet="ab=&;?/ é%2+", max_size=40))
@example("a")
@example("a=&&=b&a=b=c")
@example("é=é")
def test_the_pairs_of_a_query_string_are_those_of_parse_qsl(raw: str) -> None:
    expected = parse_qsl(raw, keep_blank_values=True, errors="replace")
    if "\N{REPLACEMENT CHARACTER}" in str(expected):
        return  # bytes that are not UTF-8 are refused: see test_reader.py

    assert list(reader.query_pairs(raw)) == expected
