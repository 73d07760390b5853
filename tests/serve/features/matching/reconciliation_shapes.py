"""JSON Schemas of the Reconciliation Service API 0.2, written from the text of the specification.

They are stricter than the specification: they refuse members that the specification does not name, and require
members that clients show. Only `erreur`, which this project adds to results, is also accepted.
"""

from typing import Any, Final

from jsonschema import Draft7Validator

Shape = dict[str, Any]

_TEXT: Final[Shape] = {"type": "string"}
_NUMBER: Final[Shape] = {"type": "number"}
_URL: Final[Shape] = {"type": "string", "pattern": "^https?://"}
_BOOLEAN: Final[Shape] = {"type": "boolean"}
_COUNT: Final[Shape] = {"type": "integer", "minimum": 1}


def _object_of(required: Shape, optional: Shape | None = None) -> Shape:
    """An object with the required members, perhaps the optional members, and no other members."""
    members = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": members,
        "required": [*required],
        "additionalProperties": False,
    }


def _list_of(item: Shape, **keywords: Any) -> Shape:
    """An array of items of a shape; `keywords` are further rules of JSON Schema, such as minItems."""
    return {"type": "array", "items": item, **keywords}


def _mapping_to(value: Shape) -> Shape:
    """An object with member names that the caller chooses."""
    return {"type": "object", "additionalProperties": value}


def _url_template(placeholder: str) -> Shape:
    """An address with a placeholder that the client replaces."""
    return {"type": "string", "pattern": f"^https?://.*{placeholder}"}


_TYPE: Final = _object_of({"id": _TEXT, "name": _TEXT}, {"description": _TEXT})
_PROPERTY: Final = _object_of({"id": _TEXT, "name": _TEXT}, {"description": _TEXT})
_SERVICE: Final = _object_of(
    {"service_url": _URL, "service_path": {"type": "string", "pattern": "^/"}}
)
_VIEW: Final = _url_template(r"\{\{id\}\}")

_MANIFEST: Final = _object_of(
    {
        "versions": {"type": "array", "items": _TEXT, "contains": {"const": "0.2"}},
        "name": _TEXT,
        "identifierSpace": _URL,
        "schemaSpace": _URL,
        "defaultTypes": _list_of(_TYPE, uniqueItems=True, minItems=1),
        "view": _object_of({"url": _VIEW}),
        "preview": _object_of({"url": _VIEW, "width": _COUNT, "height": _COUNT}),
        "suggest": _object_of({"entity": _SERVICE, "property": _SERVICE, "type": _SERVICE}),
        "extend": _object_of(
            {"propose_properties": _SERVICE, "property_settings": _list_of(_TEXT)}
        ),
    },
    {"documentation": _URL, "batchSize": _COUNT},
)

_QUERY_VALUE: Final[Shape] = {
    "anyOf": [_TEXT, _NUMBER, _BOOLEAN, _object_of({"id": _TEXT}, {"name": _TEXT})]
}
_QUERY: Final = {
    **_object_of(
        {},
        {
            "query": _TEXT,
            "type": {"anyOf": [_TEXT, _list_of(_TEXT)]},
            "type_strict": {"enum": ["any", "all", "should"]},
            "limit": _COUNT,
            "properties": _list_of(
                _object_of({"pid": _TEXT, "v": {"anyOf": [_QUERY_VALUE, _list_of(_QUERY_VALUE)]}})
            ),
        },
    ),
    "anyOf": [{"required": ["query"]}, {"required": ["properties"]}],
}

_CANDIDATE: Final = _object_of(
    {
        "id": _TEXT,
        "name": _TEXT,
        "score": {"type": "number", "minimum": 0, "maximum": 100},
        "match": _BOOLEAN,
        "type": _list_of(_TYPE, minItems=1),
    },
    {
        "description": _TEXT,
        "features": _list_of(_object_of({"id": _TEXT, "value": {"anyOf": [_BOOLEAN, _NUMBER]}})),
    },
)
_ERROR: Final = {"type": "object", "required": ["code", "message"]}
_RESULT: Final = _object_of({"result": _list_of(_CANDIDATE)}, {"erreur": _ERROR})

# A date with a year of four digits, and a time with seconds; the time zone is optional (ISO 8601).
_TIME: Final[Shape] = {
    "type": "string",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$",
}
_CELL: Final[Shape] = {
    "oneOf": [
        _object_of({"id": _TEXT, "name": _TEXT}, {"description": _TEXT}),
        _object_of({"str": _TEXT}),
        _object_of({"float": _NUMBER}),
        _object_of({"int": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}}),
        _object_of({"date": _TIME}),
    ]
}

_SHAPES: Final[dict[str, Shape]] = {
    "manifest": _MANIFEST,
    "queries": _mapping_to(_QUERY),
    "results": _mapping_to(_RESULT),
    "extension query": _object_of(
        {"ids": _list_of(_TEXT), "properties": _list_of(_object_of({"id": _TEXT}, {"settings": _mapping_to({})}))}
    ),
    "extension": _object_of(
        {
            "meta": _list_of(_object_of({"id": _TEXT, "name": _TEXT}, {"type": _TYPE})),
            "rows": _mapping_to(_mapping_to(_list_of(_CELL))),
        }
    ),
    "proposed properties": _object_of(
        {"properties": _list_of(_PROPERTY)}, {"type": _TEXT, "limit": _COUNT}
    ),
    "suggested entities": _object_of(
        {"result": _list_of(
            _object_of({"id": _TEXT, "name": _TEXT}, {"description": _TEXT, "notable": _list_of(_TYPE)})
        )}
    ),
    "suggested properties": _object_of({"result": _list_of(_PROPERTY)}),
    "suggested types": _object_of({"result": _list_of(_TYPE)}),
}  # fmt: skip


def validator(name: str) -> Draft7Validator:
    """The validator of a kind of message, a request or an answer."""
    return Draft7Validator(_SHAPES[name])
