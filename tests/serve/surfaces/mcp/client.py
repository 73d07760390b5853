"""Messages to /api/mcp, in both eras of the protocol."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from tests.serve.client import Reply, Served

PATH: Final = "/api/mcp"
MODERN: Final = "2026-07-28"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
JSON: Final = {"Content-Type": "application/json"}

Params = Mapping[str, Any] | None
Headers = Mapping[str, str] | None


def send(served: Served, body: object, headers: Headers = None) -> Reply:
    """POST `body`, as JSON unless it is bytes; a header of value "" is not sent."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    wanted = {name: value for name, value in {**JSON, **(headers or {})}.items() if value}
    return served.ask(PATH, "POST", wanted, body=raw)


def modern(served: Served, method: str, params: Params = None, headers: Headers = None) -> Reply:
    """A complete request of 2026-07-28; `headers` replace its own."""
    given = {"_meta": META, **(params or {})}
    own = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if method == "tools/call":
        own["Mcp-Name"] = str(given.get("name"))
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": given}
    return send(served, body, own | dict(headers or {}))


def legacy(served: Served, method: str, params: Params = None, headers: Headers = None) -> Reply:
    """A request of 2025-11-25, after the handshake."""
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": dict(params or {})}
    return send(served, body, {"MCP-Protocol-Version": "2025-11-25", **(headers or {})})


def call(served: Served, tool: str, headers: Headers = None, /, **arguments: Any) -> Any:
    """The result of a tool, by a caller with these headers."""
    reply = modern(served, "tools/call", {"name": tool, "arguments": arguments}, headers)
    assert reply.status == 200, reply.body
    return reply.json["result"]


def shown(served: Served, tool: str, headers: Headers = None, /, **arguments: Any) -> Any:
    """What a call that must succeed shows."""
    result = call(served, tool, headers, **arguments)
    assert not result["isError"], result
    assert orjson.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def refused(served: Served, tool: str, headers: Headers = None, /, **arguments: Any) -> str:
    """The text of a call that must be refused."""
    result = call(served, tool, headers, **arguments)
    assert result["isError"] and "structuredContent" not in result, result
    return "\n".join(part["text"] for part in result["content"])
