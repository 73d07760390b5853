"""The service `/api/v1/reconciliation` (extensions X5): its schemas and operations. Pure.

The protocol is that of the Reconciliation Service API 0.2, whose manifest describes it to its clients; this is what a
person or a generator of clients finds of it in the document.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from serve.guests.docs.openapi import headers
from serve.guests.docs.openapi.answers import JSON, answer, common_refusals, not_modified
from serve.guests.docs.openapi.schema import (
    Schema,
    array,
    either,
    number,
    ref,
    shape,
    text,
    truth,
    whole,
)

_FORM: Final = "application/x-www-form-urlencoded"
_NAMED: Final[dict[str, Schema]] = {"id": text("Identifier."), "name": text("Name.")}
_TYPE: Final = shape("The type of all entities.", _NAMED)
_SERVICE: Final = shape(
    "Where something is suggested.",
    {"service_url": text("Address of the service."), "service_path": text("Path below it.")},
)
_ANY: Final[Schema] = {"type": "object"}

SHAPES: Final[dict[str, Schema]] = {
    "Reconciliation": shape(
        "The manifest of the service.",
        {
            "versions": array({"type": "string"}, "Versions of the protocol."),
            "name": text("Name of the service."),
            "identifierSpace": text("Address that identifiers belong to."),
            "schemaSpace": text("Address that fields belong to."),
            "documentation": text("Documentation."),
            "defaultTypes": array(_TYPE, "Types of entities: `societe`."),
            "batchSize": whole("Queries of a batch that are answered.", minimum=1),
            "view": shape("The page of an entity.", {"url": text("Address with `{{id}}`.")}),
            "preview": shape(
                "A few lines about an entity.",
                {
                    "url": text("Address with `{{id}}`."),
                    "width": whole("Width, in pixels."),
                    "height": whole("Height, in pixels."),
                },
            ),
            "suggest": shape(
                "What can be suggested.",
                {name: _SERVICE for name in ("entity", "property", "type")},
            ),
            "extend": shape(
                "Values of fields.",
                {
                    "propose_properties": _SERVICE,
                    "property_settings": array(_ANY, "Settings of fields: none."),
                },
            ),
        },
    ),
    "ReconciliationResultats": {
        "type": "object",
        "description": "By the name of each query, its candidates.",
        "additionalProperties": shape(
            "The candidates of a query.",
            {
                "result": array(ref("ReconciliationCandidat"), "Candidates, the likeliest first."),
                "erreur": ref("Erreur"),
            },
            ("erreur",),
        ),
    },
    "ReconciliationCandidat": shape(
        "A company that a query may mean.",
        {
            "id": text("The company: `UK:00944111`."),
            "name": text("Name."),
            "description": text("Town, country and state."),
            "type": array(_TYPE, "Its type."),
            "score": number("Probability that it is the company, 0 to 100."),
            "match": truth("Whether it is sure."),
            "features": array(
                shape(
                    "A feature.",
                    {"id": text("The feature: `note`."), "value": number("Its value.")},
                ),
                "The probability, 0 to 1.",
            ),
        },
    ),
    "ReconciliationValeurs": shape(
        "Values of fields of companies.",
        {
            "meta": array(shape("A field.", _NAMED), "The fields, in the order asked for."),
            "rows": {
                "type": "object",
                "description": "By company, then by field, its values: `str`, `int` or `float`.",
                "additionalProperties": _ANY,
            },
        },
    ),
    "ReconciliationChamps": shape(
        "The fields that can be asked for.",
        {
            "type": text("The type: `societe`."),
            "properties": array(shape("A field.", _NAMED), "The fields."),
            "limit": whole("The limit that was sent; absent without it."),
        },
        ("limit",),
    ),
    "ReconciliationSuggestions": shape(
        "What begins with a text.",
        {
            "result": array(
                shape(
                    "A company, a field or a type.",
                    {
                        **_NAMED,
                        "description": text("What tells it from others."),
                        "notable": array(_TYPE, "Of a company: its type."),
                    },
                    ("description", "notable"),
                ),
                "The suggestions.",
            )
        },
    ),
}

_TAGGED: Final = ("ETag", "Cache-Control", "Vary")
_COUNTED: Final = (*headers.TAGGED, "Content-Language", *headers.CALLS)
_ANSWERS: Final = either(
    ref("Reconciliation"), ref("ReconciliationResultats"), ref("ReconciliationValeurs")
)
# A key that is not valid: what a visitor gets, and `erreur` beside it.
_REFUSED: Final[Schema] = {"type": "object", "description": "What a visitor gets, and `erreur`."}


def _path(name: str, description: str, example: str) -> Schema:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }


_TOKEN: Final = _path(
    "jeton",
    "Token of a reconciliation address, which an account makes (`soc_rec_…`) and which stands for its key; "
    "`visiteur` without one.",
    "visiteur",
)
_COMPANY: Final = _path("societe", "Company, as country code, `:` and identifier.", "UK:09418436")


def _query(name: str, description: str, more: Schema) -> Schema:
    schema = {"type": "string", **more}
    return {"name": name, "in": "query", "description": description, "schema": schema}


_AS_JSON: Final = {"contentMediaType": "application/json"}
_OVER_0: Final = {"pattern": "^0*[1-9][0-9]*$", "maxLength": 9}


_ASKED: Final = {
    "queries": "Queries by name, as JSON: `query` and `properties`. A call of the day for each 10 lines begun.",
    "extend": "Companies (`ids`) and fields (`properties`), as JSON: their values, contacts by right.",
}
_IN_QUERY: Final = [_query(name, said, _AS_JSON) for name, said in _ASKED.items()]


def _responses(schema: Schema, names: tuple[str, ...], *statuses: int) -> dict[str, Schema]:
    found = {
        "200": answer("The answer.", schema, names),
        **common_refusals({400, 401, *statuses, 429, 503}),
    }
    content = {"schema": either(_REFUSED, ref("Erreur401"))}
    refused = {"description": "Unauthorized.", "content": {JSON: content}}
    names_401 = ("Cache-Control", "Content-Language", "Vary", "X-Donnees-Version")
    found["401"] = {
        **refused,
        "headers": headers.references(*names_401, "WWW-Authenticate", *headers.CALLS),
    }
    return found


def _parts(given: list[Schema], schema: Schema, *statuses: int) -> Schema:
    """The parameters and the responses of a GET."""
    responses = _responses(schema, _COUNTED, *statuses) | {"304": not_modified(*_COUNTED[4:])}
    return {
        "parameters": [*given, ref("If-None-Match", "parameters")],
        "responses": responses,
    }


def _service(suffix: str, *given: Schema) -> Mapping[str, Schema]:
    """The service itself, at its own path or at that of a token: a manifest, queries, values."""
    members = {
        name: {"type": "string", **_AS_JSON, "description": said} for name, said in _ASKED.items()
    }
    form = {"type": "object", "properties": members}
    return {
        f"reconcile{suffix}": _parts([*given, *_IN_QUERY], _ANSWERS, 413),
        f"reconcileFromForm{suffix}": {
            "parameters": [*given],
            "responses": _responses(_ANSWERS, _COUNTED, 413, 415),
            "requestBody": {
                "description": "The parameters of GET, as a form.",
                "required": True,
                "content": {_FORM: {"schema": form}},
            },
        },
    }


@cache
def parts() -> Mapping[str, Schema]:
    """The parameters, the responses and the body of each operation."""
    what = _path(
        "quoi", "What to suggest: `entity` (companies), `property` (fields), `type`.", "entity"
    )
    page = answer(
        "The page.",
        {"type": "string"},
        (*_TAGGED, *headers.CALLS, "X-Donnees-Version"),
        kind="text/html",
    )
    moved = {
        "description": "The page of the company.",
        "headers": headers.references(
            "Cache-Control", "X-Donnees-Version", "Location", *headers.CALLS
        ),
    }
    preview = _parts([_TOKEN, _COMPANY], _ANY, 404)
    preview["responses"]["200"] = page
    view = _responses(_ANY, (), 404)
    del view["200"]
    view["303"] = moved
    fields = [_TOKEN, _query("limit", "Fields at most.", _OVER_0)]
    begun = [_TOKEN, what, _query("prefix", "Beginning of a name.", {})]
    return {
        **_service(""),
        **_service("AtAddress", _TOKEN),
        "proposeFields": _parts(fields, ref("ReconciliationChamps")),
        "suggestEntities": _parts(begun, ref("ReconciliationSuggestions"), 404),
        "previewEntity": preview,
        "viewEntity": {"parameters": [_TOKEN, _COMPANY], "responses": view},
    }
