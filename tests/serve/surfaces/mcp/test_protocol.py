"""The protocol: MCP 2026-07-28, and the older revisions with a handshake."""

import base64
from typing import Any

import pytest

from serve.app import PRODUCT
from serve.surfaces.mcp import protocol
from serve.surfaces.mcp.tool_list import THIRD_PARTIES, tools
from tests.serve.client import Server
from tests.serve.surfaces.mcp.client import (
    MCP_PATH,
    MODERN_VERSION,
    REQUEST_META,
    post_message,
    send_legacy,
    send_modern,
)

TOOL_CALL = {"name": "list_countries", "arguments": {}}


def status_and_code(reply: Any) -> tuple[int, int]:
    """The HTTP status and the JSON-RPC code of an error."""
    return reply.status, reply.json["error"]["code"]


# -- the revision 2026-07-28 --------------------------------------------------------------


def test_discover_has_versions_and_capabilities(server: Server) -> None:
    """server/discover"""
    result = send_modern(server, "server/discover").json["result"]

    assert result["supportedVersions"] == list(protocol.SUPPORTED)
    assert result["supportedVersions"][0] == MODERN_VERSION
    assert result["capabilities"] == {"tools": {}}
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "societes"
    assert (result["ttlMs"], result["cacheScope"]) == (300_000, "public")
    assert "search_companies" in result["instructions"]
    assert THIRD_PARTIES in result["instructions"]


def test_tools_are_listed_in_the_same_order_each_time(server: Server) -> None:
    """server/tools, "Listing Tools"; basic/utilities/caching"""
    first, second = (send_modern(server, "tools/list").json["result"] for _ in range(2))

    assert first == second
    assert [tool["name"] for tool in first["tools"]] == list(tools(PRODUCT))
    assert (first["ttlMs"], first["cacheScope"]) == (300_000, "public")
    assert "nextCursor" not in first


def test_an_answer_repeats_the_id_and_is_json(server: Server) -> None:
    reply = send_modern(server, "tools/call", TOOL_CALL)

    assert (reply.status, reply.json["id"], reply.json["jsonrpc"]) == (200, 7, "2.0")
    assert reply.headers["Content-Type"].startswith("application/json")
    assert reply.headers["Cache-Control"] == "no-store"
    assert "Mcp-Session-Id" not in reply.headers


def test_client_info_is_optional(server: Server) -> None:
    """basic, "_meta": clientInfo is a SHOULD"""
    meta = {**REQUEST_META, "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}}

    assert send_modern(server, "tools/list", {"_meta": meta}).status == 200
    assert send_modern(server, "tools/list").status == 200


@pytest.mark.parametrize("missing", list(REQUEST_META))
def test_a_missing_or_wrong_member_of_meta_is_refused(server: Server, missing: str) -> None:
    """basic, "_meta": -32602 with 400"""
    incomplete = {name: value for name, value in REQUEST_META.items() if name != missing}

    assert status_and_code(send_modern(server, "tools/list", {"_meta": incomplete})) == (
        400,
        -32602,
    )
    assert status_and_code(
        send_modern(server, "tools/list", {"_meta": {**incomplete, missing: 1}})
    ) == (
        400,
        -32602,
    )
    assert status_and_code(send_modern(server, "tools/list", {"_meta": 1})) == (400, -32602)


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": ""},
        {"MCP-Protocol-Version": "2099-01-01"},
        {"Mcp-Method": ""},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "TOOLS/CALL"},
        {"Mcp-Name": ""},
        {"Mcp-Name": "search_companies"},
        {"Mcp-Name": "=?base64?!?="},
        {"Mcp-Name": "=?base64?" + base64.b64encode(b"\xff").decode() + "?="},
        {"Mcp-Name": "=?base64?" + base64.b64encode(b"x").decode() + "?="},
    ],
)
def test_headers_must_match_the_body(server: Server, headers: dict[str, str]) -> None:
    """Streamable HTTP, "Server Validation": -32020 with 400, and the id"""
    reply = send_modern(server, "tools/call", TOOL_CALL, headers)

    assert status_and_code(reply) == (400, -32020)
    assert reply.json["id"] == 7


def test_header_names_are_case_insensitive_and_a_tool_name_may_be_encoded(server: Server) -> None:
    """Streamable HTTP, "Case Sensitivity", "Value Encoding\""""
    encoded = base64.b64encode(b"list_countries").decode()
    headers = {"Mcp-Method": "", "mcp-METHOD": "tools/call"}
    headers["Mcp-Name"] = f"=?base64?{encoded}?="

    assert send_modern(server, "tools/call", TOOL_CALL, headers).status == 200


