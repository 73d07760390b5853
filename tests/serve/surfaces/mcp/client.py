"""Messages to /api/mcp: of the protocol 2026-07-28 ("modern"), and of older revisions with a handshake ("legacy")."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from tests.serve.client import Reply, Server

MCP_PATH: Final = "/api/mcp"
MODERN_VERSION: Final = "2026-07-28"
# Each modern request describes its client, since there is no handshake.
REQUEST_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
JSON_HEADER: Final = {"Content-Type": "application/json"}

Params = Mapping[str, Any] | None
Headers = Mapping[str, str] | None


def post_message(server: Server, body: object, headers: Headers = None) -> Reply:
    """POST `body`, as JSON unless it is bytes. A header with the value "" is not sent."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    sent_headers = {
        name: value for name, value in {**JSON_HEADER, **(headers or {})}.items() if value
    }
    return server.ask(MCP_PATH, "POST", sent_headers, body=raw)


def send_modern(
    server: Server, method: str, params: Params = None, headers: Headers = None
) -> Reply:
    """Send a complete request of 2026-07-28; `headers` replace the default headers."""
    members = {"_meta": REQUEST_META, **(params or {})}
    defaults = {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": method}
    if method == "tools/call":
        defaults["Mcp-Name"] = str(members.get("name"))
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": members}
    return post_message(server, body, defaults | dict(headers or {}))


def send_legacy(
    server: Server, method: str, params: Params = None, headers: Headers = None
) -> Reply:
    """Send a request of 2025-11-25, as a client does after the handshake."""
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": dict(params or {})}
    return post_message(server, body, {"MCP-Protocol-Version": "2025-11-25", **(headers or {})})


def call_tool(server: Server, tool: str, headers: Headers = None, /, **arguments: Any) -> Any:
    """Call a tool with a modern request; return the result."""
    reply = send_modern(server, "tools/call", {"name": tool, "arguments": arguments}, headers)
    assert reply.status == 200, reply.body
    return reply.json["result"]


def tool_content(server: Server, tool: str, headers: Headers = None, /, **arguments: Any) -> Any:
    """The structured content of a tool call that must succeed."""
    result = call_tool(server, tool, headers, **arguments)
    assert not result["isError"], result
    assert orjson.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def tool_refusal(server: Server, tool: str, headers: Headers = None, /, **arguments: Any) -> str:
    """The text of a tool call that must be refused."""
    result = call_tool(server, tool, headers, **arguments)
    assert result["isError"] and "structuredContent" not in result, result
    return "\n".join(part["text"] for part in result["content"])
