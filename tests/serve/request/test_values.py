"""q, order, page, bounds, flags, and the order of errors: contract B12 to B26, B33."""

import unicodedata

import pytest

from shards.query import ORDERS, Range
from tests.serve.asking import invalid, query, refused, search

# -- q --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_an_empty_q_is_absent(text: str) -> None:
    """B12"""
    assert query(q=text).q is None


def test_q_is_measured_in_code_points_after_trim_and_nfc() -> None:
    """B13"""
    decomposed = unicodedata.normalize("NFD", "é" * 120)

    assert query(q=f"  {decomposed} ").q == "é" * 120
    assert query(q="🚀" * 120).q == "🚀" * 120
    assert "121" in invalid("q", "é" * 121).message


@pytest.mark.parametrize("text", ["a", "ab", "!?", "a b"])
def test_a_short_or_odd_q_is_served(text: str) -> None:
    """B14, B16: what it matches is shards/'s to say."""
    assert query(q=text).q == text


# -- order, page ----------------------------------------------------------------------


def test_every_order_is_known_and_the_first_is_the_default() -> None:
    assert query().tri == "ca_desc"
    assert [query(tri=tri).tri for tri in ORDERS] == list(ORDERS)


@pytest.mark.parametrize("text", ["ca", "CA_DESC", "name"])
def test_an_unknown_order_is_refused_with_the_list(text: str) -> None:
    """B26"""
    error = invalid("tri", text)

    assert error.extra["valeurs"] == ORDERS
    assert all(tri in error.message for tri in (text, *ORDERS))


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "abc", "1e2", "0.0", "-" + "9" * 5_000])
def test_a_limit_that_is_no_positive_integer_is_refused(text: str) -> None:
    """B17"""
    assert text[:90] in invalid("limit", text).message


@pytest.mark.parametrize(
    ("text", "limit"), [("", 50), ("1", 1), ("1000", 1000), ("1001", 1000), ("9" * 5_000, 1000)]
)
def test_a_limit_is_clamped_and_defaults_to_fifty(text: str, limit: int) -> None:
    """B17, B18"""
    assert search(limit=text).limit == limit


@pytest.mark.parametrize("text", ["-1", "1.5", "abc"])
def test_an_offset_that_is_negative_or_no_integer_is_refused(text: str) -> None:
    """B21"""
    invalid("offset", text)


def test_a_huge_offset_is_read() -> None:
    """B21"""
    assert search(offset="99999999999999999999").offset == 99999999999999999999
    assert search(offset="").offset == 0


# -- bounds and flags -----------------------------------------------------------------


def test_bounds_are_numbers() -> None:
    found = query(ca_min="-1e6", ca_max="0.5", effectif_min="0", effectif_max="250")

    assert found.ranges == (Range("ca_eur", -1e6, 0.5), Range("effectif", 0, 250))


@pytest.mark.parametrize("name", ["ca_min", "ca_max"])
@pytest.mark.parametrize("text", ["NaN", "inf", "-inf", "1,5", "1_000", "mille", "1e999"])
def test_a_bound_that_is_no_finite_number_is_refused(name: str, text: str) -> None:
    """B22"""
    assert text in invalid(name, text).message


def test_crossed_bounds_are_refused_and_equal_ones_are_not() -> None:
    """B22"""
    assert "ca_max" in refused(("ca_min", "2"), ("ca_max", "1")).message
    assert "effectif_max" in refused(("effectif_min", "2"), ("effectif_max", "1")).message
    assert query(ca_min="2", ca_max="2.0").ranges == (Range("ca_eur", 2.0, 2.0),)


@pytest.mark.parametrize("text", ["1.5", "1e3", "dix"])
def test_a_headcount_is_an_integer(text: str) -> None:
    """B33"""
    invalid("effectif_min", text)


@pytest.mark.parametrize("name", ["site_web", "avec_ca"])
def test_a_flag_is_1_or_absent(name: str) -> None:
    """B23"""
    assert getattr(query(**{name: "1"}), name) is True
    assert getattr(query(**{name: ""}), name) is False
    for text in ("0", "true", "01", "oui"):
        assert text in invalid(name, text).message


# -- the order in which errors are told -----------------------------------------------

WRONG = [
    ("inconnu", "1"), ("pays", "XX"), ("q", "é" * 121), ("tri", "x"), ("limit", "0"),
    ("offset", "-1"), ("ca_min", "x"), ("ca_max", "x"), ("effectif_min", "x"),
    ("effectif_max", "x"), ("site_web", "x"), ("avec_ca", "x"),
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(WRONG)))
def test_the_first_wrong_parameter_of_the_table_is_told(first: int) -> None:
    error = refused(*reversed(WRONG[first:]))

    told = {"parametre_inconnu": "inconnu", "pays_inconnu": "pays"}
    assert told.get(error.code, error.extra.get("parametre")) == WRONG[first][0]
