"""The operations of the document and their answers, from their declarations. Pure.

Every path also has OPTIONS, and one with GET has HEAD: the description of the whole document says it. An operation of
a new kind is described here, another operation of a known one by its declaration alone.

OpenAPI calls answers responses: success, 304 and errors, with their headers. `lang` is the language of the texts of
schemas. The descriptions of answers, which only programs read, are English.
"""

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final

from serve.contract import files
from serve.contract.answers import DetailsErreur, Erreur
from serve.contract.declaration import (
    Keywords,
    KnownValues,
    Schema,
    component_name,
    component_schema,
    schema,
)
from serve.contract.errors import CODES
from serve.contract.feature import Example, Link, Operation, Product
from serve.contract.parameters import VERSION
from serve.contract.text import Lang, feature_texts
from serve.surfaces.docs import prose

# Of headers, by their type in headers.csv.
_SCHEMAS: Final[Mapping[str, Schema]] = {
    "text": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
    "flag": {"type": "string", "enum": ["true", "false"]},
}

# Headers that go together.
_METER: Final = (
    "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit-Policy", "RateLimit",
)  # fmt: skip
_CALLS: Final = ("X-Plafond-Resultats", *_METER)
_CREDITS: Final = ("X-Credits-Debites", "X-Credits-Restants")
_TAGGED: Final = ("ETag", "Cache-Control", "Vary", "X-Donnees-Version")

_JSON: Final = "application/json"

# Every code, those of later versions included.
CODE_PATTERN: Final = "^[a-z]+(_[a-z]+)*$"

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
_ERRORS: Final = ("Cache-Control", "Content-Language", "Vary", "X-Donnees-Version")

# Statuses with which an operation may refuse, as `components/responses`.
STATUSES: Final = (400, 401, 402, 403, 404, 406, 409, 413, 414, 415, 429, 500, 503)

_SECURITY: Final[Mapping[str, list[Schema]]] = {
    "": [],
    "optional": [{}, {"cle": []}],
    "required": [{"cle": []}],
}
# The headers of a document.
_PAGE: Final = ("ETag", "Cache-Control", "Vary")
_FORM: Final = "application/x-www-form-urlencoded"
# Of media types that are no objects of ours.
_TEXT: Final[Schema] = {"type": "string"}
_FILE: Final[Schema] = {"type": "string", "format": "binary"}


def paths(product: Product, lang: Lang) -> Mapping[str, Mapping[str, Schema]]:
    """The operations by path, then by method; those of MCP describe themselves (tools/list)."""
    found: dict[str, dict[str, Schema]] = {}
    for one in product.operations:
        if one.kind != "tools":
            found.setdefault(one.path, {})[one.method.lower()] = _operation(product, one, lang)
    return found


def _operation(product: Product, operation: Operation, lang: Lang) -> Schema:
    body = {"requestBody": _body(operation, lang)} if operation.body else {}
    return {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary.in_language(lang),
        "description": operation.description.in_language(lang),
        "security": _SECURITY[operation.key],
        "parameters": _parameters(operation),
        "responses": dict(sorted(_responses(product, operation, lang).items())),
        **body,
    }


def _body(operation: Operation, lang: Lang) -> Schema:
    examples = {
        one.name: {"summary": one.summary.in_language(lang), "value": one.value}
        for one in operation.bodies
    }
    content = {
        "schema": schema(operation.body, lang),
        **({"examples": examples} if examples else {}),
    }
    return {
        "description": component_schema(operation.body, lang)["description"],
        "required": True,
        "content": {_FORM if operation.kind == "reconciliation" else _JSON: content},
    }


def _is_tagged(operation: Operation) -> bool:
    """Whether its answers have a tag, so that a caller who has one is told so by a 304."""
    kept = ("list", "free", "call", "analysis", "document", "reconciliation")
    return (
        operation.method == "GET"
        and operation.kind in kept
        and bool(operation.answer or operation.media)
    )


def _parameters(operation: Operation) -> list[Schema]:
    """Those of the path, of the query and of the head."""
    return [
        *(_ref(name, "parameters") for name in operation.variables),
        *(_ref(given.component, "parameters") for given in operation.parameters),
        *([_ref("If-None-Match", "parameters")] if _is_tagged(operation) else []),
    ]


