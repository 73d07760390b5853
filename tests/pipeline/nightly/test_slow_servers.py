"""Servers that would hold a night: slow ones, silent ones, and those that are not done in time."""

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
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import (
    EE,
    ESTONIA,
    NOW,
    hurried,
    one,
    server,
    settings,
)
from tests.pipeline.nightly.test_nightly import configured, published, results, run
from tests.pipeline.nightly.test_nightly import server as both

__all__ = ["both", "hurried", "server"]  # fixtures

PIECE = 1 << 12  # bytes of a piece of `ways.slow`


@pytest.fixture
def minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of three tenths of a second."""
    monkeypatch.setattr(download, "_WINDOW_SECONDS", 0.15)
    monkeypatch.setattr(fetching, "_MINUTE", 0.3)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes a request and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def begun(tmp_path: Path) -> bytes:
    return (tmp_path / "raw" / "ee" / ".fetch" / EE).read_bytes()


@pytest.mark.usefixtures("minute")
def test_a_slow_source_is_given_up_and_resumed_the_next_night(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.1), ways.honest)
    wanted = replace(settings(server), slowest=1_000_000)

    first = one(tmp_path, wanted)

    assert first.result == "refuse"
    assert re.search(r"brings [\d,]+ bytes a second, under 1,000,000 \(`slowest` in", first.reason)
    assert len(server.asked) == 1  # it is not asked again
    came = begun(tmp_path)
    assert PIECE <= len(came) < len(ESTONIA)
    assert ESTONIA.startswith(came)

    assert one(tmp_path, wanted).result == "nouveau"
    assert server.headers("Range") == [None, f"bytes={len(came)}-"]
    assert (tmp_path / "raw" / "ee" / EE).read_bytes() == ESTONIA


@pytest.mark.usefixtures("minute")
@pytest.mark.parametrize(
    ("damage", "resumed"),
    [
        (lambda came: bytes([came[0] ^ 1]) + came[1:], False),
        (lambda came: came[:-1] + bytes([came[-1] ^ 128]), False),
        (lambda came: came[:-1], False),
        (lambda came: came + bytes(1 << 16), True),
    ],
    ids=["first byte", "last byte", "cut", "zeros of a power cut"],
)
def test_bytes_that_changed_between_two_nights_are_not_kept(
    tmp_path: Path, server: RegisterServer, damage: Callable[[bytes], bytes], resumed: bool
) -> None:
    """A file that is no archive would be taken with them"""
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.1), ways.honest)
    wanted = replace(settings(server), slowest=1_000_000)
    one(tmp_path, wanted)
    came = begun(tmp_path)
    (tmp_path / "raw" / "ee" / ".fetch" / EE).write_bytes(damage(came))

    assert one(tmp_path, wanted).result == "nouveau"

    assert server.headers("Range") == [None, f"bytes={len(came)}-" if resumed else None]
    assert (tmp_path / "raw" / "ee" / EE).read_bytes() == ESTONIA


@pytest.mark.usefixtures("minute")
@pytest.mark.parametrize(("everywhere", "here"), [(1_000_000, 0), (1_000_000, 100), (0, None)])
def test_the_bound_is_that_of_the_source(
    tmp_path: Path, server: RegisterServer, everywhere: int, here: int | None
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.02))
    said = settings(server)
    own = {"ee": replace(said.sources["ee"], slowest=here)}

    found = one(tmp_path, replace(said, sources=own, slowest=everywhere))

    assert found.result == "nouveau"


@pytest.mark.usefixtures("minute")
def test_the_deadline_of_a_source_is_its_own(
    tmp_path: Path, server: RegisterServer, silent: str
) -> None:
    """The silent server is on the same name, another port, and the other source comes whole."""
    server.publish(f"/{EE}", ESTONIA)
    sources = {
        **settings(server).sources,
        "lv-ur": SourceSettings({"register.csv": f"{silent}/register.csv"}, deadline=1),
    }

    found = fetching.run(["lv-ur", "ee"], tmp_path / "raw", FetchSettings(sources=sources), now=NOW)

    assert [file.result for file in found] == ["refuse", "nouveau"]
    assert found[0].reason.startswith(
        "it had not come after 1 min (`deadline` in the configuration)"
    )


@pytest.mark.usefixtures("minute")
def test_files_of_a_source_that_is_given_up_are_not_asked_for(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.1))
    server.publish("/second.zip", ESTONIA)
    wanted = replace(settings(server, names=(EE, "second.zip")), slowest=1_000_000)

    first, second = fetching.run(["ee"], tmp_path / "raw", wanted, now=NOW)

    assert (first.result, second.result) == ("refuse", "refuse")
    assert second.reason == "it was not asked for: its source is given up for this night"
    assert len(server.asked) == 1


def test_headers_that_never_end_are_given_up(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte a moment is no silence."""
    monkeypatch.setattr(client, "_STEPS", 1)
    monkeypatch.setattr("shards.mirror.download.TRIES", 1)

    async def dribble(request: web.Request, __: bytes) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(200):
            request.transport.write(b"x")
            await asyncio.sleep(0.05)
        return web.Response()

    server.publish(f"/{EE}", ESTONIA, dribble)

    found = one(tmp_path, replace(settings(server), silence=0.5))

    assert found.result == "refuse"
    assert found.reason.startswith(f"{server.url}/{EE} says nothing any more; see to the source")


@pytest.mark.usefixtures("minute")
def test_a_deadline_at_the_top_publishes_what_is_there(
    tmp_path: Path, both: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, both, "deadline = 20", "slowest = 0")
    with ways.serving() as other:
        other.publish(f"/{EE}", ESTONIA, ways.slow(1))
        text = config.read_text()
        config.write_text(text.replace(f"{both.url}/{EE}", f"{other.url}/{EE}"))
        assert run(config) == 0
    config.write_text(text)

    assert results(config) == {"ee": "absent", "ie-cro": "nouveau"}
    assert published(config) == {"IE": 1}
    assert "it had not come after 20 min (`deadline`" in capsys.readouterr().err
    assert run(config) == 0

    assert published(config) == {"EE": 2_665, "IE": 1}


def test_a_log_has_a_line_of_progress_a_minute(
    tmp_path: Path,
    both: RegisterServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "_EVERY_SECONDS", 0.05)
    config = configured(tmp_path, both)
    both.publish(f"/{EE}", ESTONIA, ways.slow(0.02))

    assert run(config) == 0

    lines = capsys.readouterr().err.splitlines()
    assert any(re.fullmatch(r"pipeline: fetch: \d+ s, 0\.\d MB have come", line) for line in lines)
    stages = {line.split(":")[1].strip() for line in lines}
    assert {"fetch", "build"} <= stages, lines
