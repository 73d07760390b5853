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
from shards.mirror.client import asked_seconds
from shards.mirror.source import AbsentError, Body, FaultError, MirrorSource, SyncError, read_small
from shards.mirror.source_kinds import Folder, Web

CONTENT = "Société Générale, Orléans".encode() * 1_000


@contextmanager
def answering(
    status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Iterator[tuple[str, list[Any]]]:
    """A server of one answer, and the headers that it was asked with."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers)
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
            yield f"http://127.0.0.1:{server.server_address[1]}/data", asked
        finally:
            server.shutdown()
            thread.join()


def _read(url: str, start: int = 0, **environment: str) -> tuple[int | None, bytes]:
    return _read_from(Web(url, environment), "EE.shard", start)


def _read_from(source: MirrorSource, path: str, start: int = 0) -> tuple[int | None, bytes]:
    async def read() -> tuple[int | None, bytes]:
        async with source.open(path, start) as body:
            return body.start, b"".join([piece async for piece in body.pieces])

    return asyncio.run(read())


def test_a_range_that_is_honoured_is_appended() -> None:
    said = {"Content-Range": f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}"}
    with answering(206, said, CONTENT[7:]) as (url, asked):
        assert _read(url, 7) == (7, CONTENT[7:])
        assert asked[0]["Range"] == "bytes=7-"
        assert asked[0]["Accept-Encoding"] == "identity"


def test_a_range_that_is_ignored_begins_at_the_beginning() -> None:
    with answering(200, body=CONTENT) as (url, _):
        assert _read(url, 7) == (0, CONTENT)


@pytest.mark.parametrize("said", [f"bytes {'9' * 5_000}-/*", "bytes */100", "7-99/100", None])
def test_a_range_that_is_none_is_a_fault(said: str | None) -> None:
    with (
        answering(206, {"Content-Range": said} if said else {}, CONTENT) as (url, _),
        pytest.raises(FaultError),
    ):
        _read(url, 7)


def test_the_place_of_a_range_is_that_which_the_server_says() -> None:
    with answering(206, {"Content-Range": "bytes 6-99/100"}, CONTENT) as (url, _):
        assert _read(url, 7) == (6, CONTENT)


def test_a_place_after_the_end_has_no_bytes() -> None:
    with answering(416) as (url, _):
        assert _read(url, 7) == (None, b"")


@pytest.mark.parametrize(
    ("headers", "after"),
    [({}, None), ({"Retry-After": "17"}, 17.0), ({"Retry-After": "soon"}, None),
     ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0)],
)  # fmt: skip
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_says_when_to_come_back(
    status: int, headers: dict[str, str], after: float | None
) -> None:
    with answering(status, headers) as (url, _), pytest.raises(FaultError) as fault:
        _read(url)

    assert fault.value.after == after


def test_a_file_that_is_not_there_is_absent() -> None:
    with answering(404) as (url, _), pytest.raises(AbsentError):
        _read(url)


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_refused_is_told_how_to_give_a_password(status: int) -> None:
    with (
        answering(status) as (url, _),
        pytest.raises(SyncError, match=r"set MIRROR_TOKEN or MIRROR_PASSWORD") as refusal,
    ):
        _read(url, MIRROR_TOKEN="geheim")

    assert not isinstance(refusal.value, FaultError)
    assert "geheim" not in str(refusal.value)


def test_passwords_come_from_the_environment() -> None:
    with answering(200) as (url, asked):
        _read(url, MIRROR_TOKEN="t")
        _read(url, MIRROR_PASSWORD="jürgen:ß")

    assert [sent["Authorization"] for sent in asked] == ["Bearer t", "Basic asO8cmdlbjrDnw=="]


def test_a_redirect_to_another_host_is_refused_and_gets_no_password() -> None:
    with answering(200, body=b"x") as (there, reached):
        elsewhere = there.replace("127.0.0.1", "localhost")
        with (
            answering(302, {"Location": elsewhere}) as (url, _),
            pytest.raises(SyncError, match="redirects to http://localhost:"),
        ):
            _read(url, MIRROR_TOKEN="t")

    assert reached == []


def test_a_redirect_to_another_scheme_is_refused() -> None:
    with (
        answering(302, {"Location": "ftp://127.0.0.1/CURRENT"}) as (url, _),
        pytest.raises(SyncError, match="redirects to ftp:"),
    ):
        _read(url)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none_is_said_in_one_line(host: str) -> None:
    with pytest.raises(SyncError, match=rf"http://{host}/EE\.shard is no address: .*; give"):
        _read(f"http://{host}")
    with (
        answering(302, {"Location": f"http://{host}/"}) as (url, _),
        pytest.raises(FaultError, match=rf"redirects to 'http://{host}/', which is no address"),
    ):
        _read(url)


def test_a_host_of_another_alphabet_is_asked_by_its_name_in_ascii() -> None:
    with pytest.raises(FaultError, match=r"xn--exmple-cua\.invalid"):
        _read("http://exämple.invalid/data")


@given(st.text(max_size=40) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+"))
def test_whatever_retry_after_says_is_seconds_or_nothing(said: str) -> None:
    found = asked_seconds(said)

    assert found is None or found >= 0


def test_a_redirect_on_the_same_host_is_followed_and_another_port_gets_no_password() -> None:
    """Another port is another program"""
    with (
        answering(200, body=CONTENT) as (there, reached),
        answering(301, {"Location": there}) as (url, asked),
    ):
        assert _read(url, MIRROR_TOKEN="t") == (0, CONTENT)

    assert [sent["Authorization"] for sent in (*asked, *reached)] == ["Bearer t", None]


def test_a_small_file_has_a_deadline_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte each half second would be nine hours of a CURRENT"""

    class Slow:
        name = "slow"

        @asynccontextmanager
        async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
            yield Body(0, self.pieces())

        async def pieces(self) -> AsyncIterator[bytes]:
            for _ in range(1_000):
                await asyncio.sleep(0.01)
                yield b"x"

    monkeypatch.setattr("shards.mirror.source.SMALL_SECONDS", 0.1)
    with pytest.raises(FaultError, match=r"has not come in 0\.1 s"):
        read_small(Slow(), "CURRENT", 1 << 16)


def test_a_server_that_is_not_there_is_a_fault_in_one_line() -> None:
    with answering(200) as (url, _):
        pass

    with pytest.raises(FaultError) as fault:
        _read(url)
    assert "cannot be read: Cannot connect to host 127.0.0.1:" in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_small_file_that_is_not_small_is_not_read_to_its_end() -> None:
    with answering(200, body=b"x" * 1_000_000) as (url, _), pytest.raises(FaultError):
        read_small(Web(url, {}), "CURRENT", 1_000)


@pytest.mark.parametrize(
    "url",
    ["http://user:geheim@host/data", "https://", "http://host/data?token=geheim", "http://host/#x"],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SyncError) as refusal:
        Web(url, {})
    assert "geheim" not in str(refusal.value)


def test_two_ways_to_give_a_password_are_one_too_many() -> None:
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
    with pytest.raises(SyncError, match="'ftp://host/data' is no source"):
        source_kinds.find_source("ftp://host/data", {})


def test_a_folder_is_read_from_any_byte(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(CONTENT)

    assert _read_from(Folder(tmp_path), "x", 9) == (9, CONTENT[9:])
    with pytest.raises(AbsentError):
        _read_from(Folder(tmp_path), "y")
    with pytest.raises(FaultError, match="is no regular file"):
        _read_from(Folder(tmp_path.parent), tmp_path.name)
