"""Whom a start and a switch of generations hold: `/healthz` every 5 ms, and a mix of requests at a fixed rate.

    python -m tests.proof.holds DATA --rate 200 --cold --switch GENERATION

A server starts over DATA, from a cold page cache with `--cold`. `/healthz` is asked from its first line on by a process
of its own; the mix of the soak begins once `/readyz` says `pret`, as a balancer would send it. After 40 seconds
`--switch` publishes another generation of DATA, as a build does, and at the end the one before. Printed are latencies
in milliseconds by phase: a latency of the mix counts from the moment at which its request was due.
"""

import argparse
import asyncio
import http.client
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from multiprocessing import Event, Process, Queue
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from shards.generations import pointer
from tests.bench.served import Headers, keys, serving
from tests.proof import soak

_EVERY_S: Final = 0.005
_SWITCH_S: Final = 40.0
_AFTER_S: Final = 10.0
_USUAL: Final = (15.0, 40.0)

Answer = tuple[float, float, str]  # when it was due, its milliseconds, its path


def drop_from_memory(data: Path) -> None:
    """Let the system drop the files of DATA from the page cache."""
    for path in data.glob("*/*"):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def probe(host: str, answers: "Queue[list[Answer]]", stop: Any) -> None:
    """Ask /healthz again and again on several connections, so that each worker is asked."""
    connections = [http.client.HTTPConnection(host, timeout=60) for _ in range(8)]
    seen: list[Answer] = []
    while not stop.is_set():
        for connection in connections:
            begun = time.monotonic()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            seen.append((begun, 1_000 * (time.monotonic() - begun), "/healthz"))
            time.sleep(_EVERY_S)
    answers.put(seen)


async def ready(address: str) -> str:
    """The generation that 16 connections, and so all workers, are ready with, once they are."""
    while True:
        served: set[str] = set()
        for _ in range(16):
            async with aiohttp.ClientSession(address) as session, session.get("/readyz") as reply:
                body = orjson.loads(await reply.read())
            served.add(body["generation"] if reply.status == 200 else "")
        if len(served) == 1 and "" not in served:
            return served.pop()
        await asyncio.sleep(0.02)


async def run(
    options: argparse.Namespace, address: str, accounts: Sequence[Headers]
) -> tuple[dict[str, tuple[float, float]], list[Answer]]:
    """The phases, and the answers of the mix."""
    start = time.monotonic()
    before = await ready(address)
    pret = time.monotonic()
    sys.stdout.write(f"pret {pret - start:.2f} s after the first line\n")
    answers: list[Answer] = []
    until = time.monotonic() + (_SWITCH_S + 15 if options.switch else _SWITCH_S)
    phases = {
        "before pret": (start, pret),
        "10 s after pret": (pret, pret + _AFTER_S),
        "usual": (pret + _USUAL[0], pret + _USUAL[1]),
    }

    async def ask(session: aiohttp.ClientSession, request: soak.SoakRequest, due: float) -> None:
        async with session.get(request.path, headers=request.headers) as reply:
            await reply.read()
        assert reply.status == 200, (reply.status, request.path)
        answers.append((due, 1_000 * (time.monotonic() - due), request.path))

    async def load() -> None:
        companies = await soak._companies(address, accounts[0])
        mix = soak.requests(random.Random(18), companies, accounts)
        connector = aiohttp.TCPConnector(limit=256)
        async with (
            aiohttp.ClientSession(address, connector=connector) as session,
            asyncio.TaskGroup() as group,
        ):
            begun = time.monotonic()
            for number in count():
                due = begun + number / options.rate
                if due > until:
                    break
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                request = next(mix)
                if "/export" not in request.path:  # its processes are another matter
                    group.create_task(ask(session, request, due))

    async def switch() -> None:
        nonlocal until
        await asyncio.sleep(max(0.0, pret + _SWITCH_S - time.monotonic()))
        begun = time.monotonic()
        pointer.point_to(options.data, options.switch, [before])
        until = begun + 120
        while await ready(address) != options.switch:
            pass
        served = time.monotonic()
        until = served + _AFTER_S
        sys.stdout.write(f"the next generation is served {served - begun:.2f} s later\n")
        phases["while it is read"] = (begun, served - 3)
        phases["3 s before, 10 s after"] = (served - 3, until)

    async with asyncio.TaskGroup() as group:
        if options.rate:
            group.create_task(load())
        if options.switch:
            group.create_task(switch())
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    return phases, answers


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.holds")
    parser.add_argument("data", type=Path)
    parser.add_argument("--rate", type=float, default=0.0, help="requests of the mix a second")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--warm", default="true")
    parser.add_argument("--cold", action="store_true", help="from a cold page cache")
    parser.add_argument("--switch", help="another generation of DATA")
    options = parser.parse_args(arguments)
    published = pointer.require(options.data).generation
    if options.cold:
        drop_from_memory(options.data)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        found: Queue[list[Answer]] = Queue()
        accounts = keys(state, 9 + int(options.rate * 180) // soak.CALLS_PER_ACCOUNT)
        flags = ("--workers", options.workers, "--warm", options.warm)
        try:
            with serving(options.data, state, *flags) as server:
                sys.stdout.write(f"first line after {server.ready:.2f} s\n")

                stop = Event()
                prober = Process(
                    target=probe, args=(server.address.removeprefix("http://"), found, stop)
                )
                prober.start()
                phases, answers = asyncio.run(run(options, server.address, accounts))
                stop.set()
                health = found.get(timeout=60)
                prober.join()
        finally:
            pointer.point_to(options.data, published, [])
    for phase, (first, last) in phases.items():
        for kind, seen in (("healthz", health), ("mix", answers)):
            part = sorted(latency for due, latency, _ in seen if first <= due < last)
            if part:
                p50, p99 = (part[int(share * len(part))] for share in (0.5, 0.99))
                sys.stdout.write(
                    f"{phase:24} {kind:8} {len(part):6}  p50 {p50:7.1f}  p99 {p99:7.1f}  max {part[-1]:7.1f} ms\n"
                )
    for kind, seen in (("healthz", health), ("mix", answers)):
        for due, latency, path in sorted(seen, key=lambda one: -one[1])[:6]:
            sys.stdout.write(
                f"{kind:8} {latency:7.1f} ms at {due - phases['before pret'][0]:7.2f} s  {path[:80]}\n"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
