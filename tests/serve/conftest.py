"""One server for all tests that change nothing."""

from collections.abc import Iterator
from pathlib import Path

import argon2
import pytest
from playwright.sync_api import Browser

from quota import credentials
from serve.generation import open_generation
from serve.generation.open_generation import OpenGeneration
from tests.serve import world
from tests.serve.client import Customer, Served, serving
from tests.serve.surfaces.site import browser as browsers


@pytest.fixture(scope="package", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Hashes of passwords for a hundredth of the work, since hundreds of members log in."""
    cheap = argon2.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credentials, "HASHER", cheap)
        yield


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the world is published."""
    folder = tmp_path_factory.mktemp("data")
    world.publish(folder)
    return folder


@pytest.fixture(scope="module")
def data_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for one more server: LMDB opens no file twice in one process."""
    folder = tmp_path_factory.mktemp("own") / "data"
    folder.mkdir()
    world.publish(folder)
    return folder


@pytest.fixture(scope="session")
def served(data: Path) -> Iterator[Served]:
    with serving(data) as server:
        yield server


@pytest.fixture(scope="module")
def customer(served: Served) -> Customer:
    """A caller who has every module, and sees every company of the world on one page."""
    return served.customer("integral")


@pytest.fixture(scope="session")
def open_edition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenGeneration]:
    """The world's generation, for routes that are called without a socket.

    Published once more, because LMDB opens no file twice in one process.
    """
    folder = tmp_path_factory.mktemp("edition")
    opened = open_generation.load(folder, world.publish(folder))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a module."""
    with browsers.browser() as started:
        yield started
