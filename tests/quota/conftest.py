"""A command line on a STATE folder of the test, and an account in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quota.redis import connection
from tests.quota.command import Capture, Command


@pytest.fixture(scope="session", autouse=True)
def patient_connections() -> Iterator[None]:
    """Connections that wait a minute for Redis: a machine that stands still for 2 s is no fault of the server."""
    with pytest.MonkeyPatch.context() as patch:
        for bound in ("CONNECT_S", "ANSWER_S", "WHOLE_REPLY_S"):
            patch.setattr(connection, bound, 60.0)
        yield


@pytest.fixture
def quota(tmp_path: Path, capsys: Capture) -> Command:
    """The command line on an empty STATE folder of the test."""
    return Command(tmp_path / "état", capsys)


@pytest.fixture
def account(quota: Command) -> str:
    """The id of an account with the plan data and the API tool, created by the command line."""
    name: str = quota.json("account", "create", "--plan", "data", "--api-tool")["account"]
    return name
