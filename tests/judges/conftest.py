"""A server of the bundled excerpts, started as a user would start it."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

from serve.app import PRODUCT
from serve.config import PREFIX, BurstLimits
from serve.surfaces.docs import document
from tests import ROOT
from tests.judges.npm import folder
from tests.serve.processes import ask, eventually, line_of, started

# Programs of users and of judges, run by other interpreters: not to be imported for doctests.
collect_ignore = [
    "openapi/use_client.py", "openapi/hooks.py", "mcp/use_python.py", "mcp/parse_llms.py",
]  # fmt: skip
# Without the packages of `.ci/judges` the helpers cannot be imported either.
collect_ignore_glob = [] if find_spec("schemathesis") else ["openapi/*"]

# Judges exceed the burst limits of callers.
UNLIMITED = {f"{PREFIX}DEBIT_{limit.name.upper()}": "1000000" for limit in fields(BurstLimits)}


@dataclass(frozen=True)
class Live:
    """A server process that creates a key per plan on demand."""

    address: str
    state: Path

    @property
    def generation(self) -> str:
        """The served generation."""
        assert eventually(lambda: ask(self.address, "/readyz")[0] == 200)
        return str(orjson.loads(ask(self.address, "/readyz")[1])["generation"])

    @cache  # noqa: B019 - one per session
    def key(self, plan: str, *options: str) -> str:
        """A key of a new account of that plan."""
        account = self._quota("account", "create", "--plan", plan, *options)["account"]
        return str(self._quota("key", "create", account)["key"])

    def _quota(self, *arguments: str) -> dict[str, str]:
        command = [sys.executable, "-m", "quota", "--state", str(self.state), *arguments, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        found: dict[str, str] = orjson.loads(done.stdout)
        return found


@pytest.fixture(scope="session")
def live(demo_data: Path) -> Iterator[Live]:
    state = demo_data.with_name("state")
    with started(demo_data, environment=UNLIMITED) as process:
        yield Live(line_of(process), state)


@pytest.fixture(scope="session")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole document of the API, as a file."""
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_bytes(orjson.dumps(document.document(PRODUCT)))
    return path


@pytest.fixture(scope="session")
def node() -> Path:
    """The Node 24 that `.ci/judges` installs."""
    return folder() / "bin" / "node"
