"""Servers of several processes: exact counters, no key in logs or files, midnight."""

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
from tests.proof.tools import skip_or_fail
from tests.quota.filling import create_account, create_key
from tests.serve import world
from tests.serve.client import PLANS, Customer
from tests.serve.processes import (
    ask,
    avoid_midnight,
    children,
    eventually,
    parse_log,
    read_line,
    server_process,
    stop,
)
from tests.world import company

pytestmark = pytest.mark.slow

SEARCH = "/api/v1/societes?limit=1"
# Settings of burst limits that no test reaches, because most tests here are about limits of a day or month.
NO_BURST_LIMITS = {
    f"SOCIETES_DEBIT_{name}": "1000000" for name in ("FREE", "DATA", "VISITEUR", "LISTES")
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a published generation of the test data."""
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@contextmanager
def store_of(data: Path) -> Iterator[LmdbStore]:
    """The store of the servers of `data`, opened by this process too."""
    store = LmdbStore(data.with_name("state"))
    yield store
    store.close()


def customer_of(data: Path, plan: str) -> Customer:
    """A new customer of the servers of `data`; its tests do not run over midnight."""
    avoid_midnight()
    with store_of(data) as store:
        now = datetime.now(UTC)
        account = create_account(store, plan, PLANS, now, api_tool=plan == "data").result()
        return Customer(account.id, create_key(store, account.id, PLANS, now).result()[1])


def ask_concurrently(
    address: str, customer: Customer, paths: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Request all paths over 32 connections, which the kernel distributes over the workers.

    Returns:
        The status and the headers of each response.
    """

    async def request_all() -> list[tuple[int, dict[str, str]]]:
        """Request all paths, 32 at a time, each on a new connection; return their statuses and headers."""
        connector = aiohttp.TCPConnector(limit=32, force_close=True)
        async with aiohttp.ClientSession(headers=customer.headers, connector=connector) as session:

            async def fetch(path: str) -> tuple[int, dict[str, str]]:
                """Request a path; return the status and the headers."""
                async with session.get(address + path) as reply:
                    await reply.read()
                    return reply.status, dict(reply.headers)

            return await asyncio.gather(*(fetch(path) for path in paths))

    return asyncio.run(request_all())


def test_at_four_workers_exactly_50_of_200_calls_are_granted(data: Path) -> None:
    """D6, §8.1: `free` has 50 calls a day, and each granted call has another number"""
    customer = customer_of(data, "free")
    with server_process(data, "--workers", "4", environment=NO_BURST_LIMITS) as process:
        replies = ask_concurrently(read_line(process), customer, [SEARCH] * 200)
        stop(process)

    assert Counter(status for status, _ in replies) == {200: 50, 429: 150}
    used = sorted(int(headers["X-Quota-Used"]) for status, headers in replies if status == 200)
    assert used == list(range(1, 51))
    with store_of(data) as store:
        usage = store.usage(customer.account, PLANS["free"], datetime.now(UTC)).result()
    assert usage.calls.used == 50


def test_at_four_workers_250_credits_pay_exactly_50_records(tmp_path: Path) -> None:
    """D6, D8, D9: each of 80 companies is requested three times, and a record costs 5 credits"""
    data = tmp_path / "data"
    companies = [
        company("FR", f"{number:09}", f"Société {number}", groupe="62.0", division="62")
        for number in range(80)
    ]
    world.publish(data, companies, {("FR", record["id"]): world.STATEMENTS for record in companies})
    customer = customer_of(data, "data")
    # Spend all credits of the month except 250.
    with store_of(data) as store:
        expense = store.take_and_charge(
            Purchase(
                customer.account, call_limit=1_000, company="FR/depense", cost=4_750, grant=5_000
            ),
            datetime.now(UTC),
        )
        expense.result()
    paths = [f"/api/v1/societes/FR/{number:09}" for number in range(80) for _ in range(3)]
    with server_process(data, "--workers", "4", environment=NO_BURST_LIMITS) as process:
        replies = ask_concurrently(read_line(process), customer, paths)
        stop(process)

    charged_headers = [headers for _, headers in replies if headers["X-Credits-Debites"] == "5"]
    assert len(charged_headers) == 50
    assert sorted(int(headers["X-Credits-Restants"]) for headers in charged_headers) == list(
        range(0, 250, 5)
    )
    served_paths = {path for path, (status, _) in zip(paths, replies, strict=True) if status == 200}
    assert len(served_paths) == 50
    assert {status for status, _ in replies} == {200, 402}


def test_the_workers_share_the_burst_limit(data: Path) -> None:
    """D7"""
    customer = customer_of(data, "data")
    low_limit = {**NO_BURST_LIMITS, "SOCIETES_DEBIT_DATA": "20"}
    with server_process(data, "--workers", "4", environment=low_limit) as process:
        start = time.monotonic()
        replies = ask_concurrently(read_line(process), customer, [SEARCH] * 100)
        seconds = time.monotonic() - start
        stop(process)

    passed = sum(status == 200 for status, _ in replies)
    # The limit refills by a call every three seconds; on a slow machine the 100 calls last that long.
    assert 20 <= passed <= 20 + seconds / 3 + 1


def test_metrics_are_the_sums_of_all_workers(data: Path) -> None:
    """G10"""
    customer = customer_of(data, "data")
    with server_process(data, "--workers", "4", environment=NO_BURST_LIMITS) as process:
        address = read_line(process)
        ask_concurrently(address, customer, [SEARCH] * 60)

        def counted_requests() -> float:
            """The requests of the plan data, as the metrics of the server count them."""
            text = ask(address, "/metrics")[1].decode()
            return sum(
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == "societes_requests_total" and sample.labels["plan"] == "data"
            )

        assert eventually(lambda: counted_requests() == 60)
        folders = list(Path("/dev/shm").glob(f"societes-metrics-{process.pid}-*"))
        stop(process)

    assert not [folder for folder in folders if folder.exists()]


def test_no_key_is_in_the_log_in_metrics_or_on_disk(data: Path) -> None:
    """A5, A11, G11: the log, `/metrics`, `/compte`, and every file of DATA and STATE"""
    customer = customer_of(data, "data")
    key = customer.key
    with server_process(data, "--workers", "2", environment=NO_BURST_LIMITS) as process:
        address = read_line(process)
        bodies = b""
        for path in (SEARCH, f"/api/v1/societes?cle={key}", f"/api/v1/societes?{key}=1",
                     f"/api/v1/societes?q={key}", f"/{key}", "/api/v1/compte",
                     f"/api/v1/societes?pays={key}", "/api/v1/societes/FR/552100554"):  # fmt: skip
            for header in (f"Bearer {key}", f"Basic {key}", f"Bearer {key}x", key):
                ask(address, path, {"Authorization": header, "X-Request-Id": key})
        bodies += ask(address, "/metrics")[1]
        bodies += ask(address, "/api/v1/compte", customer.headers)[1]
        _, stderr = stop(process)

    assert len(parse_log(stderr)) > 30
    assert customer.account in stderr
    # The contract allows the last four characters, so only longer parts are searched; the prefix has nine characters.
    for part_of_key in (key, key[9:41], key[9:25], key[-10:]):
        assert part_of_key not in stderr
        assert part_of_key.encode() not in bodies
        for file in sorted(data.parent.rglob("*")):
            if file.is_file():
                assert part_of_key.encode() not in file.read_bytes(), file


def test_no_key_is_in_the_traceback_of_a_crash(data: Path) -> None:
    """A11: a worker that aborts writes where it was, not the key of its caller"""
    customer = customer_of(data, "data")
    environment = {**NO_BURST_LIMITS, "PYTHONFAULTHANDLER": "1"}
    with server_process(data, "--workers", "2", environment=environment) as process:
        address = read_line(process)
        for _ in range(20):
            ask(address, SEARCH, customer.headers)
        killed_worker, _ = children(process.pid)
        os.kill(killed_worker, signal.SIGABRT)
        assert eventually(lambda: len(children(process.pid) - {killed_worker}) == 2)
        _, stderr = stop(process)

    assert "Fatal Python error: Aborted" in stderr
    for part_of_key in (customer.key, customer.key[9:25], customer.key[-10:]):
        assert part_of_key not in stderr


@pytest.mark.slow
def test_calls_and_credits_restart_while_a_server_runs_into_a_new_month(data: Path) -> None:
    """R8, D3, D9: the server runs from 30 November 23:59:00 into December, with 50 calls a day"""
    faketime_library = faketime()
    customer = customer_of(data, "free")
    record = "/api/v1/societes/FR/552100554"
    environment = {
        **NO_BURST_LIMITS,
        "LD_PRELOAD": str(faketime_library),
        "FAKETIME": "@2026-11-30 23:59:00",  # a busy machine takes seconds to start a server
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "TZ": "UTC",
    }
    with server_process(data, environment=environment) as process:
        address = read_line(process)
        record_in_november = ask_concurrently(address, customer, [record])[0]
        calls_in_november = ask_concurrently(address, customer, [SEARCH] * 60)
        time.sleep(max(1, int(record_in_november[1]["X-Quota-Reset"])) + 0.5)
        record_in_december = ask_concurrently(address, customer, [record])[0]
        calls_in_december = ask_concurrently(address, customer, [SEARCH] * 60)
        stop(process)

    assert 1 <= int(record_in_november[1]["X-Quota-Reset"]) <= 60
    assert Counter(status for status, _ in calls_in_november) == {200: 49, 429: 11}
    assert Counter(status for status, _ in calls_in_december) == {200: 49, 429: 11}
    assert record_in_december[1]["X-Quota-Used"] == "1"
    # In a new month the record is charged again, from a new grant.
    assert [
        reply[1]["X-Credits-Debites"] for reply in (record_in_november, record_in_december)
    ] == ["5", "5"]
    assert [
        reply[1]["X-Credits-Restants"] for reply in (record_in_november, record_in_december)
    ] == ["245", "245"]


def faketime() -> Path:
    """The path of the library that gives a process another clock, for LD_PRELOAD."""
    libraries = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
    return (
        libraries[0]
        if libraries
        else skip_or_fail("libfaketime is not installed; `apt-get install faketime`")
    )
