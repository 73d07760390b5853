"""A drill of backup and restore: a copy under load, a total loss, a restore, and an audit of every credit."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from quota.ledger import row_format
from quota.ledger.calls import Purchase
from quota.plans import load
from quota.redis.store import RedisStore
from quota.store.lmdb_store import FILE, LmdbStore
from tests import ROOT
from tests.proof.tools import WAIT_S, need
from tests.quota.filling import create_account, create_key
from tests.quota.servers import SYNCED, running
from tests.quota.small import NOON, PLANS
from tests.serve.processes import ask, children, eventually, is_alive, read_line, server_process
from tests.world import company, publish

pytestmark = pytest.mark.slow

COMPANIES: Final = 4_000
COST: Final = 5  # credits of a record
CALLERS: Final = 8
RESTORE_SECONDS: Final = 60.0  # the longest restore (R19)
# Settings that lift the limits by the minute.
HIGH_LIMITS: Final = {"SOCIETES_DEBIT_INTEGRAL": "1000000"}


@dataclass
class ChargedRecords:
    """The charged records of a load, by identifier of the company.

    Attributes:
        requests: the time of each request, answered or not.
        answers: the time of each answer with a charge.
    """

    requests: dict[str, float] = field(default_factory=dict)
    answers: dict[str, float] = field(default_factory=dict)

    def answered_before(self, moment: float) -> set[str]:
        """The companies whose charge was answered before a moment."""
        return {name for name, answer_time in self.answers.items() if answer_time < moment}

    def requested_before(self, moment: float) -> set[str]:
        """The companies whose record was requested before a moment."""
        return {name for name, request_time in self.requests.items() if request_time < moment}


def test_charges_before_a_backup_are_restored_after_a_total_loss(tmp_path: Path) -> None:
    """R19: the copy is made while records are charged; the rest of STATE is lost"""
    data, state, copy_file = tmp_path / "data", tmp_path / "state", tmp_path / "copy.lmdb"
    publish(data, [company("EE", str(i), f"Õun {i}") for i in range(COMPANIES)], filed=True)
    key = _create_key(state)
    charged_records = ChargedRecords()

    with server_process(data, "--state", str(state), environment=HIGH_LIMITS) as server:
        copy_began, copy_ended = asyncio.run(
            _load_and_copy(read_line(server), key, charged_records, state, copy_file)
        )
        workers = children(server.pid)
        server.send_signal(signal.SIGKILL)
        server.wait(WAIT_S)
    # Workers write in STATE until they notice the end of their parent.
    assert eventually(lambda: not any(map(is_alive, workers)))
    shutil.rmtree(state)

    start = time.monotonic()
    state.mkdir(mode=0o700)
    shutil.copyfile(copy_file, state / FILE)
    report = _run_quota(state, "audit")
    restored_companies = _charged_rows(state)
    with server_process(data, "--state", str(state), environment=HIGH_LIMITS) as server:
        address = read_line(server)
        seconds = time.monotonic() - start
        cost_of_restored = _cost_of_reading(address, key, min(restored_companies))
        cost_of_lost = _cost_of_reading(
            address, key, max(charged_records.answers.keys() - restored_companies)
        )

    assert seconds < RESTORE_SECONDS
    assert (
        charged_records.answered_before(copy_began)
        <= restored_companies
        <= charged_records.requested_before(copy_ended)
    )
    assert (report["charges"], report["credits"]) == (
        len(restored_companies),
        COST * len(restored_companies),
    )
    assert len(charged_records.answered_before(copy_began)) > 100
    assert (cost_of_restored, cost_of_lost) == (0, COST)


async def _load_and_copy(
    address: str,
    key: Mapping[str, str],
    charged_records: ChargedRecords,
    state: Path,
    copy_file: Path,
) -> tuple[float, float]:
    """Charge records before, during and after a copy; return the times at which the copy began and ended."""
    companies = iter(range(COMPANIES))
    stopped = False

    async def read_records(session: aiohttp.ClientSession) -> None:
        """Read one record after the other until the copy is made; note the times of requests and answers."""
        for number in companies:
            if stopped:
                return
            identifier = str(number)
            charged_records.requests[identifier] = time.monotonic()
            async with session.get(f"{address}/api/v1/societes/EE/{identifier}") as reply:
                assert reply.status == 200
                assert reply.headers["X-Credits-Debites"] == str(COST)
                await reply.read()
            charged_records.answers[identifier] = time.monotonic()
            await asyncio.sleep(0.01)  # so that companies remain until the copy is made

    async with aiohttp.ClientSession(headers=key) as session, asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(read_records(session))
        while len(charged_records.answers) < 200:
            await asyncio.sleep(0.01)
        copy_began = time.monotonic()
        await asyncio.to_thread(_run_quota, state, "backup", str(copy_file))
        copy_ended = time.monotonic()
        enough_answers = len(charged_records.answers) + 100
        while len(charged_records.answers) < min(enough_answers, COMPANIES):
            await asyncio.sleep(0.01)
        stopped = True
    return copy_began, copy_ended


def test_redis_rows_are_restored_to_the_second(tmp_path: Path) -> None:
    """Total loss of the server, and a mistake after `moment`; Valkey has the same file and tool"""
    check_aof = need("redis-check-aof", "redis-tools")
    with running("redis", *SYNCED, "--aof-timestamp-enabled", "yes") as server:
        store = RedisStore(server.url, create=True)
        create_account(store, "integral", PLANS, NOON).result()
        _charge_companies(store, 0, 40)  # before the moment to restore
        moment = int(time.time())
        time.sleep(max(0.0, moment + 1.1 - time.time()))
        _charge_companies(store, 40, 100)
        full_audit = store.audit()
        store.close()
        server.stop(signal.SIGKILL)
        shutil.copytree(server.folder / "appendonlydir", tmp_path / "appendonlydir")

    with running("redis") as server:
        server.stop()
        shutil.rmtree(server.folder / "appendonlydir")
        shutil.copytree(tmp_path / "appendonlydir", server.folder / "appendonlydir")
        server.start()
        charges_after_loss = _count_charges(server.url)
        server.stop()
        subprocess.run(
            [check_aof, "--truncate-to-timestamp", str(moment),
             server.folder / "appendonlydir" / "appendonly.aof.manifest"],
            check=True, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip
        server.start()
        charges_at_moment = _count_charges(server.url)

    assert (full_audit.charges, charges_after_loss, charges_at_moment) == (100, 100, 40)


def _count_charges(url: str) -> int:
    """The number of charges in the store by its audit, which must find no difference."""
    store = RedisStore(url, create=True)
    report = store.audit()
    store.close()
    report.require()
    return report.charges


def _charge_companies(store: RedisStore, first_company: int, end_company: int) -> None:
    """Charge the companies from `first_company` up to `end_company`, exclusive; wait for the acknowledgement."""
    for number in range(first_company, end_company):
        store.take_and_charge(Purchase("a_", 10**6, f"EE/{number}", COST, 10**6), NOON)
    store.take("a_", 10**6, NOON).result()  # acknowledged after all charges


def _create_key(state: Path) -> dict[str, str]:
    """The headers of a new account with a key."""
    store, plans, now = LmdbStore(state), load(), datetime.now(UTC)
    account = create_account(store, "integral", plans, now).result()
    _, text = create_key(store, account.id, plans, now).result()
    store.close()
    return {"Authorization": f"Bearer {text}"}


def _run_quota(state: Path, *words: str) -> Any:
    """Run `python -m quota`; return the JSON that it prints."""
    process = subprocess.run(
        [sys.executable, "-m", "quota", "--state", str(state), *words, "--json"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def _charged_rows(state: Path) -> set[str]:
    """The identifiers of all charged companies in the file of a STATE folder."""
    store = LmdbStore(state)
    keys = store.read(lambda txn: [key for key, _ in txn.scan(row_format.CHARGE)]).result()
    store.close()
    return {key.decode().rpartition("/")[2] for key in keys}


def _cost_of_reading(address: str, key: Mapping[str, str], identifier: str) -> int:
    """Read the record of a company; return the credits that it cost."""
    credits_before = _credits_left(address, key)
    status, _ = ask(address, f"/api/v1/societes/EE/{identifier}", key)
    assert status == 200
    return credits_before - _credits_left(address, key)


def _credits_left(address: str, key: Mapping[str, str]) -> int:
    """The credits that the account has left."""
    status, body = ask(address, "/api/v1/compte", key)
    assert status == 200, body
    credits_left: int = json.loads(body)["credits"]["restants"]
    return credits_left
