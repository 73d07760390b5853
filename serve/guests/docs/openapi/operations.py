"""The operations of the document, from their declarations. Pure.

Every path also has OPTIONS, and one with GET has HEAD: the description of the whole document says it. An operation of
a new kind is described here, another operation of a known one by its declaration alone.
"""

from collections.abc import Mapping
from typing import Final

from serve.contract.objects.bodies import EXAMPLES as BODY_EXAMPLES
from serve.contract.objects.declaration import component_name
from serve.contract.objects.json_schema import Schema, component_schema, schema
from serve.contract.operation import Operation
from serve.contract.text import Lang
from serve.guests.docs.openapi import headers
from serve.guests.docs.openapi.answers import (
    JSON,
    answer,
    export_file,
    not_modified,
    refusals,
    with_links,
)
from serve.guests.docs.openapi.examples import EXAMPLES
from serve.guests.docs.openapi.schema import ref
from serve.guests.operations import OPERATIONS

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


def paths(lang: Lang) -> Mapping[str, Mapping[str, Schema]]:
    """The operations by path, then by method; those of MCP describe themselves (tools/list)."""
    found: dict[str, dict[str, Schema]] = {}
    for one in OPERATIONS:
        if one.kind != "tools":
            found.setdefault(one.path, {})[one.method.lower()] = _operation(one, lang)
    return found


def _operation(one: Operation, lang: Lang) -> Schema:
    body = {"requestBody": _body(one, lang)} if one.body else {}
    return {
        "operationId": one.id,
        "tags": [one.tag],
        "summary": one.summary.of(lang),
        "description": one.description.of(lang),
        "security": _SECURITY[one.key],
        "parameters": _parameters(one),
        "responses": dict(sorted(_responses(one, lang).items())),
        **body,
    }


def _body(one: Operation, lang: Lang) -> Schema:
    examples = {
        name: {"summary": text.of(lang), "value": value}
        for name, (text, value) in BODY_EXAMPLES.get(one.body, {}).items()
    }
    content = {"schema": schema(one.body, lang), **({"examples": examples} if examples else {})}
    return {
        "description": component_schema(one.body, lang)["description"],
        "required": True,
        "content": {_FORM if one.kind == "reconciliation" else JSON: content},
    }


def _is_tagged(one: Operation) -> bool:
    """Whether its answers have a tag, so that a caller who has one is told so by a 304."""
    kept = ("list", "free", "call", "analysis", "document", "reconciliation")
    return one.method == "GET" and one.kind in kept and bool(one.answer or one.media)


def _parameters(one: Operation) -> list[Schema]:
    """Those of the path, of the query and of the head."""
    return [
        *(ref(name, "parameters") for name in one.variables),
        *(ref(given.component, "parameters") for given in one.parameters),
        *([_IF_NONE_MATCH] if _is_tagged(one) else []),
    ]


def _responses(one: Operation, lang: Lang) -> dict[str, Schema]:
    refused = refusals(one, _statuses(one), lang)
    if one.kind == "file":
        return {"200": export_file(), **refused}
    if one.kind == "document":
        unchanged = {
            "description": "The caller has it already.",
            "headers": headers.references(*_PAGE),
        }
        return {"200": _media_answer(one, _PAGE), "304": unchanged, **refused}
    own = (*one.headers, *_counters(one))
    if not (one.answer or one.media):  # it leads to a page
        names = headers.references("Cache-Control", "X-Donnees-Version", "Location", *own)
        return {"303": {"description": "The page of the company.", "headers": names}, **refused}
    always = headers.TAGGED if _is_tagged(one) else ("Cache-Control",)
    made = _media_answer(one, (*always, *own)) if one.media else _answer(one, (*always, *own), lang)
    # A 304 has no body, so it leads to no next page.
    kept = tuple(name for name in own if name != "Link")
    tagged = {"304": not_modified(*kept)} if _is_tagged(one) else {}
    return {"200": made, **tagged, **refused}


def _answer(one: Operation, names: tuple[str, ...], lang: Lang) -> Schema:
    """The 200 of an operation with an object."""
    examples = [
        name for name, made in EXAMPLES.items() if made.route == one.route and made.status == 200
    ]
    named = component_name(one.answer)
    said = (
        component_schema(one.answer, lang)["description"] if named else f"{one.summary.of(lang)}."
    )
    made = answer(said, {JSON: schema(one.answer, lang)}, names, *examples)
    return with_links(made, one.links) if one.links else made


def _media_answer(one: Operation, names: tuple[str, ...]) -> Schema:
    """The 200 of an operation that is no object of ours."""
    contents = {
        kind: {"type": "object"} if kind == JSON else _TEXT if kind.startswith("text/") else _FILE
        for kind in one.media
    }
    return answer(f"{one.summary.en}.", contents, names)


def _counters(one: Operation) -> tuple[str, ...]:
    """The headers that report counters."""
    if one.kind in ("list", "free", "check", "metrics"):
        return ()
    return (*headers.CALLS, *(headers.CREDITS if one.credits else ()))


def _statuses(one: Operation) -> set[int]:
    """The statuses of its errors, but for those that every path has."""
    found = set(one.refusals)
    if one.kind not in ("check", "metrics"):
        # A token that is not known is a key that is not.
        found |= {400, *([404] if one.variables and one.kind != "reconciliation" else [])}
    if one.kind not in ("check", "metrics", "document"):
        # Neither the account nor the protocol is of a generation that a caller names.
        found |= {429, 503, *([] if one.kind in ("account", "reconciliation") else [409])}
    if one.key:
        found |= {401, *([402] if one.credits else [])}
    if one.kind == "analysis":
        found.add(403)
    if one.method == "POST":
        found |= {413, 415}
    return found
