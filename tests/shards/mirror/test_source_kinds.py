"""Web servers as sources: ranges, refusals, redirects, passwords."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.mirror import source_kinds
from shards.mirror.client import retry_after_seconds
from shards.mirror.source import (
    AbsentError,
    Body,
    FaultError,
    MirrorSource,
    RangeError,
    SyncError,
    read_small,
)
from shards.mirror.source_kinds import Folder, Web

CONTENT = "Société Générale, Orléans".encode() * 1_000


@contextmanager
def serve_response(
    status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Iterator[tuple[str, list[Any]]]:
    """Run a server that repeats one response; yields its address and a list of the headers of each request."""
    requests: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        """A handler that notes the headers of each request and repeats the response."""

        def do_GET(self) -> None:
            """Note the headers of the request and send the response."""
            requests.append(self.headers)
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/data", requests
        finally:
            server.shutdown()
            thread.join()


def _read(url: str, start: int = 0, **environment: str) -> tuple[int, bytes]:
    """The first byte and the content that a web source sends for a request from byte `start` on."""
    return _read_from(Web(url, environment), "EE.shard", start)


def _read_from(source: MirrorSource, path: str, start: int = 0) -> tuple[int, bytes]:
    """The first byte and the content that a source sends for a request from byte `start` on."""

    async def read() -> tuple[int, bytes]:
        async with source.open(path, start) as body:
            return body.start, b"".join([piece async for piece in body.pieces])

    return asyncio.run(read())


def test_a_partial_response_starts_at_the_requested_byte() -> None:
    headers = {"Content-Range": f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}"}
    with serve_response(206, headers, CONTENT[7:]) as (url, requests):
        assert _read(url, 7) == (7, CONTENT[7:])
        assert requests[0]["Range"] == "bytes=7-"
        assert requests[0]["Accept-Encoding"] == "identity"


def test_a_response_that_ignores_the_range_starts_at_0() -> None:
    with serve_response(200, body=CONTENT) as (url, _):
        assert _read(url, 7) == (0, CONTENT)


@pytest.mark.parametrize(
    "content_range", [f"bytes {'9' * 5_000}-/*", "bytes */100", "7-99/100", None]
)
def test_an_invalid_content_range_is_a_fault(content_range: str | None) -> None:
    with (
        serve_response(206, {"Content-Range": content_range} if content_range else {}, CONTENT) as (
            url,
            _,
        ),
        pytest.raises(RangeError, match="which cannot be understood"),
    ):
        _read(url, 7)


def test_a_partial_response_starts_where_its_content_range_says() -> None:
    with serve_response(206, {"Content-Range": "bytes 6-99/100"}, CONTENT) as (url, _):
        assert _read(url, 7) == (6, CONTENT)


def test_a_start_after_the_end_is_a_range_error() -> None:
    with (
        serve_response(416) as (url, _),
        pytest.raises(RangeError, match="answers 416 to bytes=7-"),
    ):
        _read(url, 7)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({}, None), ({"Retry-After": "17"}, 17.0), ({"Retry-After": "soon"}, None),
     ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0)],
)  # fmt: skip
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_may_request_a_wait(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    with serve_response(status, headers) as (url, _), pytest.raises(FaultError) as fault:
        _read(url)

    assert fault.value.after == seconds


def test_a_missing_file_is_an_absent_error() -> None:
    with serve_response(404) as (url, _), pytest.raises(AbsentError):
        _read(url)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_names_the_settings_of_passwords(status: int) -> None:
    with (
        serve_response(status) as (url, _),
        pytest.raises(SyncError, match=r"set MIRROR_TOKEN or MIRROR_PASSWORD") as refusal,
    ):
        _read(url, MIRROR_TOKEN="geheim")

    assert not isinstance(refusal.value, FaultError)
    assert "geheim" not in str(refusal.value)


def test_passwords_come_from_the_environment() -> None:
    with serve_response(200) as (url, requests):
        _read(url, MIRROR_TOKEN="t")
        _read(url, MIRROR_PASSWORD="jürgen:ß")

    assert [sent["Authorization"] for sent in requests] == ["Bearer t", "Basic asO8cmdlbjrDnw=="]


def test_a_redirect_to_another_host_is_refused_and_gets_no_password() -> None:
    with serve_response(200, body=b"x") as (target, other_requests):
        elsewhere = target.replace("127.0.0.1", "localhost")
        with (
            serve_response(302, {"Location": elsewhere}) as (url, _),
            pytest.raises(SyncError, match="redirects to http://localhost:"),
        ):
            _read(url, MIRROR_TOKEN="t")

    assert other_requests == []


def test_a_redirect_to_another_scheme_is_refused() -> None:
    with (
        serve_response(302, {"Location": "ftp://127.0.0.1/CURRENT"}) as (url, _),
        pytest.raises(SyncError, match="redirects to ftp:"),
    ):
        _read(url)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "127.0.0.1:x"])
def test_an_invalid_address_is_refused_in_one_line(host: str) -> None:
    with pytest.raises(SyncError, match=rf"http://{host}/EE\.shard is not an address: .*; give"):
        _read(f"http://{host}")
    with (
        serve_response(302, {"Location": f"http://{host}/"}) as (url, _),
        pytest.raises(FaultError, match=rf"redirects to 'http://{host}/', which is not an address"),
    ):
        _read(url)


def test_a_host_in_another_alphabet_is_requested_by_its_name_in_ascii() -> None:
    with pytest.raises(FaultError, match=r"xn--exmple-cua\.invalid"):
        _read("http://exämple.invalid/data")


@given(st.text(max_size=40) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+"))
def test_any_retry_after_is_seconds_or_none(text: str) -> None:
    seconds = retry_after_seconds(text)

    assert seconds is None or seconds >= 0


def test_a_redirect_on_the_same_host_is_followed_and_another_port_gets_no_password() -> None:
    """Another port may be the port of another program"""
    with (
        serve_response(200, body=CONTENT) as (target, other_requests),
        serve_response(301, {"Location": target}) as (url, requests),
    ):
        assert _read(url, MIRROR_TOKEN="t") == (0, CONTENT)

    assert [sent["Authorization"] for sent in (*requests, *other_requests)] == ["Bearer t", None]


def test_the_complete_read_of_a_small_file_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a byte per half second, a CURRENT of 64 KiB would take nine hours"""

    class SlowSource:
        """A source that sends a byte every 10 ms."""

        name = "slow"

        @asynccontextmanager
        async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
            yield Body(0, self.pieces())

        async def pieces(self) -> AsyncIterator[bytes]:
            for _ in range(1_000):
                await asyncio.sleep(0.01)
                yield b"x"

    monkeypatch.setattr("shards.mirror.source.SMALL_SECONDS", 0.1)
    with pytest.raises(FaultError, match=r"was not complete within 0\.1 s"):
        read_small(SlowSource(), "CURRENT", 1 << 16)


