"""The hooks of schemathesis accept the same values as the contract."""

from types import SimpleNamespace
from typing import Any

import pytest

from serve.app import PRODUCT
from serve.contract import feature, parameters
from tests.judges.openapi import hooks

SCHEMAS = {item.name: item.schema(parameters.words()) for item in parameters.SEARCH}
EXPORT = feature.component_schemas("en", PRODUCT)["DemandeExport"]

pytestmark = pytest.mark.judge


@pytest.mark.parametrize(
    ("name", "text"),
    [("pays", " fr,,UK "), ("pays", ""), ("secteur", "edition | "), ("limit", "5000"),
     ("limit", " 50.0 "), ("limit", ""), ("tri", " nom"), ("site_web", ""), ("ca_min", "1e6")],
)  # fmt: skip
def test_a_value_that_the_contract_accepts_is_not_sent(name: str, text: str) -> None:
    """B1, B12, B17, B18"""
    assert hooks._are_values_valid([(name, text)], SCHEMAS)


@pytest.mark.parametrize(
    ("name", "text"),
    [("pays", "XX"), ("pays", "FR;UK"), ("secteur", "Magie"), ("limit", "0"), ("limit", "-1"),
     ("limit", "abc"), ("limit", "0.5"), ("offset", "-1"), ("tri", "NOM"), ("site_web", "0"),
     ("ca_min", "1,5"), ("ca_min", "NaN"), ("q", "x" * 121), ("inconnu", "1")],
)  # fmt: skip
def test_a_value_that_the_contract_refuses_is_sent_as_an_invalid_one(name: str, text: str) -> None:
    assert not hooks._are_values_valid([(name, text)], SCHEMAS)


def test_a_repeated_parameter_must_have_one_value() -> None:
    """B5: a repeated value that differs only in blanks counts as the same; a list may have several values"""
    assert hooks._are_values_valid([("limit", "5"), ("limit", "5 ")], SCHEMAS)
    assert not hooks._are_values_valid([("limit", "5"), ("limit", "6")], SCHEMAS)
    assert hooks._are_values_valid([("pays", "FR"), ("pays", "UK")], SCHEMAS)


@pytest.mark.parametrize(
    ("body", "accepted"),
    [({"colonnes": "nom,id", "version": ""}, True), ({"pays": ["fr", "UK"], "etat": []}, True),
     ({"colonnes": ["x"]}, False), ({"ids": []}, False), ({"q": [None]}, False)],
)  # fmt: skip
def test_an_array_in_a_body_is_its_parameter_once_for_each_item(
    body: dict[str, Any], accepted: bool
) -> None:
    """F3: an array stands for a parameter that an address repeats, so each of its items must be a valid value"""
    declared = SimpleNamespace(definition={"schema": EXPORT})
    case: Any = SimpleNamespace(
        operation=SimpleNamespace(body=[declared]), body=body, media_type="application/json"
    )

    assert hooks._is_body_accepted(case) == accepted
