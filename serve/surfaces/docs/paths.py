"""The operations of the document and their responses, from their declarations. Pure.

Every path also has OPTIONS, and a path with GET has HEAD; the general description says so. A new kind of operation
needs code here; a new operation of an existing kind needs only its declaration.

Responses are success, 304 and errors, with their headers. `lang` is the language of the texts of schemas. The
descriptions of responses, which only programs read, are English.
"""

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final

from serve.contract import files
from serve.contract.answers import DetailsErreur, Erreur
from serve.contract.declaration import (
    JsonSchema,
    Keywords,
    KnownValues,
    component_name,
    component_schema,
    schema,
)
from serve.contract.errors import CODES
from serve.contract.feature import Example, Link, Operation, Product
from serve.contract.parameters import VERSION
from serve.contract.text import Lang, feature_texts
from serve.surfaces.docs import prose

# The schemas of headers by type in headers.csv.
_SCHEMAS: Final[Mapping[str, JsonSchema]] = {
    "text": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
    "flag": {"type": "string", "enum": ["true", "false"]},
}

# Groups of headers that responses have together: of a counter, of a counted call, of a record with a price, of an
# answer with an ETag.
_METER: Final = (
    "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit-Policy", "RateLimit",
)  # fmt: skip
_CALLS: Final = ("X-Plafond-Resultats", *_METER)
_CREDITS: Final = ("X-Credits-Debites", "X-Credits-Restants")
_TAG_HEADERS: Final = ("ETag", "Cache-Control", "Vary", "X-Donnees-Version")

_JSON: Final = "application/json"

# Matches every code, also codes of later versions.
CODE_PATTERN: Final = "^[a-z]+(_[a-z]+)*$"

# The headers of an error by its status, in addition to the headers of all errors (`_ERRORS`).
_HEADERS: Final[Mapping[int, tuple[str, ...]]] = {
    400: _CALLS,
    401: ("WWW-Authenticate", *_CALLS),
    402: ("Content-Location", *_CALLS, *_CREDITS),
    403: (*_CALLS, *_CREDITS),
    404: _CALLS,
    409: _CALLS,
    429: ("Retry-After", *_CALLS),
    503: ("Retry-After",),
}
# The headers of all errors.
_ERRORS: Final = ("Cache-Control", "Content-Language", "Vary", "X-Donnees-Version")

# Statuses with which an operation may refuse, as `components/responses`.
STATUSES: Final = (400, 401, 402, 403, 404, 406, 409, 413, 414, 415, 429, 500, 503)

# The key of an operation (`Operation.key`) as Security Requirement Objects (OpenAPI); {} is a call without a key.
_SECURITY: Final[Mapping[str, list[JsonSchema]]] = {
    "": [],
    "optional": [{}, {"cle": []}],
    "required": [{"cle": []}],
}
# The headers of a document.
_DOCUMENT_HEADERS: Final = ("ETag", "Cache-Control", "Vary")
FORM: Final = "application/x-www-form-urlencoded"
# The schemas of media types without an object of the API.
_TEXT: Final[JsonSchema] = {"type": "string"}
_FILE: Final[JsonSchema] = {"type": "string", "format": "binary"}


def paths(product: Product, lang: Lang) -> Mapping[str, Mapping[str, JsonSchema]]:
    """The operations by path, then by method, without MCP, which describes itself (tools/list)."""
    by_path: dict[str, dict[str, JsonSchema]] = {}
    for operation in product.operations:
        if operation.kind != "tools":
            by_path.setdefault(operation.path, {})[operation.method.lower()] = _operation(
                product, operation, lang
            )
    return by_path


def _operation(product: Product, operation: Operation, lang: Lang) -> JsonSchema:
    """The Operation Object (OpenAPI) of an operation."""
    body = {"requestBody": _request_body(operation, lang)} if operation.body else {}
    return {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary.translation(lang),
        "description": operation.description.translation(lang),
        "security": _SECURITY[operation.key],
        "parameters": _parameters(operation),
        "responses": dict(sorted(_responses(product, operation, lang).items())),
        **body,
    }


