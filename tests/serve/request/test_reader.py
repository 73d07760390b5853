"""Countries, sectors, names and the text of a query string: contract B1 to B11.

The other parameters are in test_values.py.
"""

import unicodedata
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.contract import parameters
from serve.contract.errors import ApiError
from serve.features.reference import operations
from serve.request import place_names, reader
from tests.serve.parameter_reading import NAMES, invalid_value, read_query, refusal
from tests.serve.world import COUNTRIES, IT, RETAIL, TWO_SECTORS_LABEL

# -- countries ------------------------------------------------------------------------


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
def test_countries_are_trimmed_upper_cased_and_unique(text: str, codes: tuple[str, ...]) -> None:
    """B1"""
    assert read_query(pays=text).pays == codes


@pytest.mark.parametrize(
    ("word", "suggested"),
    [("EL", []), ("FRA", ["FR"]), ("france", ["FR"]), ("Royaume-Uni", ["UK"]), ("germany", ["DE"]),
     ("Alemagne", ["DE"]), ("tchequie", ["CZ"]), ("Deutschland", ["DE"]), ("england", ["UK"]),
     ("españa", ["ES"]), ("fı", []), ("ﬁ", ["FI"])],
)  # fmt: skip
def test_an_unknown_country_is_named_with_suggestions(word: str, suggested: list[str]) -> None:
    """B3"""
    error = refusal(("pays", f"FR,{word}"))

    assert error.code == "pays_inconnu"
    assert error.extra["pays_inconnus"] == [word]
    # Further suggestions can follow, but a word without expected suggestions has none.
    assert error.extra["suggestions"][word][: len(suggested) or None] == suggested
    assert word in error.message
    assert "/api/v1/pays" in error.message


def test_unknown_countries_and_sectors_are_named_together() -> None:
    """B4"""
    error = refusal(("secteur", "Magie"), ("pays", "XX,ZZ"), ("sous_secteur", "Sorts"))

    assert error.code == "pays_inconnu"
    assert error.extra["pays_inconnus"] == ["XX", "ZZ"]
    assert error.extra["secteurs_inconnus"] == ["Magie"]
    assert error.extra["sous_secteurs_inconnus"] == ["Sorts"]


def test_an_unknown_country_alone_adds_no_array_of_sectors() -> None:
    """B4"""
    assert "secteurs_inconnus" not in refusal(("pays", "XX"), ("secteur", IT)).extra


# -- repetition and names -------------------------------------------------------------


def test_the_values_of_a_repeated_list_parameter_are_merged() -> None:
    """B5"""
    pairs = [("pays", "FR"), ("pays", "de,FR"), ("secteur", IT), ("secteur", "edition")]

    merged = reader.read(pairs, parameters.SEARCH, NAMES).query

    assert (merged.pays, merged.secteurs) == (("DE", "FR"), ("58", "62"))


def test_a_repeated_parameter_of_one_value_must_have_the_same_value() -> None:
    """B5"""
    repeated = reader.read([("limit", "5"), ("limit", " 5 ")], parameters.SEARCH, NAMES)
    error = refusal(("limit", "5"), ("limit", "6"))

    assert repeated.limit == 5
    assert (error.code, error.extra["parametre"]) == ("parametre_invalide", "limit")
    assert "'5'" in error.message
    assert "'6'" in error.message


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("payss", "pays"), ("Pays", "pays"), ("ca_minimum", "ca_min"), ("tir", "tri"),
        ("ofset", "offset"), ("country", "pays"), ("sort", "tri"), ("order", "tri"),
        ("page", "offset"), ("name", "q"), ("query", "q"), ("search", "q"), ("per_page", "limit"),
        ("website", "site_web"), ("turnover_min", "ca_min"), ("employees_min", "effectif_min"),
        ("region", None), ("format", None), ("departement", None), ("api_key", None),
    ],
)  # fmt: skip
def test_an_unknown_parameter_is_named_with_the_allowed_parameters(
    name: str, nearest: str | None
) -> None:
    """B6"""
    error = refusal((name, "1"))

    assert error.code == "parametre_inconnu"
    assert error.extra["parametres_inconnus"] == [name]
    assert error.extra["parametres_admis"] == parameters.names(parameters.SEARCH)
    assert error.extra["suggestions"][name][:1] == ([nearest] if nearest else [])
    assert name in error.message


def test_a_suggestion_is_a_parameter_of_the_route() -> None:
    """X0: `city` proposes `ville` if the route has it, and otherwise no name that is spelt alike"""
    for allowed in (
        parameters.names(parameters.SEARCH),
        parameters.names(operations.SECTORS),
        (*parameters.names(parameters.SEARCH), "ville", "etat"),
    ):
        spellings = parameters.spellings(allowed)
        for word, name in (
            ("city", "ville"),
            ("status", "etat"),
            ("sort", "tri"),
            ("zip", "code_postal"),
        ):
            proposals = place_names.suggestions([word], spellings)[word]
            assert proposals == ([name] if name in allowed else [])


def test_the_value_of_an_unknown_parameter_is_not_repeated() -> None:
    """A5"""
    error = refusal(("api_key", "soc_live_secret"), ("cle", "soc_live_secret"))

    assert error.extra["parametres_inconnus"] == ["api_key", "cle"]
    assert b"secret" not in error.body("fr")


