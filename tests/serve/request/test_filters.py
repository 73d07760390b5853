"""The filters of extension X2, as callers write them."""

from typing import Any

import pytest

from shards.query import STATES, Query, Range
from tests.serve.parameter_reading import invalid_value, read_query, read_search, refusal


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("etat", "procedure, active", {"etats": ("active", "procedure")}),
        ("ville", "Tallinn | Saint-Étienne|Tallinn", {"villes": ("Saint-Étienne", "Tallinn")}),
        ("code_postal", "sw1a 1,,75", {"codes_postaux": ("75", "SW1A1")}),
        ("forme", "SARL|Socie\u0301te\u0301 anonyme", {"formes": ("SARL", "Société anonyme")}),
        ("nace", "561, 56.10,62,01", {"nace": ("01", "56.1", "56.10", "62")}),
        # A code of NACE Rev. 2, and one of Rev. 2.1.
        ("nace", "47.91,4792", {"nace": ("47.91", "47.92")}),
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
def test_a_filter_is_read_as_a_field_of_the_query(
    name: str, text: str, expected: dict[str, Any]
) -> None:
    """X2: with spaces around the value"""
    assert read_query(**{name: f" {text} "}) == Query(**expected)


@pytest.mark.parametrize(
    "name", ["ids", "etat", "ville", "code_postal", "forme", "nace", "cree_min", "cree_max",
             "actif_min", "actif_max", "avec_comptes"],
)  # fmt: skip
def test_an_empty_filter_is_absent(name: str) -> None:
    """B1, B23: a blank value is no value, so the search has no filter"""
    assert read_query(**{name: " "}) == Query()


def test_companies_are_named_by_country_and_identifier() -> None:
    """X2, B1, E2"""
    parsed = read_search(ids="gb:SC 123 456, EE:1, uk:SC123456,DE:F1103R_HRB1:x")

    assert parsed.companies is not None
    assert [(company.iso2, company.identifier, company.text) for company in parsed.companies] == [
        ("UK", "SC 123 456", "gb:SC 123 456"),
        ("EE", "1", "EE:1"),
        ("UK", "SC123456", "uk:SC123456"),
        ("DE", "F1103R_HRB1:x", "DE:F1103R_HRB1:x"),
    ]
    assert parsed.query.ids == tuple(
        (company.iso2, company.identifier) for company in parsed.companies
    )


@pytest.mark.parametrize("item", ["00944111", "UK:", ":00944111", "UK:" + "1" * 65])
def test_a_malformed_company_of_ids_is_refused_with_an_example(item: str) -> None:
    """X2, E1"""
    assert "UK:00944111" in invalid_value("ids", f"FR:1,{item}").message
    assert item[:60] in invalid_value("ids", f"FR:1,{item}").message


@pytest.mark.parametrize("text", [",", " , ,", ",,"])
def test_a_list_without_a_company_is_refused(text: str) -> None:
    """X2: an empty value counts as absent, commas without a company do not"""
    assert repr(text.strip()) in invalid_value("ids", text).message
    assert read_search(ids="").companies is None
    assert len(read_search(ids=",FR:1,").companies or ()) == 1


def test_a_company_of_an_unknown_country_is_refused_with_suggestions() -> None:
    """X2, B3"""
    error = refusal(("ids", "FR:1,FRA:2,XX:3"))

    assert (error.code, error.extra["pays_inconnus"]) == ("pays_inconnu", ["FRA", "XX"])
    assert error.extra["suggestions"]["FRA"] == ["FR"]


@pytest.mark.parametrize(
    ("name", "values_most", "pattern", "separator"),
    [("ids", 1_000, "FR:{}", ","), ("ville", 200, "v{}", "|"), ("code_postal", 200, "{}", ",")],
)
def test_a_list_has_a_maximum_length(
    name: str, values_most: int, pattern: str, separator: str
) -> None:
    """X2"""
    items = [pattern.format(number) for number in range(values_most + 1)]

    assert read_query(**{name: separator.join(items[:values_most])}) != Query()
    assert (
        f"{values_most + 1} valeurs, au plus {values_most}"
        in invalid_value(name, separator.join(items)).message
    )


def test_an_unknown_state_is_refused_with_the_list() -> None:
    """X1"""
    error = invalid_value("etat", "active,radiée")

    assert error.extra["valeurs"] == STATES
    assert all(text in error.message for text in ("radiée", *STATES))


def test_an_unknown_legal_form_is_named_with_suggestions() -> None:
    """X2"""
    error = refusal(("forme", "SARL|sarl|Societe anonyme|Zaibatsu"))

    assert error.code == "forme_inconnue"
    assert error.extra["formes_inconnues"] == ["sarl", "Societe anonyme", "Zaibatsu"]
    assert error.extra["suggestions"] == {
        "sarl": ["SARL"], "Societe anonyme": ["Société anonyme"], "Zaibatsu": [],
    }  # fmt: skip
    assert "Zaibatsu" in error.message


@pytest.mark.parametrize("code", ["5", "5.610", "56.", "56.9", "56101", "C", "٥٦", "98765", "56-1"])
def test_a_code_that_nace_does_not_have_is_named(code: str) -> None:
    """X2"""
    error = refusal(("nace", f"62,{code}"))

    assert (error.code, error.extra["nace_inconnus"]) == ("nace_inconnu", [code])
    assert code in error.message
    assert all(suggestion.startswith(code[:2]) for suggestion in error.extra["suggestions"][code])


def test_a_code_close_to_a_nace_code_has_suggestions() -> None:
    """X2"""
    assert "56.1" in refusal(("nace", "56.19")).extra["suggestions"]["56.19"]


@pytest.mark.parametrize(
    "text", ["24", "2024-13", "2024-2", "2023-02-29", "0000", "2024-06-31", "01/02/2024", "2024-", "٢٠٢٤"]
)  # fmt: skip
def test_text_that_is_not_a_date_is_refused_with_examples(text: str) -> None:
    """X2"""
    for name in ("cree_min", "cree_max"):
        error = invalid_value(name, text)
        assert text in error.message
        assert "2024-06" in error.message


@pytest.mark.parametrize(
    ("name", "low", "high"), [("cree", "2024-06-30", "2024-05"), ("actif", "2", "1.5")]
)
def test_bounds_in_the_wrong_order_are_refused_and_named(name: str, low: str, high: str) -> None:
    """X2, B22"""
    error = refusal((f"{name}_min", low), (f"{name}_max", high))

    assert error.extra["parametre"] == f"{name}_min"
    assert low in error.message and high in error.message
    assert read_query(**{f"{name}_min": high, f"{name}_max": low}) != Query()
