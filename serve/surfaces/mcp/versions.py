"""The revision of the protocol that a message uses, and the headers it requires (MCP 2026-07-28,
"Versioning" and "Streamable HTTP").

Since 2026-07-28 every request names its revision, in `_meta` and again in headers; earlier revisions
open with `initialize`. The server remembers nothing between requests and issues no session, so every
process of every host can answer each message.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from serve.request import json_body
from serve.surfaces.mcp import protocol
from serve.surfaces.mcp.protocol import Message

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

Headers = Mapping[str, str]


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
        raise protocol.invalid_params(
            f"params._meta lacks {_META_VERSION}; send a text, such as {MODERN!r}"
        )
    if not isinstance(message.meta.get(_META_CAPABILITIES), dict):
        raise protocol.invalid_params(
            f"params._meta lacks {_META_CAPABILITIES}; send an object, such as {{}}"
        )
    _check_header("MCP-Protocol-Version", headers.get(VERSION), version)
    if version != MODERN:
        raise protocol.unsupported_version(version, SUPPORTED)
    _check_header("Mcp-Method", headers.get(METHOD), message.method)
    member = _NAMED.get(message.method)
    if member is not None:
        name = message.params.get(member)
        if not isinstance(name, str):
            raise protocol.invalid_params(
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
        raise protocol.unsupported_version(version, SUPPORTED)


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
        raise protocol.header_mismatch(name, header, body)


def _decode_header(header: str | None, name: str) -> str | None:
    """A header that may be encoded as `=?base64?…?=`, as any text beyond plain ASCII must be."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise protocol.header_mismatch("Mcp-Name", header, name) from error
