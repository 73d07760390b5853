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
from tests.serve.client import PATHS, REFUSED, Served


async def _sent(response: Response) -> bytes:
    """All that a client gets of a response."""

    async def answer(message: web.BaseRequest) -> web.StreamResponse:
        return make_reply(response, RequestTrace("id", "/"), opened=False)

    server = await asyncio.get_running_loop().create_server(web.Server(answer), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = await reader.read()
        writer.close()
    return received


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b=c", "a\n", "a\rb"])
def test_no_header_can_begin_another(value: str) -> None:
    assert b"Link: a" in asyncio.run(_sent(Response(200, b"{}", {"Link": "a"})))
    assert asyncio.run(_sent(Response(200, b"{}", {"Link": value}))) == b""


def test_a_page_has_the_headers_of_pages_and_an_answer_without_a_body_no_type() -> None:
    page = asyncio.run(_sent(Response(200, b"<p>", {"Content-Type": "text/html"})))
    empty = asyncio.run(_sent(Response(304, b"")))

    assert page.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: societes\r\n")
    assert b"\nX-Frame-Options: DENY\r\n" in page
    assert empty.startswith(b"HTTP/1.1 304 Not Modified\r\nServer: societes\r\n")
    assert b"\nContent-Type" not in empty and b"\nX-Frame" not in empty


@pytest.mark.parametrize(
    ("version", "asked", "told", "stays"),
    [
        ("1.1", "", None, True),
        ("1.1", "Connection: close\r\n", "close", False),
        ("1.0", "", "close", False),
        ("1.0", "Connection: keep-alive\r\n", "keep-alive", True),
    ],
)
def test_a_connection_stays_as_the_client_wants(
    served: Served, version: str, asked: str, told: str | None, stays: bool
) -> None:
    """RFC 9112 §9.3"""
    first = f"GET /healthz HTTP/{version}\r\nHost: a\r\n{asked}\r\n"
    last = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    received = served.raw(first + (last if stays else ""))

    assert received.count(b'{"statut":"vivant"}') == 1 + stays
    head = received.partition(b"\r\n\r\n")[0].decode()
    assert (f"Connection: {told}" in head) == (told is not None)
    assert ("Connection:" in head) == (told is not None)


@pytest.mark.parametrize(
    ("method", "path", "length"),
    [
        ("GET", "/healthz", "19"),
        ("HEAD", "/healthz", "19"),
        ("OPTIONS", "/api/v1/pays", None),
        ("GET", "/nulle/part", "same"),
    ],
)
def test_the_length_is_that_of_the_body_of_a_get(
    served: Served, method: str, path: str, length: str | None
) -> None:
    """RFC 9110 §8.6"""
    reply = served.ask(path, method)

    expected = str(len(reply.body)) if length == "same" else length
    assert reply.headers.get("Content-Length") == expected


def test_a_304_has_no_length(served: Served) -> None:
    """RFC 9110 §8.6"""
    tag = served.ask("/api/v1/pays").headers["ETag"]

    reply = served.ask("/api/v1/pays", headers={"If-None-Match": tag})

    assert reply.status == 304
    assert "Content-Length" not in reply.headers


def test_every_answer_has_a_date(served: Served) -> None:
    """RFC 9110 §6.6.1"""
    assert served.ask("/healthz").headers["Date"].endswith(" GMT")


@pytest.mark.parametrize("path", ["/openapi.json", "/healthz"])
def test_who_does_not_take_a_response_is_cut_off(
    served: Served, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13: the requests follow one another, so that no buffer of the system holds all responses"""
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    monkeypatch.setattr(connection, "_SLOWEST", 1 << 30)
    sent = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 40_000
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(2)
        client.connect(("127.0.0.1", served.port))

        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            with suppress(TimeoutError):
                client.sendall(sent)
            for _ in range(100):
                client.send(b"\r\n")
                time.sleep(0.1)


def test_a_client_that_goes_leaves_no_timer() -> None:
    """R13: a timer that outlives its connection holds the connection and its buffers for 20 seconds and more"""

    async def timers() -> list[asyncio.TimerHandle | None]:
        connections: list[connection._Connection] = []

        def accept() -> connection._Connection:
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
            while not connections or connections[0]._cut is None:
                await asyncio.sleep(0.01)
            writer.transport.abort()
            while server.connections:
                await asyncio.sleep(0.01)
        return [it._cut for it in connections]

    cuts = asyncio.run(asyncio.wait_for(timers(), 10))

    assert cuts and all(cut is not None and cut.cancelled() for cut in cuts)


# -- methods --------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED, "/healthz"])
def test_head_is_get_without_a_body(served: Served, path: str) -> None:
    """G1"""
    get, head = served.ask(path), served.ask(path, "HEAD")

    assert (head.status, head.body) == (get.status, b"")
    changing = {"Date", "X-Request-Id", "X-Quota-Reset", "RateLimit"}
    assert {name: value for name, value in head.headers.items() if name not in changing} == {
        name: value for name, value in get.headers.items() if name not in changing
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", [*PATHS, "/healthz"])
def test_another_method_is_405_with_those_allowed(served: Served, method: str, path: str) -> None:
    """G3"""
    reply = served.ask(path, method)

    assert (reply.status, reply.code) == (405, "methode_non_autorisee")
    assert reply.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path",
    ["/rien", "/api", "/api/v1/", "/api/v1/exports", "/api/v1/comptes", "/icone.ico"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_404_whatever_the_method(served: Served, path: str, method: str) -> None:
    """G3, D5"""
    reply = served.ask(path, method)

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_a_trailing_slash_is_accepted(served: Served) -> None:
    """G3"""
    for path in ("/api/v1/pays", "/api/v1/societes", "/api/v1/societes/FR/552100554", "/healthz"):
        assert served.ask(f"{path}/").body == served.ask(path).body


# -- cross-origin ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED])
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_every_answer_is_open_to_every_origin(served: Served, path: str, method: str) -> None:
    """§1, G2"""
    headers = served.ask(path, method, headers={"Origin": "https://exemple.eu"}).headers

    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Expose-Headers"].split(", ") == list(EXPOSED)
    assert "Access-Control-Allow-Credentials" not in headers


def test_every_header_that_is_sent_can_be_read_by_a_browser(served: Served) -> None:
    """G2"""
    safe = {"cache-control", "content-language", "content-length", "content-type", "date"}
    ours = {"x-", "ratelimit", "retry-after", "etag", "link", "content-location", "www-auth"}
    exposed = {name.lower() for name in EXPOSED}
    for path in [*PATHS, *REFUSED]:
        sent = {name.lower() for name in served.ask(path, headers={"Authorization": "x"}).headers}
        read = {name for name in sent if name.startswith(tuple(ours))} - {"x-content-type-options"}
        assert read - safe <= exposed


@pytest.mark.parametrize("path", ["/healthz", "/nulle/part"])
def test_what_is_not_the_api_is_not_open_to_other_origins(served: Served, path: str) -> None:
    """G2"""
    assert "Access-Control-Allow-Origin" not in served.ask(path).headers


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_preflight_is_204(served: Served, path: str, method: str) -> None:
    """G2"""
    asked = {
        "Origin": "https://exemple.eu",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization",
    }
    reply = served.ask(path, "OPTIONS", headers=asked)

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
def test_a_preflight_of_an_unknown_path_lets_a_page_read_the_404(served: Served, path: str) -> None:
    """G2: errors included"""
    asked = {"Origin": "https://exemple.eu", "Access-Control-Request-Method": "GET"}
    reply = served.ask(path, "OPTIONS", headers=asked)

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in reply.headers["Access-Control-Allow-Headers"]
    assert "GET" in reply.headers["Access-Control-Allow-Methods"]
    assert served.ask(path).code == "route_inconnue"


# -- every answer ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED, "/healthz", "/readyz", "/nulle/part"])
def test_every_answer_is_safe_json_with_an_id(served: Served, path: str) -> None:
    """G7, §1"""
    reply = served.ask(path)

    assert reply.json is not None
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Server"] == "societes"
    assert len(reply.headers["X-Request-Id"]) == 16


def test_the_id_of_a_request_is_echoed_if_it_is_fit(served: Served) -> None:
    """G7"""
    fit = served.ask("/healthz", headers={"X-Request-Id": "essai-1.2:3"})
    unfit = served.ask("/healthz", headers={"X-Request-Id": "<script>"})

    assert fit.headers["X-Request-Id"] == "essai-1.2:3"
    assert "<" not in unfit.headers["X-Request-Id"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_of_data_names_its_generation(served: Served, path: str) -> None:
    """G10"""
    assert served.ask(path).headers["X-Donnees-Version"] == generation(served)


def generation(served: Served) -> str:
    return str(served.ask("/readyz").json["generation"])