def test_an_unknown_version_is_refused_with_the_supported_versions(server: Server) -> None:
    """Versioning: -32022 with 400"""
    meta = {**REQUEST_META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}

    reply = send_modern(
        server, "tools/list", {"_meta": meta}, {"MCP-Protocol-Version": "2099-01-01"}
    )

    assert status_and_code(reply) == (400, -32022)
    assert reply.json["error"]["data"] == {
        "supported": list(protocol.SUPPORTED),
        "requested": "2099-01-01",
    }


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen"]
)
def test_a_method_that_is_not_offered_is_404(server: Server, method: str) -> None:
    """Streamable HTTP, "Protocol Version Header": -32601 with 404"""
    assert status_and_code(send_modern(server, method)) == (404, -32601)
    assert method in ("initialize", "ping") or status_and_code(send_legacy(server, method)) == (
        200,
        -32601,
    )


def test_an_unknown_tool_is_a_protocol_error(server: Server) -> None:
    """server/tools, "Error Handling": -32602"""
    modern_reply = send_modern(server, "tools/call", {"name": "drop_tables"})
    legacy_reply = send_legacy(server, "tools/call", {"name": "drop_tables"})

    assert status_and_code(modern_reply) == (400, -32602)
    assert status_and_code(legacy_reply) == (200, -32602)
    assert "tools/list" in modern_reply.json["error"]["message"]


@pytest.mark.parametrize("params", [{}, {"name": 1}, {"name": "list_countries", "arguments": []}])
def test_a_malformed_call_is_a_protocol_error(server: Server, params: dict[str, Any]) -> None:
    assert status_and_code(send_modern(server, "tools/call", params)) == (400, -32602)
    assert status_and_code(send_legacy(server, "tools/call", params)) == (200, -32602)


def test_the_list_of_tools_is_one_page_and_takes_no_cursor(server: Server) -> None:
    """basic/utilities/pagination: -32602 for a cursor that the server did not issue"""
    assert status_and_code(send_modern(server, "tools/list", {"cursor": "x"})) == (400, -32602)


# -- the handshake ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "version"),
    [(version, version) for version in protocol.LEGACY]
    + [("2099-01-01", "2025-11-25"), (MODERN_VERSION, "2025-11-25"), (None, "2025-11-25")],
)
def test_initialize_agrees_on_a_version(
    server: Server, requested: str | None, version: str
) -> None:
    """2025-11-25, "Version Negotiation\""""
    params = {"protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "c"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}

    result = post_message(server, body).json["result"]

    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "societes"
    assert result["serverInfo"]["version"] == server.ask("/openapi.json").json["info"]["version"]
    assert "resultType" not in result


def test_a_legacy_client_can_ping_list_and_call(server: Server) -> None:
    """A result of an older revision has no `_meta`"""
    assert send_legacy(server, "ping").json["result"] == {}
    assert len(send_legacy(server, "tools/list").json["result"]["tools"]) == len(tools(PRODUCT))
    result = send_legacy(server, "tools/call", TOOL_CALL).json["result"]
    # The table of seeds/ has 25 countries.
    assert (result["structuredContent"]["total"], "_meta" in result) == (25, False)


def test_the_version_header_is_optional_but_must_be_supported(server: Server) -> None:
    """2025-11-25, "Protocol Version Header\""""
    assert send_legacy(server, "ping", headers={"MCP-Protocol-Version": ""}).status == 200
    assert status_and_code(send_legacy(server, "ping", headers={"MCP-Protocol-Version": "1"})) == (
        400,
        -32022,
    )


def test_an_unknown_session_is_ignored(server: Server) -> None:
    """Streamable HTTP, "Earlier Streamable HTTP Revisions\""""
    reply = send_legacy(server, "ping", headers={"Mcp-Session-Id": "s", "Last-Event-ID": "1"})

    assert (reply.status, "Mcp-Session-Id" in reply.headers) == (200, False)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "x"])
@pytest.mark.parametrize("version", ["", "2025-11-25", MODERN_VERSION])
def test_a_notification_is_accepted_and_gets_no_answer(
    server: Server, method: str, version: str
) -> None:
    body = {"jsonrpc": "2.0", "method": method}

    reply = post_message(server, body, {"MCP-Protocol-Version": version})

    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("version", ["", "2025-03-26"])