def _request_body(operation: Operation, lang: Lang) -> JsonSchema:
    """The Request Body Object (OpenAPI) of an operation."""
    examples = {
        body.name: {"summary": body.summary.translation(lang), "value": body.value}
        for body in operation.bodies
    }
    content = {
        "schema": schema(operation.body, lang),
        **({"examples": examples} if examples else {}),
    }
    return {
        "description": component_schema(operation.body, lang)["description"],
        "required": True,
        "content": {FORM if operation.kind == "reconciliation" else _JSON: content},
    }


def _is_tagged(operation: Operation) -> bool:
    """Whether answers of the operation have an ETag, so that a repeated request can get a 304."""
    kinds = ("list", "free", "call", "analysis", "document", "reconciliation")
    return (
        operation.method == "GET"
        and operation.kind in kinds
        and bool(operation.answer or operation.media)
    )


def _parameters(operation: Operation) -> list[JsonSchema]:
    """The parameters of the path, of the query and of the headers."""
    return [
        *(_ref(name, "parameters") for name in operation.variables),
        *(_ref(parameter.component, "parameters") for parameter in operation.parameters),
        *([_ref("If-None-Match", "parameters")] if _is_tagged(operation) else []),
    ]


def _responses(product: Product, operation: Operation, lang: Lang) -> dict[str, JsonSchema]:
    """The Response Objects (OpenAPI) of an operation by status: success, 304 and errors."""
    refused = _refusals(product, operation, _statuses(operation), lang)
    if operation.kind == "file":
        return {"200": _export_file(operation), **refused}
    if operation.kind == "document":
        unchanged = {
            "description": "The caller already has the document.",
            "headers": _references(*_DOCUMENT_HEADERS),
        }
        return {"200": _media_answer(operation, _DOCUMENT_HEADERS), "304": unchanged, **refused}
    specific = (*operation.headers, *_counter_headers(operation))
    if not (operation.answer or operation.media):  # the operation redirects to a page
        header_refs = _references("Cache-Control", "X-Donnees-Version", "Location", *specific)
        return {
            "303": {"description": "The page of the company.", "headers": header_refs},
            **refused,
        }
    common = _TAG_HEADERS if _is_tagged(operation) else ("Cache-Control",)
    success = (
        _media_answer(operation, (*common, *specific))
        if operation.media
        else _json_answer(product, operation, (*common, *specific), lang)
    )
    # A 304 has no `Link`.
    names_of_304 = tuple(name for name in specific if name != "Link")
    tagged = {"304": _not_modified(*names_of_304)} if _is_tagged(operation) else {}
    return {"200": success, **tagged, **refused}


def _json_answer(
    product: Product, operation: Operation, names: tuple[str, ...], lang: Lang
) -> JsonSchema:
    """The response 200 (OpenAPI) of an operation that returns an object of the API; `names` are its headers."""
    examples = [
        name
        for name, example in product.examples.items()
        if example.route == operation.route and example.status == 200
    ]
    has_name = component_name(operation.answer)
    text = (
        component_schema(operation.answer, lang)["description"]
        if has_name
        else f"{operation.summary.translation(lang)}."
    )
    success = _success(text, {_JSON: schema(operation.answer, lang)}, names, *examples)
    links = [link for link in operation.links if product.operation(link.operation)]
    return _add_links(success, links) if links else success


def _media_answer(operation: Operation, names: tuple[str, ...]) -> JsonSchema:
    """The 200 of an operation that returns no object of the API: its media types, each with a schema."""
    contents = {
        kind: {"type": "object"} if kind == _JSON else _TEXT if kind.startswith("text/") else _FILE
        for kind in operation.media
    }
    return _success(f"{operation.summary.en}.", contents, names)


def _counter_headers(operation: Operation) -> tuple[str, ...]:
    """The names of the headers that report counters, in a successful response of the operation."""
    if operation.kind in ("list", "free", "check", "metrics"):
        return ()
    return (*_CALLS, *(_CREDITS if operation.credits else ()))


