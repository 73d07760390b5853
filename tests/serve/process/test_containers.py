"""Several containers over one STATE: each counts its processes from 1, by which LMDB tells those of a file apart."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from tests.proof.tools import need
from tests.quota.filling import create_account, create_key
from tests.serve import world
from tests.serve.processes import ROOT, ask, eventually, line_of

pytestmark = pytest.mark.slow


@contextmanager
def container(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Python with these arguments as process 1 of a namespace of its own, killed at the end."""
    unshare = need("unshare", "util-linux")
    command = [unshare, "--fork", "--pid", "--mount-proc", "--kill-child"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no process can have a namespace of its own here: {tried.stderr}")
    with subprocess.Popen(
        [*command, sys.executable, *arguments],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    world.publish(tmp_path / "data")
    return tmp_path / "état"


def key_of(state: Path) -> dict[str, str]:
    store, now = LmdbStore(state), datetime.now(UTC)
    account = create_account(store, "integral", load(), now).result()
    text = create_key(store, account.id, load(), now).result()[1]
    store.close()
    return {"Authorization": f"Bearer {text}"}


def said_by(arguments: Sequence[str]) -> str:
    with container("-m", "quota", *arguments) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_servers_and_a_command_share_a_state_each_in_a_container(
    state: Path, tmp_path: Path, workers: str
) -> None:
    key = key_of(state)
    flags = ["--data", str(tmp_path / "data"), "--state", str(state), "--port", "0"]
    with (
        container("-m", "serve", *flags, "--workers", workers) as first,
        container("-m", "serve", *flags, "--workers", workers) as second,
    ):
        addresses = [line_of(first), line_of(second)]
        answers = [
            ask(address, "/api/v1/societes/FR/552100554", key)[0]
            for address in addresses
            for _ in range(6)
        ]
        ready = [
            eventually(lambda address=address: ask(address, "/readyz")[0] == 200)  # type: ignore[misc]
            for address in addresses
        ]
        accounts = said_by(["--state", str(state), "account", "list", "--json"])
        audit = said_by(["--state", str(state), "audit", "--json"])

    assert answers == [200] * 12
    assert ready == [True, True]
    assert len(orjson.loads(accounts)) == 1
    assert orjson.loads(audit)["charges"] == 1


def test_a_command_whose_number_another_container_has_runs_under_another(state: Path) -> None:
    """Process 1 of a container holds the store open; the command is process 1 of its own."""
    key_of(state)
    code = (
        "import pathlib, signal, sys; from quota.store.lmdb_store import LmdbStore;"
        "store = LmdbStore(pathlib.Path(sys.argv[1])); print('open', flush=True); signal.pause()"
    )
    with container("-c", code, str(state)) as process:
        assert line_of(process) == "open"
        out = said_by(["--state", str(state), "account", "list", "--json"])

    assert len(orjson.loads(out)) == 1
