"""The hooks of schemathesis accept exactly the requests that the contract accepts."""

from types import SimpleNamespace
from typing import Any

import pytest

from serve.app import PRODUCT
from serve.contract import feature, parameters
from tests.judges.openapi import hooks

SCHEMAS = {one.name: one.schema(parameters.words()) for one in parameters.SEARCH}
EXPORT = feature.component_schemas("en", PRODUCT)["DemandeExport"]

pytestmark = pytest.mark.judge


@pytest.mark.parametrize(
    ("name", "text"),
    [("pays", " fr,,UK "), ("pays", ""), ("secteur", "edition | "), ("limit", "5000"),
     ("limit", " 50.0 "), ("limit", ""), ("tri", " nom"), ("site_web", ""), ("ca_min", "1e6")],
)  # fmt: skip
def test_what_the_contract_forgives_is_not_sent(name: str, text: str) -> None:
    """B1, B12, B17, B18"""
    assert hooks._admitted([(name, text)], SCHEMAS)


@pytest.mark.parametrize(
    ("name", "text"),
    [("pays", "XX"), ("pays", "FR;UK"), ("secteur", "Magie"), ("limit", "0"), ("limit", "-1"),
     ("limit", "abc"), ("limit", "0.5"), ("offset", "-1"), ("tri", "NOM"), ("site_web", "0"),
     ("ca_min", "1,5"), ("ca_min", "NaN"), ("q", "x" * 121), ("inconnu", "1")],
)  # fmt: skip
def test_everything_else_is_sent_and_must_be_refused(name: str, text: str) -> None:
    assert not hooks._admitted([(name, text)], SCHEMAS)


def test_a_repeated_parameter_must_say_one_thing() -> None:
    """B5"""
    assert hooks._admitted([("limit", "5"), ("limit", "5 ")], SCHEMAS)
    assert not hooks._admitted([("limit", "5"), ("limit", "6")], SCHEMAS)
    assert hooks._admitted([("pays", "FR"), ("pays", "UK")], SCHEMAS)


@pytest.mark.parametrize(
    ("body", "forgiven"),
    [({"colonnes": "nom,id", "version": ""}, True), ({"pays": ["fr", "UK"], "etat": []}, True),
     ({"colonnes": ["x"]}, False), ({"ids": []}, False), ({"q": [None]}, False)],
)  # fmt: skip
def test_an_array_in_a_body_is_its_parameter_once_for_each_item(
    body: dict[str, Any], forgiven: bool
) -> None:
    """F3"""
    declared = SimpleNamespace(definition={"schema": EXPORT})
    case: Any = SimpleNamespace(
        operation=SimpleNamespace(body=[declared]), body=body, media_type="application/json"
    )

    assert hooks._body_forgiven(case) == forgiven
