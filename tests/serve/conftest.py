"""Fixtures of the HTTP tests. All tests that change nothing share one server."""

from collections.abc import Iterator
from pathlib import Path

import argon2
import pytest
from playwright.sync_api import Browser

from quota import credentials
from serve.generation import open_generation
from serve.generation.open_generation import OpenGeneration
from tests.serve import world
from tests.serve.client import Customer, Server, run_server
from tests.serve.surfaces.site import browser as browsers


@pytest.fixture(scope="package", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Hash passwords with a hundredth of the work, because hundreds of members log in during the tests."""
    cheap = argon2.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credentials, "HASHER", cheap)
        yield


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a published generation of the test data."""
    folder = tmp_path_factory.mktemp("data")
    world.publish(folder)
    return folder


@pytest.fixture(scope="module")
def separate_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second folder with the test data, for another server: LMDB cannot open a file twice in a process."""
    folder = tmp_path_factory.mktemp("own") / "data"
    folder.mkdir()
    world.publish(folder)
    return folder


@pytest.fixture(scope="session")
def server(data: Path) -> Iterator[Server]:
    """A server of the test data. No test reaches its burst limits."""
    with run_server(data) as server:
        yield server


@pytest.fixture(scope="module")
def customer(server: Server) -> Customer:
    """A customer who has every module, and sees all companies of the test data on one page."""
    return server.customer("integral")


@pytest.fixture(scope="session")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenGeneration]:
    """An open generation of the test data, for routes that are called without a socket.

    The test data are published again, because LMDB cannot open a file twice in a process.
    """
    folder = tmp_path_factory.mktemp("edition")
    opened = open_generation.load(folder, world.publish(folder))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for all tests of a module."""
    with browsers.browser() as browser:
        yield browser
