"""Numbers in a URL (B17, B21, B22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.request.scalars import parse_decimal, parse_integer


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), ("1000000", 1e6), ("1e6", 1e6), ("1E+6", 1e6), ("1000000.0", 1e6), (".5", 0.5),
     ("5.", 5.0), ("-1", -1.0), ("+0.5", 0.5), ("1e-3", 0.001), ("007", 7.0)],
)  # fmt: skip
def test_a_plain_decimal_number_is_read(text: str, number: float) -> None:
    """B22"""
    assert parse_decimal(text) == number


def test_minus_zero_is_zero() -> None:
    """B22: two searches that mean the same have one tag."""
    assert str(parse_decimal("-0")) == "0.0"


@pytest.mark.parametrize(
    "text",
    ["NaN", "nan", "inf", "-Infinity", "1,5", "1_000", "1 000", "0x10", "٥", "１", "", ".", "e6",
     "1e", "--1", "1e999", "-1e999", "1" * 400, "1.5.2", "1\n", "½"],
)  # fmt: skip
def test_what_is_not_a_plain_finite_number_is_refused(text: str) -> None:
    """B22"""
    with pytest.raises(ValueError, match="nombre"):
        parse_decimal(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_that_a_client_prints_comes_back_the_same(number: float) -> None:
    assert parse_decimal(repr(number)) == number


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("000", 0), ("050", 50), ("-3", -3), ("+4", 4), ("50.0", 50)]
)
def test_an_integer_is_read(text: str, number: int) -> None:
    """B17: `50.0` is an integer in JSON, and clients made from a schema send it."""
    assert parse_integer(text) == number


@pytest.mark.parametrize("text", ["", "1.5", "1e2", "abc", "1_0", "٣", "0x1", "--1", " 1", "5,0"])
def test_what_is_not_an_integer_is_refused(text: str) -> None:
    """B17"""
    with pytest.raises(ValueError, match="nombre entier"):
        parse_integer(text)


def test_an_integer_of_any_length_is_read_in_time() -> None:
    """B21: a request line holds 64 KiB of digits"""
    assert parse_integer("9" * 60_000) > 10**4_000
    assert parse_integer("0" * 60_000 + "7") == 7
    with pytest.raises(ValueError, match="nombre entier"):
        parse_integer("0" * 60_000 + "x")