# -- sectors --------------------------------------------------------------------------


def test_labels_of_sectors_are_separated_by_bars_since_they_contain_commas() -> None:
    """§4.4"""
    assert read_query(secteur=f"{IT} | {RETAIL}|").secteurs == ("47", "62")


def test_a_label_is_exact_and_a_slug_is_in_any_case() -> None:
    """B11: the composition of accents does not matter, capitals and missing words of a label do"""
    slug = "programmation-conseil-et-autres-activites-informatiques"

    assert read_query(secteur=slug.upper()).secteurs == ("62",)
    assert read_query(secteur=unicodedata.normalize("NFD", "Édition")).secteurs == ("58",)
    assert refusal(("secteur", IT.upper())).extra["secteurs_inconnus"] == [IT.upper()]
    assert refusal(("secteur", "Programmation")).code == "secteur_inconnu"


def test_an_unknown_sector_is_named_with_suggested_slugs() -> None:
    error = refusal(("secteur", "informatique|Edition|Sidérurgie"))

    assert error.code == "secteur_inconnu"
    assert error.extra["secteurs_inconnus"] == ["informatique", "Sidérurgie"]
    assert (
        "programmation-conseil-et-autres-activites-informatiques"
        in error.extra["suggestions"]["informatique"]
    )
    assert "/api/v1/secteurs" in error.message


def test_a_sub_sector_needs_a_sector() -> None:
    """B7"""
    error = invalid_value("sous_secteur", "Édition de logiciels")

    assert "secteur=" in error.message
    assert invalid_value("sous_secteur", "Inconnu").code == "parametre_invalide"


def test_an_unknown_sub_sector_is_named() -> None:
    """B8"""
    error = refusal(("secteur", "edition"), ("sous_secteur", "Edition|Sorcellerie"))

    assert error.code == "secteur_inconnu"
    assert error.extra["secteurs_inconnus"] == []
    assert error.extra["sous_secteurs_inconnus"] == ["Edition", "Sorcellerie"]


def test_a_sub_sector_of_another_sector_matches_no_company() -> None:
    """B9, B10"""
    parsed = read_query(secteur="edition", sous_secteur="Intermédiation monétaire")

    assert (parsed.secteurs, parsed.sous_secteurs) == (("58",), ())


def test_a_label_of_two_sectors_applies_to_the_chosen_sectors() -> None:
    """B10"""
    wholesale = "commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles"

    assert read_query(secteur=RETAIL, sous_secteur=TWO_SECTORS_LABEL).sous_secteurs == ("47.9",)
    assert read_query(
        secteur=f"{RETAIL}|{wholesale}", sous_secteur=TWO_SECTORS_LABEL
    ).sous_secteurs == (
        "46.9",
        "47.9",
    )


def test_a_blank_sub_sector_means_the_whole_sector() -> None:
    """§4.4"""
    assert read_query(secteur=IT, sous_secteur=" | ").sous_secteurs is None


# -- the text of a query string -------------------------------------------------------


def test_a_query_string_is_percent_decoded_utf_8() -> None:
    assert reader.query_pairs("q=Orl%C3%A9ans+fils&&pays=&x") == (
        ("q", "Orléans fils"),
        ("pays", ""),
        ("x", ""),
    )


@pytest.mark.parametrize("raw", ["q=%FF", "%E9=1", "q=%ED%A0%80", "q=\udce9"])
def test_a_query_string_that_is_not_utf_8_is_refused(raw: str) -> None:
    with pytest.raises(ApiError) as caught:
        reader.query_pairs(raw)

    assert caught.value.code == "parametre_invalide"
    assert b"UTF-8" in caught.value.body("fr")


# Values of parameters: any text, and texts that some parameter reads or refuses.
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "1", "0", "-1", "FR", "GB,fr", "edition|assurance", "ca_asc", "1e400",
                     "9" * 40, "NaN", "\x00", "é", "|", ",", TWO_SECTORS_LABEL, IT]),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*parameters.names(parameters.SEARCH), "x", ""]) | st.text(), VALUES
        )
    )
)
@example([("offset", "9" * 60_000), ("limit", "1" * 60_000)])
@example([("pays", ",".join(f"{number:03}" for number in range(5_000)))])
def test_any_parameters_are_read_or_refused_with_400(params: Any) -> None:
    """No value makes the reader fail with another error, or read a limit or country that does not exist"""
    try:
        parsed = reader.read(
            reader.query_pairs(urlencode(params, errors="replace")), parameters.SEARCH, NAMES
        )
    except ApiError as error:
        assert error.status == 400
        assert error.body("fr")
        return

    assert 1 <= parsed.limit <= 1_000
    assert parsed.offset >= 0
    assert set(parsed.query.pays) <= set(COUNTRIES)


def test_ten_thousand_unknown_sectors_are_refused_in_time() -> None:
    """All are named, but suggestions are looked for only for a few, and the message is short"""
    words = [f"Secteur inconnu numéro {number}" for number in range(10_000)]

    error = refusal(("secteur", "|".join(words)))

    assert len(error.extra["secteurs_inconnus"]) == 10_000
    assert len(error.extra["suggestions"]) <= 3
    assert len(error.message) < 2_000
