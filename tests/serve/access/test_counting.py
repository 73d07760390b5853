"""Servers of several processes: exact counters, secrets that stay secret, midnight."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from quota.ledger.calls import Purchase
from quota.store.lmdb_store import LmdbStore
from tests.proof.tools import absent
from tests.quota.filling import create_account, create_key
from tests.serve import world
from tests.serve.client import PLANS, Customer
from tests.serve.processes import (
    ask,
    avoid_midnight,
    children,
    eventually,
    line_of,
    log,
    started,
    stop,
)
from tests.world import company

pytestmark = pytest.mark.slow

SEARCH = "/api/v1/societes?limit=1"
# Wide enough for every test here: these are about the day and the month.
WIDE = {f"SOCIETES_DEBIT_{name}": "1000000" for name in ("FREE", "DATA", "VISITEUR", "LISTES")}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@contextmanager
def store_of(data: Path) -> Iterator[LmdbStore]:
    """The store of the servers of `data`, opened beside them."""
    store = LmdbStore(data.with_name("state"))
    yield store
    store.close()


def customer_of(data: Path, plan: str) -> Customer:
    avoid_midnight()
    with store_of(data) as store:
        now = datetime.now(UTC)
        account = create_account(store, plan, PLANS, now, api_tool=plan == "data").result(10)
        return Customer(account.id, create_key(store, account.id, PLANS, now).result(10)[1])


def all_at_once(
    address: str, customer: Customer, paths: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Ask for all paths over 32 connections, which the kernel deals out to the workers."""

    async def run() -> list[tuple[int, dict[str, str]]]:
        connector = aiohttp.TCPConnector(limit=32, force_close=True)
        async with aiohttp.ClientSession(headers=customer.headers, connector=connector) as session:

            async def one(path: str) -> tuple[int, dict[str, str]]:
                async with session.get(address + path) as reply:
                    await reply.read()
                    return reply.status, dict(reply.headers)

            return await asyncio.gather(*(one(path) for path in paths))

    return asyncio.run(run())


def test_of_200_calls_at_four_workers_exactly_50_pass(data: Path) -> None:
    """D6, §8.1"""
    customer = customer_of(data, "free")
    with started(data, "--workers", "4", environment=WIDE) as process:
        replies = all_at_once(line_of(process), customer, [SEARCH] * 200)
        stop(process)

    assert Counter(status for status, _ in replies) == {200: 50, 429: 150}
    used = sorted(int(headers["X-Quota-Used"]) for status, headers in replies if status == 200)
    assert used == list(range(1, 51))
    with store_of(data) as store:
        usage = store.usage(customer.account, PLANS["free"], datetime.now(UTC)).result()
    assert usage.calls.used == 50


def test_of_250_credits_at_four_workers_exactly_50_records_fit(tmp_path: Path) -> None:
    """D6, D8, D9"""
    data = tmp_path / "data"
    many = [
        company("FR", f"{number:09}", f"Société {number}", groupe="62.0", division="62")
        for number in range(80)
    ]
    world.publish(data, many, {("FR", one["id"]): world.STATEMENTS for one in many})
    customer = customer_of(data, "data")
    with store_of(data) as store:
        spent = store.take_and_charge(
            Purchase(customer.account, 1_000, "FR/depense", 4_750, 5_000), datetime.now(UTC)
        )
        spent.result(10)
    paths = [f"/api/v1/societes/FR/{number:09}" for number in range(80) for _ in range(3)]
    with started(data, "--workers", "4", environment=WIDE) as process:
        replies = all_at_once(line_of(process), customer, paths)
        stop(process)

    paid = [headers for _, headers in replies if headers["X-Credits-Debites"] == "5"]
    assert len(paid) == 50
    assert sorted(int(headers["X-Credits-Restants"]) for headers in paid) == list(range(0, 250, 5))
    served = {path for path, (status, _) in zip(paths, replies, strict=True) if status == 200}
    assert len(served) == 50
    assert {status for status, _ in replies} == {200, 402}


def test_the_workers_share_the_burst_limit(data: Path) -> None:
    """D7"""
    customer = customer_of(data, "data")
    narrow = {**WIDE, "SOCIETES_DEBIT_DATA": "20"}
    with started(data, "--workers", "4", environment=narrow) as process:
        begun = time.monotonic()
        replies = all_at_once(line_of(process), customer, [SEARCH] * 100)
        seconds = time.monotonic() - begun
        stop(process)

    passed = sum(status == 200 for status, _ in replies)
    # One more every three seconds, should the machine be that slow.
    assert 20 <= passed <= 20 + seconds / 3 + 1


