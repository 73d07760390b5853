"""Objects of answers: their bytes, and the schemas that are made from their classes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from serve.app import PRODUCT
from serve.contract import feature
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Count,
    EncodedJson,
    KnownKeys,
    KnownValues,
    Moment,
    component,
    component_schema,
    part,
    with_keywords,
)
from serve.contract.parameters import LIMIT, VILLE
from serve.contract.text import Text
from tests.serve.conformance import nodes


@component("Une ville.", "A town.")
class Town:
    name: Annotated[str, Text("Le nom.", "Name.")]


@part("Un endroit.", "A place.")
class Place:
    north: Annotated[float, with_keywords(maximum=90), Text("La latitude.", "Latitude.")]


@component("Une page.", "A page.")
class Page(AnswerObject):
    total: Annotated[Count, Text("Le nombre.", "Number.")]
    made: Annotated[Moment | None, Text("Le moment.", "Moment.")]
    kind: Annotated[str, KnownValues(("a", "b")), Text("La sorte.", "Kind.")]
    towns: Annotated[orjson.Fragment, EncodedJson(Sequence[Town]), Text("Les villes.", "Towns.")]
    capital: Town | None
    place: Annotated[Place | None, Text("Son endroit.", "Its place.")]
    shares: Mapping[str, Annotated[float, with_keywords(minimum=0)]]
    counts: Annotated[Mapping[str, int], KnownKeys(("x", "y")), Text("Les nombres.", "Counts.")]
    cause: str | Sequence[str] | AbsentKey = ABSENT


def page(**more: Any) -> Page:
    return Page(
        total=1, made=None, kind="a", towns=orjson.Fragment(b'[{"name":"Lyon"}]'), capital=None,
        place=Place(north=45.5), shares={"x": 0.5}, counts={"x": 1}, **more,
    )  # fmt: skip


def test_an_object_is_sent_in_the_order_of_its_fields_without_those_that_are_absent() -> None:
    assert page().json() == (
        b'{"total":1,"made":null,"kind":"a","towns":[{"name":"Lyon"}],"capital":null,'
        b'"place":{"north":45.5},"shares":{"x":0.5},"counts":{"x":1}}'
    )
    assert page(cause=["nom"]).json().endswith(b',"cause":["nom"]}')


def test_the_schema_of_an_object_says_what_its_class_says() -> None:
    described = component_schema(Page, "en")
    properties = described["properties"]

    assert described["description"] == "A page."
    assert described["required"] == [name for name in properties if name != "cause"]
    assert properties == {
        "total": {"type": "integer", "description": "Number.", "minimum": 0},
        "made": {
            "type": ["string", "null"], "description": "Moment.", "format": "date-time",
        },
        "kind": {
            "type": "string",
            "description": "Kind. Today `a`, `b`; others may come.",
            "examples": ["a", "b"],
        },
        "towns": {
            "type": "array", "description": "Towns.", "items": {"$ref": "#/components/schemas/Town"},
        },
        "capital": {"anyOf": [{"$ref": "#/components/schemas/Town"}, {"type": "null"}]},
        "place": {
            "anyOf": [
                {
                    "type": "object",
                    "description": "Its place.",
                    "properties": {
                        "north": {"type": "number", "description": "Latitude.", "maximum": 90}
                    },
                    "required": ["north"],
                },
                {"type": "null"},
            ]
        },
        "shares": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        "counts": {
            "type": "object",
            "description": "Counts.",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        },
        "cause": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    }  # fmt: skip


def test_the_schema_speaks_french_as_well() -> None:
    properties = component_schema(Page, "fr")["properties"]

    assert properties["kind"]["description"] == (
        "La sorte. Aujourd’hui `a`, `b` ; d’autres peuvent venir."
    )
    assert properties["place"]["anyOf"][0]["description"] == "Son endroit."
    assert component_schema(Town, "fr")["description"] == "Une ville."


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_every_object_has_a_valid_schema_whose_fields_are_described(lang: Any) -> None:
    """A reference is described where it leads."""
    for name, schema in feature.component_schemas(lang, PRODUCT).items():
        Draft202012Validator.check_schema(schema)
        objects = [node for node in nodes(schema) if node.get("type") == "object"]
        fields = [one for node in objects for one in node.get("properties", {}).values()]
        bare = [one for one in fields if one.keys().isdisjoint(("description", "$ref", "anyOf"))]
        assert not bare, name


@component("Une demande.", "A request.", closed=True)
class ParsedParameters:
    ville: Annotated[str | AbsentKey, VILLE]
    limit: Annotated[int | AbsentKey, LIMIT]


def test_a_field_of_a_body_is_a_parameter_and_nothing_else_may_be_sent() -> None:
    """Its default is only described: generated clients require what has one."""
    described = component_schema(ParsedParameters, "fr")

    assert described["additionalProperties"] is False
    assert "required" not in described
    assert described["properties"]["ville"]["description"] == VILLE.description.fr
    limit = described["properties"]["limit"]
    assert "default" not in limit
    assert limit["maximum"] == LIMIT.maximum
    assert limit["description"].endswith(" Par défaut `50`.")