def _is_pinnable(operation: Operation) -> bool:
    """Whether a call of the operation can name a generation, which may not be open any more (409)."""
    if operation.kind != "reconciliation":
        return operation.kind != "account"
    return VERSION in operation.parameters or operation.body is not None


def _statuses(operation: Operation) -> set[int]:
    """The statuses of the operation's errors, except 414 and 500, which every path has."""
    statuses = set(operation.refusals)
    if operation.kind not in ("check", "metrics"):
        # In reconciliation, an unknown token in the path is an invalid key, not a 404.
        statuses |= {
            400,
            *([404] if operation.variables and operation.kind != "reconciliation" else []),
        }
    if operation.kind != "check":
        statuses.add(429)
    if operation.kind not in ("check", "metrics", "document"):
        # 409: the generation that the call names is not open any more.
        statuses |= {503, *([409] if _is_pinnable(operation) else [])}
    if operation.key:
        statuses |= {401, *([402] if operation.credits else [])}
    if operation.kind == "analysis":
        statuses.add(403)
    if operation.method == "POST":
        statuses |= {413, 415}
    return statuses


# -- answers ------------------------------------------------------------------------------


def headers(product: Product, lang: Lang) -> dict[str, JsonSchema]:
    """The headers by name, with texts in `lang`."""
    return {
        row["name"]: {"description": row[lang], "schema": _SCHEMAS[row["type"]]}
        for row in product.headers
    }


def _references(*names: str) -> dict[str, Any]:
    """References to the headers of a response; every response also has `X-Request-Id`."""
    return {name: _ref(name, "headers") for name in ("X-Request-Id", *names)}


def _ref(name: str, kind: str = "schemas") -> JsonSchema:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/{kind}/{name}"}


def _union_schema(*schemas: JsonSchema) -> JsonSchema:
    """The schema of values that have at least one of `schemas`."""
    return {"anyOf": list(schemas)}


def _success(
    description: str, contents: Mapping[str, JsonSchema], names: tuple[str, ...], *examples: str
) -> JsonSchema:
    """A response 200 (OpenAPI) with a body and headers.

    Args:
        contents: the schema of each media type.
        examples: names of `Product.examples`.
    """
    recorded = {"examples": {name: _ref(name, "examples") for name in examples}} if examples else {}
    return {
        "description": description,
        "headers": _references(*names),
        "content": {
            kind: {"schema": schema_object, **recorded} for kind, schema_object in contents.items()
        },
    }


def _add_links(response: JsonSchema, links: Sequence[Link]) -> JsonSchema:
    """The response with links: calls that take values from the response (OpenAPI §4.8.20)."""
    link_objects = {
        link.name: {"operationId": link.operation, "parameters": dict(link.arguments)}
        for link in links
    }
    return {**response, "links": link_objects}


def _not_modified(*names: str) -> JsonSchema:
    """A 304, which has no body and is not counted."""
    return {
        "description": "The caller already has this answer (`If-None-Match`); it costs nothing.",
        "headers": _references(*_TAG_HEADERS, *names),
    }


def _export_file(operation: Operation) -> JsonSchema:
    """The 200 of an export: a schema per media type; columns are the keys of two objects (X7)."""
    names = ("Content-Disposition", "Cache-Control", "Vary", "Link", "X-Donnees-Version")
    binary: JsonSchema = {"type": "string", "format": "binary"}
    line: JsonSchema = {
        "type": "string",
        "contentMediaType": _JSON,
        "contentSchema": _union_schema(_ref("Societe"), _ref("LigneComptesExportee")),
    }
    media_types = {name: kind.partition(";")[0] for name, kind in files.MEDIA_TYPES.items()}
    contents = {
        media_types[files.WORKBOOK]: binary,
        media_types[files.CSV]: {"type": "string"},
        media_types[files.NDJSON]: line,
        media_types[files.PARQUET]: binary,
        files.ZIP: binary,
    }
    return _success(prose.EXPORT_FILE, contents, (*names, *operation.headers, *_METER))


