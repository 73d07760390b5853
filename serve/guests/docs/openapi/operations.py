"""The operations of the document, from their declarations. Pure.

Every path also has HEAD and OPTIONS, which the description of the whole document mentions once. An operation of a new
kind is described here, another operation of a known one by its declaration alone.
"""

from collections.abc import Mapping
from typing import Final

from serve.contract.objects.described import component_name
from serve.contract.objects.json_schema import component_schema
from serve.contract.operation import Operation
from serve.guests.docs.openapi import answers, headers
from serve.guests.docs.openapi.answers import (
    answer,
    export_file,
    not_modified,
    refusals,
    with_links,
)
from serve.guests.docs.openapi.bodies import BODIES
from serve.guests.docs.openapi.examples import EXAMPLES
from serve.guests.docs.openapi.matching import reconciliation
from serve.guests.docs.openapi.schema import Schema, ref
from serve.guests.docs.viewer import FILES, TRIAL
from serve.guests.operations import OPERATIONS

_SECURITY: Final[Mapping[str, list[Schema]]] = {
    "": [],
    "optional": [{}, {"cle": []}],
    "required": [{"cle": []}],
}
_IF_NONE_MATCH: Final = ref("If-None-Match", "parameters")
# The headers of a document.
_PAGE: Final = ("ETag", "Cache-Control", "Vary")
_TEXT: Final[Schema] = {"type": "string"}
_MEDIA: Final[Mapping[str, Mapping[str, Schema]]] = {
    "readDescription": {answers.JSON: {"type": "object"}},
    "readDocumentationText": {"text/markdown": _TEXT},
    "readSummary": {"text/plain": _TEXT},
    "readWhole": {"text/plain": _TEXT},
    "readDocumentationFile": {
        **{kind: _TEXT for _, kind in FILES.values()},
        "text/html": _TEXT,
        "image/png": {"type": "string", "format": "binary"},
    },
}
_FILE: Final[Schema] = {
    "name": "file",
    "in": "path",
    "required": True,
    "description": "Name of the file.",
    "schema": {"type": "string", "enum": [TRIAL, *FILES]},
}


def paths() -> Mapping[str, Mapping[str, Schema]]:
    """The operations by path, then by method; those of MCP describe themselves (tools/list)."""
    found: dict[str, dict[str, Schema]] = {}
    for one in OPERATIONS:
        if one.kind != "tools":
            found.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return found


def _operation(one: Operation) -> Schema:
    own = reconciliation.parts().get(one.id)
    parts = own or {"parameters": _parameters(one), "responses": _responses(one)}
    if one.id in BODIES:
        parts["requestBody"] = BODIES[one.id]
    return {
        "operationId": one.id,
        "tags": [one.tag],
        "summary": one.summary.en,
        "description": one.description.en,
        "security": _SECURITY[one.key],
        **parts,
        "responses": dict(sorted(parts["responses"].items())),
    }


def _is_tagged(one: Operation) -> bool:
    """Whether its answers have a tag, so that a caller who has one is told so by a 304."""
    return one.method == "GET" and one.kind in ("list", "free", "call", "analysis", "document")


def _parameters(one: Operation) -> list[Schema]:
    """Those of the path, of the query and of the head."""
    of_path = [ref(name, "parameters") for name in one.variables if name != _FILE["name"]]
    file = [_FILE] if _FILE["name"] in one.variables else []
    return [
        *of_path,
        *file,
        *(ref(given.component, "parameters") for given in one.parameters),
        *([_IF_NONE_MATCH] if _is_tagged(one) else []),
    ]


def _responses(one: Operation) -> dict[str, Schema]:
    refused = refusals(one, _statuses(one))
    if one.kind == "document":
        page = answer(f"{one.summary.en}.", {}, _PAGE)
        page["content"] = {kind: {"schema": schema} for kind, schema in _MEDIA[one.id].items()}
        unchanged = {
            "description": "The caller has it already.",
            "headers": headers.references(*_PAGE),
        }
        return {"200": page, "304": unchanged, **refused}
    if one.kind == "file":
        return {"200": export_file(), **refused}
    if one.kind == "metrics":
        figures = answer(
            f"{one.summary.en}.", {"type": "string"}, ("Cache-Control",), kind="text/plain"
        )
        return {"200": figures, **refused}
    own = (*one.headers, *_counters(one))
    always = headers.TAGGED if _is_tagged(one) else ("Cache-Control",)
    examples = [
        name for name, made in EXAMPLES.items() if made.route == one.route and made.status == 200
    ]
    said = component_schema(one.answer, "en")["description"]
    made = answer(said, ref(component_name(one.answer)), (*always, *own), *examples)
    if one.links:
        made = with_links(made, one.links)
    # A 304 has no body, so it leads to no next page.
    kept = tuple(name for name in own if name != "Link")
    tagged = {"304": not_modified(*kept)} if _is_tagged(one) else {}
    return {"200": made, **tagged, **refused}


def _counters(one: Operation) -> tuple[str, ...]:
    """The headers that report counters."""
    if one.kind in ("list", "free", "check"):
        return ()
    return (*headers.CALLS, *(headers.CREDITS if one.credits else ()))


def _statuses(one: Operation) -> set[int]:
    """The statuses of its errors, but for those that every path has."""
    found = set(one.refusals)
    if one.kind not in ("check", "metrics"):
        found |= {400, *([404] if one.variables else [])}
    if one.kind not in ("check", "metrics", "document"):
        # The account is not of a generation.
        found |= {429, 503, *([] if one.kind == "account" else [409])}
    if one.key:
        found |= {401, *([402] if one.credits else [])}
    if one.kind == "analysis":
        found.add(403)
    if one.method == "POST":
        found |= {413, 415}
    return found