def _responses(product: Product, operation: Operation, lang: Lang) -> dict[str, Schema]:
    refused = _refusals(product, operation, _statuses(operation), lang)
    if operation.kind == "file":
        return {"200": _export_file(operation), **refused}
    if operation.kind == "document":
        unchanged = {
            "description": "The caller has it already.",
            "headers": _references(*_PAGE),
        }
        return {"200": _media_answer(operation, _PAGE), "304": unchanged, **refused}
    own = (*operation.headers, *_counters(operation))
    if not (operation.answer or operation.media):  # it leads to a page
        names = _references("Cache-Control", "X-Donnees-Version", "Location", *own)
        return {"303": {"description": "The page of the company.", "headers": names}, **refused}
    always = _TAGGED if _is_tagged(operation) else ("Cache-Control",)
    made = (
        _media_answer(operation, (*always, *own))
        if operation.media
        else _answer(product, operation, (*always, *own), lang)
    )
    # A 304 has no body, so it leads to no next page.
    kept = tuple(name for name in own if name != "Link")
    tagged = {"304": _not_modified(*kept)} if _is_tagged(operation) else {}
    return {"200": made, **tagged, **refused}


def _answer(product: Product, operation: Operation, names: tuple[str, ...], lang: Lang) -> Schema:
    """The 200 of an operation with an object."""
    examples = [
        name
        for name, made in product.examples.items()
        if made.route == operation.route and made.status == 200
    ]
    named = component_name(operation.answer)
    said = (
        component_schema(operation.answer, lang)["description"]
        if named
        else f"{operation.summary.in_language(lang)}."
    )
    made = _success(said, {_JSON: schema(operation.answer, lang)}, names, *examples)
    links = [link for link in operation.links if product.operation(link.operation)]
    return _with_links(made, links) if links else made


def _media_answer(operation: Operation, names: tuple[str, ...]) -> Schema:
    """The 200 of an operation that is no object of ours."""
    contents = {
        kind: {"type": "object"} if kind == _JSON else _TEXT if kind.startswith("text/") else _FILE
        for kind in operation.media
    }
    return _success(f"{operation.summary.en}.", contents, names)


def _counters(operation: Operation) -> tuple[str, ...]:
    """The headers that report counters."""
    if operation.kind in ("list", "free", "check", "metrics"):
        return ()
    return (*_CALLS, *(_CREDITS if operation.credits else ()))


def _is_pinnable(operation: Operation) -> bool:
    """Can the operation be asked of a generation that is not open any more?"""
    if operation.kind != "reconciliation":
        return operation.kind != "account"
    return VERSION in operation.parameters or operation.body is not None


def _statuses(operation: Operation) -> set[int]:
    """The statuses of its errors, but for those that every path has."""
    statuses = set(operation.refusals)
    if operation.kind not in ("check", "metrics"):
        # A token that is not known is a key that is not.
        statuses |= {
            400,
            *([404] if operation.variables and operation.kind != "reconciliation" else []),
        }
    if operation.kind != "check":
        statuses.add(429)
    if operation.kind not in ("check", "metrics", "document"):
        # Neither the account nor the protocol is of a generation that a caller names.
        statuses |= {503, *([409] if _is_pinnable(operation) else [])}
    if operation.key:
        statuses |= {401, *([402] if operation.credits else [])}
    if operation.kind == "analysis":
        statuses.add(403)
    if operation.method == "POST":
        statuses |= {413, 415}
    return statuses


# -- answers ------------------------------------------------------------------------------


def headers(product: Product, lang: Lang) -> dict[str, Schema]:
    """The headers by name, with texts in `lang`."""
    return {
        row["name"]: {"description": row[lang], "schema": _SCHEMAS[row["type"]]}
        for row in product.headers
    }


def _references(*names: str) -> dict[str, Any]:
    """References to the headers of an answer; every answer also has `X-Request-Id`."""
    return {name: _ref(name, "headers") for name in ("X-Request-Id", *names)}


