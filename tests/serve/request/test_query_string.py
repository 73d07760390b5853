"""A query string as pairs: the same as the standard library reads."""

from urllib.parse import parse_qsl

from hypothesis import example, given
from hypothesis import strategies as st

from serve.request import reader


@given(st.text(alphabet="ab=&;?/ é%2+", max_size=40))
@example("a")
@example("a=&&=b&a=b=c")
@example("é=é")
def test_the_pairs_are_those_of_the_standard_library(raw: str) -> None:
    expected = parse_qsl(raw, keep_blank_values=True, errors="replace")
    if "\N{REPLACEMENT CHARACTER}" in str(expected):
        return  # an error, which other tests expect

    assert list(reader.query_pairs(raw)) == expected
