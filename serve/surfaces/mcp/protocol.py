"""The protocol of MCP: messages, protocol errors, and the rules of each revision.

A message is JSON-RPC 2.0: a request with an id, or a notification without. The revision of a message decides which
headers it must have (MCP 2026-07-28, "Versioning" and "Streamable HTTP").

A protocol error is for the author of a client. An error that a model can correct itself, such as an unknown country or
a spent quota, is the result of a tool (serve/surfaces/mcp/results.py).

Since 2026-07-28 every request names its revision, in `_meta` and again in a header. Earlier revisions begin with
`initialize`. The server remembers nothing between requests and issues no session, so any process of any host can answer
any message.
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

_MOST_MESSAGES: Final = 50  # messages in a batch
_LONGEST_TEXT: Final = 100  # characters of a caller's text in an error message
_INT64: Final = 2**63  # a numeric id must be smaller

# The newest revision, in which a message names its revision. Messages of LEGACY revisions follow other rules.
MODERN: Final = "2026-07-28"
# Newest first. 2024-11-05 is not supported: its transport is a stream of events (HTTP+SSE).
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
# The only revision with JSON-RPC batches, and the only one without a version header.
_BATCH_REVISION: Final = "2025-03-26"
SUPPORTED: Final = (MODERN, *LEGACY)

# The headers of the protocol, in lower case.
VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"

# The beginning of the keys in `_meta` that the protocol defines.
_META: Final = "io.modelcontextprotocol/"
SERVER_INFO: Final = f"{_META}serverInfo"
_META_VERSION: Final = f"{_META}protocolVersion"
_META_CAPABILITIES: Final = f"{_META}clientCapabilities"

# By method: the member of the params that the header Mcp-Name repeats.
_NAME_MEMBERS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# The id of a request.
Id = str | int
Headers = Mapping[str, str]


class RpcError(Exception):
    """An error response; `status` is the status of the HTTP response."""

    def __init__(self, status: int, code: int, message: str, data: Any = None) -> None:
        """`code`, `message` and `data` are the members of a JSON-RPC error; keys in them are masked."""
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
    """The error -32700: the body is not JSON."""
    return RpcError(400, PARSE, f"the body cannot be read: {why}")


def invalid_request(why: str) -> RpcError:
    """The error -32600: the JSON is not a request or notification."""
    return RpcError(400, INVALID_REQUEST, f"not one JSON-RPC 2.0 request or notification: {why}")


def invalid_params(why: str) -> RpcError:
    """The error -32602: the params do not fit the method."""
    return RpcError(400, INVALID_PARAMS, why)


def header_mismatch(name: str, header: str | None, body: str) -> RpcError:
    """The error -32020: a header does not repeat the body."""
    fault = "is missing" if header is None else f"is {header[:_LONGEST_TEXT]!r}"
    return RpcError(
        400,
        HEADER_MISMATCH,
        f"header {name} {fault}; repeat {body[:_LONGEST_TEXT]!r} from the body in it",
    )


def unsupported_version(requested: str, supported: Sequence[str]) -> RpcError:
    """The error -32022: the revision is not supported."""
    requested = requested[:_LONGEST_TEXT]
    message = f"protocol version {requested!r} is not supported; use one of {', '.join(supported)}"
    data = {"supported": list(supported), "requested": requested}
    return RpcError(400, UNSUPPORTED_VERSION, message, data)


def method_not_found(method: str, methods: Sequence[str]) -> RpcError:
    """The error -32601: the method does not exist in this revision, or is not supported."""
    message = f"unknown method {method[:_LONGEST_TEXT]!r}; the methods are {', '.join(methods)}"
    return RpcError(404, METHOD_NOT_FOUND, message)


def unknown_tool(name: str, names: Sequence[str]) -> RpcError:
    """The error -32602: the tool does not exist."""
    return invalid_params(
        f"unknown tool {name[:_LONGEST_TEXT]!r}; tools/list lists the {len(names)} tools"
    )


def forbidden_header(header: str, value: str) -> RpcError:
    """The error 403 for an Origin that is not allowed, or a Host that is not a name of this server."""
    message = (
        f"{header} {value[:_LONGEST_TEXT]!r} is not allowed; the operator can allow it with "
        + ("--mcp-origins" if header == "Origin" else "--base-url")
    )
    return RpcError(403, INVALID_REQUEST, message)


def rpc_error(error: ApiError) -> RpcError:
    """An ApiError of the transport or the service as a protocol error, with its English message."""
    code = INTERNAL if error.status >= 500 else INVALID_REQUEST
    return RpcError(error.status, code, error.texts[1])


class Message(NamedTuple):
    """A request or a notification; `id` is None for a notification, `params` is empty if absent."""

    method: str
    id: Id | None
    params: Mapping[str, Any]

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the params; empty if absent."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def document(raw: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        RpcError: -32700: the body is not JSON.
    """
    try:
        return json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise not_json(json_body.why_unreadable(raw, error).en) from error


