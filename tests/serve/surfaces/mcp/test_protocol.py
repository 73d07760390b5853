"""The protocol: MCP 2026-07-28, and the handshake of the revisions before it."""

import base64
from typing import Any

import pytest

from serve.app import PRODUCT
from serve.surfaces.mcp import protocol
from serve.surfaces.mcp.tool_list import THIRD_PARTIES, tools
from tests.serve.client import Served
from tests.serve.surfaces.mcp.client import META, MODERN, PATH, legacy, modern, send

CALL = {"name": "list_countries", "arguments": {}}


def code(reply: Any) -> tuple[int, int]:
    """Status and code of an error."""
    return reply.status, reply.json["error"]["code"]


# -- 2026-07-28 ---------------------------------------------------------------------------


def test_discover_tells_versions_and_capabilities(served: Served) -> None:
    """server/discover"""
    result = modern(served, "server/discover").json["result"]

    assert result["supportedVersions"] == list(protocol.SUPPORTED)
    assert result["supportedVersions"][0] == MODERN
    assert result["capabilities"] == {"tools": {}}
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "societes"
    assert (result["ttlMs"], result["cacheScope"]) == (300_000, "public")
    assert "search_companies" in result["instructions"]
    assert THIRD_PARTIES in result["instructions"]


def test_tools_are_listed_in_the_same_order_each_time(served: Served) -> None:
    """server/tools, "Listing Tools"; basic/utilities/caching"""
    first, second = (modern(served, "tools/list").json["result"] for _ in range(2))

    assert first == second
    assert [tool["name"] for tool in first["tools"]] == list(tools(PRODUCT))
    assert (first["ttlMs"], first["cacheScope"]) == (300_000, "public")
    assert "nextCursor" not in first


def test_an_answer_repeats_the_id_and_is_json(served: Served) -> None:
    reply = modern(served, "tools/call", CALL)

    assert (reply.status, reply.json["id"], reply.json["jsonrpc"]) == (200, 7, "2.0")
    assert reply.headers["Content-Type"].startswith("application/json")
    assert reply.headers["Cache-Control"] == "no-store"
    assert "Mcp-Session-Id" not in reply.headers


def test_a_client_need_not_name_itself_and_may(served: Served) -> None:
    """basic, "_meta": clientInfo is a SHOULD"""
    named = {**META, "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}}

    assert modern(served, "tools/list", {"_meta": named}).status == 200
    assert modern(served, "tools/list").status == 200


@pytest.mark.parametrize("missing", list(META))
def test_what_meta_must_hold_is_demanded(served: Served, missing: str) -> None:
    """basic, "_meta": -32602 with 400"""
    rest = {name: value for name, value in META.items() if name != missing}

    assert code(modern(served, "tools/list", {"_meta": rest})) == (400, -32602)
    assert code(modern(served, "tools/list", {"_meta": {**rest, missing: 1}})) == (400, -32602)
    assert code(modern(served, "tools/list", {"_meta": 1})) == (400, -32602)


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
def test_headers_must_say_what_the_body_says(served: Served, headers: dict[str, str]) -> None:
    """Streamable HTTP, "Server Validation": -32020 with 400, and the id"""
    reply = modern(served, "tools/call", CALL, headers)

    assert code(reply) == (400, -32020)
    assert reply.json["id"] == 7


def test_names_of_headers_are_in_any_case_and_a_name_may_be_encoded(served: Served) -> None:
    """Streamable HTTP, "Case Sensitivity", "Value Encoding\""""
    encoded = base64.b64encode(b"list_countries").decode()
    headers = {"Mcp-Method": "", "mcp-METHOD": "tools/call"}
    headers["Mcp-Name"] = f"=?base64?{encoded}?="

    assert modern(served, "tools/call", CALL, headers).status == 200


def test_an_unknown_version_is_told_the_supported_ones(served: Served) -> None:
    """Versioning: -32022 with 400"""
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}

    reply = modern(served, "tools/list", {"_meta": meta}, {"MCP-Protocol-Version": "2099-01-01"})

    assert code(reply) == (400, -32022)
    assert reply.json["error"]["data"] == {
        "supported": list(protocol.SUPPORTED),
        "requested": "2099-01-01",
    }


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen"]
)
def test_a_method_that_is_not_offered_is_404(served: Served, method: str) -> None:
    """Streamable HTTP, "Protocol Version Header": -32601 with 404"""
    assert code(modern(served, method)) == (404, -32601)
    assert method in ("initialize", "ping") or code(legacy(served, method)) == (200, -32601)


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served) -> None:
    """server/tools, "Error Handling": -32602"""
    modern_reply = modern(served, "tools/call", {"name": "drop_tables"})
    legacy_reply = legacy(served, "tools/call", {"name": "drop_tables"})

    assert code(modern_reply) == (400, -32602)
    assert code(legacy_reply) == (200, -32602)
    assert "tools/list" in modern_reply.json["error"]["message"]


