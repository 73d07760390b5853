"""The operations of the document, from their declarations. Pure.

Every path also has OPTIONS, and one with GET has HEAD: the description of the whole document says it. An operation of
a new kind is described here, another operation of a known one by its declaration alone.
"""

from collections.abc import Mapping
from typing import Final

from serve.contract.declaration import Schema, component_name, component_schema, schema
from serve.contract.feature import Product
from serve.contract.operation import Operation
from serve.contract.parameters import VERSION
from serve.contract.text import Lang
from serve.surfaces.docs import responses
from serve.surfaces.docs.responses import (
    JSON,
    answer,
    export_file,
    not_modified,
    ref,
    refusals,
    with_links,
)

_SECURITY: Final[Mapping[str, list[Schema]]] = {
    "": [],
    "optional": [{}, {"cle": []}],
    "required": [{"cle": []}],
}
_IF_NONE_MATCH: Final = ref("If-None-Match", "parameters")
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
        "content": {_FORM if operation.kind == "reconciliation" else JSON: content},
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
        *(ref(name, "parameters") for name in operation.variables),
        *(ref(given.component, "parameters") for given in operation.parameters),
        *([_IF_NONE_MATCH] if _is_tagged(operation) else []),
    ]


def _responses(product: Product, operation: Operation, lang: Lang) -> dict[str, Schema]:
    refused = refusals(product, operation, _statuses(operation), lang)
    if operation.kind == "file":
        return {"200": export_file(operation), **refused}
    if operation.kind == "document":
        unchanged = {
            "description": "The caller has it already.",
            "headers": responses.references(*_PAGE),
        }
        return {"200": _media_answer(operation, _PAGE), "304": unchanged, **refused}
    own = (*operation.headers, *_counters(operation))
    if not (operation.answer or operation.media):  # it leads to a page
        names = responses.references("Cache-Control", "X-Donnees-Version", "Location", *own)
        return {"303": {"description": "The page of the company.", "headers": names}, **refused}
    always = responses.TAGGED if _is_tagged(operation) else ("Cache-Control",)
    made = (
        _media_answer(operation, (*always, *own))
        if operation.media
        else _answer(product, operation, (*always, *own), lang)
    )
    # A 304 has no body, so it leads to no next page.
    kept = tuple(name for name in own if name != "Link")
    tagged = {"304": not_modified(*kept)} if _is_tagged(operation) else {}
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
    made = answer(said, {JSON: schema(operation.answer, lang)}, names, *examples)
    return with_links(made, operation.links) if operation.links else made


def _media_answer(operation: Operation, names: tuple[str, ...]) -> Schema:
    """The 200 of an operation that is no object of ours."""
    contents = {
        kind: {"type": "object"} if kind == JSON else _TEXT if kind.startswith("text/") else _FILE
        for kind in operation.media
    }
    return answer(f"{operation.summary.en}.", contents, names)


def _counters(operation: Operation) -> tuple[str, ...]:
    """The headers that report counters."""
    if operation.kind in ("list", "free", "check", "metrics"):
        return ()
    return (*responses.CALLS, *(responses.CREDITS if operation.credits else ()))


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
