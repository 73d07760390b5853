"""The bodies of operations: their schemas and examples. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from serve.contract import parameters
from serve.contract.parameters import Parameter, SeedWords
from serve.guests.docs.openapi.answers import JSON
from serve.guests.docs.openapi.matching import match_shapes
from serve.guests.docs.openapi.schema import Schema, ref


def _body(description: str, name: str, **examples: tuple[str, Any]) -> Schema:
    """A JSON body with a schema that has a name; examples are a summary and a value."""
    shown = {key: {"summary": said, "value": value} for key, (said, value) in examples.items()}
    content = {JSON: {"schema": ref(name), "examples": shown}}
    return {"description": description, "required": True, "content": content}


# By operation.
BODIES: Final[Mapping[str, Schema]] = {
    "watchChanges": _body(
        "What to watch: either `ids` or `recherche`.",
        "DemandeModifications",
        ids=(
            "Two companies",
            {"depuis": parameters.DEPUIS.example, "ids": ["UK:00944111", "EE:16325572"]},
        ),
        recherche=(
            "Restaurants of over a million euros",
            {
                "depuis": parameters.DEPUIS.example,
                "recherche": {"pays": "FR,UK", "secteur": "restauration", "ca_min": 1_000_000},
            },
        ),
    ),
    "exportCompaniesFromBody": _body(
        "The parameters of GET, as members of an object.",
        "DemandeExport",
        export=(
            "British companies with `steel` in their name, in English",
            {"pays": "UK", "q": "steel", "limit": 50, "lang": "en"},
        ),
    ),
    "matchCompanies": _body(
        "The lines.",
        "DemandeRapprochement",
        lines=(
            "A British company",
            {
                "lignes": [
                    {
                        "cle": "1",
                        "nom": "Royal Tool Control Limited",
                        "pays": "UK",
                        "ville": "Sheffield",
                    }
                ]
            },
        ),
    ),
}


def schemas(words: SeedWords) -> Mapping[str, Schema]:
    """The schemas of the bodies by name."""
    return {
        **match_shapes.SHAPES,
        "DemandeExport": _export(words),
        "DemandeModifications": _watch(words),
    }


def _watch(words: SeedWords) -> Schema:
    """The schema of the body of POST /api/v1/modifications (X8)."""
    members = {one.name: _member(one, words) for one in parameters.WATCH}
    ids = {
        "type": "array",
        "description": "Companies, each as country and identifier: `UK:00944111`.",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": parameters.MOST_IDS,
    }
    filters = {one.name: _member(one, words) for one in parameters.WATCHED}
    search = {
        "type": "object",
        "description": "The filters of a search; an empty object is the whole base.",
        "properties": filters,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": "What to watch, and since when.",
        "properties": {**members, "ids": ids, "recherche": search},
        "required": [parameters.DEPUIS.name],
        "additionalProperties": False,
    }


def _export(words: SeedWords) -> Schema:
    """The schema of the body of POST /api/v1/export (§4.7, contract F3)."""
    return {
        "type": "object",
        "description": "What to export; an empty object is the whole base.",
        "properties": {one.name: _member(one, words) for one in parameters.EXPORT},
        "additionalProperties": False,
    }


def _member(parameter: Parameter, words: SeedWords) -> Schema:
    """A member of a body. Its default is only described: generated clients require what has one."""
    schema = parameter.schema(words)
    default = schema.pop("default", None)
    text = parameter.description.en
    if default is not None:
        text += f" By default `{default}`."
    return {**schema, "description": text, "examples": [parameter.example]}