@pytest.mark.parametrize("params", [{}, {"name": 1}, {"name": "list_countries", "arguments": []}])
def test_a_call_that_is_malformed_is_an_error_of_the_protocol(
    served: Served, params: dict[str, Any]
) -> None:
    assert code(modern(served, "tools/call", params)) == (400, -32602)
    assert code(legacy(served, "tools/call", params)) == (200, -32602)


def test_there_is_one_page_of_tools(served: Served) -> None:
    """basic/utilities/pagination: -32602 for a cursor that was never given"""
    assert code(modern(served, "tools/list", {"cursor": "x"})) == (400, -32602)


# -- the handshake ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "told"),
    [(version, version) for version in protocol.LEGACY]
    + [("2099-01-01", "2025-11-25"), (MODERN, "2025-11-25"), (None, "2025-11-25")],
)
def test_initialize_agrees_on_a_version(served: Served, requested: str | None, told: str) -> None:
    """2025-11-25, "Version Negotiation\""""
    params = {"protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "c"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}

    result = send(served, body).json["result"]

    assert result["protocolVersion"] == told
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "societes"
    assert result["serverInfo"]["version"] == served.ask("/openapi.json").json["info"]["version"]
    assert "resultType" not in result


def test_a_legacy_client_lists_calls_and_pings(served: Served) -> None:
    assert legacy(served, "ping").json["result"] == {}
    assert len(legacy(served, "tools/list").json["result"]["tools"]) == len(tools(PRODUCT))
    result = legacy(served, "tools/call", CALL).json["result"]
    assert (result["structuredContent"]["total"], "_meta" in result) == (25, False)


def test_a_version_need_not_be_repeated_but_must_be_known(served: Served) -> None:
    """2025-11-25, "Protocol Version Header\""""
    assert legacy(served, "ping", headers={"MCP-Protocol-Version": ""}).status == 200
    assert code(legacy(served, "ping", headers={"MCP-Protocol-Version": "1"})) == (400, -32022)


def test_a_session_that_was_never_given_is_ignored(served: Served) -> None:
    """Streamable HTTP, "Earlier Streamable HTTP Revisions\""""
    reply = legacy(served, "ping", headers={"Mcp-Session-Id": "s", "Last-Event-ID": "1"})

    assert (reply.status, "Mcp-Session-Id" in reply.headers) == (200, False)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "x"])
@pytest.mark.parametrize("version", ["", "2025-11-25", MODERN])
def test_a_notification_is_accepted_and_gets_no_answer(
    served: Served, method: str, version: str
) -> None:
    body = {"jsonrpc": "2.0", "method": method}

    reply = send(served, body, {"MCP-Protocol-Version": version})

    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("version", ["", "2025-03-26"])
