"""One client without an account does what it can to a server, and a caller with a key searches meanwhile.

    python -m tests.proof.single_client --data DATA [--workers 2] [--seconds 8] [ATTACK …]

Each attack is one way to ask, over many connections of one address, in a process of its own; the server has the limits
that it is shipped with. A line of JSON an attack: how long the caller waits (milliseconds) alone and beside it, in the
same seconds of the same run, and the statuses that the attacker got. The exit code is 1 if the median waits over
`MOST_RATIO` times as long or the p99 over `MOST_MS`; on a machine with other work the figures say nothing.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from tests.bench.load import Server, processor_seconds, running
from tests.bench.served import keys

MOST_RATIO: Final = 3.0
MOST_MS: Final = 100.0
_SEARCH: Final = "/api/v1/societes?pays=EE"
_PAUSE_S: Final = 0.01
CALLERS: Final = 30
_JSON: Final = "Content-Type: application/json"
_FORM: Final = "Content-Type: application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to ask.

    Attributes:
        requests: the bytes of requests, one after the other, drawn by chance.
        connections: how many of them at once; each asks as fast as it is answered.
        closes: each request has a connection of its own.
        sent_at_once: requests that a connection sends before it reads.
        slowly: bytes are sent and read one by one, and no answer is waited for.
    """

    requests: Callable[[random.Random], Iterator[bytes]]
    connections: int = 64
    closes: bool = False
    sent_at_once: int = 1
    slowly: bool = False


def _request(target: str, *fields: str, method: str = "GET", body: str = "") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def _drawn(make: Callable[[random.Random], bytes]) -> Callable[[random.Random], Iterator[bytes]]:
    def endless(chance: random.Random) -> Iterator[bytes]:
        while True:
            yield make(chance)

    return endless


def _same(
    target: str, *fields: str, method: str = "GET"
) -> Callable[[random.Random], Iterator[bytes]]:
    return _drawn(lambda _: _request(target, *fields, method=method))


def _tool(chance: random.Random) -> bytes:
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search_companies", "arguments": {"q": _word(chance)}},
    }  # fmt: skip
    accepted = "Accept: application/json, text/event-stream"
    return _request("/api/mcp", _JSON, accepted, method="POST", body=json.dumps(call))


def _log_in(chance: random.Random) -> bytes:
    body = f"email={_word(chance)}%40example.org&mot_de_passe={'x' * 30}"
    return _request("/connexion", _FORM, "Accept: text/html", method="POST", body=body)


def _forwarded(network: str) -> Callable[[random.Random], bytes]:
    """Requests from the addresses of an IPv6 network, as a trusted proxy passes them on."""

    def draw(chance: random.Random) -> bytes:
        groups = [f"{chance.randrange(1 << 16):x}" for _ in range(8 - network.count(":"))]
        address = network + ":".join(groups)
        return _request(f"/api/v1/societes?q={_word(chance)}", f"X-Forwarded-For: {address}")

    return draw


def _coded(chance: random.Random) -> bytes:
    accepted = f"Accept-Encoding: gzip;q=0.{chance.randrange(1, 10**6)}, zstd;q=0.1"
    return _request("/llms-full.txt", accepted)


def _reconciled(chance: random.Random) -> bytes:
    queries = quote(json.dumps({"q": {"query": _word(chance)}}))
    return _request(f"/api/v1/reconciliation/visiteur?queries={queries}")


def _word(chance: random.Random) -> str:
    return "".join(chance.choices("abeilnorstu", k=chance.randrange(1, 7)))


_HTML: Final = "Accept: text/html"
_TAGS: Final = "If-None-Match: " + ", ".join(f'W/"{n:08x}"' for n in range(600))
_FIELDS: Final = tuple(f"X-{n}: {'v' * 100}" for n in range(60))
_RANGES: Final = "Range: bytes=" + ",".join(f"{n}-{n}" for n in range(0, 2_000, 2))
_GARBAGE: Final = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    b"GET\r\n\r\n",
)

ATTACKS: Final[Mapping[str, Attack]] = {
    "a page": Attack(_same("/tarifs", _HTML)),
    "the state": Attack(_same("/statut", _HTML)),
    "an object of the manual": Attack(_same("/docs/objets/Societe", _HTML)),
    "pages that are not there": Attack(_drawn(lambda chance: _request(f"/{_word(chance)}/x", _HTML))),
    "routes that are not there": Attack(_drawn(lambda chance: _request(f"/api/v1/{_word(chance)}"))),
    "heads of searches": Attack(
        _drawn(lambda chance: _request(f"/api/v1/societes?q={_word(chance)}", method="HEAD"))
    ),
    "preflights": Attack(
        _same("/api/v1/societes", "Origin: https://a.example", "Access-Control-Request-Method: GET", method="OPTIONS")
    ),
    "ranges": Attack(_same("/openapi.json", _RANGES)),
    "tags": Attack(_same("/openapi.json", _TAGS)),
    "codings": Attack(_drawn(_coded)),
    "many fields": Attack(_same("/healthz", *_FIELDS)),
    "requests at once": Attack(_same("/api/v1/pays"), connections=16, sent_at_once=200),
    "new connections": Attack(_same("/healthz", "Connection: close"), closes=True),
    "bytes that are no HTTP": Attack(_drawn(lambda chance: chance.choice(_GARBAGE)), closes=True),
    "log-ins": Attack(_drawn(_log_in)),
    "suggestions": Attack(_drawn(lambda chance: _request(f"/api/v1/suggestions?q={_word(chance)}"))),
    "reconciliation": Attack(_drawn(_reconciled)),
    "tools": Attack(_drawn(_tool)),
    "addresses of a household": Attack(_drawn(_forwarded("2001:db8:1:2:"))),
    "networks of a customer": Attack(_drawn(_forwarded("2001:db8:1:"))),
    "slow bodies": Attack(
        _drawn(lambda _: _request("/api/v1/societes", _JSON, method="POST", body=" " * 60_000)), slowly=True
    ),
    "slow readers": Attack(_same("/openapi.json"), slowly=True, sent_at_once=50),
}  # fmt: skip


