"""A host on which INSTALL.md was followed up to its server, for the tests of a file."""

from collections.abc import Iterator

import pytest

from seeds import VERSION
from tests.deploy import host as hosts
from tests.deploy.host import Host
from tests.wheels import built_wheel, made_once


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A booted host with an empty root, and in it what INSTALL.md wants to be brought."""
    with hosts.booted(tmp_path_factory.mktemp("root")) as booted:
        packages = made_once(tmp_path_factory, "packages", hosts.fetch_packages)
        hosts.supply(booted, built_wheel(tmp_path_factory), packages)
        yield booted


@pytest.fixture(scope="module")
def installed(host: Host) -> Host:
    """The host, once the users, the program and the server are there."""
    for heading in ("Users and folders", "The program", "The server"):
        for block in hosts.blocks("INSTALL.md", heading):
            host.run(f"VERSION={VERSION}\n{block}", seconds=600)
    return host