def test_a_batch_is_answered_in_the_revision_that_has_batches(served: Served, version: str) -> None:
    """2025-03-26, "Batching": a response for each request, none for a notification"""
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": CALL},
        {"jsonrpc": "2.0", "id": 3, "method": "x"},
        7,
    ]

    reply = send(served, batch, {"MCP-Protocol-Version": version})

    ping, call, unknown, wrong = reply.json
    assert (reply.status, ping) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (call["id"], call["result"]["structuredContent"]["total"]) == ("b", 25)
    assert (unknown["id"], unknown["error"]["code"]) == (3, -32601)
    assert (wrong["error"]["code"], "id" in wrong) == (-32600, False)


def test_a_batch_costs_what_its_calls_cost(served: Served) -> None:
    customer = served.customer("data")
    params = {"name": "count_companies", "arguments": {}}
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number in range(3)
    ]

    reply = send(served, batch, customer.headers)

    assert (len(reply.json), reply.headers["X-Quota-Used"]) == (3, "3")
    assert served.used(customer) == 3


def test_a_batch_of_notifications_alone_gets_no_answer(served: Served) -> None:
    reply = send(served, [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2)

    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", MODERN])
def test_a_batch_of_another_revision_is_refused(served: Served, version: str) -> None:
    """2025-06-18 removed them"""
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]

    reply = send(served, batch, {"MCP-Protocol-Version": version})

    assert code(reply) == (400, -32600)
    assert "2025-03-26" in reply.json["error"]["message"]


def test_a_batch_has_fifty_messages_at_most(served: Served) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    assert len(send(served, [message] * 50).json) == 50
    assert code(send(served, [message] * 51)) == (400, -32600)


def test_a_revision_whose_transport_is_absent_is_not_offered(served: Served) -> None:
    """2024-11-05 has streams of events (HTTP+SSE)"""
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}

    assert send(served, body).json["result"]["protocolVersion"] == "2025-11-25"
    assert code(legacy(served, "ping", headers={"MCP-Protocol-Version": "2024-11-05"})) == (
        400,
        -32022,
    )


@pytest.mark.parametrize(
    "accepted",
    ["", "*/*", "application/json", "application/json, text/event-stream",
     "text/event-stream, application/json", "text/event-stream;q=0.5,application/json;q=0.1"],
)  # fmt: skip
def test_an_answer_is_json_whatever_is_accepted_first(served: Served, accepted: str) -> None:
    """Streamable HTTP, "Sending Messages": either of the two types"""
    for reply in (
        modern(served, "tools/call", CALL, {"Accept": accepted}),
        legacy(served, "tools/call", CALL, {"Accept": accepted}),
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
def test_what_is_no_message_is_refused(served: Served, raw: bytes, expected: int) -> None:
    """JSON-RPC 2.0 §5.1; MCP: no null ids"""
    reply = send(served, raw)

    assert code(reply) == (400, expected)
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_only_post_is_a_message(served: Served, method: str) -> None:
    reply = served.ask(PATH, method)

    assert (reply.status, reply.headers["Allow"]) == (405, "POST, OPTIONS")


def test_a_preflight_names_the_headers_of_the_protocol(served: Served) -> None:
    """G2"""
    reply = served.ask(PATH, "OPTIONS", {"Origin": "https://app.example"})

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
def test_a_message_is_json(served: Served, headers: dict[str, str], status: int) -> None:
    reply = legacy(served, "ping", headers=headers)

    assert reply.status == status
    if status != 200:
        error = reply.json["error"]
        assert (error["code"], "not supported: send " in error["message"]) == (-32600, True)


def test_a_large_body_is_refused(served: Served) -> None:
    reply = legacy(served, "ping", {"x": "a" * 70_000})

    assert code(reply) == (413, -32600)
    assert "larger than 65536 bytes" in reply.json["error"]["message"]


def test_a_query_string_is_refused_for_it_may_hold_a_key(served: Served) -> None:
    """A5"""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    reply = served.ask(
        f"{PATH}?key=soc_live_x", "POST", {"Content-Type": "application/json"}, body=body
    )

    assert code(reply) == (400, -32600)
    assert b"soc_live" not in served.lines[-1]
