"""Several processes on one store: exact limits, also if one of them is killed."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from quota.ledger import account_rows
from quota.ledger.calls import Purchase
from quota.ledger.exports import Reservation
from quota.periods import iso
from quota.redis.store import RedisStore
from quota.store.lmdb_store import FILE, LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import KINDS, running
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


@pytest.fixture(params=("lmdb", *KINDS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place of an empty store: a folder, or the address of a server."""
    if request.param == "lmdb":
        yield str(tmp_path)
        return
    with running(request.param) as server:
        yield server.url


def _open(place: str) -> LmdbStore | RedisStore:
    return RedisStore(place, create=True) if place.startswith("redis:") else LmdbStore(Path(place))


def _take(place: str, count: int, limit: int) -> int:
    store = _open(place)
    futures = [store.take("a_", limit, NOON) for _ in range(count)]
    granted = sum(future.result().granted for future in futures)
    store.close()
    return granted


def test_four_processes_grant_exactly_the_limit(place: str, pool: ProcessPoolExecutor) -> None:
    """D6, R5"""
    granted = list(pool.map(_take, [place] * PROCESSES, [300] * PROCESSES, [500] * PROCESSES))

    assert sum(granted) == 500


def _read_companies(place: str) -> Counter[str]:
    store = _open(place)
    futures = [
        store.take_and_charge(Purchase("a_", 10_000, f"EE/{number % 60}", 5, 250), NOON)
        for number in range(240)
    ]
    charges = [future.result()[1] for future in futures]
    store.close()
    return Counter(charge.outcome for charge in charges if charge)


def test_four_processes_charge_exactly_the_companies_that_fit(
    place: str, pool: ProcessPoolExecutor
) -> None:
    """D9, R7: 250 credits are 50 companies, each charged once by all processes together"""
    outcomes = sum(pool.map(_read_companies, [place] * PROCESSES), Counter[str]())

    assert outcomes["charged"] == 50
    assert outcomes["already"] == 16 * 50 - 50
    assert outcomes["refused"] == 16 * 10


def _read_one_company(place: str) -> Counter[str]:
    store = _open(place)
    futures = [
        store.take_and_charge(Purchase("a_", 10_000, "EE/10000018", 5, 250), NOON)
        for _ in range(250)
    ]
    charges = [future.result()[1] for future in futures]
    store.close()
    return Counter(charge.outcome for charge in charges if charge)


def test_a_thousand_reads_of_a_company_are_one_charge(
    place: str, pool: ProcessPoolExecutor
) -> None:
    """D9, R7"""
    outcomes = sum(pool.map(_read_one_company, [place] * PROCESSES), Counter[str]())

    assert outcomes == {"charged": 1, "already": 999}


def _export(place: str) -> int:
    """Export until the month's are used up: an export refused beside others is asked again."""
    store = _open(place)
    sent = 0
    while sent <= 30:
        held = store.reserve("a_", 30, 2, timedelta(hours=1), NOON).result()
        if isinstance(held, Reservation):
            sent += store.commit(held, NOON).result().granted
        elif held.reason == "quota":
            break
    store.close()
    return sent


def test_four_processes_send_no_export_too_many(place: str, pool: ProcessPoolExecutor) -> None:
    """F5"""
    sent = sum(pool.map(_export, [place] * PROCESSES))
    store = _open(place)
    used = store.usage("a_", PLANS["data"], NOON).result().exports.used
    store.close()

    assert sent == used == 30


def test_a_key_revoked_elsewhere_is_nobody_at_the_next_look(
    folder: Path, pool: ProcessPoolExecutor
) -> None:
    """A4"""
    store = LmdbStore(folder)
    account = create_account(store, "free", PLANS, NOON).result()
    key, text = create_key(store, account.id, PLANS, NOON).result()
    assert store.identify(text).result() == account

    pool.submit(_revoke, folder, key.id).result()

    assert store.identify(text).result() is None
    store.close()


def _revoke(folder: Path, key_id: str) -> None:
    store = LmdbStore(folder)
    store.submit(account_rows.revoke_key, key_id, iso(NOON)).result()
    store.close()


def _acknowledge(folder: Path) -> None:
    """Write a byte for each granted call, until the test kills this process."""
    store = LmdbStore(folder)
    while True:
        for future in [store.take("a_", 10**9, NOON) for _ in range(20)]:
            future.result()
            os.write(1, b".")


def test_a_killed_process_loses_nothing_that_it_acknowledged(folder: Path) -> None:
    """R2: at most the operations under way are counted without being acknowledged"""
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.quota.store.test_processes import _acknowledge\n"
        "_acknowledge(Path(sys.argv[1]))\n"
    )
    acknowledged = 0
    for _ in range(3):
        with _python(code, folder) as process:
            assert process.stdout
            process.stdout.read(1)
            time.sleep(0.05)
            process.kill()
            acknowledged += 1 + len(process.stdout.read())
        store = LmdbStore(folder)
        used = store.usage("a_", PLANS["data"], NOON).result().calls.used
        store.close()

        assert acknowledged <= used <= acknowledged + 20
        acknowledged = used


def test_reader_slots_of_killed_processes_are_freed(folder: Path) -> None:
    """LMDB's table of readers is shared; a full one would stop every process"""
    LmdbStore(folder).close()
    code = (
        "import lmdb, sys, time\n"
        f"env = lmdb.open(sys.argv[1] + '/{FILE}', subdir=False, max_readers=1024)\n"
        "txn = env.begin()\n"
        "print('reading', flush=True)\n"
        "time.sleep(60)\n"
    )
    # One process lives: with the last user of the file its reader table would go, too.
    alive, *killed = readers = [_python(code, folder) for _ in range(4)]
    for process in readers:
        assert process.stdout
        assert process.stdout.readline() == b"reading\n"
    for process in killed:
        process.kill()
        process.wait()

    store = LmdbStore(folder)
    table = store._file._open_environment().readers()
    store.close()

    for process in readers:
        process.kill()
        process.communicate()
    assert str(alive.pid) in table
    assert not any(str(process.pid) in table for process in killed)


def _python(code: str, folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
