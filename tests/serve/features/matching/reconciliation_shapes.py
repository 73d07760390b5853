"""Shapes of the Reconciliation Service API 0.2 as JSON Schema, written from the text of the specification.

They are stricter than the specification where this service always says more: a member that is not named here is a
fault, and so is a missing one that a client shows. `erreur` is this project's own member of a result.
"""

from typing import Any, Final

from jsonschema import Draft7Validator

Shape = dict[str, Any]

_TEXT: Final[Shape] = {"type": "string"}
_NUMBER: Final[Shape] = {"type": "number"}
_URL: Final[Shape] = {"type": "string", "pattern": "^https?://"}
_TRUTH: Final[Shape] = {"type": "boolean"}
_COUNT: Final[Shape] = {"type": "integer", "minimum": 1}


def _object(needed: Shape, may: Shape | None = None) -> Shape:
    """An object with the members `needed` and, of all others, only those of `may`."""
    members = {**needed, **(may or {})}
    return {
        "type": "object",
        "properties": members,
        "required": [*needed],
        "additionalProperties": False,
    }


def _list(item: Shape, **more: Any) -> Shape:
    return {"type": "array", "items": item, **more}


def _by_name(value: Shape) -> Shape:
    """An object whose member names the caller chose."""
    return {"type": "object", "additionalProperties": value}


def _template(mark: str) -> Shape:
    """An address in which the client replaces `mark`."""
    return {"type": "string", "pattern": f"^https?://.*{mark}"}


_TYPE: Final = _object({"id": _TEXT, "name": _TEXT}, {"description": _TEXT})
_PROPERTY: Final = _object({"id": _TEXT, "name": _TEXT}, {"description": _TEXT})
_SERVICE: Final = _object(
    {"service_url": _URL, "service_path": {"type": "string", "pattern": "^/"}}
)
_VIEW: Final = _template(r"\{\{id\}\}")

_MANIFEST: Final = _object(
    {
        "versions": {"type": "array", "items": _TEXT, "contains": {"const": "0.2"}},
        "name": _TEXT,
        "identifierSpace": _URL,
        "schemaSpace": _URL,
        "defaultTypes": _list(_TYPE, uniqueItems=True, minItems=1),
        "view": _object({"url": _VIEW}),
        "preview": _object({"url": _VIEW, "width": _COUNT, "height": _COUNT}),
        "suggest": _object({"entity": _SERVICE, "property": _SERVICE, "type": _SERVICE}),
        "extend": _object({"propose_properties": _SERVICE, "property_settings": _list(_TEXT)}),
    },
    {"documentation": _URL, "batchSize": _COUNT},
)

_SINGLE: Final[Shape] = {"anyOf": [_TEXT, _NUMBER, _TRUTH, _object({"id": _TEXT}, {"name": _TEXT})]}
_QUERY: Final = {
    **_object(
        {},
        {
            "query": _TEXT,
            "type": {"anyOf": [_TEXT, _list(_TEXT)]},
            "type_strict": {"enum": ["any", "all", "should"]},
            "limit": _COUNT,
            "properties": _list(_object({"pid": _TEXT, "v": {"anyOf": [_SINGLE, _list(_SINGLE)]}})),
        },
    ),
    "anyOf": [{"required": ["query"]}, {"required": ["properties"]}],
}

_CANDIDATE: Final = _object(
    {
        "id": _TEXT,
        "name": _TEXT,
        "score": {"type": "number", "minimum": 0, "maximum": 100},
        "match": _TRUTH,
        "type": _list(_TYPE, minItems=1),
    },
    {
        "description": _TEXT,
        "features": _list(_object({"id": _TEXT, "value": {"anyOf": [_TRUTH, _NUMBER]}})),
    },
)
_ERROR: Final = {"type": "object", "required": ["code", "message"]}
_RESULT: Final = _object({"result": _list(_CANDIDATE)}, {"erreur": _ERROR})

# Years of four digits, a time to the second, and its zone (ISO 8601).
_MOMENT: Final[Shape] = {
    "type": "string",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$",
}
_CELL: Final[Shape] = {
    "oneOf": [
        _object({"id": _TEXT, "name": _TEXT}, {"description": _TEXT}),
        _object({"str": _TEXT}),
        _object({"float": _NUMBER}),
        _object({"int": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}}),
        _object({"date": _MOMENT}),
    ]
}

_SHAPES: Final[dict[str, Shape]] = {
    "manifest": _MANIFEST,
    "queries": _by_name(_QUERY),
    "results": _by_name(_RESULT),
    "extension query": _object(
        {"ids": _list(_TEXT), "properties": _list(_object({"id": _TEXT}, {"settings": _by_name({})}))}
    ),
    "extension": _object(
        {
            "meta": _list(_object({"id": _TEXT, "name": _TEXT}, {"type": _TYPE})),
            "rows": _by_name(_by_name(_list(_CELL))),
        }
    ),
    "proposed properties": _object(
        {"properties": _list(_PROPERTY)}, {"type": _TEXT, "limit": _COUNT}
    ),
    "suggested entities": _object(
        {"result": _list(_object({"id": _TEXT, "name": _TEXT}, {"description": _TEXT, "notable": _list(_TYPE)}))}
    ),
    "suggested properties": _object({"result": _list(_PROPERTY)}),
    "suggested types": _object({"result": _list(_TYPE)}),
}  # fmt: skip


def shape(name: str) -> Draft7Validator:
    """The judge of one kind of message: of a request or of its answer."""
    return Draft7Validator(_SHAPES[name])
