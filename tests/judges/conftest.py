"""A server of the bundled excerpts, started as a user starts it."""

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
from tests.judges.npm import node_folder
from tests.serve.processes import ask, eventually, read_line, server_process

# Programs that other interpreters run, so they must not be imported for doctests.
collect_ignore = [
    "openapi/use_client.py", "openapi/hooks.py", "mcp/use_python.py", "mcp/parse_llms.py",
]  # fmt: skip
# The helpers import packages that only `.ci/judges` installs.
collect_ignore_glob = [] if find_spec("schemathesis") else ["openapi/*"]

# Judges exceed the burst limits of callers.
UNLIMITED = {f"{PREFIX}DEBIT_{limit.name.upper()}": "1000000" for limit in fields(BurstLimits)}


@dataclass(frozen=True)
class Live:
    """A running server of the excerpts, and its STATE; `key` creates a key of a plan."""

    address: str
    state: Path

    @property
    def generation(self) -> str:
        """The served generation."""
        assert eventually(lambda: ask(self.address, "/readyz")[0] == 200)
        return str(orjson.loads(ask(self.address, "/readyz")[1])["generation"])

    @cache  # noqa: B019 - one object per session
    def key(self, plan: str, *options: str) -> str:
        """Create a key of a new account of this plan; the same arguments return the same key."""
        account = self._quota("account", "create", "--plan", plan, *options)["account"]
        return str(self._quota("key", "create", account)["key"])

    def _quota(self, *arguments: str) -> dict[str, str]:
        """Run a command of `quota` for the STATE of the server; return its JSON."""
        command = [sys.executable, "-m", "quota", "--state", str(self.state), *arguments, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        answer: dict[str, str] = orjson.loads(done.stdout)
        return answer


@pytest.fixture(scope="session")
def live(demo_data: Path) -> Iterator[Live]:
    """A server of the excerpts, for all judges of a run."""
    state = demo_data.with_name("state")
    with server_process(demo_data, environment=UNLIMITED) as process:
        yield Live(read_line(process), state)


@pytest.fixture(scope="session")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The complete OpenAPI document, as a file."""
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_bytes(orjson.dumps(document.document(PRODUCT)))
    return path


@pytest.fixture(scope="session")
def node() -> Path:
    """The Node 24 that `.ci/judges` installs."""
    return node_folder() / "bin" / "node"
