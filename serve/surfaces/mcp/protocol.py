"""The protocol of MCP: JSON-RPC 2.0 requests with an id, notifications without, protocol errors, and the revision that
a message uses with the headers that this requires (MCP 2026-07-28, "Versioning" and "Streamable HTTP").

A protocol error is for the author of a client. An error that a model can correct itself, such as a
wrong country or a spent quota, is the result of a tool (serve/surfaces/mcp/results.py).

Since 2026-07-28 every request names its revision, in `_meta` and again in headers; earlier revisions
open with `initialize`. The server remembers nothing between requests and issues no session, so every
process of every host can answer each message.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from serve.contract.errors import ApiError
from serve.contract.secret_mask import mask_keys
from serve.request import json_body

# Codes and statuses: MCP 2026-07-28, "Error Codes" and "Streamable HTTP, Server Validation".
PARSE: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022

_MOST_MESSAGES: Final = 50  # of a batch
_SHOWN: Final = 100  # characters of a caller's text in a message
_INT64: Final = 2**63

MODERN: Final = "2026-07-28"
# The newest first. 2024-11-05 is absent: its transport is a stream of events (HTTP+SSE), and there is none here.
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
_BATCHES: Final = (
    "2025-03-26"  # the only revision with JSON-RPC batches, and without the header of a version
)
SUPPORTED: Final = (MODERN, *LEGACY)

# The headers that belong to a message, in lower case.
VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"

_META: Final = "io.modelcontextprotocol/"
SERVER_INFO: Final = f"{_META}serverInfo"
_META_VERSION: Final = f"{_META}protocolVersion"
_META_CAPABILITIES: Final = f"{_META}clientCapabilities"

# The methods whose Mcp-Name repeats a member of the params.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Id = str | int
Headers = Mapping[str, str]


class RpcError(Exception):
    """An error response; `status` is that of its HTTP response."""

    def __init__(self, status: int, code: int, message: str, data: Any = None) -> None:
        self.status = status
        self.code = code
        self.message: str = mask_keys(message)
        self.data = mask_keys(data)
        super().__init__(self.message)

    @property
    def error(self) -> dict[str, Any]:
        """The member `error` of the response."""
        error = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


def not_json(why: str) -> RpcError:
    """-32700: the body is not JSON."""
    return RpcError(400, PARSE, f"the body cannot be read: {why}")


def invalid_request(why: str) -> RpcError:
    """-32600: the JSON is not one request or notification."""
    return RpcError(400, INVALID_REQUEST, f"not one JSON-RPC 2.0 request or notification: {why}")


def invalid_params(why: str) -> RpcError:
    """-32602: the params do not fit the method."""
    return RpcError(400, INVALID_PARAMS, why)


def header_mismatch(name: str, header: str | None, body: str) -> RpcError:
    """-32020: a header does not repeat the body."""
    found = "is missing" if header is None else f"is {header[:_SHOWN]!r}"
    return RpcError(
        400, HEADER_MISMATCH, f"header {name} {found}; repeat {body[:_SHOWN]!r} from the body in it"
    )


def unsupported_version(requested: str, supported: Sequence[str]) -> RpcError:
    """-32022: the revision is unknown here."""
    requested = requested[:_SHOWN]
    message = f"protocol version {requested!r} is not supported; use one of {', '.join(supported)}"
    data = {"supported": list(supported), "requested": requested}
    return RpcError(400, UNSUPPORTED_VERSION, message, data)


def method_not_found(method: str, known: Sequence[str]) -> RpcError:
    """-32601: the protocol here has no such method."""
    message = f"no method {method[:_SHOWN]!r}; there are {', '.join(known)}"
    return RpcError(404, METHOD_NOT_FOUND, message)


def unknown_tool(name: str, known: Sequence[str]) -> RpcError:
    """-32602: there is no such tool."""
    return invalid_params(f"no tool {name[:_SHOWN]!r}; tools/list names all {len(known)}")


def forbidden_header(header: str, value: str) -> RpcError:
    """403 for a web page of an unknown origin, or a Host that is not a name of this server."""
    message = f"{header} {value[:_SHOWN]!r} is not allowed here; the operator names it with " + (
        "--mcp-origins" if header == "Origin" else "--base-url"
    )
    return RpcError(403, INVALID_REQUEST, message)


def of_api(error: ApiError) -> RpcError:
    """An error of the transport or the service, as an error of the protocol: all of these are English."""
    code = INTERNAL if error.status >= 500 else INVALID_REQUEST
    return RpcError(error.status, code, error.texts[1])


class Message(NamedTuple):
    """A request, or a notification, whose `id` is None; `params` are empty where there are none."""

    method: str
    id: Id | None
    params: Mapping[str, Any]

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the params, empty where there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def document(raw: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        RpcError: -32700.
    """
    try:
        return json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise not_json(json_body.why_unreadable(raw, error).en) from error


