"""`python -m tests.bench.counting [FOLDER]`: the cost of counting a call, by store.

Calls, and first charges of companies, by one caller alone and by 64 callers at the same time, all on one account.
FOLDER selects the disk (default: the folder of temporary files). A bare LMDB commit of one number measures the disk
itself. Servers run on this host, so a round trip is a loopback; a distant server adds its distance to every call, or
at an edge to every reservation of a block. Further tables: searches and records by the distance of the server, the
round trips of pages, and a keyed search alone and while four people load `/compte`, at 20 ms
(`tests/quota/redis`).
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
from tests.quota.redis.test_round_trips import compare_with_pages
from tests.quota.servers import SYNCED, running
from tests.serve import world
from tests.serve.client import run_server

LIMIT: Final = 10**9  # calls and credits; no run reaches this limit
ALONE: Final = 500  # calls of one caller alone
TOGETHER: Final = 64  # callers at the same time
ROUNDS: Final = 100  # calls of each of these callers
DISTANCES: Final = (0.0, 0.0005, 0.005, 0.02, 0.1)  # delays of a reply of the server, in seconds
FAR: Final = 60  # searches, and records, per distance
PAGES_S: Final = 0.02  # the delay in the table of pages, in seconds
EVERY_SECOND: Final = ("--appendonly", "yes", "--appendfsync", "everysec")

Call = Callable[[int], Awaitable[object]]


def main(folder: str | None) -> None:
    """Measure how fast stores count calls, and print all tables; the stores are in `folder` (None: in TMPDIR)."""
    if folder:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None  # so that tempfile reads TMPDIR
    print("| measurement | mean, µs | p50 of a caller, µs | p99, µs |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as state:
        _print_row("one synced commit of LMDB", *_time_commits(Path(state)))
        for name, open_store in (
            ("LMDB", _open_lmdb),
            ("Redis, everysec", lambda: _open_server("redis", *EVERY_SECOND)),
            ("Redis, always", lambda: _open_server("redis", *SYNCED)),
            ("Valkey, always", lambda: _open_server("valkey", *SYNCED)),
            ("an edge of Redis, always", _open_edge),
        ):
            with open_store() as (store, ledger):
                asyncio.run(_measure(name, store, ledger))
    asyncio.run(_compare_distances())
    _compare_pages()


def _compare_pages() -> None:
    """Print the round trips of pages, and the times of searches alone and while people load pages.

    The server of the store delays each reply by `PAGES_S` seconds.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        running("redis", *SYNCED) as server,
        at_distance(server.port, PAGES_S) as url,
    ):
        world.publish(Path(folder) / "data")
        RedisStore(server.url, create=True).close()
        with run_server(Path(folder) / "data", opener=lambda _: RedisStore(url)) as served:
            trips, alone, busy, pages = compare_with_pages(served, 100)
    print("\n| page | round trips |\n| --- | --: |")
    for path, count in trips.items():
        print(f"| `{path}` | {count} |")
    print("\n| at 20 ms | p50, ms | p99, ms |\n| --- | --: | --: |")
    for name, times in (
        ("a search alone", alone), ("beside four people", busy), ("`/compte`", pages),
    ):  # fmt: skip
        cells = f"{median(times) * 1e3:.0f} | {quantiles(times, n=100)[98] * 1e3:.0f}"
        print(f"| {name} | {cells} |", flush=True)


async def _compare_distances() -> None:
    """Print the times that the store adds to a search with a key and to a record, by the distance of its server."""
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
                        purchase = Purchase(account, limit, f"EE/{number}", 5, 10**6)
                        await store.take_and_charge(purchase, now)
                        records.append(time.perf_counter() - start)
                    await asyncio.to_thread(store.close)
                    cells = [
                        f"{median(times) * 1e3:.1f}, {quantiles(times, n=100)[98] * 1e3:.1f}"
                        for times in (searches, records)
                    ]
                    print(f"| {seconds * 1e3:g} | {name} | {cells[0]} | {cells[1]} |", flush=True)
            ledger.close()


