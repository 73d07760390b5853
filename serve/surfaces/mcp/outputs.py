"""The results of the tools as JSON Schema (2020-12); the names are those of the API, in French.

A schema is that of the answer of the route, without texts and with the keys that the tool shows. The tools leave out
keys that are null in the API, so only keys that are always there are required.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from serve.contract import company_fields, feature
from serve.contract.company_answers import TexteVoulu
from serve.contract.declaration import Schema, component_schema

# The fields of a company in a search: enough to choose one, not to describe it.
COMPACT: Final = tuple(field.champ for field in company_fields.fields() if field.in_tools)
_COMPANY_KEYS: Final = ("iso2", "id", "nom")

TEXT: Final[Schema] = {"type": "string"}
OBJECT: Final[Schema] = {"type": "object"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
COMPANY_COUNT: Final[Schema] = {**COUNT, "description": "Companies."}
NOTE: Final = {"note": {**TEXT, "description": "What to do next, in English."}}
CREDITS: Final = {"credits_debites": COUNT, "credits_restants": COUNT}
# Keys of a caller's plan that a tool tells in its own way, or not at all.
_KEYS_OF_THE_PLAN: Final = ("module", "plan_souscrit", "outil_api", "offre_suivante", "motif_code")


def answer_schema(
    kind: Any, *names: str, further: Mapping[str, Schema] | None = None, **said: Schema
) -> Schema:
    """The schema of an answer, or of a part of one, with its fields `names`, or else all but those of the plan.

    Args:
        further: keys that the tool alone has, and may leave out.
        said: fields that a tool describes in words of its own, and keys that it alone has and always shows.
    """
    declared = component_schema(kind, "en")
    own = declared["properties"]
    shown = names or tuple(name for name in own if name not in _KEYS_OF_THE_PLAN)
    properties = {
        name: said[name] if name in said else _without_texts(own[name])
        for name in dict.fromkeys((*shown, *said))
    }
    always = [
        name
        for name, schema in properties.items()
        if name not in own
        or (name in declared["required"] and _allows_null(own[name]) <= _allows_null(schema))
    ]
    return object_of(properties | dict(further or {}), always)


def object_of(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _allows_null(schema: Schema) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


def _without_texts(schema: Schema) -> Schema:
    """A schema without texts and without null; an object has no more than its type."""
    if "anyOf" in schema:
        return _without_texts(schema["anyOf"][0])
    if "$ref" in schema:
        schema = _components().get(schema["$ref"].rpartition("/")[2], OBJECT)
    kind = schema["type"]
    kept = {"type": kind[0] if isinstance(kind, list) else kind}
    if "minimum" in schema:
        kept["minimum"] = schema["minimum"]
    return kept | ({"items": _without_texts(schema["items"])} if "items" in schema else {})


@cache
def _components() -> Mapping[str, Schema]:
    return feature.component_schemas("en")


def array_of(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def company(names: Sequence[str], *, described: bool) -> Schema:
    known = {field.champ: field for field in company_fields.fields()}
    properties: dict[str, Schema] = {}
    for name in names:
        kind = known[name].json_type
        properties[name] = array_of(TEXT) if kind == "array" else {"type": kind}
        if described:
            properties[name]["description"] = known[name].definition["en"]
    return object_of(properties, _COMPANY_KEYS)


TOTAL: Final = {**COUNT, "description": "Companies that match in the whole base, exactly."}
# What an answer may say of the search that it was asked for; search_companies describes it.
ABOUT_SEARCH: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": array_of(TEXT),
    "ids_inconnus": array_of(TEXT),
    "activites_comprises": array_of(OBJECT),
}
PROPOSALS: Final[Mapping[str, Schema]] = {
    "vouliez_vous_dire": array_of(OBJECT),
    "recherches_proposees": array_of(OBJECT),
}
ABOUT_SEARCH_DESCRIBED: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": {**array_of(TEXT), "description": "Countries without any data."},
    "ids_inconnus": {**array_of(TEXT), "description": "Items of `ids` that name no company."},
    "activites_comprises": {**array_of(OBJECT), "description": "What activite names; at most 20."},
    "vouliez_vous_dire": {
        **array_of(answer_schema(TexteVoulu)),
        "description": "Nothing was found: what q may have meant, and how many companies that finds.",
    },
    "recherches_proposees": {
        **array_of(OBJECT),
        "description": "Nothing was found: activite, ville and q to send instead, and their total.",
    },
}
