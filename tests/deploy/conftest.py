"""A host with a server, installed by INSTALL.md, for the tests of a file."""

from collections.abc import Iterator

import pytest

from seeds import VERSION
from tests.deploy import host as hosts
from tests.deploy.host import Host
from tests.wheels import built_wheel, make_once


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A booted host with an empty root, and the files that INSTALL.md requires."""
    with hosts.boot(tmp_path_factory.mktemp("root")) as host:
        packages = make_once(tmp_path_factory, "packages", hosts.fetch_packages)
        hosts.copy_install_files(host, built_wheel(tmp_path_factory), packages)
        yield host


@pytest.fixture(scope="module")
def installed(host: Host) -> Host:
    """The host with the users, the program and the server."""
    for heading in ("Users and folders", "The program", "The server"):
        for block in hosts.shell_blocks("INSTALL.md", heading):
            host.run(f"VERSION={VERSION}\n{block}", seconds=600)
    return host