async def _measure(name: str, store: Store, ledger: LedgerStore) -> None:
    """Time key lookups, calls and charges of a store; `ledger` creates the account."""
    plans, now = load(), datetime.now(UTC)
    account = (await create_account(ledger, "integral", plans, now)).id
    _, key = await create_key(ledger, account, plans, now)

    # `_time_alone` and `_time_together` pass a new number each time; only a charge uses it, for its company.
    async def identify(number: int) -> object:
        return await store.identify(key)

    async def take(number: int) -> object:
        return await store.take(account, LIMIT, now)

    async def charge(number: int) -> object:
        return await store.take_and_charge(Purchase(account, LIMIT, f"EE/{number}", 5, LIMIT), now)

    for kind, call in (("a key", identify), ("a call", take), ("a call and a charge", charge)):
        _print_row(f"{name}: {kind}, alone", *await _time_alone(call))
        _print_row(f"{name}: {kind}, {TOGETHER} at once", *await _time_together(call))


@contextmanager
def _open_lmdb() -> Iterator[tuple[Store, LedgerStore]]:
    """A store of LMDB in a temporary folder; it has the ledger too."""
    with tempfile.TemporaryDirectory() as folder:
        store = LmdbStore(Path(folder))
        yield store, store
        store.close()


@contextmanager
def _open_server(kind: str, *options: str) -> Iterator[tuple[Store, LedgerStore]]:
    """A store on a new Redis or Valkey server; it has the ledger too."""
    with running(kind, *options) as server:
        store = RedisStore(server.url, create=True)
        yield store, store
        store.close()


@contextmanager
def _open_edge() -> Iterator[tuple[Store, LedgerStore]]:
    """A store that counts at an edge, and the central store with the ledger."""
    with tempfile.TemporaryDirectory() as folder, running("redis", *SYNCED) as server:
        edge, centre = EdgeStore(Path(folder), lambda: RedisStore(server.url, create=True)), None
        try:
            centre = RedisStore(server.url, create=True)
            yield edge, centre
        finally:
            edge.close()
            if centre is not None:
                centre.close()


async def _time_alone(call: Call) -> tuple[float, list[float]]:
    """Mean seconds of a call by one caller, and the seconds of each call."""
    start, times = time.perf_counter(), []
    for number in range(ALONE):
        times.append(await _time_call(call, number))
    return (time.perf_counter() - start) / ALONE, times


async def _time_together(call: Call) -> tuple[float, list[float]]:
    """Seconds per call of `TOGETHER` callers at the same time, and the seconds of each call."""
    times: list[float] = []
    start = time.perf_counter()
    for round_ in range(1, ROUNDS + 1):
        # Numbers that no earlier call used: every charge is of a new company.
        numbers = range(round_ * 10_000, round_ * 10_000 + TOGETHER)
        times += await asyncio.gather(*(_time_call(call, number) for number in numbers))
    return (time.perf_counter() - start) / (ROUNDS * TOGETHER), times


async def _time_call(call: Call, number: int) -> float:
    """The seconds of one call."""
    start = time.perf_counter()
    await call(number)
    return time.perf_counter() - start


def _time_commits(folder: Path) -> tuple[float, list[float]]:
    """Mean seconds of a synced LMDB commit, and the seconds of each."""
    times = []
    with lmdb.open(str(folder / "bare"), subdir=False, map_size=1 << 30) as env:
        for _ in range(ALONE):
            start = time.perf_counter()
            with env.begin(write=True) as txn:
                txn.put(b"n", time.perf_counter_ns().to_bytes(8, "big"))
            times.append(time.perf_counter() - start)
    return sum(times) / len(times), times


def _print_row(name: str, seconds: float, times: list[float]) -> None:
    """Print a mean, and p50 and p99 of `times`, in microseconds."""
    p99 = quantiles(times, n=100)[98]
    print(
        f"| {name} | {seconds * 1e6:.1f} | {median(times) * 1e6:.0f} | {p99 * 1e6:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
