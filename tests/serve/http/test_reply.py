"""The bytes of a response: head, length, the end of the connection (RFC 9110, RFC 9112); methods, cross-origin access,
the headers of every response (G1 to G3, G7, G10).
"""

import asyncio
import socket
import time
from contextlib import suppress

import pytest
from aiohttp import web

from serve.access.call import Response
from serve.access.loop_guard import VisitorLanes
from serve.http import connection
from serve.http.reply import EXPOSED, make_reply
from serve.observe.log import RequestTrace
from tests.serve.client import DATA_PATHS, REFUSED_PATHS, Server


async def _wire_bytes(response: Response) -> bytes:
    """The bytes that a client receives if a handler returns this response."""

    async def answer(message: web.BaseRequest) -> web.StreamResponse:
        """Answer any request with the response."""
        return make_reply(response, RequestTrace("id", "/"), opened=False)

    server = await asyncio.get_running_loop().create_server(web.Server(answer), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = await reader.read()
        writer.close()
    return received


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b=c", "a\n", "a\rb"])
def test_a_header_value_cannot_begin_another_header(value: str) -> None:
    """A value with a line break closes the connection without a response"""
    assert b"Link: a" in asyncio.run(_wire_bytes(Response(200, b"{}", {"Link": "a"})))
    assert asyncio.run(_wire_bytes(Response(200, b"{}", {"Link": value}))) == b""


def test_a_page_has_headers_of_pages_and_an_empty_response_has_no_type() -> None:
    page = asyncio.run(_wire_bytes(Response(200, b"<p>", {"Content-Type": "text/html"})))
    empty = asyncio.run(_wire_bytes(Response(304, b"")))

    assert page.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: societes\r\n")
    assert b"\nX-Frame-Options: DENY\r\n" in page
    assert empty.startswith(b"HTTP/1.1 304 Not Modified\r\nServer: societes\r\n")
    assert b"\nContent-Type" not in empty and b"\nX-Frame" not in empty


@pytest.mark.parametrize(
    ("version", "request_header", "reply_header", "stays_open"),
    [
        ("1.1", "", None, True),
        ("1.1", "Connection: close\r\n", "close", False),
        ("1.0", "", "close", False),
        ("1.0", "Connection: keep-alive\r\n", "keep-alive", True),
    ],
)
def test_a_connection_stays_open_as_the_client_requests(
    server: Server, version: str, request_header: str, reply_header: str | None, stays_open: bool
) -> None:
    """RFC 9112 §9.3"""
    request = f"GET /healthz HTTP/{version}\r\nHost: a\r\n{request_header}\r\n"
    closing_request = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    received = server.send_raw(request + (closing_request if stays_open else ""))

    assert received.count(b'{"statut":"vivant"}') == 1 + stays_open
    head = received.partition(b"\r\n\r\n")[0].decode()
    assert (f"Connection: {reply_header}" in head) == (reply_header is not None)
    assert ("Connection:" in head) == (reply_header is not None)


@pytest.mark.parametrize(
    ("method", "path", "length"),
    [
        ("GET", "/healthz", "19"),
        ("HEAD", "/healthz", "19"),
        ("OPTIONS", "/api/v1/pays", None),
        ("GET", "/nulle/part", "same"),  # the length of the error that the test receives
    ],
)
def test_the_content_length_is_the_length_of_the_body_of_a_get(
    server: Server, method: str, path: str, length: str | None
) -> None:
    """RFC 9110 §8.6"""
    reply = server.ask(path, method)

    expected = str(len(reply.body)) if length == "same" else length
    assert reply.headers.get("Content-Length") == expected


def test_a_304_has_no_length(server: Server) -> None:
    """RFC 9110 §8.6: it has no body, and a length would be that of the body of a 200"""
    tag = server.ask("/api/v1/pays").headers["ETag"]

    reply = server.ask("/api/v1/pays", headers={"If-None-Match": tag})

    assert reply.status == 304
    assert "Content-Length" not in reply.headers


def test_every_answer_has_a_date(server: Server) -> None:
    """RFC 9110 §6.6.1"""
    assert server.ask("/healthz").headers["Date"].endswith(" GMT")


@pytest.mark.parametrize("path", ["/openapi.json", "/healthz"])
def test_a_client_that_does_not_read_its_responses_is_disconnected(
    server: Server, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13: the responses to all these requests do not fit into the buffers of the system"""
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(connection, "_SLOWEST_BYTES_PER_SECOND", 1 << 30)
    requests = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 40_000
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(2)
        client.connect(("127.0.0.1", server.port))

        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            with suppress(TimeoutError):
                client.sendall(requests)
            for _ in range(1_200):
                client.send(b"\r\n")
                time.sleep(0.1)


def test_a_client_that_disconnects_leaves_no_timer() -> None:
    """R13: a timer that outlives its connection would hold the connection and its buffers for 20 seconds or more"""

    async def timers_of_connections() -> list[asyncio.TimerHandle | None]:
        """Disconnect during a response of 16 MiB; return the timer of each connection, None where it was cancelled.

        The timer cuts a connection whose client does not read.
        """
        connections: list[connection._Connection] = []

        def accept() -> connection._Connection:
            """Make the connection of the server, and note it."""
            connections.append(connection._Connection(server, loop=loop))
            return connections[-1]

        async def answer(message: web.BaseRequest) -> web.Response:
            return make_reply(
                Response(200, b"x" * (16 << 20)), RequestTrace("id", "/"), opened=True
            )

        loop = asyncio.get_running_loop()
        server = connection.Server(answer, VisitorLanes(places=1))
        listening = await loop.create_server(accept, "127.0.0.1", 0)
        async with listening:
            _, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while not connections or connections[0]._cut_timer is None:
                await asyncio.sleep(0.01)
            writer.transport.abort()
            while server.connections:
                await asyncio.sleep(0.01)
        return [open_connection._cut_timer for open_connection in connections]

    timers = asyncio.run(asyncio.wait_for(timers_of_connections(), 10))

    assert timers and all(timer is not None and timer.cancelled() for timer in timers)


# -- methods --------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*DATA_PATHS, *REFUSED_PATHS, "/healthz"])
def test_head_is_get_without_a_body(server: Server, path: str) -> None:
    """G1"""
    get, head = server.ask(path), server.ask(path, "HEAD")

    assert (head.status, head.body) == (get.status, b"")
    may_differ = {"Date", "X-Request-Id", "X-Quota-Reset", "RateLimit"}
    assert {name: value for name, value in head.headers.items() if name not in may_differ} == {
        name: value for name, value in get.headers.items() if name not in may_differ
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", [*DATA_PATHS, "/healthz"])
def test_another_method_is_405_with_the_allowed_methods(
    server: Server, method: str, path: str
) -> None:
    """G3"""
    reply = server.ask(path, method)

    assert (reply.status, reply.code) == (405, "methode_non_autorisee")
    assert reply.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path",
    ["/rien", "/api", "/api/v1/", "/api/v1/exports", "/api/v1/comptes", "/icone.ico"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_404_whatever_the_method(server: Server, path: str, method: str) -> None:
    """G3, D5"""
    reply = server.ask(path, method)

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_a_trailing_slash_is_accepted(server: Server) -> None:
    """G3"""
    for path in ("/api/v1/pays", "/api/v1/societes", "/api/v1/societes/FR/552100554", "/healthz"):
        assert server.ask(f"{path}/").body == server.ask(path).body


# -- cross-origin ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [*DATA_PATHS, *REFUSED_PATHS])
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_every_answer_is_open_to_every_origin(server: Server, path: str, method: str) -> None:
    """§1, G2"""
    headers = server.ask(path, method, headers={"Origin": "https://exemple.eu"}).headers

    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Expose-Headers"].split(", ") == list(EXPOSED)
    assert "Access-Control-Allow-Credentials" not in headers


def test_every_header_that_is_sent_can_be_read_by_a_browser(server: Server) -> None:
    """G2"""
    safelisted = {"cache-control", "content-language", "content-length", "content-type", "date"}
    prefixes = {"x-", "ratelimit", "retry-after", "etag", "link", "content-location", "www-auth"}
    exposed = {name.lower() for name in EXPOSED}
    for path in [*DATA_PATHS, *REFUSED_PATHS]:
        header_names = {
            name.lower() for name in server.ask(path, headers={"Authorization": "x"}).headers
        }
        useful = {name for name in header_names if name.startswith(tuple(prefixes))} - {
            "x-content-type-options"
        }
        assert useful - safelisted <= exposed


@pytest.mark.parametrize("path", ["/healthz", "/nulle/part"])
def test_paths_outside_the_api_are_not_open_to_other_origins(server: Server, path: str) -> None:
    """G2"""
    assert "Access-Control-Allow-Origin" not in server.ask(path).headers


@pytest.mark.parametrize("path", DATA_PATHS)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_preflight_is_204(server: Server, path: str, method: str) -> None:
    """G2"""
    headers = {
        "Origin": "https://exemple.eu",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization",
    }
    reply = server.ask(path, "OPTIONS", headers=headers)

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert (
        reply.headers["Access-Control-Allow-Headers"]
        == "Authorization, Content-Type, If-None-Match"
    )
    assert reply.headers["Access-Control-Max-Age"] == "86400"
    assert "Content-Type" not in reply.headers


@pytest.mark.parametrize(
    "path", ["/api/v1/inconnue", "/api/v1", "/api/v1/societes/FR", "/api/mcp/x", "/llms.txt/x"]
)
def test_a_preflight_of_an_unknown_path_lets_a_page_read_the_404(server: Server, path: str) -> None:
    """G2: pages of all origins may read answers, also errors"""
    headers = {"Origin": "https://exemple.eu", "Access-Control-Request-Method": "GET"}
    reply = server.ask(path, "OPTIONS", headers=headers)

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in reply.headers["Access-Control-Allow-Headers"]
    assert "GET" in reply.headers["Access-Control-Allow-Methods"]
    assert server.ask(path).code == "route_inconnue"


# -- every answer ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*DATA_PATHS, *REFUSED_PATHS, "/healthz", "/readyz", "/nulle/part"]
)
def test_every_answer_is_safe_json_with_an_id(server: Server, path: str) -> None:
    """G7, §1"""
    reply = server.ask(path)

    assert reply.json is not None
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Server"] == "societes"
    assert len(reply.headers["X-Request-Id"]) == 16


def test_the_id_of_a_request_is_echoed_if_it_is_valid(server: Server) -> None:
    """G7"""
    valid = server.ask("/healthz", headers={"X-Request-Id": "essai-1.2:3"})
    invalid = server.ask("/healthz", headers={"X-Request-Id": "<script>"})

    assert valid.headers["X-Request-Id"] == "essai-1.2:3"
    assert "<" not in invalid.headers["X-Request-Id"]


@pytest.mark.parametrize("path", DATA_PATHS)
def test_every_answer_of_data_names_its_generation(server: Server, path: str) -> None:
    """G10"""
    assert server.ask(path).headers["X-Donnees-Version"] == generation_name(server)


def generation_name(server: Server) -> str:
    """The generation that the server serves."""
    return str(server.ask("/readyz").json["generation"])
