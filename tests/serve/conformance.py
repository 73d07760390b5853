"""Every answer that the functional tests get is held against /openapi.json.

Bodies and declared headers are validated by their schemas. The published document lets answers grow
(README.md, change policy), so for the tests every object is closed: a key that is sent and not
described is a failure, and so is a header.
"""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import zstandard
from openapi_schema_validator import OAS31Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from serve.app import PRODUCT
from serve.http.router import Router
from serve.surfaces.docs import document
from serve.surfaces.site.page_request import pages_of

# What is on answers whatever the route, and told once in the description of the whole.
_EVERYWHERE: Final = frozenset({
    "connection", "content-encoding", "content-length", "content-security-policy", "content-type",
    "date",
    "referrer-policy", "server", "x-content-type-options",
    # Of a page for people, such as /docs.
    "cross-origin-opener-policy", "permissions-policy", "x-frame-options",
})  # fmt: skip
_CROSS_ORIGIN: Final = "access-control-"

_ROUTER: Final = Router(PRODUCT.operations)
_ADDRESS: Final = "urn:societes"  # of the document, for its references


def check(method: str, target: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """The answer to `method` `target` must be one that the document describes."""
    path = urlsplit(target).path
    found = _ROUTER.resolve(path)
    kind = headers.get("Content-Type", "").partition(";")[0]
    if found is None and (pages_of(PRODUCT).resolve(path) or kind == "text/html"):
        return  # a page for people (serve/surfaces/site), which is no part of the API
    if found and found[0].name == "mcp":  # another protocol, whose judges are in tests/judges/mcp
        return
    template = next(iter(found[0].operations.values())).path if found else None
    described = DOCUMENT["paths"].get(template, {})
    operation = described.get("get" if method == "HEAD" else method.lower())
    if operation is None or (method == "HEAD" and status == 405):
        _check_outside(method, described, status, headers, body)
        return
    where = f"{method} {target}: {status}"
    assert str(status) in operation["responses"], f"{where} is not described"
    answer = _answer(str(template), "get" if method == "HEAD" else method.lower(), str(status))
    _check_headers(answer.headers, headers, where)
    if method == "HEAD" or not answer.bodies:
        return
    assert kind in answer.bodies, f"{where}: {kind} is not described"
    plain = decoded(headers, body)
    assert plain, f"{where}: no body"
    if kind == "application/json":
        answer.bodies[kind].validate(orjson.loads(plain))


@dataclass(frozen=True)
class _Answer:
    """The headers and the bodies, by media type, of a status of an operation."""

    headers: Mapping[str, Any]
    bodies: Mapping[str, Any]


def decoded(headers: Mapping[str, str], body: bytes) -> bytes:
    """The body without its content coding (RFC 9110 §8.4)."""
    coding = headers.get("Content-Encoding")
    if coding is None or not body:
        return body
    return gzip.decompress(body) if coding == "gzip" else zstandard.decompress(body)


def _check_outside(
    method: str,
    described: Mapping[str, Any],
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """No operation: a path or a method that does not exist, or what every path has."""
    if method == "OPTIONS" and (described or status == 204):
        assert (status, body) == (204, b"")
        return
    assert status in ((405, 429) if described else (400, 404, 414, 429)), (method, status)
    if body:
        assert list(orjson.loads(body)["erreur"]) == ["code", "message"]
    if described and status == 405:
        allowed = {name.strip().lower() for name in headers["Allow"].split(",")}
        assert allowed - {"head", "options"} == set(described)


def _check_headers(described: Mapping[str, Any], sent: Mapping[str, str], where: str) -> None:
    for name, text in sent.items():
        if validator := described.get(name.lower()):
            validator.validate(int(text) if validator.schema["type"] == "integer" else text)
        else:
            known = name.lower() in _EVERYWHERE or name.lower().startswith(_CROSS_ORIGIN)
            assert known, f"{where}: {name} is not described"


@cache
def _answer(template: str, method: str, status: str) -> _Answer:
    closed, registry = _closed()
    response = _resolved(closed["paths"][template][method]["responses"][status], closed)
    return _Answer(
        {
            name.lower(): OAS31Validator(_resolved(header, closed)["schema"])
            for name, header in response.get("headers", {}).items()
        },
        {
            kind: OAS31Validator(
                media["schema"], registry=registry, format_checker=OAS31Validator.FORMAT_CHECKER
            )
            for kind, media in response.get("content", {}).items()
        },
    )


def _resolved(node: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = document
    for part in node["$ref"].removeprefix(f"{_ADDRESS}#/").split("/"):
        found = found[part]
    return _resolved(found, document)


@cache
def _closed() -> "tuple[dict[str, Any], Registry[Any]]":
    """The document, whose objects have no keys but those that it describes, and whose references are absolute."""
    closed = orjson.loads(orjson.dumps(DOCUMENT))
    for node in list(nodes(closed)):
        if node.get("type") == "object" and isinstance(node.get("properties"), dict):
            node.setdefault("additionalProperties", False)
        if str(node.get("description", "")).endswith("; others may come."):
            node["enum"] = node["examples"]  # values of today, so for the tests the only ones
        if "$ref" in node:
            node["$ref"] = f"{_ADDRESS}{node['$ref']}"
    return closed, Registry().with_resource(_ADDRESS, DRAFT202012.create_resource(closed))


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in it, at any depth."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from nodes(child)


DOCUMENT: Final = orjson.loads(orjson.dumps(document.document(PRODUCT)))
