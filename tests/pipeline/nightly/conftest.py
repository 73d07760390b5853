"""The fixtures of nights: a server of registers, and the state that a first night leaves."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE_NAME, EE_ZIP
from tests.pipeline.nightly.test_nightly import IE_NAME, IE_ZIP, run_night, write_config


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a download try twice, with a millisecond between the attempts, and no line of progress before an hour."""
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.001)
    monkeypatch.setattr("shards.mirror.download.TRIES", 2)
    monkeypatch.setattr("pipeline.nightly.command._SECONDS_BETWEEN_LINES", 3_600)


@pytest.fixture(scope="session")
def session_server() -> Iterator[RegisterServer]:
    """One server for all tests: receipts of fetches name its port, so the port must stay the same."""
    with responders.running_server() as server:
        yield server


@pytest.fixture
def server(session_server: RegisterServer) -> RegisterServer:
    """A server that publishes the files of two registers and has no requests recorded."""
    return _publish_two_registers(session_server)


@pytest.fixture(scope="session")
def first_night(session_server: RegisterServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a first night left, which no test changes."""
    folder = tmp_path_factory.mktemp("night")
    assert run_night(write_config(folder, _publish_two_registers(session_server))) == 0
    return folder


@pytest.fixture
def config_of_first_night(first_night: Path, server: RegisterServer, tmp_path: Path) -> Path:
    """The configuration in `tmp_path`, which is a copy of the folder that a first night left."""
    shutil.copytree(first_night, tmp_path, dirs_exist_ok=True, symlinks=True)
    return write_config(tmp_path, server)


def _publish_two_registers(server: RegisterServer) -> RegisterServer:
    """Forget requests and files, then publish the files of Estonia and Ireland."""
    for collection in (server.files, server.responders, server.requests):
        collection.clear()
    server.publish(f"/{EE_NAME}", EE_ZIP)
    server.publish(f"/{IE_NAME}", IE_ZIP)
    return server
