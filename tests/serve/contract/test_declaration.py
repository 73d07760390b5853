"""Objects of answers: their bytes, and the schemas of their classes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator

from serve.app import PRODUCT
from serve.contract import feature
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Component,
    Count,
    DeclaredObject,
    EncodedJson,
    Keywords,
    KnownValues,
    Moment,
    TextOf,
    component_name,
    component_schema,
)
from serve.contract.parameters import LIMIT, VILLE
from serve.contract.text import Text, feature_texts
from tests.serve.conformance import objects

# The texts of the classes below: by class and field, and of the class itself by an empty field.
TEXT_ROWS = {
    ("Town", ""): Text("Une ville.", "A town."),
    ("Town", "name"): Text("Le nom.", "Name."),
    ("Capital", ""): Text("Une capitale.", "A capital."),
    ("Place", ""): Text("Un endroit.", "A place."),
    ("Latitude", ""): Text("La latitude.", "Latitude."),
    ("Page", ""): Text("Une page.", "A page."),
    ("Page", "total"): Text("Le nombre.", "Number."),
    ("Page", "made"): Text("Le moment.", "Moment."),
    ("Page", "kind"): Text("La sorte.", "Kind."),
    ("Page", "towns"): Text("Les villes.", "Towns."),
    ("Page", "place"): Text("Son endroit.", "Its place."),
    ("Page", "counts"): Text("Les nombres.", "Counts."),
    ("ParsedParameters", ""): Text("Une demande.", "A request."),
    ("ParsedParameters", "size"): Text("La taille.", "Size."),
}
Latitude = Annotated[float, TextOf("Latitude"), Keywords(maximum=90)]
Kind = Annotated[str, KnownValues(("a", "b"))]
Key = Annotated[str, KnownValues(("x", "y"))]
Share = Annotated[float, Keywords(minimum=0)]
Size = Annotated[int, Keywords(minimum=1, default=3)]


class Town(Component):
    name: str


class Capital(Town, name="Metropolis"):
    north: Latitude


Towns = Annotated[bytes, EncodedJson(Sequence[Town])]


class Place(DeclaredObject):
    north: Latitude


class Page(AnswerObject):
    total: Count
    made: Moment | None
    kind: Kind
    towns: Towns
    capital: Town | None
    place: Place | None
    shares: Mapping[str, Share]
    counts: Mapping[Key, int]
    cause: str | Sequence[str] | AbsentKey = ABSENT


@pytest.fixture(autouse=True)
def add_text_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add rows for the objects of this module to the texts of the product."""
    texts = {**feature_texts(), **TEXT_ROWS}
    monkeypatch.setattr("serve.contract.declaration.feature_texts", lambda: texts)


def make_page(**fields: Any) -> Page:
    """A page with values for all required fields, and these fields."""
    return Page(
        total=1, made=None, kind="a", towns=b'[{"name":"Lyon"}]', capital=None,
        place=Place(north=45.5), shares={"x": 0.5}, counts={"x": 1}, **fields,
    )  # fmt: skip


def test_the_json_of_an_object_has_the_order_of_its_fields_without_absent_fields() -> None:
    assert make_page().json() == (
        b'{"total":1,"made":null,"kind":"a","towns":[{"name":"Lyon"}],"capital":null,'
        b'"place":{"north":45.5},"shares":{"x":0.5},"counts":{"x":1}}'
    )
    assert make_page(cause=["nom"]).json().endswith(b',"cause":["nom"]}')


def test_the_schema_of_an_object_describes_its_class() -> None:
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


def test_the_schema_also_has_french_texts() -> None:
    properties = component_schema(Page, "fr")["properties"]

    assert properties["kind"]["description"] == (
        "La sorte. Aujourd’hui `a`, `b` ; d’autres peuvent venir."
    )
    assert properties["place"]["anyOf"][0]["description"] == "Son endroit."
    assert component_schema(Town, "fr")["description"] == "Une ville."


def test_a_field_has_the_text_of_its_base_class_or_of_its_type() -> None:
    described = component_schema(Capital, "en")

    assert (component_name(Capital), described["description"]) == ("Metropolis", "A capital.")
    assert described["properties"] == {
        "name": {"type": "string", "description": "Name."},
        "north": {"type": "number", "description": "Latitude.", "maximum": 90},
    }


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_every_object_has_a_valid_schema_whose_fields_are_described(lang: Any) -> None:
    """A field with a reference needs no description: the object that it names has one"""
    for name, schema in feature.component_schemas(lang, PRODUCT).items():
        Draft202012Validator.check_schema(schema)
        object_nodes = [node for node in objects(schema) if node.get("type") == "object"]
        fields = [field for node in object_nodes for field in node.get("properties", {}).values()]
        schemas = [schema for field in fields for schema in field.get("anyOf", [field])]
        undescribed = [
            schema
            for schema in schemas
            if schema.keys().isdisjoint(("description", "$ref")) and schema != {"type": "null"}
        ]
        assert not undescribed, name


class ParsedParameters(Component, closed=True):
    ville: Annotated[str | AbsentKey, VILLE]
    limit: Annotated[int | AbsentKey, LIMIT]
    size: Size | AbsentKey


def test_a_body_has_parameters_as_fields_and_is_closed() -> None:
    """A default is only in the description: generated clients require fields with a `default`."""
    described = component_schema(ParsedParameters, "fr")

    assert described["additionalProperties"] is False
    assert "required" not in described
    assert described["properties"]["ville"]["description"] == VILLE.description.fr
    limit = described["properties"]["limit"]
    assert "default" not in limit
    assert limit["maximum"] == LIMIT.maximum
    assert limit["description"].endswith(" Par défaut `50`.")
    assert described["properties"]["size"] == {
        "type": "integer", "description": "La taille. Par défaut `3`.", "minimum": 1,
    }  # fmt: skip