# -- the attacker, a process of its own ---------------------------------------------


def _attack(name: str, address: str, seed: int, control: Connection) -> None:
    """Ask until the other end of `control` says so; then send it the statuses."""
    os.nice(5)  # its own work is none of the server's
    statuses: Counter[str] = Counter()

    async def run() -> None:
        attack, loop, ended = ATTACKS[name], asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(control.fileno(), ended.set)
        tasks = [
            asyncio.create_task(_ask_on(attack, address, random.Random(seed + n), statuses))
            for n in range(attack.connections)
        ]
        await ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    control.send(dict(statuses))


async def _ask_on(
    attack: Attack, address: str, chance: random.Random, statuses: Counter[str]
) -> None:
    """One connection after the other, each with requests until the server ends it."""
    target, requests = urlsplit(address), attack.requests(chance)
    while True:
        try:
            reader, writer = await asyncio.open_connection(target.hostname, target.port)
        except OSError:
            statuses["refused"] += 1
            await asyncio.sleep(0.01)
            continue
        try:
            while True:
                sent = b"".join(next(requests) for _ in range(attack.sent_at_once))
                if attack.slowly:
                    await _dawdle(reader, writer, sent)
                writer.write(sent)
                is_head = sent.startswith(b"HEAD")
                for _ in range(attack.sent_at_once):
                    statuses[await _status(reader, without_body=is_head)] += 1
                if attack.closes:
                    break
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            statuses["closed"] += 1
        finally:
            writer.transport.abort()


async def _dawdle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> None:
    """Send half of a request at once and the rest byte by byte, and read a byte at a time, for ever."""
    middle = len(sent) // 2
    writer.write(sent[:middle])
    for place in range(middle, len(sent)):
        writer.write(sent[place : place + 1])
        await asyncio.sleep(0.2)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                if not await reader.read(1):
                    raise EOFError


async def _status(reader: asyncio.StreamReader, *, without_body: bool) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and not without_body:
            length = int(value)
    if length and head[9:12] not in (b"304", b"204"):
        await reader.readexactly(length)
    return head[9:12].decode()


# -- the caller with a key ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a caller waits, in milliseconds."""

    p50: float
    p99: float
    number: int


def waits(address: str, callers: Iterator[Mapping[str, str]], seconds: float) -> Waits:
    """The waits of searches, one after the other, each over a connection of its own and with the next key."""
    host, found, end = urlsplit(address).netloc, [], time.monotonic() + seconds
    while time.monotonic() < end:
        connection = HTTPConnection(host, timeout=60)
        since = time.perf_counter()
        connection.request("GET", _SEARCH, headers=dict(next(callers)))
        response = connection.getresponse()
        response.read()
        found.append(1_000 * (time.perf_counter() - since))
        connection.close()
        assert response.status == 200, response.status
        time.sleep(_PAUSE_S)
    found.sort()
    return Waits(
        round(found[len(found) // 2], 2), round(found[int(0.99 * (len(found) - 1))], 2), len(found)
    )


def measure(
    name: str, server: Server, callers: Iterator[Mapping[str, str]], seconds: float
) -> tuple[Waits, Waits, float, dict[str, int]]:
    """The waits alone and beside an attack, the processors that the server keeps busy, and the attacker's statuses."""
    address = server.address
    alone = waits(address, callers, seconds / 2)
    here, there = multiprocessing.Pipe()
    spawning = multiprocessing.get_context("spawn")
    attacker = spawning.Process(target=_attack, args=(name, address, 7, there), daemon=True)
    attacker.start()
    time.sleep(1.5)  # it has started
    since, used = time.monotonic(), processor_seconds(server)
    beside = waits(address, callers, seconds)
    busy = (processor_seconds(server) - used) / (time.monotonic() - since)
    here.send("")
    statuses = here.recv() if here.poll(30) else {}
    attacker.join(10)
    attacker.kill()
    return alone, beside, busy, statuses


def serve_command(data: Path, state: Path, port: str, workers: str) -> list[str]:
    """The command of a server with the limits that it is shipped with."""
    return [
        sys.executable, "-m", "serve", "--data", str(data), "--state", str(state), "--port", port,
        "--workers", workers, "--trusted-proxies", "127.0.0.1",
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.single_client", description="What one client does to others."
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder DATA")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--port", default="0")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    options = parser.parse_args(arguments)
    is_over = False
    with tempfile.TemporaryDirectory(prefix="single-client-") as folder:
        state = Path(folder) / "state"
        callers = cycle(keys(state, CALLERS))  # each may search ten times a second
        command = serve_command(options.data, state, options.port, options.workers)
        with running(command) as server:
            for name in options.attacks or ATTACKS:
                alone, beside, busy, statuses = measure(name, server, callers, options.seconds)
                ratio = beside.p50 / alone.p50
                is_over |= ratio > MOST_RATIO or beside.p99 > MOST_MS
                row = {
                    "attack": name, "alone": [alone.p50, alone.p99], "beside": [beside.p50, beside.p99],
                    "ratio": round(ratio, 2), "busy": round(busy, 2), "searches": beside.number, "statuses": statuses,
                }  # fmt: skip
                sys.stdout.write(json.dumps(row) + "\n")
                sys.stdout.flush()
    return 1 if is_over else 0


if __name__ == "__main__":
    raise SystemExit(main())