def _ref(name: str, kind: str = "schemas") -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def _one_of(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _success(
    description: str, contents: Mapping[str, Schema], names: tuple[str, ...], *examples: str
) -> Schema:
    """A 200 with a body and headers.

    Args:
        contents: the schema of each media type.
        examples: names of `Product.examples`.
    """
    shown = {"examples": {name: _ref(name, "examples") for name in examples}} if examples else {}
    return {
        "description": description,
        "headers": _references(*names),
        "content": {kind: {"schema": one, **shown} for kind, one in contents.items()},
    }


def _with_links(made: Schema, links: Sequence[Link]) -> Schema:
    """An answer with the calls that can be made with its values (OpenAPI §4.8.20)."""
    told = {
        link.name: {"operationId": link.operation, "parameters": dict(link.given)} for link in links
    }
    return {**made, "links": told}


def _not_modified(*names: str) -> Schema:
    """A 304, which has no body and is not counted."""
    return {
        "description": "The caller has this answer already (`If-None-Match`); it costs nothing.",
        "headers": _references(*_TAGGED, *names),
    }


def _export_file(operation: Operation) -> Schema:
    """The 200 of an export: a schema per media type; the columns are those of two schemas (X7)."""
    names = ("Content-Disposition", "Cache-Control", "Vary", "Link", "X-Donnees-Version")
    binary: Schema = {"type": "string", "format": "binary"}
    line: Schema = {
        "type": "string",
        "contentMediaType": _JSON,
        "contentSchema": _one_of(_ref("Societe"), _ref("LigneComptesExportee")),
    }
    kinds = {name: kind.partition(";")[0] for name, kind in files.MEDIA_TYPES.items()}
    contents = {
        kinds[files.WORKBOOK]: binary,
        kinds[files.CSV]: {"type": "string"},
        kinds[files.NDJSON]: line,
        kinds[files.PARQUET]: binary,
        files.ZIP: binary,
    }
    return _success(prose.EXPORT_FILE, contents, (*names, *operation.headers, *_METER))


def _refusals(
    product: Product, operation: Operation, statuses: Collection[int], lang: Lang
) -> dict[str, Schema]:
    """The errors of an operation; each may also answer 414 (a long request line) and 500."""
    responses = {
        str(one): _ref(f"Erreur{one}", "responses") for one in sorted({*statuses, 414, 500})
    }
    if operation.refused:
        shown = _one_of(schema(operation.refused, lang), _ref("Erreur401"))
        responses["401"] = _error_answer(product, 401, shown, operation.route)
    if operation.unavailable:
        # If the counters cannot be kept, the public identity is served and not charged (D10, G9).
        shown = _one_of(schema(operation.unavailable, lang), _ref("Erreur503"))
        responses["503"] = _error_answer(product, 503, shown)
        responses["503"]["headers"] |= _references("Content-Location")
    if operation.kind == "analysis":  # nothing is left to show
        responses["402"] = _error_answer(product, 402, _ref("Erreur402"), operation.route)
    return responses


def error_components(product: Product, lang: Lang) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas and the responses of the errors, by name."""
    schemas = {f"Erreur{status}": _error(status, lang) for status in STATUSES}
    responses = {
        f"Erreur{status}": _error_answer(
            product, status, _ref("FicheEpuisee" if status == 402 else f"Erreur{status}")
        )
        for status in STATUSES
    }
    return schemas, responses


def _error(status: int, lang: Lang) -> Schema:
    codes = _codes_of_status(status)
    keys = {key for code in codes for key in CODES[code].extra}
    if status == 401:
        # A 401 also has the other faults of a call (contract A1).
        others = (*_codes_of_status(400), *_codes_of_status(404))
        keys |= {key for code in others for key in CODES[code].extra}
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


def _error_answer(product: Product, status: int, shown: Schema, route: str = "") -> Schema:
    content: dict[str, Any] = {"schema": shown}
    examples = [
        name
        for name, example in product.examples.items()
        if example.status == status and _place(product, example) == route
    ]
    if examples:
        content["examples"] = {name: _ref(name, "examples") for name in examples}
    return {
        "description": _meanings(status),
        "headers": _references(*_ERRORS, *_HEADERS.get(status, ())),
        "content": {_JSON: content},
    }


def _place(product: Product, example: Example) -> str:
    """The route of an example of an answer that only this route has; "" for a common answer.

    The 401 of some routes has the visitor's payload beside `erreur` (§5 rule 4).
    """
    if example.status != 401:
        return ""
    return next(
        (one.route for one in product.operations if one.refused and one.route == example.route), ""
    )


def _meanings(status: int, lang: Lang = "en") -> str:
    between, after = ("; ", ":") if lang == "en" else (" ; ", " :")
    meanings = between.join(
        f"`{code}`{after} {CODES[code].meaning.in_language(lang)}"
        for code in _codes_of_status(status)
    )
    return f"{HTTPStatus(status).phrase}. {meanings}."


def _codes_of_status(status: int) -> list[str]:
    """The codes with an HTTP status.

    >>> _codes_of_status(404)
    ['societe_introuvable', 'route_inconnue']
    """
    return [code for code, declared in CODES.items() if declared.status == status]
