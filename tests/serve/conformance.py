"""Compare the responses of the functional tests with /openapi.json.

Bodies and declared headers are validated by their schemas. The published schemas allow new keys
(README.md, change policy). The tests close every object, so a key or a header that is not described
is a failure.
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

# Headers of every route. The document describes them once, in its own description.
_COMMON_HEADERS: Final = frozenset({
    "connection", "content-encoding", "content-length", "content-security-policy", "content-type",
    "date",
    "referrer-policy", "server", "x-content-type-options",
    # Headers of pages, such as /docs.
    "cross-origin-opener-policy", "permissions-policy", "x-frame-options",
})  # fmt: skip
_CROSS_ORIGIN_PREFIX: Final = "access-control-"

_ROUTER: Final = Router(PRODUCT.operations)
_DOCUMENT_URI: Final = "urn:societes"  # names the document in its absolute `$ref`s


def check(method: str, target: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Check that /openapi.json describes the status, headers and body of this response to `method` `target`.

    Pages and /mcp are not in the document, so their responses are not checked.
    """
    path = urlsplit(target).path
    match = _ROUTER.resolve(path)
    media_type = headers.get("Content-Type", "").partition(";")[0]
    if match is None and (pages_of(PRODUCT).resolve(path) or media_type == "text/html"):
        return  # a page (serve/surfaces/site): not part of the API
    if match and match[0].name == "mcp":  # another protocol, which tests/judges/mcp checks
        return
    template = next(iter(match[0].operations.values())).path if match else None
    path_item = DOCUMENT["paths"].get(template, {})
    operation = path_item.get("get" if method == "HEAD" else method.lower())
    if operation is None or (method == "HEAD" and status == 405):
        _check_without_operation(method, path_item, status, headers, body)
        return
    where = f"{method} {target}: {status}"
    assert str(status) in operation["responses"], f"{where} is not described"
    validators = _response_validators(
        str(template), "get" if method == "HEAD" else method.lower(), str(status)
    )
    _check_headers(validators.headers, headers, where)
    if method == "HEAD" or not validators.bodies:
        return
    assert media_type in validators.bodies, f"{where}: {media_type} is not described"
    decoded = decode(headers, body)
    assert decoded, f"{where}: no body"
    if media_type == "application/json":
        validators.bodies[media_type].validate(orjson.loads(decoded))


@dataclass(frozen=True)
class _ResponseValidators:
    """The validators of a response: of its headers by name, and of its bodies by media type."""

    headers: Mapping[str, Any]
    bodies: Mapping[str, Any]


def decode(headers: Mapping[str, str], body: bytes) -> bytes:
    """Decode the content coding of a body (RFC 9110 §8.4)."""
    coding = headers.get("Content-Encoding")
    if coding is None or not body:
        return body
    return gzip.decompress(body) if coding == "gzip" else zstandard.decompress(body)


def _check_without_operation(
    method: str,
    path_item: Mapping[str, Any],
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """Check a response to a path or method without an operation.

    Args:
        path_item: the operations of the path by method; empty if the path is unknown.
    """
    if method == "OPTIONS" and (path_item or status == 204):
        assert (status, body) == (204, b"")
        return
    assert status in ((405, 429) if path_item else (400, 404, 414, 429)), (method, status)
    if body:
        assert list(orjson.loads(body)["erreur"]) == ["code", "message"]
    if path_item and status == 405:
        allowed = {name.strip().lower() for name in headers["Allow"].split(",")}
        assert allowed - {"head", "options"} == set(path_item)


def _check_headers(validators: Mapping[str, Any], headers: Mapping[str, str], where: str) -> None:
    """Check that each header is valid, or is a header of every route.

    Args:
        validators: of the described headers, by the name in small letters.
        where: the request and the status, for the message of a failure.
    """
    for name, text in headers.items():
        if validator := validators.get(name.lower()):
            validator.validate(int(text) if validator.schema["type"] == "integer" else text)
        else:
            is_common = name.lower() in _COMMON_HEADERS or name.lower().startswith(
                _CROSS_ORIGIN_PREFIX
            )
            assert is_common, f"{where}: {name} is not described"


@cache
def _response_validators(template: str, method: str, status: str) -> _ResponseValidators:
    """The validators of a described response of the operation `method` of the path `template`."""
    closed, registry = _closed_document()
    response = _resolve(closed["paths"][template][method]["responses"][status], closed)
    return _ResponseValidators(
        {
            name.lower(): OAS31Validator(_resolve(header, closed)["schema"])
            for name, header in response.get("headers", {}).items()
        },
        {
            media_type: OAS31Validator(
                media["schema"], registry=registry, format_checker=OAS31Validator.FORMAT_CHECKER
            )
            for media_type, media in response.get("content", {}).items()
        },
    )


def _resolve(node: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node, or the part of the document to which its `$ref` leads."""
    if "$ref" not in node:
        return node
    target: Any = document
    for key in node["$ref"].removeprefix(f"{_DOCUMENT_URI}#/").split("/"):
        target = target[key]
    return _resolve(target, document)


@cache
def _closed_document() -> "tuple[dict[str, Any], Registry[Any]]":
    """The document with objects that allow no undescribed property, and with absolute references; and its registry."""
    closed = orjson.loads(orjson.dumps(DOCUMENT))
    for node in list(objects(closed)):
        if node.get("type") == "object" and isinstance(node.get("properties"), dict):
            node.setdefault("additionalProperties", False)
        if str(node.get("description", "")).endswith("; others may come."):
            node["enum"] = node["examples"]  # no test data have other values
        if "$ref" in node:
            node["$ref"] = f"{_DOCUMENT_URI}{node['$ref']}"
    return closed, Registry().with_resource(_DOCUMENT_URI, DRAFT202012.create_resource(closed))


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value, at any depth."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from objects(child)


DOCUMENT: Final = orjson.loads(orjson.dumps(document.document(PRODUCT)))