def batch(value: list[Any]) -> list[Any]:
    """The messages of a JSON-RPC batch.

    Raises:
        RpcError: -32600: the batch is empty, or too long.
    """
    if not value:
        raise invalid_request("the batch is empty; send at least one message in it")
    if len(value) > _MOST_MESSAGES:
        raise invalid_request(
            f"the batch has {len(value)} messages, the limit is {_MOST_MESSAGES}; split it"
        )
    return value


def legible_id(value: Any) -> Id | None:
    """The id in a JSON value, even if the value is not a valid request; None without an id. Errors repeat the id."""
    request_id = value.get("id") if isinstance(value, dict) else None
    if isinstance(request_id, str):
        return request_id
    # A bool is an int for `isinstance`, but not an id.
    return request_id if type(request_id) is int and abs(request_id) < _INT64 else None


def message(value: Any) -> Message:
    """The message in a JSON value.

    Raises:
        RpcError: -32600: the value is a batch, a response, or not a message at all.
    """
    if isinstance(value, list):
        raise invalid_request(
            "it is a batch, and only revision 2025-03-26 has batches; send one message per request"
        )
    if not isinstance(value, dict):
        raise invalid_request(f"{_display_value(value)} is not an object; send an object")
    if value.get("jsonrpc") != "2.0":
        raise invalid_request(
            f'"jsonrpc" is {_display_value(value.get("jsonrpc"))}; send "jsonrpc": "2.0"'
        )
    method = value.get("method")
    if not isinstance(method, str):
        raise invalid_request(
            f"`method` is {_display_value(method)}; send a text (a response is not accepted)"
        )
    if "id" in value and legible_id(value) is None:
        raise invalid_request(
            f"`id` is {_display_value(value['id'])}; send a text, or a whole number below 2 to the power of 63"
        )
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise invalid_request(f"`params` is {_display_value(params)}; send an object")
    return Message(method, legible_id(value), params)


def _display_value(value: Any) -> str:
    """A value of the caller as an English error message shows it."""
    return json_body.display_value(value).en


def is_modern(message: Message, headers: Headers) -> bool:
    """Whether the message uses 2026-07-28, or tries to. One sign of this revision is enough.

    The signs are the version header, a member of `_meta`, and Mcp-Method without the header of an earlier version.
    """
    version = headers.get(VERSION)
    if version == MODERN or any(name.startswith(_META) for name in message.meta):
        return True
    # Some clients send Mcp-Method with every revision, so it counts only if no earlier version is named.
    return METHOD in headers and version not in LEGACY


def check_modern(message: Message, headers: Headers) -> None:
    """Check that a request of 2026-07-28 is complete and that its headers match its body.

    Raises:
        RpcError: for the first fault: -32602: a member of the params is missing or unusable; -32020: a header does
            not repeat the body; -32022: the revision is not supported.
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
    member = _NAME_MEMBERS.get(message.method)
    if member is not None:
        name = message.params.get(member)
        if not isinstance(name, str):
            raise invalid_params(
                f"params.{member} is {json_body.display_value(name).en}; send a text"
            )
        _check_header("Mcp-Name", _decode_header(headers.get(NAME), name), name)


def check_legacy(headers: Headers) -> None:
    """Check the version header of an earlier revision; clients before 2025-06-18 do not send it.

    Raises:
        RpcError: -32022: the revision is not supported.
    """
    version = headers.get(VERSION)
    if version is not None and version not in LEGACY:
        raise unsupported_version(version, SUPPORTED)


def has_batches(headers: Headers) -> bool:
    """Whether these headers belong to the revision with batches, in which the version header may be missing."""
    return headers.get(VERSION) in (None, _BATCH_REVISION) and METHOD not in headers


def negotiate(requested: object) -> str:
    """The version for the answer to `initialize`: the requested one, else the newest with this method.

    >>> negotiate("2025-06-18"), negotiate("2099-01-01")
    ('2025-06-18', '2025-11-25')
    """
    return requested if isinstance(requested, str) and requested in LEGACY else LEGACY[0]


def _check_header(name: str, header: str | None, body: str) -> None:
    """Check that a header repeats a text of the body. Raises RpcError -32020 if it does not."""
    if header != body:
        raise header_mismatch(name, header, body)


def _decode_header(header: str | None, name: str) -> str | None:
    """The text of a header; a text with characters beyond plain ASCII is encoded as `=?base64?…?=`."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        # Without `=?base64?` in front and `?=` at the end.
        return base64.b64decode(header[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise header_mismatch("Mcp-Name", header, name) from error
