"""The bytes of a response: head, length, the end of the connection (RFC 9110, RFC 9112)."""

import socket
import time
from contextlib import suppress
from typing import Any

import pytest

from serve.http import reply
from serve.http.reply import CORS, POLICY, first_lines, lines
from tests.serve.client import Served


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b=c", "a\n", "a\rb"])
def test_no_header_can_begin_another(value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        lines({"Link": value})


def test_a_head_begins_with_what_all_of_its_kind_have() -> None:
    closed = first_lines(304, "", POLICY, opened=False)
    opened = first_lines(200, "text/plain", POLICY, opened=True)

    assert closed.startswith("HTTP/1.1 304 Not Modified\r\nServer: societes\r\n")
    assert "\nContent-Type" not in closed
    assert opened.startswith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")
    assert lines(CORS) in opened
    assert lines(CORS) not in closed


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
    monkeypatch.setattr(reply, "PATIENCE", 0.2)
    monkeypatch.setattr(reply, "_SLOWEST", 1 << 30)
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


class _Transport:
    """A transport that notes what it is handed."""

    def __init__(self, closing: bool = False) -> None:
        self.handed: list[tuple[bytes, ...]] = []
        self._closing = closing

    def is_closing(self) -> bool:
        return self._closing

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.handed.append(pieces)


class _Writer:
    def __init__(self, transport: _Transport | None) -> None:
        self.transport = transport
        self.output_size = 0


def test_a_long_answer_is_handed_over_at_once_and_its_bytes_are_counted() -> None:
    writer: Any = _Writer(_Transport())

    reply._write_together(writer, b"head", b"body!")

    assert writer.transport.handed == [(b"head", b"body!")]
    assert writer.output_size == 9


@pytest.mark.parametrize("transport", [None, _Transport(closing=True)])
def test_a_client_that_has_left_gets_nothing(transport: _Transport | None) -> None:
    writer: Any = _Writer(transport)

    with pytest.raises(ConnectionResetError):
        reply._write_together(writer, b"head", b"body!")

    assert writer.output_size == 0
