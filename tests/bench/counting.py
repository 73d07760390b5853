"""`python -m tests.bench.counting [FOLDER]`: what it costs to count a call.

One caller alone, then 64 at once, on one account each and on one for all; calls, and first charges
of companies. FOLDER says on which disk; without it, that of the temporary files. The same commit of
nothing but one number by LMDB alone is the measure of the disk.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import lmdb

from quota.lmdb_store import LmdbStore
from quota.plans import load

LIMIT: Final = 10**9
ALONE: Final = 500
TOGETHER: Final = 64
ROUNDS: Final = 100

Call = Callable[[int], Awaitable[object]]


def main(folder: str | None) -> None:
    plans, now = load(), datetime.now(UTC)
    with tempfile.TemporaryDirectory(dir=folder) as state:
        store = LmdbStore(Path(state))
        account = store.create_account("integral", plans, now).result().id
        _, key = store.create_key(account, plans, now).result()
        print("| what | each, µs | p50 of a caller, µs | p99, µs |\n| --- | --: | --: | --: |")
        _row("one synced commit of LMDB", *_bare(Path(state)))
        _row("identify a key", *_timed(lambda: store.identify(key).result()))

        async def take(number: int) -> object:
            return await store.take(account, LIMIT, now)

        async def charge(number: int) -> object:
            company = f"EE/{number}"
            return await store.take_and_charge(account, LIMIT, company, 5, LIMIT, now)

        for name, call in (("a call", take), ("a call and a first charge", charge)):
            _row(f"{name}, alone", *asyncio.run(_alone(call)))
            _row(f"{name}, {TOGETHER} at once", *asyncio.run(_together(call)))
        store.close()


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
    with lmdb.open(str(folder / "bare"), subdir=False, map_size=1 << 30) as env:

        def commit() -> None:
            with env.begin(write=True) as txn:
                txn.put(b"n", time.perf_counter_ns().to_bytes(8, "big"))

        return _timed(commit)


def _timed(run: Callable[[], object]) -> tuple[float, list[float]]:
    times = []
    for _ in range(ALONE):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sum(times) / len(times), times


def _row(name: str, each: float, times: list[float]) -> None:
    p99 = quantiles(times, n=100)[98]
    print(f"| {name} | {each * 1e6:.1f} | {median(times) * 1e6:.0f} | {p99 * 1e6:.0f} |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
