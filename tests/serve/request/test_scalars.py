"""Numbers in a URL (B17, B21, B22), and dates of lists in the notations that people use (extension X19)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.request.scalars import ListedDate, iso_date, listed_date, parse_decimal, parse_integer


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), ("1000000", 1e6), ("1e6", 1e6), ("1E+6", 1e6), ("1000000.0", 1e6), (".5", 0.5),
     ("5.", 5.0), ("-1", -1.0), ("+0.5", 0.5), ("1e-3", 0.001), ("007", 7.0)],
)  # fmt: skip
def test_a_plain_decimal_number_is_read(text: str, number: float) -> None:
    """B22"""
    assert parse_decimal(text) == number


def test_minus_zero_is_zero() -> None:
    """B22: searches with -0 and 0 mean the same, so they have one entity tag"""
    assert str(parse_decimal("-0")) == "0.0"


@pytest.mark.parametrize(
    "text",
    ["NaN", "nan", "inf", "-Infinity", "1,5", "1_000", "1 000", "0x10", "٥", "１", "", ".", "e6",
     "1e", "--1", "1e999", "-1e999", "1" * 400, "1.5.2", "1\n", "½"],
)  # fmt: skip
def test_text_that_is_not_a_plain_finite_number_is_refused(text: str) -> None:
    """B22"""
    with pytest.raises(ValueError, match="nombre"):
        parse_decimal(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_python_prints_it_is_read_unchanged(number: float) -> None:
    assert parse_decimal(repr(number)) == number


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("000", 0), ("050", 50), ("-3", -3), ("+4", 4), ("50.0", 50)]
)
def test_an_integer_is_read(text: str, number: int) -> None:
    """B17: `50.0` is an integer in JSON, and clients made from a schema send it."""
    assert parse_integer(text) == number


@pytest.mark.parametrize("text", ["", "1.5", "1e2", "abc", "1_0", "٣", "0x1", "--1", " 1", "5,0"])
def test_text_that_is_not_an_integer_is_refused(text: str) -> None:
    """B17"""
    with pytest.raises(ValueError, match="nombre entier"):
        parse_integer(text)


def test_an_integer_of_60000_digits_is_read_in_time() -> None:
    """B21: a request line may have 64 KiB of digits"""
    assert parse_integer("9" * 60_000) > 10**4_000
    assert parse_integer("0" * 60_000 + "7") == 7
    with pytest.raises(ValueError, match="nombre entier"):
        parse_integer("0" * 60_000 + "x")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1968-12-13", "1968-12-13"), ("1968-12", "1968-12"), ("1968", "1968"),
        ("13/12/1968", "1968-12-13"), ("12/13/1968", "1968-12-13"), ("05/05/1968", "1968-05-05"),
        ("3.4.1968", "1968-04-03"), ("03. 04. 1968", "1968-04-03"), ("1968/12/13", "1968-12-13"),
        ("19681213", "1968-12-13"), ("13 décembre 1968", "1968-12-13"), ("1er août 1968", "1968-08-01"),
        ("13-Dec-1968", "1968-12-13"), ("December 13, 1968", "1968-12-13"), ("12/1968", "1968-12"),
        ("13.XII.1968", "1968-12-13"), ("13 XII 1968", "1968-12-13"), ("1/v/1968", "1968-05-01"),
        ("13 dicembre 1968", "1968-12-13"), ("13 de diciembre de 1968", "1968-12-13"),
        ("13 grudnia 1968 r.", "1968-12-13"), ("13. prosince 1968", "1968-12-13"),
        ("13. joulukuuta 1968", "1968-12-13"), ("13 Δεκεμβρίου 1968", "1968-12-13"),
        ("13 декември 1968 г.", "1968-12-13"), ("1968 m. gruodžio 13 d.", "1968-12-13"),
        ("1968. gada 13. decembris", "1968-12-13"), ("1968. december 13.", "1968-12-13"),
        ("le 13 décembre, 1968", "1968-12-13"), ("1968 December", "1968-12"),
        ("December 1968", "1968-12"), ("13. März 1968", "1968-03-13"),
    ],
)  # fmt: skip
def test_a_date_in_the_notation_of_a_european_country_is_read(text: str, day: str) -> None:
    assert iso_date(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "03/04/1968", "3-4-1968", "31/02/1968", "soon", "13/12/68", "99999999", "1968-13-01",
        "5 listopada 1968",  # `listopad` is October in Croatian, November in Polish
        "13.XIII.1968", "1968 m. gruodžio 32 d.", "13 sometimes 1968", "1968. 13. december 14",
    ],
)  # fmt: skip
def test_a_date_that_can_mean_two_days_or_none_is_refused(text: str) -> None:
    assert iso_date(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1968-12-13T00:00:00Z", "1968-12-13"), ("1968-12-13 00:00:00", "1968-12-13"),
        ("13.12.1968 00:00", "1968-12-13"), ("12/13/1968 12:00:00 AM", "1968-12-13"),
        ("1968-12-13T00:00:00.000+01:00", "1968-12-13"), ("13/12/1968 à 14h30", "1968-12-13"),
        ("25185", "1968-12-13"), ("25185.5", "1968-12-13"), ("'1968-12-13", "1968-12-13"),
        ("1968-12-00", "1968-12"), ("1968-00-00", "1968"), ("１９６８", "1968"), ("1968-12", "1968-12"),
    ],
)  # fmt: skip
def test_a_date_in_a_list_can_have_a_time_or_be_the_day_number_of_a_spreadsheet(
    text: str, day: str
) -> None:
    assert listed_date(text) == ListedDate(day)


@pytest.mark.parametrize(
    "text", ["03/04/1968", "3-4-1968", "03/04/1968 00:00:00", "5 listopada 1968"]
)
def test_of_an_ambiguous_date_in_a_list_the_year_is_read(text: str) -> None:
    assert listed_date(text) == ListedDate("1968", is_ambiguous=True)


@pytest.mark.parametrize(
    "text",
    ["", "hier", "1/1/54", "31/02/1968", "99/99/1968", "99999", "12:30", "n'importe quoi 1968"],
)
def test_text_that_is_not_a_date_is_none(text: str) -> None:
    assert listed_date(text) is None
