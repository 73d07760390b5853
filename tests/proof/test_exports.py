"""Exports on a full disk and on a killed server: they are not counted, and leave no file."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path

import pytest

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from tests import world
from tests.proof.tools import WAIT_S, mount_disk
from tests.quota.filling import create_account, create_key
from tests.serve.processes import ask, children, eventually, read_line, server_process, stop

pytestmark = pytest.mark.slow

PATH = "/api/v1/export"
PLANS = load()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The DATA folder of 4000 companies with random texts, which cannot be compressed."""
    folder = tmp_path_factory.mktemp("served") / "data"
    companies = [world.company("EE", str(i), os.urandom(60).hex(), ville=os.urandom(60).hex())
             for i in range(4_000)]  # fmt: skip
    world.publish(folder, companies)
    return folder


@contextmanager
def account(state: Path) -> Iterator[tuple[LmdbStore, str, dict[str, str]]]:
    """A second handle of the server's store, the id of a new account, and a header with its key."""
    store, now = LmdbStore(state), datetime.now(UTC)
    new_account = create_account(store, "integral", PLANS, now).result()
    key = create_key(store, new_account.id, PLANS, now).result()[1]
    yield store, new_account.id, {"Authorization": f"Bearer {key}"}
    store.close()


def count_exports(store: LmdbStore, account_id: str) -> int:
    """The number of exports that are counted for an account."""
    return store.usage(account_id, PLANS["integral"], datetime.now(UTC)).result().exports.used


def test_an_export_on_a_full_disk_costs_nothing_and_succeeds_once_there_is_space(
    data: Path, tmp_path: Path
) -> None:
    """G9, F5: the workbook has some hundred kilobytes, its temporary files have megabytes"""
    spool = tmp_path / "spool"
    state = data.with_name("state")
    spool.mkdir()
    with (
        mount_disk(spool, "512k"),
        server_process(data, "--spool", str(spool)) as process,
        account(state) as (store, account_id, key),
    ):
        address = read_line(process)
        for _ in range(3):
            status, body = ask(address, PATH, key)
            assert (status, b'"indisponible"' in body) == (503, True)
            assert count_exports(store, account_id) == 0
            assert not [path for path in spool.rglob("*") if path.is_file()]
        assert ask(address, "/api/v1/societes")[0] == 200

        subprocess.run(["mount", "-o", "remount,size=64m", str(spool)], check=True, timeout=WAIT_S)
        status, body = ask(address, PATH, key)
        assert (status, body[:2]) == (200, b"PK")
        assert count_exports(store, account_id) == 1
        assert not [path for path in spool.rglob("*") if path.is_file()]
        stop(process)
        assert list(spool.iterdir()) == []


def test_workers_end_with_a_killed_server_and_the_next_server_cleans_up(
    data: Path, tmp_path: Path
) -> None:
    """F5, F6: the worker of an export is stopped, so it is running when the server is killed"""
    spool = tmp_path / "spool"
    flags = ("--spool", str(spool))
    with account(data.with_name("state")) as (store, account_id, key):
        with server_process(data, *flags) as process:
            address = read_line(process)
            assert ask(address, f"{PATH}?limit=1", key)[0] == 200
            (server_worker,) = children(process.pid)
            (export_worker,) = spawned_processes(server_worker)
            os.kill(export_worker, signal.SIGSTOP)
            thread = threading.Thread(target=_ask_ignoring_errors, args=(address, key))
            thread.start()
            assert eventually(lambda: count_exports(store, account_id) == 2)
            process.kill()
            with suppress(ProcessLookupError):  # it has ended without its parent
                os.kill(server_worker, signal.SIGKILL)
            process.wait()
            thread.join()
            os.kill(export_worker, signal.SIGCONT)
            assert eventually(lambda: not Path(f"/proc/{export_worker}").exists())
        with server_process(data, *flags) as process:
            address = read_line(process)
            assert eventually(lambda: len(list(spool.iterdir())) == 1)
            assert not [path for path in spool.rglob("*") if path.is_file()]
            # The reservation of the killed server is given back, so only the first export is counted.
            assert eventually(lambda: count_exports(store, account_id) == 1)
            assert ask(address, f"{PATH}?limit=1", key)[0] == 200
            assert count_exports(store, account_id) == 2
            stop(process)


def spawned_processes(server: int) -> set[int]:
    """The ids of the processes that the threads of a server have spawned."""
    tasks = Path(f"/proc/{server}/task").iterdir()
    return {pid for task in tasks for pid in children(server, int(task.name))}


def _ask_ignoring_errors(address: str, key: dict[str, str]) -> None:
    """Request an export; the server is killed meanwhile."""
    with suppress(HTTPException, OSError):
        ask(address, PATH, key)