def _refusals(
    product: Product, operation: Operation, statuses: Collection[int], lang: Lang
) -> dict[str, JsonSchema]:
    """The errors of an operation by status; every operation can also respond with 414 (long request line) and 500."""
    responses = {
        str(status): _ref(f"Erreur{status}", "responses")
        for status in sorted({*statuses, 414, 500})
    }
    if operation.refused:
        union = _union_schema(schema(operation.refused, lang), _ref("Erreur401"))
        responses["401"] = _error_response(product, 401, union, operation.route)
    if operation.unavailable:
        # If counters cannot be written, the public identity is returned without a charge (D10, G9).
        union = _union_schema(schema(operation.unavailable, lang), _ref("Erreur503"))
        responses["503"] = _error_response(product, 503, union)
        responses["503"]["headers"] |= _references("Content-Location")
    if operation.kind == "analysis":  # without credits, an analysis has no smaller answer to return
        responses["402"] = _error_response(product, 402, _ref("Erreur402"), operation.route)
    return responses


def error_components(
    product: Product, lang: Lang
) -> tuple[dict[str, JsonSchema], dict[str, JsonSchema]]:
    """The schemas and the responses of the errors, by name. The 402 of a record contains a visitor's view of it."""
    schemas = {f"Erreur{status}": _error_schema(status, lang) for status in STATUSES}
    responses = {
        f"Erreur{status}": _error_response(
            product, status, _ref("FicheEpuisee" if status == 402 else f"Erreur{status}")
        )
        for status in STATUSES
    }
    return schemas, responses


def _error_schema(status: int, lang: Lang) -> JsonSchema:
    """The schema of the errors with an HTTP status."""
    codes = _codes_of_status(status)
    keys = {key for code in codes for key in CODES[code].extra}
    if status == 401:
        # A 401 may also have the keys of other errors of the call (contract A1).
        other_codes = (*_codes_of_status(400), *_codes_of_status(404))
        keys |= {key for code in other_codes for key in CODES[code].extra}
    erreur = component_schema(Erreur, lang)
    code_type = Annotated[str, KnownValues(tuple(codes)), Keywords(pattern=CODE_PATTERN)]
    erreur["properties"]["code"] = schema(code_type, lang, feature_texts()["Erreur", "code"])
    details = component_schema(DetailsErreur, lang)["properties"]
    return {
        "type": "object",
        "description": _meanings(status, lang),
        "properties": {"erreur": erreur, **{key: details[key] for key in details if key in keys}},
        "required": ["erreur"],
    }


def _error_response(
    product: Product, status: int, schema_object: JsonSchema, route: str = ""
) -> JsonSchema:
    """The response of the errors with a status, with the recorded examples of `route` ("": the common examples)."""
    content: dict[str, Any] = {"schema": schema_object}
    examples = [
        name
        for name, example in product.examples.items()
        if example.status == status and _example_route(product, example) == route
    ]
    if examples:
        content["examples"] = {name: _ref(name, "examples") for name in examples}
    return {
        "description": _meanings(status),
        "headers": _references(*_ERRORS, *_HEADERS.get(status, ())),
        "content": {_JSON: content},
    }


def _example_route(product: Product, example: Example) -> str:
    """The route of an example if its answer is special to the route; "" for a common answer.

    The 401 of some routes contains the visitor's answer in addition to `erreur` (§5 rule 4).
    """
    if example.status != 401:
        return ""
    return next(
        (
            operation.route
            for operation in product.operations
            if operation.refused and operation.route == example.route
        ),
        "",
    )


def _meanings(status: int, lang: Lang = "en") -> str:
    """The codes with an HTTP status and their meanings."""
    separator, colon = ("; ", ":") if lang == "en" else (" ; ", " :")
    meanings = separator.join(
        f"`{code}`{colon} {CODES[code].meaning.translation(lang)}"
        for code in _codes_of_status(status)
    )
    return f"{HTTPStatus(status).phrase}. {meanings}."


def _codes_of_status(status: int) -> list[str]:
    """The codes with an HTTP status.

    >>> _codes_of_status(404)
    ['societe_introuvable', 'route_inconnue']
    """
    return [code for code, declared in CODES.items() if declared.status == status]
