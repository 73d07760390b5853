"""Several processes on one folder: they agree exactly; one that is killed takes nothing along."""

import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from quota.environment import FILE
from quota.lmdb_store import LmdbStore
from quota.results import Reservation
from tests.quota.small import NOON, PLANS

SPAWN = multiprocessing.get_context("spawn")
PROCESSES = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    LmdbStore(tmp_path).close()
    return tmp_path


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(PROCESSES, mp_context=SPAWN) as executor:
        yield executor


def _take(folder: Path, count: int, limit: int) -> int:
    store = LmdbStore(folder)
    promises = [store.take("a_", limit, NOON) for _ in range(count)]
    granted = sum(promise.result().granted for promise in promises)
    store.close()
    return granted


def test_four_processes_grant_exactly_the_limit(folder: Path, pool: ProcessPoolExecutor) -> None:
    """D6, R5"""
    granted = list(pool.map(_take, [folder] * PROCESSES, [300] * PROCESSES, [500] * PROCESSES))

    assert sum(granted) == 500


def _read_companies(folder: Path) -> Counter[str]:
    store = LmdbStore(folder)
    promises = [
        store.take_and_charge("a_", 10_000, f"EE/{number % 60}", 5, 250, NOON)
        for number in range(240)
    ]
    charges = [promise.result()[1] for promise in promises]
    store.close()
    return Counter(charge.outcome for charge in charges if charge)


def test_four_processes_charge_exactly_the_companies_that_fit(
    folder: Path, pool: ProcessPoolExecutor
) -> None:
    """D9, R7: 250 credits are 50 companies, each of them once, whoever asks and how often"""
    outcomes = sum(pool.map(_read_companies, [folder] * PROCESSES), Counter[str]())

    assert outcomes["charged"] == 50
    assert outcomes["already"] == 16 * 50 - 50
    assert outcomes["refused"] == 16 * 10


def _export(folder: Path) -> int:
    store = LmdbStore(folder)
    sent = 0
    for _ in range(20):
        place = store.reserve("a_", 30, 2, timedelta(hours=1), NOON).result()
        if isinstance(place, Reservation):
            sent += store.commit(place, NOON).result().granted
    store.close()
    return sent


def test_four_processes_send_no_export_too_many(folder: Path, pool: ProcessPoolExecutor) -> None:
    """F5"""
    sent = sum(pool.map(_export, [folder] * PROCESSES))
    store = LmdbStore(folder)
    used = store.usage("a_", PLANS["data"], NOON).exports.used
    store.close()

    assert sent == used == 30


def test_a_key_revoked_elsewhere_is_nobody_at_the_next_look(
    folder: Path, pool: ProcessPoolExecutor
) -> None:
    """A4"""
    store = LmdbStore(folder)
    account = store.create_account("free", PLANS, NOON).result()
    key, text = store.create_key(account.id, PLANS, NOON).result()
    assert store.identify(text) == account

    pool.submit(_revoke, folder, key.id).result()

    assert store.identify(text) is None
    store.close()


def _revoke(folder: Path, key_id: str) -> None:
    store = LmdbStore(folder)
    store.revoke_key(key_id, NOON).result()
    store.close()


def _acknowledge(folder: Path, pipe: int) -> None:
    """Say, a byte each, that a call was granted, until somebody kills us."""
    store = LmdbStore(folder)
    while True:
        for promise in [store.take("a_", 10**9, NOON) for _ in range(20)]:
            promise.result()
            os.write(pipe, b".")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_process_loses_nothing_that_it_acknowledged(folder: Path) -> None:
    """R2: and what it did not acknowledge is at most one group"""
    acknowledged = 0
    for _ in range(3):
        read, write = os.pipe()
        os.set_inheritable(write, True)
        code = (
            "from pathlib import Path; from tests.quota.test_processes import _acknowledge; "
            f"_acknowledge(Path({str(folder)!r}), {write})"
        )
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", code],
            os.environ | {"PYTHONPATH": str(Path.cwd())},
        )
        os.close(write)
        os.read(read, 1)
        time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        acknowledged += 1
        while got := os.read(read, 1 << 16):
            acknowledged += len(got)
        os.close(read)
        store = LmdbStore(folder)
        used = store.usage("a_", PLANS["data"], NOON).calls.used
        store.close()

        assert acknowledged <= used <= acknowledged + 20
        acknowledged = used


def test_reader_slots_of_killed_processes_are_freed(folder: Path) -> None:
    """LMDB's table of readers is shared; a full one would stop every process"""
    code = (
        "import lmdb, sys, time; "
        f"env = lmdb.open({str(folder / FILE)!r}, subdir=False, max_readers=1024); "
        "txn = env.begin(); print('reading', flush=True); time.sleep(60)"
    )
    killed = [_spawn_reading(code) for _ in range(3)]
    for process in killed:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    store = LmdbStore(folder)
    readers = store._environment._opened().readers()
    store.close()

    assert not any(str(process) in readers for process in killed)


def _spawn_reading(code: str) -> int:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    assert os.read(read, 7) == b"reading"
    os.close(read)
    return process
