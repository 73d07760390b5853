"""q, order, page, bounds, flags, and the order of errors: contract B12 to B26, B33."""

import unicodedata

import pytest

from shards.query import ORDERS, Range
from tests.serve.parameter_reading import invalid_value, read_query, read_search, refusal

# -- q --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_an_empty_q_is_absent(text: str) -> None:
    """B12"""
    assert read_query(q=text).q is None


def test_q_is_measured_in_code_points_after_trim_and_nfc() -> None:
    """B13: 120 code points at most, here of letters with accents and of signs outside the basic plane"""
    decomposed = unicodedata.normalize("NFD", "é" * 120)

    assert read_query(q=f"  {decomposed} ").q == "é" * 120
    assert read_query(q="🚀" * 120).q == "🚀" * 120
    assert "121" in invalid_value("q", "é" * 121).message


@pytest.mark.parametrize("text", ["a", "ab", "!?", "a b"])
def test_a_q_of_one_letter_or_of_signs_is_accepted(text: str) -> None:
    """B14, B16: the tests of shards/ say what such a text matches"""
    assert read_query(q=text).q == text


# -- order, page ----------------------------------------------------------------------


def test_every_order_is_known_and_the_first_is_the_default() -> None:
    assert read_query().tri == "ca_desc"
    assert [read_query(tri=tri).tri for tri in ORDERS] == list(ORDERS)


@pytest.mark.parametrize("text", ["ca", "CA_DESC", "name"])
def test_an_unknown_order_is_refused_with_the_list(text: str) -> None:
    """B26"""
    error = invalid_value("tri", text)

    assert error.extra["valeurs"] == ORDERS
    assert all(tri in error.message for tri in (text, *ORDERS))


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "abc", "1e2", "0.0", "-" + "9" * 5_000])
def test_a_limit_that_is_not_a_positive_integer_is_refused(text: str) -> None:
    """B17"""
    assert text[:90] in invalid_value("limit", text).message


@pytest.mark.parametrize(
    ("text", "limit"), [("", 50), ("1", 1), ("1000", 1000), ("1001", 1000), ("9" * 5_000, 1000)]
)
def test_a_limit_is_clamped_and_defaults_to_fifty(text: str, limit: int) -> None:
    """B17, B18: 1 000 at most"""
    assert read_search(limit=text).limit == limit


@pytest.mark.parametrize("text", ["-1", "1.5", "abc"])
def test_an_offset_that_is_negative_or_not_an_integer_is_refused(text: str) -> None:
    """B21"""
    invalid_value("offset", text)


def test_a_huge_offset_is_read() -> None:
    """B21"""
    assert read_search(offset="99999999999999999999").offset == 99999999999999999999
    assert read_search(offset="").offset == 0


# -- bounds and flags -----------------------------------------------------------------


def test_bounds_are_read_as_numbers() -> None:
    parsed = read_query(ca_min="-1e6", ca_max="0.5", effectif_min="0", effectif_max="250")

    assert parsed.ranges == (Range("ca_eur", -1e6, 0.5), Range("effectif", 0, 250))


@pytest.mark.parametrize("name", ["ca_min", "ca_max"])
@pytest.mark.parametrize("text", ["NaN", "inf", "-inf", "1,5", "1_000", "mille", "1e999"])
def test_a_bound_that_is_not_a_finite_number_is_refused(name: str, text: str) -> None:
    """B22"""
    assert text in invalid_value(name, text).message


def test_bounds_in_the_wrong_order_are_refused_and_equal_bounds_are_not() -> None:
    """B22"""
    assert "ca_max" in refusal(("ca_min", "2"), ("ca_max", "1")).message
    assert "effectif_max" in refusal(("effectif_min", "2"), ("effectif_max", "1")).message
    assert read_query(ca_min="2", ca_max="2.0").ranges == (Range("ca_eur", 2.0, 2.0),)


@pytest.mark.parametrize("text", ["1.5", "1e3", "dix"])
def test_a_headcount_is_an_integer(text: str) -> None:
    """B33"""
    invalid_value("effectif_min", text)


@pytest.mark.parametrize("name", ["site_web", "avec_ca"])
def test_a_flag_is_1_or_absent(name: str) -> None:
    """B23"""
    assert getattr(read_query(**{name: "1"}), name) is True
    assert getattr(read_query(**{name: ""}), name) is False
    for text in ("0", "true", "01", "oui"):
        assert text in invalid_value(name, text).message


# -- the order of errors --------------------------------------------------------------

# A wrong value of each parameter, in the order in which errors are reported.
WRONG_PARAMETERS = [
    ("inconnu", "1"), ("pays", "XX"), ("q", "é" * 121), ("tri", "x"), ("limit", "0"),
    ("offset", "-1"), ("ca_min", "x"), ("ca_max", "x"), ("effectif_min", "x"),
    ("effectif_max", "x"), ("site_web", "x"), ("avec_ca", "x"),
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(WRONG_PARAMETERS)))
def test_the_error_is_about_the_first_wrong_parameter_whatever_their_order(first: int) -> None:
    error = refusal(*reversed(WRONG_PARAMETERS[first:]))

    name_by_code = {"parametre_inconnu": "inconnu", "pays_inconnu": "pays"}
    assert name_by_code.get(error.code, error.extra.get("parametre")) == WRONG_PARAMETERS[first][0]
