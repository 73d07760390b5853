"""`python -m tests.bench.counting [FOLDER]`: the cost of counting a call, by store.

One caller alone, then 64 at once, all on one account: calls, and first charges of companies. FOLDER
chooses the disk (default: that of temporary files). A bare LMDB commit of one number measures the
disk itself. Servers run on the same host, so a round trip is a loopback; a distant server adds its
distance to every call, or at an edge to every reservation of a block. At last the round trips of pages, and
a keyed search alone and beside four people who load `/compte`, at 20 ms (`tests/quota/redis`).
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import lmdb

from quota.edge.edge_store import EdgeStore
from quota.ledger.calls import Purchase
from quota.plans import load
from quota.redis.store import RedisStore
from quota.store.interface import LedgerStore, Store
from quota.store.lmdb_store import LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.redis.distance import at_distance
from tests.quota.redis.test_round_trips import compare_beside
from tests.quota.servers import SYNCED, running
from tests.serve import world
from tests.serve.client import serving

LIMIT: Final = 10**9
ALONE: Final = 500
TOGETHER: Final = 64
ROUNDS: Final = 100
DISTANCES: Final = (0.0, 0.0005, 0.005, 0.02, 0.1)
FAR: Final = 60
PAGES_S: Final = 0.02
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
    asyncio.run(_compare_distances())
    _compare_pages()


def _compare_pages() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running("redis", *SYNCED) as server,
        at_distance(server.port, PAGES_S) as url,
    ):
        world.publish(Path(folder) / "data")
        RedisStore(server.url, create=True).close()
        with serving(Path(folder) / "data", opener=lambda _: RedisStore(url)) as served:
            trips, alone, beside, pages = compare_beside(served, 100)
    print("\n| what | round trips |\n| --- | --: |")
    for path, count in trips.items():
        print(f"| `{path}` | {count} |")
    print("\n| at 20 ms | p50, ms | p99, ms |\n| --- | --: | --: |")
    for name, times in (
        ("a search alone", alone), ("beside four people", beside), ("`/compte`", pages),
    ):  # fmt: skip
        shown = f"{median(times) * 1e3:.0f} | {quantiles(times, n=100)[98] * 1e3:.0f}"
        print(f"| {name} | {shown} |", flush=True)


async def _compare_distances() -> None:
    """A keyed search and a full record, one after the other, by the distance of the server."""
    print(
        "\n| distance, ms | store | a search: p50, p99, ms | a record: p50, p99, ms |\n| --: | --- | --: | --: |"
    )
    plans, now = load(), datetime.now(UTC)
    plan = plans["data"]
    for seconds in DISTANCES:
        with running("redis", *SYNCED) as server, at_distance(server.port, seconds) as url:
            ledger = RedisStore(server.url, create=True)
            with tempfile.TemporaryDirectory() as folder:
                stores: dict[str, Store] = {
                    "a host": RedisStore(url),
                    "an edge": EdgeStore(Path(folder), partial(RedisStore, url)),
                }
                for name, store in stores.items():
                    account = (await create_account(ledger, "data", plans, now, api_tool=True)).id
                    _, key = await create_key(ledger, account, plans, now)
                    limit = plan.appels_api_par_jour
                    searches, records = [], []
                    for number in range(FAR):
                        start = time.perf_counter()
                        await store.identify(key)
                        await store.take(account, limit, now)
                        searches.append(time.perf_counter() - start)
                        start = time.perf_counter()
                        await store.identify(key)
                        bought = Purchase(account, limit, f"EE/{number}", 5, 10**6)
                        await store.take_and_charge(bought, now)
                        records.append(time.perf_counter() - start)
                    await asyncio.to_thread(store.close)
                    shown = [
                        f"{median(one) * 1e3:.1f}, {quantiles(one, n=100)[98] * 1e3:.1f}"
                        for one in (searches, records)
                    ]
                    print(f"| {seconds * 1e3:g} | {name} | {shown[0]} | {shown[1]} |", flush=True)
            ledger.close()


async def _measure(name: str, store: Store, ledger: LedgerStore) -> None:
    plans, now = load(), datetime.now(UTC)
    account = (await create_account(ledger, "integral", plans, now)).id
    _, key = await create_key(ledger, account, plans, now)

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
        store = RedisStore(server.url, create=True)
        yield store, store
        store.close()


@contextmanager
def _edge() -> Iterator[tuple[Store, LedgerStore]]:
    with tempfile.TemporaryDirectory() as folder, running("redis", *SYNCED) as server:
        edge, centre = EdgeStore(Path(folder), lambda: RedisStore(server.url, create=True)), None
        try:
            centre = RedisStore(server.url, create=True)
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