def batch(value: list[Any]) -> list[Any]:
    """The messages of a JSON-RPC batch.

    Raises:
        RpcError: -32600: it is empty, or too long.
    """
    if not value:
        raise invalid_request("the batch is empty; send at least one message in it")
    if len(value) > _MOST_MESSAGES:
        raise invalid_request(
            f"the batch has {len(value)} messages, {_MOST_MESSAGES} at most; send them in several"
        )
    return value


def legible_id(value: Any) -> Id | None:
    """The id of a value that may not be a request, if there is one; errors repeat it."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found
    return found if type(found) is int and abs(found) < _INT64 else None


def message(value: Any) -> Message:
    """The message in a JSON value.

    Raises:
        RpcError: -32600: the value is a batch, a response, or not a message at all.
    """
    if isinstance(value, list):
        raise invalid_request(
            "it is a batch, which revision 2025-03-26 alone has; send one message a request"
        )
    if not isinstance(value, dict):
        raise invalid_request(f"{_shown_value(value)} is not an object; send one")
    if value.get("jsonrpc") != "2.0":
        raise invalid_request(
            f'"jsonrpc" is {_shown_value(value.get("jsonrpc"))}; send "jsonrpc": "2.0"'
        )
    method = value.get("method")
    if not isinstance(method, str):
        raise invalid_request(
            f"`method` is {_shown_value(method)}, not a text; send one (a response is to no request of ours)"
        )
    if "id" in value and legible_id(value) is None:
        raise invalid_request(
            f"`id` is {_shown_value(value['id'])}; send a text, or a whole number under 2 to the power of 63"
        )
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise invalid_request(f"`params` is {_shown_value(params)}; send an object")
    return Message(method, legible_id(value), params)


def _shown_value(value: Any) -> str:
    return json_body.shown_value(value).en


def is_modern(message: Message, headers: Headers) -> bool:
    """Does the message use 2026-07-28, or mean to? One sign is enough, if no header contradicts it."""
    version = headers.get(VERSION)
    if version == MODERN or any(name.startswith(_META) for name in message.meta):
        return True
    # Some clients send Mcp-Method with every revision.
    return METHOD in headers and version not in LEGACY


def check_modern(message: Message, headers: Headers) -> None:
    """Check that a request of 2026-07-28 is complete, and that its headers repeat its body.

    Raises:
        RpcError: -32602, -32020, -32022, in this order.
    """
    version = message.meta.get(_META_VERSION)
    if not isinstance(version, str):
        raise invalid_params(f"params._meta lacks {_META_VERSION}; send a text, such as {MODERN!r}")
    if not isinstance(message.meta.get(_META_CAPABILITIES), dict):
        raise invalid_params(
            f"params._meta lacks {_META_CAPABILITIES}; send an object, such as {{}}"
        )
    _check_header("MCP-Protocol-Version", headers.get(VERSION), version)
    if version != MODERN:
        raise unsupported_version(version, SUPPORTED)
    _check_header("Mcp-Method", headers.get(METHOD), message.method)
    member = _NAMED.get(message.method)
    if member is not None:
        name = message.params.get(member)
        if not isinstance(name, str):
            raise invalid_params(
                f"params.{member} is {json_body.shown_value(name).en}; send a text"
            )
        _check_header("Mcp-Name", _decode_header(headers.get(NAME), name), name)


def check_legacy(headers: Headers) -> None:
    """Check the version in the headers of an earlier revision; clients before 2025-06-18 send none.

    Raises:
        RpcError: -32022.
    """
    version = headers.get(VERSION)
    if version is not None and version not in LEGACY:
        raise unsupported_version(version, SUPPORTED)


def has_batches(headers: Headers) -> bool:
    """Is a request with these headers of the revision that has batches? A request without a version is."""
    return headers.get(VERSION) in (None, _BATCHES) and METHOD not in headers


def negotiate(requested: object) -> str:
    """The version to answer to `initialize`: the requested one, or else the newest that has the method.

    >>> negotiate("2025-06-18"), negotiate("2099-01-01")
    ('2025-06-18', '2025-11-25')
    """
    return requested if isinstance(requested, str) and requested in LEGACY else LEGACY[0]


def _check_header(name: str, header: str | None, body: str) -> None:
    if header != body:
        raise header_mismatch(name, header, body)


def _decode_header(header: str | None, name: str) -> str | None:
    """A header that may be encoded as `=?base64?…?=`, as any text beyond plain ASCII must be."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise header_mismatch("Mcp-Name", header, name) from error