def test_a_batch_is_answered_in_the_revision_that_has_batches(server: Server, version: str) -> None:
    """2025-03-26, "Batching": a response for each request, none for a notification"""
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": TOOL_CALL},
        {"jsonrpc": "2.0", "id": 3, "method": "x"},
        7,
    ]

    reply = post_message(server, batch, {"MCP-Protocol-Version": version})

    ping, call, unknown_method, invalid_message = reply.json
    assert (reply.status, ping) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (call["id"], call["result"]["structuredContent"]["total"]) == ("b", 25)
    assert (unknown_method["id"], unknown_method["error"]["code"]) == (3, -32601)
    assert (invalid_message["error"]["code"], "id" in invalid_message) == (-32600, False)


def test_a_batch_costs_as_much_as_its_calls(server: Server) -> None:
    customer = server.customer("data")
    params = {"name": "count_companies", "arguments": {}}
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number in range(3)
    ]

    reply = post_message(server, batch, customer.headers)

    assert (len(reply.json), reply.headers["X-Quota-Used"]) == (3, "3")
    assert server.calls_used(customer) == 3


def test_a_batch_of_notifications_alone_gets_no_answer(server: Server) -> None:
    reply = post_message(server, [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2)

    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", MODERN_VERSION])
def test_a_batch_of_another_revision_is_refused(server: Server, version: str) -> None:
    """2025-06-18 removed batches from the protocol"""
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]

    reply = post_message(server, batch, {"MCP-Protocol-Version": version})

    assert status_and_code(reply) == (400, -32600)
    assert "2025-03-26" in reply.json["error"]["message"]


def test_a_batch_has_fifty_messages_at_most(server: Server) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    assert len(post_message(server, [message] * 50).json) == 50
    assert status_and_code(post_message(server, [message] * 51)) == (400, -32600)


def test_a_revision_whose_transport_the_server_does_not_have_is_not_offered(server: Server) -> None:
    """2024-11-05 has streams of events (HTTP+SSE)"""
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}

    assert post_message(server, body).json["result"]["protocolVersion"] == "2025-11-25"
    assert status_and_code(
        send_legacy(server, "ping", headers={"MCP-Protocol-Version": "2024-11-05"})
    ) == (
        400,
        -32022,
    )


@pytest.mark.parametrize(
    "accepted",
    ["", "*/*", "application/json", "application/json, text/event-stream",
     "text/event-stream, application/json", "text/event-stream;q=0.5,application/json;q=0.1"],
)  # fmt: skip
def test_an_answer_is_json_even_if_the_client_prefers_a_stream_of_events(
    server: Server, accepted: str
) -> None:
    """Streamable HTTP, "Sending Messages": a server may answer with either of the two types"""
    for reply in (
        send_modern(server, "tools/call", TOOL_CALL, {"Accept": accepted}),
        send_legacy(server, "tools/call", TOOL_CALL, {"Accept": accepted}),
    ):
        assert reply.status == 200
        assert reply.headers["Content-Type"].startswith("application/json")


# -- messages and methods -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32700),
        (b"[" * 30_000, -32700),
        (b'{"a":' * 900 + b"1" + b"}" * 900, -32600),
        (b"null", -32600),
        (b"1", -32600),
        (b'"x"', -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":1}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    ],
)
def test_an_invalid_message_is_refused(server: Server, raw: bytes, expected: int) -> None:
    """JSON-RPC 2.0 §5.1; MCP: no null ids"""
    reply = post_message(server, raw)

    assert status_and_code(reply) == (400, expected)
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_only_post_is_allowed(server: Server, method: str) -> None:
    reply = server.ask(MCP_PATH, method)

    assert (reply.status, reply.headers["Allow"]) == (405, "POST, OPTIONS")


def test_a_preflight_names_the_headers_of_the_protocol(server: Server) -> None:
    """G2"""
    reply = server.ask(MCP_PATH, "OPTIONS", {"Origin": "https://app.example"})

    allowed = reply.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert reply.status == 204
    assert {"authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"} <= {
        *allowed
    }
    assert reply.headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_a_message_must_be_json(server: Server, headers: dict[str, str], status: int) -> None:
    reply = send_legacy(server, "ping", headers=headers)

    assert reply.status == status
    if status != 200:
        error = reply.json["error"]
        assert (error["code"], "not supported: send " in error["message"]) == (-32600, True)


def test_a_large_body_is_refused(server: Server) -> None:
    reply = send_legacy(server, "ping", {"x": "a" * 70_000})

    assert status_and_code(reply) == (413, -32600)
    assert "larger than 65536 bytes" in reply.json["error"]["message"]


def test_a_query_string_is_refused_because_it_may_hold_a_key(server: Server) -> None:
    """A5"""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    reply = server.ask(
        f"{MCP_PATH}?key=soc_live_x", "POST", {"Content-Type": "application/json"}, body=body
    )

    assert status_and_code(reply) == (400, -32600)
    assert b"soc_live" not in server.lines[-1]