def test_a_refused_connection_is_a_fault_in_one_line() -> None:
    with serve_response(200) as (url, _):
        pass

    with pytest.raises(FaultError) as fault:
        _read(url)
    assert "cannot be read: Connection refused" in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_small_file_over_its_limit_is_not_read_to_its_end() -> None:
    with serve_response(200, body=b"x" * 1_000_000) as (url, _), pytest.raises(FaultError):
        read_small(Web(url, {}), "CURRENT", 1_000)


@pytest.mark.parametrize(
    "url",
    ["http://user:geheim@host/data", "https://", "http://host/data?token=geheim", "http://host/#x"],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SyncError) as refusal:
        Web(url, {})
    assert "geheim" not in str(refusal.value)


def test_two_settings_of_a_password_are_refused() -> None:
    with pytest.raises(SyncError, match="both MIRROR_TOKEN and MIRROR_PASSWORD"):
        Web("https://host", {"MIRROR_TOKEN": "t", "MIRROR_PASSWORD": "u:p"})


def test_a_password_without_a_user_is_refused_and_not_repeated() -> None:
    with pytest.raises(SyncError, match="MIRROR_PASSWORD is not user:password") as refusal:
        Web("https://host", {"MIRROR_PASSWORD": "geheim"})
    assert "geheim" not in str(refusal.value)


def test_a_token_with_a_line_break_is_refused() -> None:
    with pytest.raises(SyncError, match="MIRROR_TOKEN has a line break"):
        Web("https://host", {"MIRROR_TOKEN": "t\r\nHost: elsewhere"})


def test_the_kind_of_a_source_is_its_scheme(tmp_path: Path) -> None:
    assert isinstance(source_kinds.find_source("https://host/data", {}), Web)
    assert isinstance(source_kinds.find_source(str(tmp_path), {}), Folder)
    with pytest.raises(SyncError, match="'ftp://host/data' is not a source"):
        source_kinds.find_source("ftp://host/data", {})


def test_a_folder_is_read_from_any_byte(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(CONTENT)

    assert _read_from(Folder(tmp_path), "x", 9) == (9, CONTENT[9:])
    with pytest.raises(AbsentError):
        _read_from(Folder(tmp_path), "y")
    with pytest.raises(FaultError, match="is not a regular file"):
        _read_from(Folder(tmp_path.parent), tmp_path.name)
