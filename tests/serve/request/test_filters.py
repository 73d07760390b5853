"""The filters of extensions X2 as callers write them."""

from typing import Any

import pytest

from shards.query import STATES, Query, Range
from tests.serve.asking import invalid, query, refused, search


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("etat", "procedure, active", {"etats": ("active", "procedure")}),
        ("ville", "Tallinn | Saint-Étienne|Tallinn", {"villes": ("Saint-Étienne", "Tallinn")}),
        ("code_postal", "sw1a 1,,75", {"codes_postaux": ("75", "SW1A1")}),
        ("forme", "SARL|Socie\u0301te\u0301 anonyme", {"formes": ("SARL", "Société anonyme")}),
        ("nace", "561, 56.10,62,01", {"nace": ("01", "56.1", "56.10", "62")}),
        ("nace", "47.91,4792", {"nace": ("47.91", "47.92")}),  # of Rev. 2, of Rev. 2.1
        ("cree_min", "2024", {"ranges": (Range("creation", 20240101),)}),
        ("cree_min", "2024-02", {"ranges": (Range("creation", 20240201),)}),
        ("cree_max", "2024", {"ranges": (Range("creation", None, 20241231),)}),
        ("cree_max", "2024-02", {"ranges": (Range("creation", None, 20240229),)}),
        ("cree_max", "2023-02", {"ranges": (Range("creation", None, 20230228),)}),
        ("cree_max", "0001-01-01", {"ranges": (Range("creation", None, 10101),)}),
        ("actif_min", "-5.5", {"ranges": (Range("actif_eur", -5.5),)}),
        ("actif_max", "1e6", {"ranges": (Range("actif_eur", None, 1e6),)}),
        ("avec_comptes", "1", {"avec_comptes": True}),
    ],
)
def test_a_filter_is_read(name: str, text: str, read: dict[str, Any]) -> None:
    """X2"""
    assert query(**{name: f" {text} "}) == Query(**read)


@pytest.mark.parametrize(
    "name", ["ids", "etat", "ville", "code_postal", "forme", "nace", "cree_min", "cree_max",
             "actif_min", "actif_max", "avec_comptes"],
)  # fmt: skip
def test_an_empty_filter_is_absent(name: str) -> None:
    """B1, B23"""
    assert query(**{name: " "}) == Query()


def test_companies_are_named_by_country_and_identifier() -> None:
    """X2, B1, E2"""
    found = search(ids="gb:SC 123 456, EE:1, uk:SC123456,DE:F1103R_HRB1:x")

    assert found.companies is not None
    assert [(one.iso2, one.identifier, one.given) for one in found.companies] == [
        ("UK", "SC 123 456", "gb:SC 123 456"),
        ("EE", "1", "EE:1"),
        ("UK", "SC123456", "uk:SC123456"),
        ("DE", "F1103R_HRB1:x", "DE:F1103R_HRB1:x"),
    ]
    assert found.query.ids == tuple((one.iso2, one.identifier) for one in found.companies)


@pytest.mark.parametrize("item", ["00944111", "UK:", ":00944111", "UK:" + "1" * 65])
def test_an_item_of_another_form_is_refused_with_an_example(item: str) -> None:
    """X2, E1"""
    assert "UK:00944111" in invalid("ids", f"FR:1,{item}").message
    assert item[:60] in invalid("ids", f"FR:1,{item}").message


@pytest.mark.parametrize("text", [",", " , ,", ",,"])
def test_a_list_without_a_company_is_not_the_whole_base(text: str) -> None:
    """X2: only an empty value counts as an absent one"""
    assert repr(text.strip()) in invalid("ids", text).message
    assert search(ids="").companies is None
    assert len(search(ids=",FR:1,").companies or ()) == 1


def test_a_company_of_an_unknown_country_is_refused_with_suggestions() -> None:
    """X2, B3"""
    error = refused(("ids", "FR:1,FRA:2,XX:3"))

    assert (error.code, error.extra["pays_inconnus"]) == ("pays_inconnu", ["FRA", "XX"])
    assert error.extra["suggestions"]["FRA"] == ["FR"]


@pytest.mark.parametrize(
    ("name", "most", "item", "separator"),
    [("ids", 1_000, "FR:{}", ","), ("ville", 200, "v{}", "|"), ("code_postal", 200, "{}", ",")],
)
def test_a_list_has_a_longest(name: str, most: int, item: str, separator: str) -> None:
    """X2"""
    items = [item.format(number) for number in range(most + 1)]

    assert query(**{name: separator.join(items[:most])}) != Query()
    assert f"{most + 1} valeurs, au plus {most}" in invalid(name, separator.join(items)).message


def test_an_unknown_state_is_refused_with_the_list() -> None:
    """X1"""
    error = invalid("etat", "active,radiée")

    assert error.extra["valeurs"] == STATES
    assert all(text in error.message for text in ("radiée", *STATES))


def test_an_unknown_legal_form_is_named_with_suggestions() -> None:
    """X2"""
    error = refused(("forme", "SARL|sarl|Societe anonyme|Zaibatsu"))

    assert error.code == "forme_inconnue"
    assert error.extra["formes_inconnues"] == ["sarl", "Societe anonyme", "Zaibatsu"]
    assert error.extra["suggestions"] == {
        "sarl": ["SARL"], "Societe anonyme": ["Société anonyme"], "Zaibatsu": [],
    }  # fmt: skip
    assert "Zaibatsu" in error.message


@pytest.mark.parametrize("code", ["5", "5.610", "56.", "56.9", "56101", "C", "٥٦", "98765", "56-1"])
def test_a_code_that_nace_does_not_have_is_named(code: str) -> None:
    """X2"""
    error = refused(("nace", f"62,{code}"))

    assert (error.code, error.extra["nace_inconnus"]) == ("nace_inconnu", [code])
    assert code in error.message
    assert all(one.startswith(code[:2]) for one in error.extra["suggestions"][code])


def test_a_code_that_is_nearly_one_of_nace_has_suggestions() -> None:
    """X2"""
    assert "56.1" in refused(("nace", "56.19")).extra["suggestions"]["56.19"]


@pytest.mark.parametrize(
    "text", ["24", "2024-13", "2024-2", "2023-02-29", "0000", "2024-06-31", "01/02/2024", "2024-", "٢٠٢٤"]
)  # fmt: skip
def test_what_is_no_date_is_refused_with_examples(text: str) -> None:
    """X2"""
    for name in ("cree_min", "cree_max"):
        error = invalid(name, text)
        assert text in error.message
        assert "2024-06" in error.message


@pytest.mark.parametrize(
    ("name", "low", "high"), [("cree", "2024-06-30", "2024-05"), ("actif", "2", "1.5")]
)
def test_crossed_bounds_are_refused_with_both(name: str, low: str, high: str) -> None:
    """X2, B22"""
    error = refused((f"{name}_min", low), (f"{name}_max", high))

    assert error.extra["parametre"] == f"{name}_min"
    assert low in error.message and high in error.message
    assert query(**{f"{name}_min": high, f"{name}_max": low}) != Query()
