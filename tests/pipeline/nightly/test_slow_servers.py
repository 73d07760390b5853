"""Servers that would delay a night: slow servers, silent servers, and downloads beyond the deadline."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from pipeline.nightly import command, fetching
from pipeline.nightly.fetching import FetchSettings
from pipeline.nightly.published_files import SourceSettings
from shards.mirror import client, download
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import (
    EE_NAME,
    EE_ZIP,
    NOW,
    fetch_one,
    settings,
    short_waits,
)
from tests.pipeline.nightly.test_nightly import (
    published_counts,
    run_night,
    source_results,
    write_config,
)

__all__ = ["short_waits"]  # fixtures

CHUNK_BYTES = 1 << 12  # bytes that `responders.pause_between_chunks` sends at a time


@pytest.fixture
def short_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute be 0.3 s, and a download be measured over 0.15 s."""
    monkeypatch.setattr(download, "_WINDOW_SECONDS", 0.15)
    # A silence of the machine must not end a try.
    monkeypatch.setattr(download, "_LEAST_SPEED", 0)
    monkeypatch.setattr(fetching, "_MINUTE_SECONDS", 0.3)


@pytest.fixture
def silent_url() -> Iterator[str]:
    """The address of a server that takes a request and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def received_bytes(tmp_path: Path) -> bytes:
    """The received part of the file of an unfinished download."""
    return (tmp_path / "raw" / "ee" / ".fetch" / EE_NAME).read_bytes()


@pytest.mark.usefixtures("short_minute")
def test_a_slow_source_is_given_up_and_resumed_the_next_night(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(
        f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(1.0), responders.follow_rfc9110
    )
    limited = replace(settings(server), slowest=1_000_000)

    first = fetch_one(tmp_path, limited)

    assert first.result == "refuse"
    assert re.search(
        r"sends [\d,]+ bytes a second, less than 1,000,000 \(`slowest` in", first.reason
    )
    assert len(server.requests) == 1  # no further request is sent
    received = received_bytes(tmp_path)
    assert CHUNK_BYTES <= len(received) < len(EE_ZIP)
    assert EE_ZIP.startswith(received)

    assert fetch_one(tmp_path, replace(limited, slowest=0)).result == "nouveau"
    assert server.headers("Range") == [None, f"bytes={len(received)}-"]
    assert (tmp_path / "raw" / "ee" / EE_NAME).read_bytes() == EE_ZIP


@pytest.mark.usefixtures("short_minute")
@pytest.mark.parametrize(
    ("damage", "resumed"),
    [
        (lambda part: bytes([part[0] ^ 1]) + part[1:], False),
        (lambda part: part[:-1] + bytes([part[-1] ^ 128]), False),
        (lambda part: part[:-1], False),
        (lambda part: part + bytes(1 << 16), True),
    ],
    ids=["first byte", "last byte", "cut", "zeros of a power cut"],
)
def test_bytes_that_changed_between_two_nights_are_not_kept(
    tmp_path: Path, server: RegisterServer, damage: Callable[[bytes], bytes], resumed: bool
) -> None:
    """A damaged file that is not an archive would be accepted."""
    server.publish(
        f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(1.0), responders.follow_rfc9110
    )
    limited = replace(settings(server), slowest=1_000_000)
    fetch_one(tmp_path, limited)
    received = received_bytes(tmp_path)
    (tmp_path / "raw" / "ee" / ".fetch" / EE_NAME).write_bytes(damage(received))

    assert fetch_one(tmp_path, replace(limited, slowest=0)).result == "nouveau"

    assert server.headers("Range") == [None, f"bytes={len(received)}-" if resumed else None]
    assert (tmp_path / "raw" / "ee" / EE_NAME).read_bytes() == EE_ZIP


@pytest.mark.usefixtures("short_minute")
@pytest.mark.parametrize(
    ("general_bound", "source_bound"),  # bytes a second; 0 is no bound, None the general bound
    [(1_000_000, 0), (1_000_000, 100), (0, None)],
)
def test_a_source_overrides_the_general_bound_of_slowness(
    tmp_path: Path, server: RegisterServer, general_bound: int, source_bound: int | None
) -> None:
    # The server sends about 200 000 bytes a second.
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(0.02))
    fetch_settings = settings(server)
    sources = {"ee": replace(fetch_settings.sources["ee"], slowest=source_bound)}

    file = fetch_one(tmp_path, replace(fetch_settings, sources=sources, slowest=general_bound))

    assert file.result == "nouveau"


@pytest.mark.usefixtures("short_minute")
def test_a_source_that_reaches_its_deadline_does_not_stop_another_source(
    tmp_path: Path, server: RegisterServer, silent_url: str
) -> None:
    """The silent server has the same host name and another port than the server of the complete source."""
    server.publish(f"/{EE_NAME}", EE_ZIP)
    sources = {
        **settings(server).sources,
        "lv-ur": SourceSettings({"register.csv": f"{silent_url}/register.csv"}, deadline=1),
    }

    files = fetching.run(["lv-ur", "ee"], tmp_path / "raw", FetchSettings(sources=sources), now=NOW)

    assert [file.result for file in files] == ["refuse", "nouveau"]
    assert files[0].reason.startswith(
        "it was not complete after 1 min (`deadline` in the configuration)"
    )


@pytest.mark.usefixtures("short_minute")
def test_files_of_a_source_that_is_given_up_are_not_requested(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(1.0))
    server.publish("/second.zip", EE_ZIP)
    limited = replace(settings(server, names=(EE_NAME, "second.zip")), slowest=1_000_000)

    first, second = fetching.run(["ee"], tmp_path / "raw", limited, now=NOW)

    assert (first.result, second.result) == ("refuse", "refuse")
    assert second.reason == "it was not requested: its source is given up for this night"
    assert len(server.requests) == 1


def test_a_response_whose_headers_never_end_is_given_up(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that sends a byte at a time is not silent, so a total bound must end the wait."""
    monkeypatch.setattr(client, "_STEPS", 1)
    monkeypatch.setattr("shards.mirror.download.TRIES", 1)

    async def send_byte_by_byte(request: web.Request, __: bytes) -> web.StreamResponse:
        """Send a header for ten seconds, one byte at a time, and never its end."""
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(200):
            request.transport.write(b"x")
            await asyncio.sleep(0.05)
        return web.Response()

    server.publish(f"/{EE_NAME}", EE_ZIP, send_byte_by_byte)

    file = fetch_one(tmp_path, replace(settings(server), silence=0.5))

    assert file.result == "refuse"
    assert file.reason.startswith(f"{server.url}/{EE_NAME} cannot be read: ")
    assert file.reason.endswith("check the source, or try again later")


