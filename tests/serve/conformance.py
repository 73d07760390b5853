"""Every answer that the functional tests get is held against /openapi.json.

openapi-core judges bodies and declared headers. The published document lets answers grow
(README.md, change policy), so for the tests every object is closed: a key that is sent and not
described is a failure, and so is a header.
"""

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import zstandard
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse

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
_HOST: Final = "http://127.0.0.1"


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
    response = operation["responses"].get(str(status))
    assert response is not None, f"{method} {target}: {status} is not described"
    _check_headers(_resolved(response), headers, f"{method} {target}: {status}")
    if method == "HEAD":
        return
    request = MockRequest(_HOST, method, str(template), path_pattern=_HOST + str(template))
    plain = decoded(headers, body)
    _described().validate_response(request, MockResponse(plain, status, dict(headers), kind))


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


def _check_headers(response: Mapping[str, Any], sent: Mapping[str, str], where: str) -> None:
    described = {name.lower() for name in response.get("headers", {})}
    unknown = {
        name
        for name in map(str.lower, sent)
        if name not in described | _EVERYWHERE and not name.startswith(_CROSS_ORIGIN)
    }
    assert not unknown, f"{where}: {sorted(unknown)} are not described"


def _resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = DOCUMENT
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return _resolved(found)


@cache
def _described() -> OpenAPI:
    strict = orjson.loads(orjson.dumps(DOCUMENT))
    for node in list(nodes(strict)):
        if node.get("type") == "object" and isinstance(node.get("properties"), dict):
            node.setdefault("additionalProperties", False)
        if str(node.get("description", "")).endswith("; others may come."):
            node["enum"] = node["examples"]  # values of today, so for the tests the only ones
        for kind, media in node.get("content", {}).items():
            if kind != "application/json":
                # What generators of clients understand; to JSON Schema, bytes are no string.
                media["schema"] = {}
    return OpenAPI.from_dict(strict)


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in it, at any depth."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from nodes(child)


DOCUMENT: Final = orjson.loads(orjson.dumps(document.document(PRODUCT)))
