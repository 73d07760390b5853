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
    """A folder with an empty store."""
    LmdbStore(tmp_path).close()
    return tmp_path


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Four processes that run the functions below."""
    with ProcessPoolExecutor(PROCESSES, mp_context=SPAWN) as executor:
        yield executor


@pytest.fixture(params=("lmdb", *KINDS))
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty store is: a folder, or the URL of a server."""
    if request.param == "lmdb":
        yield str(tmp_path)
        return
    with running(request.param) as server:
        yield server.url


def _open_store(store_address: str) -> LmdbStore | RedisStore:
    """Open the store at an address, and create it if there is none."""
    return (
        RedisStore(store_address, create=True)
        if store_address.startswith("redis:")
        else LmdbStore(Path(store_address))
    )


def _take_calls(store_address: str, count: int, limit: int) -> int:
    """Take `count` calls with a daily limit; returns how many are granted."""
    store = _open_store(store_address)
    futures = [store.take("a_", limit, NOON) for _ in range(count)]
    granted = sum(future.result().granted for future in futures)
    store.close()
    return granted


def test_four_processes_grant_exactly_the_limit(
    store_address: str, pool: ProcessPoolExecutor
) -> None:
    """D6, R5: each of the four processes asks for 300 calls, together 1 200, of a limit of 500"""
    granted = list(
        pool.map(_take_calls, [store_address] * PROCESSES, [300] * PROCESSES, [500] * PROCESSES)
    )

    assert sum(granted) == 500


def _read_companies(store_address: str) -> Counter[str]:
    """Read 60 companies four times each with 250 credits; returns the number of each outcome."""
    store = _open_store(store_address)
    futures = [
        store.take_and_charge(Purchase("a_", 10_000, f"EE/{number % 60}", 5, 250), NOON)
        for number in range(240)
    ]
    charges = [future.result()[1] for future in futures]
    store.close()
    return Counter(charge.outcome for charge in charges if charge)


def test_four_processes_charge_exactly_the_companies_that_fit(
    store_address: str, pool: ProcessPoolExecutor
) -> None:
    """D9, R7: 250 credits are 50 companies, each charged once by all processes together"""
    outcomes = sum(pool.map(_read_companies, [store_address] * PROCESSES), Counter[str]())

    assert outcomes["charged"] == 50
    # Four processes read each company four times: 16 reads of 50 companies and of 10 that do not fit.
    assert outcomes["already"] == 16 * 50 - 50
    assert outcomes["refused"] == 16 * 10


def _read_one_company(store_address: str) -> Counter[str]:
    """Read a company 250 times; returns the number of each outcome."""
    store = _open_store(store_address)
    futures = [
        store.take_and_charge(Purchase("a_", 10_000, "EE/10000018", 5, 250), NOON)
        for _ in range(250)
    ]
    charges = [future.result()[1] for future in futures]
    store.close()
    return Counter(charge.outcome for charge in charges if charge)


def test_a_thousand_reads_of_a_company_are_one_charge(
    store_address: str, pool: ProcessPoolExecutor
) -> None:
    """D9, R7"""
    outcomes = sum(pool.map(_read_one_company, [store_address] * PROCESSES), Counter[str]())

    assert outcomes == {"charged": 1, "already": 999}


def _export_all(store_address: str) -> int:
    """Export until the month's exports are used up; retry an export that is refused because others are running."""
    store = _open_store(store_address)
    exports_sent = 0
    while exports_sent <= 30:
        reservation = store.reserve("a_", 30, 2, timedelta(hours=1), NOON).result()
        if isinstance(reservation, Reservation):
            exports_sent += store.commit(reservation, NOON).result().granted
        elif reservation.reason == "quota":
            break
    store.close()
    return exports_sent


def test_four_processes_send_no_export_too_many(
    store_address: str, pool: ProcessPoolExecutor
) -> None:
    """F5: the plan allows 30 exports a month"""
    exports_sent = sum(pool.map(_export_all, [store_address] * PROCESSES))
    store = _open_store(store_address)
    used = store.usage("a_", PLANS["data"], NOON).result().exports.used
    store.close()

    assert exports_sent == used == 30


def test_a_key_revoked_by_another_process_is_refused_at_the_next_call(
    folder: Path, pool: ProcessPoolExecutor
) -> None:
    """A4: the store looks up the key at every call, so it needs no message from the other process"""
    store = LmdbStore(folder)
    account = create_account(store, "free", PLANS, NOON).result()
    key, text = create_key(store, account.id, PLANS, NOON).result()
    assert store.identify(text).result() == account

    pool.submit(_revoke, folder, key.id).result()

    assert store.identify(text).result() is None
    store.close()


def _revoke(folder: Path, key_id: str) -> None:
    """Revoke a key in the store of `folder`; the test calls this in another process."""
    store = LmdbStore(folder)
    store.submit(account_rows.revoke_key, key_id, iso(NOON)).result()
    store.close()


def _acknowledge(folder: Path) -> None:
    """Take 20 calls at a time and write a byte for each granted call, until the test kills this process."""
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
        with _start_python(code, folder) as process:
            assert process.stdout
            process.stdout.read(1)
            time.sleep(0.05)
            process.kill()
            acknowledged += 1 + len(process.stdout.read())
        store = LmdbStore(folder)
        used = store.usage("a_", PLANS["data"], NOON).result().calls.used
        store.close()

        # The process sends 20 calls at a time, so at most 20 were counted but not acknowledged when it died.
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
    # One process stays alive: the reader table is deleted with the last user of the file.
    alive, *killed = readers = [_start_python(code, folder) for _ in range(4)]
    for process in readers:
        assert process.stdout
        assert process.stdout.readline() == b"reading\n"
    for process in killed:
        process.kill()
        process.wait()

    store = LmdbStore(folder)
    reader_table = store._file._open_environment().readers()
    store.close()

    for process in readers:
        process.kill()
        process.communicate()
    pids = {int(row.split()[0]) for row in reader_table.splitlines()[1:]}
    assert alive.pid in pids
    assert not pids & {process.pid for process in killed}


def _start_python(code: str, folder: Path) -> "subprocess.Popen[bytes]":
    """A process that runs `code` with the folder as its argument."""
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
