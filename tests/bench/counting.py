"""`python -m tests.bench.counting [FOLDER]`: the cost of counting a call, by store.

One caller alone, then 64 at once, all on one account: calls, and first charges of companies. FOLDER
chooses the disk (default: that of temporary files). A bare LMDB commit of one number measures the
disk itself. Servers run on the same host, so a round trip is a loopback; a distant server adds its
distance to every call, or at an edge to every reservation of a block.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import lmdb

from quota.edge.edge_store import EdgeStore
from quota.ledger.purchase import Purchase
from quota.plans import load
from quota.redis.store import RedisStore
from quota.store.interface import Store
from quota.store.ledger_store import LedgerStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.servers import SYNCED, running

LIMIT: Final = 10**9
ALONE: Final = 500
TOGETHER: Final = 64
ROUNDS: Final = 100
EVERY_SECOND: Final = ("--appendonly", "yes", "--appendfsync", "everysec")

Call = Callable[[int], Awaitable[object]]


def main(folder: str | None) -> None:
    if folder:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
    print("| what | each, µs | p50 of a caller, µs | p99, µs |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as state:
        _row("one synced commit of LMDB", *_bare(Path(state)))
        for name, opened in (
            ("LMDB", _lmdb),
            ("Redis, everysec", lambda: _server("redis", *EVERY_SECOND)),
            ("Redis, always", lambda: _server("redis", *SYNCED)),
            ("Valkey, always", lambda: _server("valkey", *SYNCED)),
            ("an edge of Redis, always", _edge),
        ):
            with opened() as (store, ledger):
                asyncio.run(_measure(name, store, ledger))


async def _measure(name: str, store: Store, ledger: LedgerStore) -> None:
    plans, now = load(), datetime.now(UTC)
    account = (await ledger.accounts.create("integral", plans, now)).id
    _, key = await ledger.accounts.create_key(account, plans, now)

    async def identify(number: int) -> object:
        return await store.identify(key)

    async def take(number: int) -> object:
        return await store.take(account, LIMIT, now)

    async def charge(number: int) -> object:
        return await store.take_and_charge(Purchase(account, LIMIT, f"EE/{number}", 5, LIMIT), now)

    for what, call in (("a key", identify), ("a call", take), ("a call and a charge", charge)):
        _row(f"{name}: {what}, alone", *await _alone(call))
        _row(f"{name}: {what}, {TOGETHER} at once", *await _together(call))


@contextmanager
def _lmdb() -> Iterator[tuple[Store, LedgerStore]]:
    with tempfile.TemporaryDirectory() as folder:
        store = LmdbStore(Path(folder))
        yield store, store
        store.close()


@contextmanager
def _server(kind: str, *options: str) -> Iterator[tuple[Store, LedgerStore]]:
    with running(kind, *options) as server:
        store = RedisStore(server.url)
        yield store, store
        store.close()


@contextmanager
def _edge() -> Iterator[tuple[Store, LedgerStore]]:
    with tempfile.TemporaryDirectory() as folder, running("redis", *SYNCED) as server:
        edge, centre = EdgeStore(Path(folder), lambda: RedisStore(server.url)), None
        try:
            centre = RedisStore(server.url)
            yield edge, centre
        finally:
            edge.close()
            if centre is not None:
                centre.close()


async def _alone(call: Call) -> tuple[float, list[float]]:
    start, times = time.perf_counter(), []
    for number in range(ALONE):
        times.append(await _one(call, number))
    return (time.perf_counter() - start) / ALONE, times


async def _together(call: Call) -> tuple[float, list[float]]:
    times: list[float] = []
    start = time.perf_counter()
    for round_ in range(1, ROUNDS + 1):
        numbers = range(round_ * 10_000, round_ * 10_000 + TOGETHER)
        times += await asyncio.gather(*(_one(call, number) for number in numbers))
    return (time.perf_counter() - start) / (ROUNDS * TOGETHER), times


async def _one(call: Call, number: int) -> float:
    start = time.perf_counter()
    await call(number)
    return time.perf_counter() - start


def _bare(folder: Path) -> tuple[float, list[float]]:
    times = []
    with lmdb.open(str(folder / "bare"), subdir=False, map_size=1 << 30) as env:
        for _ in range(ALONE):
            start = time.perf_counter()
            with env.begin(write=True) as txn:
                txn.put(b"n", time.perf_counter_ns().to_bytes(8, "big"))
            times.append(time.perf_counter() - start)
    return sum(times) / len(times), times


def _row(name: str, each: float, times: list[float]) -> None:
    p99 = quantiles(times, n=100)[98]
    print(
        f"| {name} | {each * 1e6:.1f} | {median(times) * 1e6:.0f} | {p99 * 1e6:.0f} |", flush=True
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
