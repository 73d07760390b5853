"""Exports on a full disk and on a killed server: none is counted, and no file remains."""

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
from tests.proof.tools import WAIT_S, small
from tests.quota.filling import create_account, create_key
from tests.serve.processes import ask, children, eventually, line_of, started, stop

pytestmark = pytest.mark.slow

PATH = "/api/v1/export"
PLANS = load()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "data"
    found = [world.company("EE", str(i), os.urandom(60).hex(), ville=os.urandom(60).hex())
             for i in range(4_000)]  # fmt: skip
    world.publish(folder, found)
    return folder


@contextmanager
def account(state: Path) -> Iterator[tuple[LmdbStore, str, dict[str, str]]]:
    """A store opened beside the server's, the id of an account in it, and a header with its key."""
    store, now = LmdbStore(state), datetime.now(UTC)
    made = create_account(store, "integral", PLANS, now).result()
    key = create_key(store, made.id, PLANS, now).result()[1]
    yield store, made.id, {"Authorization": f"Bearer {key}"}
    store.close()


def used(store: LmdbStore, name: str) -> int:
    return store.usage(name, PLANS["integral"], datetime.now(UTC)).result().exports.used


def test_a_full_disk_costs_nothing_and_room_cures_it(data: Path, tmp_path: Path) -> None:
    """G9, F5: the workbook has some hundred kilobytes; its temporary files take megabytes"""
    folder = tmp_path / "spool"
    state = data.with_name("state")
    folder.mkdir()
    with (
        small(folder, "512k"),
        started(data, "--spool", str(folder)) as process,
        account(state) as (store, name, key),
    ):
        address = line_of(process)
        for _ in range(3):
            status, body = ask(address, PATH, key)
            assert (status, b'"indisponible"' in body) == (503, True)
            assert used(store, name) == 0
            assert not [path for path in folder.rglob("*") if path.is_file()]
        assert ask(address, "/api/v1/societes")[0] == 200

        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True, timeout=WAIT_S)
        status, body = ask(address, PATH, key)
        assert (status, body[:2]) == (200, b"PK")
        assert used(store, name) == 1
        assert not [path for path in folder.rglob("*") if path.is_file()]
        stop(process)
        assert list(folder.iterdir()) == []


def test_a_killed_server_takes_its_workers_along_and_the_next_one_clears_up(
    data: Path, tmp_path: Path
) -> None:
    """F5, F6"""
    folder = tmp_path / "spool"
    flags = ("--spool", str(folder))
    with account(data.with_name("state")) as (store, name, key):
        with started(data, *flags) as process:
            address = line_of(process)
            assert ask(address, f"{PATH}?limit=1", key)[0] == 200
            (serving,) = children(process.pid)
            (worker,) = workers(serving)
            os.kill(worker, signal.SIGSTOP)
            thread = threading.Thread(target=_ask_ignoring_errors, args=(address, key))
            thread.start()
            assert eventually(lambda: used(store, name) == 2)
            process.kill()
            os.kill(serving, signal.SIGKILL)
            process.wait()
            thread.join()
            os.kill(worker, signal.SIGCONT)
            assert eventually(lambda: not Path(f"/proc/{worker}").exists())
        with started(data, *flags) as process:
            address = line_of(process)
            assert eventually(lambda: len(list(folder.iterdir())) == 1)
            assert not [path for path in folder.rglob("*") if path.is_file()]
            # The reservation of the killed server is given back: only the first export is counted.
            assert eventually(lambda: used(store, name) == 1)
            assert ask(address, f"{PATH}?limit=1", key)[0] == 200
            assert used(store, name) == 2
            stop(process)


def workers(server: int) -> set[int]:
    """The processes that any thread of a server has spawned."""
    tasks = Path(f"/proc/{server}/task").iterdir()
    return {pid for task in tasks for pid in children(server, int(task.name))}


def _ask_ignoring_errors(address: str, key: dict[str, str]) -> None:
    with suppress(HTTPException, OSError):
        ask(address, PATH, key)
