"""A command line on a STATE folder of the test, and an account in it."""

from pathlib import Path

import pytest

from tests.quota.command import Capture, Command


@pytest.fixture
def quota(tmp_path: Path, capsys: Capture) -> Command:
    """The command line on an empty STATE folder of the test."""
    return Command(tmp_path / "état", capsys)


@pytest.fixture
def account(quota: Command) -> str:
    """The id of an account with the plan data and the API tool, created by the command line."""
    name: str = quota.json("account", "create", "--plan", "data", "--api-tool")["account"]
    return name
