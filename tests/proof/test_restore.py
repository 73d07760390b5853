"""Backup and restore as a drill: a copy under load, a total loss, a restore, and an audit of every credit."""

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
from tests.serve.processes import alive, ask, children, eventually, line_of, started
from tests.world import company, publish

pytestmark = pytest.mark.slow

COMPANIES: Final = 4_000
COST: Final = 5
CALLERS: Final = 8
RESTORE_SECONDS: Final = 60.0  # R19
WIDE: Final = {"SOCIETES_DEBIT_INTEGRAL": "1000000"}


@dataclass
class ChargedRecords:
    """Companies whose record was answered with its charge, with the moment of the answer.

    Attributes:
        asked: the moment of each request, answered or not.
    """

    asked: dict[str, float] = field(default_factory=dict)
    answered: dict[str, float] = field(default_factory=dict)

    def until(self, moment: float) -> set[str]:
        return {name for name, at in self.answered.items() if at < moment}

    def asked_until(self, moment: float) -> set[str]:
        return {name for name, at in self.asked.items() if at < moment}


def test_what_was_answered_before_a_backup_is_there_after_a_total_loss(tmp_path: Path) -> None:
    """R19: the copy is made while records are charged; everything else in STATE is lost"""
    data, state, copy = tmp_path / "data", tmp_path / "state", tmp_path / "copy.lmdb"
    publish(data, [company("EE", str(i), f"Õun {i}") for i in range(COMPANIES)], filed=True)
    key = _key(state)
    charged = ChargedRecords()

    with started(data, "--state", str(state), environment=WIDE) as server:
        begun, ended = asyncio.run(_load_and_copy(line_of(server), key, charged, state, copy))
        workers = children(server.pid)
        server.send_signal(signal.SIGKILL)
        server.wait(WAIT_S)
    # Until they see it, workers write in STATE.
    assert eventually(lambda: not any(map(alive, workers)))
    shutil.rmtree(state)

    since = time.monotonic()
    state.mkdir(mode=0o700)
    shutil.copyfile(copy, state / FILE)
    report = _quota(state, "audit")
    restored = _charged_rows(state)
    with started(data, "--state", str(state), environment=WIDE) as server:
        address = line_of(server)
        took = time.monotonic() - since
        paid = _debit(address, key, min(restored))
        lost = _debit(address, key, max(charged.answered.keys() - restored))

    assert took < RESTORE_SECONDS
    assert charged.until(begun) <= restored <= charged.asked_until(ended)
    assert (report["charges"], report["credits"]) == (len(restored), COST * len(restored))
    assert len(charged.until(begun)) > 100
    assert (paid, lost) == (0, COST)


async def _load_and_copy(
    address: str, key: Mapping[str, str], charged: ChargedRecords, state: Path, copy: Path
) -> tuple[float, float]:
    """Read records until some were charged before the copy, during it and after it; when it began and ended."""
    companies = iter(range(COMPANIES))
    stopped = False

    async def read(session: aiohttp.ClientSession) -> None:
        for number in companies:
            if stopped:
                return
            name = str(number)
            charged.asked[name] = time.monotonic()
            async with session.get(f"{address}/api/v1/societes/EE/{name}") as reply:
                assert reply.status == 200
                assert reply.headers["X-Credits-Debites"] == str(COST)
                await reply.read()
            charged.answered[name] = time.monotonic()
            await asyncio.sleep(0.01)  # the companies must last until the copy is made

    async with aiohttp.ClientSession(headers=key) as session, asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(read(session))
        while len(charged.answered) < 200:
            await asyncio.sleep(0.01)
        begun = time.monotonic()
        await asyncio.to_thread(_quota, state, "backup", str(copy))
        ended = time.monotonic()
        after = len(charged.answered) + 100
        while len(charged.answered) < min(after, COMPANIES):
            await asyncio.sleep(0.01)
        stopped = True
    return begun, ended


def test_rows_on_redis_are_brought_back_to_a_second(tmp_path: Path) -> None:
    """Total loss of the server, and a mistake made after `moment`; Valkey has the same file and tool"""
    check_aof = need("redis-check-aof", "redis-tools")
    with running("redis", *SYNCED, "--aof-timestamp-enabled", "yes") as server:
        store = RedisStore(server.url, create=True)
        create_account(store, "integral", PLANS, NOON).result()
        _charge(store, 0, 40)
        moment = int(time.time())
        time.sleep(max(0.0, moment + 1.1 - time.time()))
        _charge(store, 40, 100)
        whole = store.audit()
        store.close()
        server.stop(signal.SIGKILL)
        shutil.copytree(server.folder / "appendonlydir", tmp_path / "appendonlydir")

    with running("redis") as server:
        server.stop()
        shutil.rmtree(server.folder / "appendonlydir")
        shutil.copytree(tmp_path / "appendonlydir", server.folder / "appendonlydir")
        server.start()
        last = _audit(server.url)
        server.stop()
        subprocess.run(
            [check_aof, "--truncate-to-timestamp", str(moment),
             server.folder / "appendonlydir" / "appendonly.aof.manifest"],
            check=True, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip
        server.start()
        before = _audit(server.url)

    assert (whole.charges, last, before) == (100, 100, 40)


def _audit(url: str) -> int:
    store = RedisStore(url, create=True)
    report = store.audit()
    store.close()
    report.require()
    return report.charges


def _charge(store: RedisStore, first: int, end: int) -> None:
    for number in range(first, end):
        store.take_and_charge(Purchase("a_", 10**6, f"EE/{number}", COST, 10**6), NOON)
    store.take("a_", 10**6, NOON).result()  # all are acknowledged before it


def _key(state: Path) -> dict[str, str]:
    store, plans, now = LmdbStore(state), load(), datetime.now(UTC)
    account = create_account(store, "integral", plans, now).result()
    _, text = create_key(store, account.id, plans, now).result()
    store.close()
    return {"Authorization": f"Bearer {text}"}


def _quota(state: Path, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "quota", "--state", str(state), *words, "--json"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _charged_rows(state: Path) -> set[str]:
    """The identifiers of all charges in the file of a STATE folder."""
    store = LmdbStore(state)
    keys = store.read(lambda txn: [key for key, _ in txn.scan(row_format.CHARGE)]).result()
    store.close()
    return {key.decode().rpartition("/")[2] for key in keys}


def _debit(address: str, key: Mapping[str, str], identifier: str) -> int:
    """The credits that the record of a company takes now."""
    before = _left(address, key)
    status, _ = ask(address, f"/api/v1/societes/EE/{identifier}", key)
    assert status == 200
    return before - _left(address, key)


def _left(address: str, key: Mapping[str, str]) -> int:
    status, body = ask(address, "/api/v1/compte", key)
    assert status == 200, body
    left: int = json.loads(body)["credits"]["restants"]
    return left
