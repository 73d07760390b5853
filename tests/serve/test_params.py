"""A query string becomes a Query or an error: contract B, value by value."""

import unicodedata
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve import names, params
from serve.errors import ApiError
from serve.params import Search
from shards.query import ORDERS, Query
from tests.serve.world import COUNTRIES, IT, LISTS, RETAIL, TWO_SECTORS_LABEL

NAMES = names.read(LISTS)


def search(**given: str) -> Search:
    return params.search(list(given.items()), NAMES)


def query(**given: str) -> Query:
    return search(**given).query


def refused(*given: tuple[str, str]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        params.search(given, NAMES)
    assert caught.value.status == 400
    return caught.value


def invalid(name: str, value: str) -> ApiError:
    """The error must be about that parameter and show its value."""
    error = refused((name, value))
    assert (error.code, error.extra["parametre"]) == ("parametre_invalide", name)
    assert error.message.startswith(name)
    return error


# -- countries ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("FR,DE", ("DE", "FR")),
        (" fr , de ", ("DE", "FR")),
        ("FR,,FR,", ("FR",)),
        ("gb", ("UK",)),
        ("GB,UK", ("UK",)),
        (",", ()),
        ("  ", ()),
    ],
)
def test_countries_are_trimmed_upper_cased_and_kept_once(text: str, codes: tuple[str, ...]) -> None:
    """B1"""
    assert query(pays=text).pays == codes


@pytest.mark.parametrize(
    ("word", "suggested"),
    [("EL", []), ("FRA", ["FR"]), ("france", ["FR"]), ("Royaume-Uni", ["UK"]), ("germany", ["DE"]),
     ("Alemagne", ["DE"]), ("tchequie", ["CZ"])],
)  # fmt: skip
def test_an_unknown_country_is_named_with_suggestions(word: str, suggested: list[str]) -> None:
    """B3"""
    error = refused(("pays", f"FR,{word}"))

    assert error.code == "pays_inconnu"
    assert error.extra["pays_inconnus"] == [word]
    assert error.extra["suggestions"][word][: len(suggested)] == suggested
    assert word in error.message
    assert "/api/v1/pays" in error.message


def test_unknown_countries_and_sectors_are_told_together() -> None:
    """B4"""
    error = refused(("secteur", "Magie"), ("pays", "XX,ZZ"), ("sous_secteur", "Sorts"))

    assert error.code == "pays_inconnu"
    assert error.extra["pays_inconnus"] == ["XX", "ZZ"]
    assert error.extra["secteurs_inconnus"] == ["Magie"]
    assert error.extra["sous_secteurs_inconnus"] == ["Sorts"]


def test_an_unknown_country_alone_brings_no_array_of_sectors() -> None:
    """B4"""
    assert "secteurs_inconnus" not in refused(("pays", "XX"), ("secteur", IT)).extra


# -- repetition and names ----------------------------------------------------------


def test_repeated_lists_merge() -> None:
    """B5"""
    pairs = [("pays", "FR"), ("pays", "de,FR"), ("secteur", IT), ("secteur", "edition")]

    found = params.search(pairs, NAMES).query

    assert (found.pays, found.secteurs) == (("DE", "FR"), ("58", "62"))


def test_a_repeated_scalar_must_say_the_same() -> None:
    """B5"""
    same = params.search([("limit", "5"), ("limit", " 5 ")], NAMES)
    error = refused(("limit", "5"), ("limit", "6"))

    assert same.limit == 5
    assert (error.code, error.extra["parametre"]) == ("parametre_invalide", "limit")
    assert "'5'" in error.message
    assert "'6'" in error.message


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("payss", "pays"), ("Pays", "pays"), ("page", None), ("ca_minimum", "ca_min"), ("sort", None)],
)
def test_an_unknown_parameter_is_named_with_the_allowed_ones(
    name: str, nearest: str | None
) -> None:
    """B6"""
    error = refused((name, "1"))

    assert error.code == "parametre_inconnu"
    assert error.extra["parametres_inconnus"] == [name]
    assert error.extra["parametres_admis"] == params.SEARCH
    assert nearest is None or error.extra["suggestions"][name][0] == nearest
    assert name in error.message


def test_the_value_of_an_unknown_parameter_is_not_repeated() -> None:
    """A5"""
    error = refused(("api_key", "soc_live_secret"), ("cle", "soc_live_secret"))

    assert error.extra["parametres_inconnus"] == ["api_key", "cle"]
    assert b"secret" not in error.body


# -- sectors -----------------------------------------------------------------------


def test_labels_hold_commas_and_are_separated_by_bars() -> None:
    """§4.4"""
    assert query(secteur=f"{IT} | {RETAIL}|").secteurs == ("47", "62")


def test_a_label_is_exact_and_a_slug_is_in_any_case() -> None:
    """B11"""
    slug = "programmation-conseil-et-autres-activites-informatiques"

    assert query(secteur=slug.upper()).secteurs == ("62",)
    assert query(secteur=unicodedata.normalize("NFD", "Édition")).secteurs == ("58",)
    assert refused(("secteur", IT.upper())).extra["secteurs_inconnus"] == [IT.upper()]
    assert refused(("secteur", "Programmation")).code == "secteur_inconnu"


def test_an_unknown_sector_is_named_with_slugs_that_may_be_meant() -> None:
    error = refused(("secteur", "informatique|Edition|Sidérurgie"))

    assert error.code == "secteur_inconnu"
    assert error.extra["secteurs_inconnus"] == ["informatique", "Sidérurgie"]
    assert (
        "programmation-conseil-et-autres-activites-informatiques"
        in error.extra["suggestions"]["informatique"]
    )
    assert "/api/v1/secteurs" in error.message


