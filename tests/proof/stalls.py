"""Stalls by a start and by a switch of generations: latencies of `/healthz` and of a mix of requests.

    python -m tests.proof.stalls DATA --rate 200 --cold --switch GENERATION

A server of DATA starts, with `--cold` from a cold page cache. From its first line on a separate process requests
`/healthz` every 5 ms. The mix of the soak starts at a fixed rate once `/readyz` is 200, as behind a load balancer.
After 40 seconds `--switch` publishes another generation of DATA, as a build does; at the end the first generation is
published again. The output has latencies in milliseconds by phase. A latency of the mix counts from the time at which
its request was due.
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

_PROBE_PAUSE_S: Final = 0.005  # between two requests of /healthz
_SWITCH_S: Final = 40.0  # from the first ready answer to the switch
_AFTER_S: Final = 10.0  # measured after the start and after the switch
# The phase without a start or a switch, in seconds after the first ready answer.
_USUAL: Final = (15.0, 40.0)

Latency = tuple[float, float, str]  # the time at which it was due, milliseconds, the path


def drop_from_memory(data: Path) -> None:
    """Let the system drop the files of DATA from the page cache."""
    for path in data.glob("*/*"):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def probe(host: str, answers: "Queue[list[Latency]]", stop: Any) -> None:
    """Request /healthz over several connections, so that each worker gets requests, until `stop` is set.

    Then put the latencies (start, milliseconds, path) into the queue `answers`.
    """
    connections = [http.client.HTTPConnection(host, timeout=60) for _ in range(8)]
    latencies: list[Latency] = []
    while not stop.is_set():
        for connection in connections:
            start = time.monotonic()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            latencies.append((start, 1_000 * (time.monotonic() - start), "/healthz"))
            time.sleep(_PROBE_PAUSE_S)
    answers.put(latencies)


async def wait_until_ready(address: str) -> str:
    """Wait until 16 connections, and so all workers, serve the same generation; return its name."""
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
) -> tuple[dict[str, tuple[float, float]], list[Latency]]:
    """Run the mix and the switch; return the phases and the latencies of the mix.

    In the output, `pret` is the state in which `/readyz` answers 200.
    """
    start = time.monotonic()
    first_generation = await wait_until_ready(address)
    ready_time = time.monotonic()
    sys.stdout.write(f"pret {ready_time - start:.2f} s after the first line\n")
    answers: list[Latency] = []
    until = time.monotonic() + (_SWITCH_S + 15 if options.switch else _SWITCH_S)
    phases = {
        "before pret": (start, ready_time),
        "10 s after pret": (ready_time, ready_time + _AFTER_S),
        "usual": (ready_time + _USUAL[0], ready_time + _USUAL[1]),
    }

    async def time_answer(
        session: aiohttp.ClientSession, request: soak.SoakRequest, due: float
    ) -> None:
        """Send a request; note its latency, counted from the time at which it was due."""
        async with session.get(request.path, headers=request.headers) as reply:
            await reply.read()
        assert reply.status == 200, (reply.status, request.path)
        answers.append((due, 1_000 * (time.monotonic() - due), request.path))

    async def send_mix() -> None:
        """Send requests of the mix at the rate until the end of the run."""
        companies = await soak.read_companies(address, accounts[0])
        mix = soak.requests(random.Random(18), companies, accounts)
        connector = aiohttp.TCPConnector(limit=256)
        async with (
            aiohttp.ClientSession(address, connector=connector) as session,
            asyncio.TaskGroup() as group,
        ):
            began = time.monotonic()
            for number in count():
                due = began + number / options.rate
                if due > until:
                    break
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                request = next(mix)
                if "/export" not in request.path:  # exports run in other processes
                    group.create_task(time_answer(session, request, due))

    async def switch() -> None:
        """Publish the other generation, and set the end of the run to after its switch."""
        nonlocal until
        await asyncio.sleep(max(0.0, ready_time + _SWITCH_S - time.monotonic()))
        began = time.monotonic()
        pointer.point_to(options.data, options.switch, [first_generation])
        until = began + 120  # the longest wait for the switch
        while await wait_until_ready(address) != options.switch:
            pass
        switched = time.monotonic()
        until = switched + _AFTER_S
        sys.stdout.write(f"the next generation is served {switched - began:.2f} s later\n")
        phases["while it is read"] = (began, switched - 3)
        phases["3 s before, 10 s after"] = (switched - 3, until)

    async with asyncio.TaskGroup() as group:
        if options.rate:
            group.create_task(send_mix())
        if options.switch:
            group.create_task(switch())
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    return phases, answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server, the probe of /healthz and the mix; print the latencies by phase and the longest; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.stalls")
    parser.add_argument("data", type=Path)
    parser.add_argument("--rate", type=float, default=0.0, help="requests of the mix per second")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--warm", default="true")
    parser.add_argument("--cold", action="store_true", help="start from a cold page cache")
    parser.add_argument("--switch", help="another generation of DATA, published after 40 s")
    options = parser.parse_args(arguments)
    first_generation = pointer.require(options.data).generation
    if options.cold:
        drop_from_memory(options.data)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        queue: Queue[list[Latency]] = Queue()
        accounts = keys(state, 9 + int(options.rate * 180) // soak.CALLS_PER_ACCOUNT)
        flags = ("--workers", options.workers, "--warm", options.warm)
        try:
            with serving(options.data, state, *flags) as server:
                sys.stdout.write(f"first line after {server.ready:.2f} s\n")

                stop = Event()
                prober = Process(
                    target=probe, args=(server.address.removeprefix("http://"), queue, stop)
                )
                prober.start()
                phases, mix_latencies = asyncio.run(run(options, server.address, accounts))
                stop.set()
                health_latencies = queue.get(timeout=60)
                prober.join()
        finally:
            pointer.point_to(options.data, first_generation, [])
    for phase, (start, end) in phases.items():
        for kind, latencies in (("healthz", health_latencies), ("mix", mix_latencies)):
            in_phase = sorted(latency for due, latency, _ in latencies if start <= due < end)
            if in_phase:
                p50, p99 = (in_phase[int(share * len(in_phase))] for share in (0.5, 0.99))
                sys.stdout.write(
                    f"{phase:24} {kind:8} {len(in_phase):6}  p50 {p50:7.1f}  p99 {p99:7.1f}  "
                    f"max {in_phase[-1]:7.1f} ms\n"
                )
    for kind, latencies in (("healthz", health_latencies), ("mix", mix_latencies)):
        for due, latency, path in sorted(latencies, key=lambda answer: -answer[1])[:6]:
            sys.stdout.write(
                f"{kind:8} {latency:7.1f} ms at {due - phases['before pret'][0]:7.2f} s  {path[:80]}\n"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