def test_the_workers_add_their_figures_up(data: Path) -> None:
    """G10"""
    customer = customer_of(data, "data")
    with started(data, "--workers", "4", environment=WIDE) as process:
        address = line_of(process)
        all_at_once(address, customer, [SEARCH] * 60)

        def counted() -> float:
            text = ask(address, "/metrics")[1].decode()
            return sum(
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == "societes_requests_total" and sample.labels["plan"] == "data"
            )

        assert eventually(lambda: counted() == 60)
        folders = list(Path("/dev/shm").glob(f"societes-metrics-{process.pid}-*"))
        stop(process)

    assert not [folder for folder in folders if folder.exists()]


def test_no_key_is_anywhere_but_with_its_owner(data: Path) -> None:
    """A5, A11, G11: log, errors, metrics, and every file on disk"""
    customer = customer_of(data, "data")
    key = customer.key
    with started(data, "--workers", "2", environment=WIDE) as process:
        address = line_of(process)
        seen = b""
        for path in (SEARCH, f"/api/v1/societes?cle={key}", f"/api/v1/societes?{key}=1",
                     f"/api/v1/societes?q={key}", f"/{key}", "/api/v1/compte",
                     f"/api/v1/societes?pays={key}", "/api/v1/societes/FR/552100554"):  # fmt: skip
            for header in (f"Bearer {key}", f"Basic {key}", f"Bearer {key}x", key):
                ask(address, path, {"Authorization": header, "X-Request-Id": key})
        seen += ask(address, "/metrics")[1]
        seen += ask(address, "/api/v1/compte", customer.headers)[1]
        _, stderr = stop(process)

    assert len(log(stderr)) > 30
    assert customer.account in stderr
    # The last characters are shown, as the contract wants it; nothing longer is.
    for part in (key, key[9:41], key[9:25], key[-10:]):
        assert part not in stderr
        assert part.encode() not in seen
        for file in sorted(data.parent.rglob("*")):
            if file.is_file():
                assert part.encode() not in file.read_bytes(), file


def test_no_key_is_in_what_a_crash_leaves(data: Path) -> None:
    """A11: a worker that aborts tells where it was, not for whom"""
    customer = customer_of(data, "data")
    environment = {**WIDE, "PYTHONFAULTHANDLER": "1"}
    with started(data, "--workers", "2", environment=environment) as process:
        address = line_of(process)
        for _ in range(20):
            ask(address, SEARCH, customer.headers)
        victim, _ = children(process.pid)
        os.kill(victim, signal.SIGABRT)
        assert eventually(lambda: len(children(process.pid) - {victim}) == 2)
        _, stderr = stop(process)

    assert "Fatal Python error: Aborted" in stderr
    for part in (customer.key, customer.key[9:25], customer.key[-10:]):
        assert part not in stderr


@pytest.mark.slow
def test_midnight_and_the_end_of_a_month_on_the_real_clock(data: Path) -> None:
    """R8, D3, D9: the server runs from 30 November 23:59:40 into December"""
    library = faketime()
    customer = customer_of(data, "free")
    record = "/api/v1/societes/FR/552100554"
    environment = {
        **WIDE,
        "LD_PRELOAD": str(library),
        "FAKETIME": "@2026-11-30 23:59:40",  # a busy machine takes seconds to start a server
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "TZ": "UTC",
    }
    with started(data, environment=environment) as process:
        address = line_of(process)
        first = all_at_once(address, customer, [record])[0]
        november = all_at_once(address, customer, [SEARCH] * 60)
        time.sleep(max(1, int(first[1]["X-Quota-Reset"])) + 0.5)
        again = all_at_once(address, customer, [record])[0]
        december = all_at_once(address, customer, [SEARCH] * 60)
        stop(process)

    assert 1 <= int(first[1]["X-Quota-Reset"]) <= 20
    assert Counter(status for status, _ in november) == {200: 49, 429: 11}
    assert Counter(status for status, _ in december) == {200: 49, 429: 11}
    assert again[1]["X-Quota-Used"] == "1"
    # Another month: charged again, from a new grant.
    assert [one[1]["X-Credits-Debites"] for one in (first, again)] == ["5", "5"]
    assert [one[1]["X-Credits-Restants"] for one in (first, again)] == ["245", "245"]


def faketime() -> Path:
    """The library that gives a process another clock."""
    libraries = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
    return (
        libraries[0]
        if libraries
        else absent("libfaketime is not installed; `apt-get install faketime`")
    )