def test_a_sub_sector_needs_a_sector() -> None:
    """B7"""
    error = invalid("sous_secteur", "Édition de logiciels")

    assert "secteur=" in error.message
    assert invalid("sous_secteur", "Inconnu").code == "parametre_invalide"


def test_an_unknown_sub_sector_is_named() -> None:
    """B8"""
    error = refused(("secteur", "edition"), ("sous_secteur", "Edition|Sorcellerie"))

    assert error.code == "secteur_inconnu"
    assert error.extra["secteurs_inconnus"] == []
    assert error.extra["sous_secteurs_inconnus"] == ["Edition", "Sorcellerie"]


def test_a_sub_sector_of_another_sector_is_a_filter_that_nothing_passes() -> None:
    """B9, B10"""
    found = query(secteur="edition", sous_secteur="Intermédiation monétaire")

    assert (found.secteurs, found.sous_secteurs) == (("58",), ())


def test_a_label_of_two_sectors_means_those_of_the_chosen_ones() -> None:
    """B10"""
    wholesale = "commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles"

    assert query(secteur=RETAIL, sous_secteur=TWO_SECTORS_LABEL).sous_secteurs == ("47.9",)
    assert query(secteur=f"{RETAIL}|{wholesale}", sous_secteur=TWO_SECTORS_LABEL).sous_secteurs == (
        "46.9",
        "47.9",
    )


def test_an_empty_sub_sector_is_the_whole_sector() -> None:
    """§4.4"""
    assert query(secteur=IT, sous_secteur=" | ").sous_secteurs is None


# -- q -----------------------------------------------------------------------------


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


# -- order, page -------------------------------------------------------------------


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


# -- bounds and flags --------------------------------------------------------------


def test_bounds_are_numbers() -> None:
    found = query(ca_min="-1e6", ca_max="0.5", effectif_min="0", effectif_max="250")

    assert (found.ca_min, found.ca_max) == (-1e6, 0.5)
    assert (found.effectif_min, found.effectif_max) == (0, 250)


@pytest.mark.parametrize("name", ["ca_min", "ca_max"])
@pytest.mark.parametrize("text", ["NaN", "inf", "-inf", "1,5", "1_000", "mille", "1e999"])
def test_a_bound_that_is_no_finite_number_is_refused(name: str, text: str) -> None:
    """B22"""
    assert text in invalid(name, text).message


def test_crossed_bounds_are_refused_and_equal_ones_are_not() -> None:
    """B22"""
    assert "ca_max" in refused(("ca_min", "2"), ("ca_max", "1")).message
    assert "effectif_max" in refused(("effectif_min", "2"), ("effectif_max", "1")).message
    assert query(ca_min="2", ca_max="2.0").ca_max == 2.0


@pytest.mark.parametrize("text", ["1.5", "1e3", "dix"])
def test_a_headcount_is_an_integer(text: str) -> None:
    """B33"""
    invalid("effectif_min", text)


def test_a_headcount_beyond_int32_is_brought_to_its_edge() -> None:
    assert query(effectif_min="9" * 30).effectif_min == 2**31 - 1
    assert query(effectif_max="-" + "9" * 30).effectif_max == -(2**31 - 1)


@pytest.mark.parametrize("name", ["site_web", "avec_ca"])
def test_a_flag_is_1_or_absent(name: str) -> None:
    """B23"""
    assert getattr(query(**{name: "1"}), name) is True
    assert getattr(query(**{name: ""}), name) is False
    for text in ("0", "true", "01", "oui"):
        assert text in invalid(name, text).message


# -- the order in which errors are told --------------------------------------------

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


# -- the text of a query string ----------------------------------------------------


def test_a_query_string_is_percent_decoded_utf_8() -> None:
    assert params.pairs("q=Orl%C3%A9ans+fils&&pays=&x") == [
        ("q", "Orléans fils"),
        ("pays", ""),
        ("x", ""),
    ]


@pytest.mark.parametrize("raw", ["q=%FF", "%E9=1", "q=%ED%A0%80", "q=\udce9"])
def test_a_query_string_that_is_not_utf_8_is_refused(raw: str) -> None:
    with pytest.raises(ApiError) as caught:
        params.pairs(raw)

    assert caught.value.code == "parametre_invalide"
    assert b"UTF-8" in caught.value.body


VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "1", "0", "-1", "FR", "GB,fr", "edition|assurance", "ca_asc", "1e400",
                     "9" * 40, "NaN", "\x00", "é", "|", ",", TWO_SECTORS_LABEL, IT]),
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from([*params.SEARCH, "x", ""]) | st.text(), VALUES)))
@example([("offset", "9" * 60_000), ("limit", "1" * 60_000)])
@example([("pays", ",".join(f"{n:03}" for n in range(5_000)))])
def test_whatever_is_sent_it_is_understood_or_refused_with_400(given: Any) -> None:
    try:
        found = params.search(params.pairs(urlencode(given, errors="replace")), NAMES)
    except ApiError as error:
        assert error.status == 400
        assert error.body
        return

    assert 1 <= found.limit <= 1_000
    assert found.offset >= 0
    assert set(found.query.pays) <= set(COUNTRIES)


def test_ten_thousand_unknown_sectors_are_refused_in_time() -> None:
    words = [f"Secteur inconnu numéro {number}" for number in range(10_000)]

    error = refused(("secteur", "|".join(words)))

    assert len(error.extra["secteurs_inconnus"]) == 10_000
    assert len(error.extra["suggestions"]) <= 3
    assert len(error.message) < 2_000
