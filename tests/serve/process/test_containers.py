"""Several containers share a STATE.

Each container numbers its processes from 1, and LMDB identifies processes by their numbers, so two may be confused.
"""

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
from tests.serve.processes import ROOT, ask, eventually, read_line

pytestmark = pytest.mark.slow


@contextmanager
def python_in_container(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run Python as process 1 of a new namespace; kill it at the end of the block."""
    unshare = need("unshare", "util-linux")
    command = [unshare, "--fork", "--pid", "--mount-proc", "--kill-child"]
    trial = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if trial.returncode:
        pytest.skip(f"this machine allows no new process namespace: {trial.stderr}")
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
    """A path for STATE, next to a folder `data` with a published generation of the test data."""
    world.publish(tmp_path / "data")
    return tmp_path / "état"


def make_key_header(state: Path) -> dict[str, str]:
    """Create an account in STATE; return the header with its key."""
    store, now = LmdbStore(state), datetime.now(UTC)
    account = create_account(store, "integral", load(), now).result()
    key = create_key(store, account.id, load(), now).result()[1]
    store.close()
    return {"Authorization": f"Bearer {key}"}


def run_quota(arguments: Sequence[str]) -> str:
    """The output of a `quota` command in a container of its own."""
    with python_in_container("-m", "quota", *arguments) as process:
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    return stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_servers_and_a_command_in_containers_share_a_state(
    state: Path, tmp_path: Path, workers: str
) -> None:
    """Each process is number 1 of its own process namespace, so their numbers are the same"""
    key = make_key_header(state)
    flags = ["--data", str(tmp_path / "data"), "--state", str(state), "--port", "0"]
    with (
        python_in_container("-m", "serve", *flags, "--workers", workers) as first_server,
        python_in_container("-m", "serve", *flags, "--workers", workers) as second_server,
    ):
        addresses = [read_line(first_server), read_line(second_server)]
        statuses = [
            ask(address, "/api/v1/societes/FR/552100554", key)[0]
            for address in addresses
            for _ in range(6)
        ]
        ready = [
            eventually(lambda address=address: ask(address, "/readyz")[0] == 200)  # type: ignore[misc]
            for address in addresses
        ]
        accounts = run_quota(["--state", str(state), "account", "list", "--json"])
        audit = run_quota(["--state", str(state), "audit", "--json"])

    assert statuses == [200] * 12
    assert ready == [True, True]
    assert len(orjson.loads(accounts)) == 1
    # The record was charged once, although both servers answered it six times.
    assert orjson.loads(audit)["charges"] == 1


def test_a_command_whose_process_number_is_taken_runs_under_another_number(state: Path) -> None:
    """Process 1 of a container has the store open; the command is process 1 of another container."""
    make_key_header(state)
    code = (
        "import pathlib, signal, sys; from quota.store.lmdb_store import LmdbStore;"
        "store = LmdbStore(pathlib.Path(sys.argv[1])); print('open', flush=True); signal.pause()"
    )
    with python_in_container("-c", code, str(state)) as process:
        assert read_line(process) == "open"
        accounts = run_quota(["--state", str(state), "account", "list", "--json"])

    assert len(orjson.loads(accounts)) == 1