@pytest.mark.usefixtures("short_minute")
def test_at_the_general_deadline_the_complete_sources_are_published(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The deadline is in minutes, for all fetches of a night together; the next night fetches what was missing."""
    config = write_config(tmp_path, server, "deadline = 100", "slowest = 0")
    with responders.running_server() as slow_server:
        slow_server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(10))
        text = config.read_text()
        config.write_text(text.replace(f"{server.url}/{EE_NAME}", f"{slow_server.url}/{EE_NAME}"))
        assert run_night(config) == 0
    config.write_text(text.replace("deadline = 100", ""))

    assert source_results(config) == {"ee": "absent", "ie-cro": "nouveau"}
    assert published_counts(config) == {"IE": 1}
    assert "it was not complete after 100 min (`deadline`" in capsys.readouterr().err
    assert run_night(config) == 0

    assert published_counts(config) == {"EE": 2_665, "IE": 1}


def test_a_log_has_a_line_of_progress_a_minute(
    tmp_path: Path,
    server: RegisterServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "_SECONDS_BETWEEN_LINES", 0.05)
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(0.02))

    assert run_night(config) == 0

    lines = capsys.readouterr().err.splitlines()
    assert any(re.fullmatch(r"pipeline: fetch: \d+ s, 0\.\d MB received", line) for line in lines)
    stages = {line.split(":")[1].strip() for line in lines}
    assert {"fetch", "build"} <= stages, lines
