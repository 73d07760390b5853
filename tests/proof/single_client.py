"""Attacks of one client without an account on a server, while a caller with a key searches.

    python -m tests.proof.single_client --data DATA [--workers 2] [--seconds 8] [ATTACK …]

Each attack is a kind of request, sent over many connections from one address by a separate process. The server has the
limits that it is shipped with. For each attack the program prints a line of JSON: the caller's waits in milliseconds
alone, just before, and during the attack, the processors that the server keeps busy, and the statuses that the attacker
got. The exit code is 1 if a median wait grows more than `MOST_RATIO` times or a p99 is over `MOST_MS`. On a machine
with other work the figures mean nothing.
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

MOST_RATIO: Final = 3.0  # of the median wait during an attack to that before
MOST_MS: Final = 100.0  # of the p99 during an attack
_SEARCH: Final = "/api/v1/societes?pays=EE"
_PAUSE_S: Final = 0.01  # between two searches of the caller
CALLERS: Final = 30  # keys that take turns: a key may search ten times a second
_JSON: Final = "Content-Type: application/json"
_FORM: Final = "Content-Type: application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Attack:
    """A kind of request, and the way in which it is sent.

    Attributes:
        requests: the bytes of requests, one after the other, drawn at random.
        connections: the number of simultaneous connections; each sends as fast as it gets answers.
        closes: whether each request has its own connection.
        sent_at_once: the number of requests that a connection sends before it reads.
        is_slow: whether bytes are sent and read one by one.
    """

    requests: Callable[[random.Random], Iterator[bytes]]
    connections: int = 64
    closes: bool = False
    sent_at_once: int = 1
    is_slow: bool = False


def _request(target: str, *fields: str, method: str = "GET", body: str = "") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def _repeat(make: Callable[[random.Random], bytes]) -> Callable[[random.Random], Iterator[bytes]]:
    """Requests that `make` draws, without end, for `Attack.requests`."""

    def requests(chance: random.Random) -> Iterator[bytes]:
        """Draw one request after the other."""
        while True:
            yield make(chance)

    return requests


def _repeat_request(
    target: str, *fields: str, method: str = "GET"
) -> Callable[[random.Random], Iterator[bytes]]:
    """The same request again and again, for `Attack.requests`."""
    return _repeat(lambda _: _request(target, *fields, method=method))


def _tool_call(chance: random.Random) -> bytes:
    """A search by a tool for language models."""
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search_companies", "arguments": {"q": _word(chance)}},
    }  # fmt: skip
    accepted = "Accept: application/json, text/event-stream"
    return _request("/api/mcp", _JSON, accepted, method="POST", body=json.dumps(call))


def _log_in(chance: random.Random) -> bytes:
    """A log-in with a random address and a wrong password."""
    body = f"email={_word(chance)}%40example.org&mot_de_passe={'x' * 30}"
    return _request("/connexion", _FORM, "Accept: text/html", method="POST", body=body)


def _forwarded_search(network: str) -> Callable[[random.Random], bytes]:
    """A function that draws searches from an IPv6 network, as a trusted proxy forwards them."""

    def draw_search(chance: random.Random) -> bytes:
        """A search by a random word, from a random address of the network."""
        # The groups of hexadecimal digits that `network` leaves open.
        groups = [f"{chance.randrange(1 << 16):x}" for _ in range(8 - network.count(":"))]
        address = network + ":".join(groups)
        return _request(f"/api/v1/societes?q={_word(chance)}", f"X-Forwarded-For: {address}")

    return draw_search


def _encoding_request(chance: random.Random) -> bytes:
    """A request with a preference of content codings that differs each time."""
    accepted = f"Accept-Encoding: gzip;q=0.{chance.randrange(1, 10**6)}, zstd;q=0.1"
    return _request("/llms-full.txt", accepted)


def _reconciliation(chance: random.Random) -> bytes:
    """A query of the service for OpenRefine."""
    queries = quote(json.dumps({"q": {"query": _word(chance)}}))
    return _request(f"/api/v1/reconciliation/visiteur?queries={queries}")


def _word(chance: random.Random) -> str:
    """One to six letters that are frequent in names."""
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
    "a page": Attack(_repeat_request("/tarifs", _HTML)),
    "the status page": Attack(_repeat_request("/statut", _HTML)),
    "an object of the manual": Attack(_repeat_request("/docs/objets/Societe", _HTML)),
    "missing pages": Attack(_repeat(lambda chance: _request(f"/{_word(chance)}/x", _HTML))),
    "missing routes": Attack(_repeat(lambda chance: _request(f"/api/v1/{_word(chance)}"))),
    "HEAD of searches": Attack(
        _repeat(lambda chance: _request(f"/api/v1/societes?q={_word(chance)}", method="HEAD"))
    ),
    "preflights": Attack(
        _repeat_request(
            "/api/v1/societes", "Origin: https://a.example", "Access-Control-Request-Method: GET", method="OPTIONS",
        )
    ),
    "ranges": Attack(_repeat_request("/openapi.json", _RANGES)),
    "ETags": Attack(_repeat_request("/openapi.json", _TAGS)),
    "content codings": Attack(_repeat(_encoding_request)),
    "many fields": Attack(_repeat_request("/healthz", *_FIELDS)),
    "pipelined requests": Attack(_repeat_request("/api/v1/pays"), connections=16, sent_at_once=200),
    "new connections": Attack(_repeat_request("/healthz", "Connection: close"), closes=True),
    "bytes that are not HTTP": Attack(_repeat(lambda chance: chance.choice(_GARBAGE)), closes=True),
    "log-ins": Attack(_repeat(_log_in)),
    "suggestions": Attack(_repeat(lambda chance: _request(f"/api/v1/suggestions?q={_word(chance)}"))),
    "reconciliation": Attack(_repeat(_reconciliation)),
    "tools": Attack(_repeat(_tool_call)),
    "addresses of a household": Attack(_repeat(_forwarded_search("2001:db8:1:2:"))),
    "networks of a customer": Attack(_repeat(_forwarded_search("2001:db8:1:"))),
    "slow bodies": Attack(
        _repeat(lambda _: _request("/api/v1/societes", _JSON, method="POST", body=" " * 60_000)), is_slow=True
    ),
    "slow readers": Attack(_repeat_request("/openapi.json"), is_slow=True, sent_at_once=50),
}  # fmt: skip


# -- the attacker, in a separate process --------------------------------------------


def _attack(name: str, address: str, seed: int, control: Connection) -> None:
    """Run the attack `name` until the other end of `control` sends anything; then send it the number of each status."""
    os.nice(5)  # so that the attacker takes less processor time from the server
    statuses: Counter[str] = Counter()

    async def attack_until_told() -> None:
        """Attack on all connections until `control` has something to read."""
        attack, loop, ended = ATTACKS[name], asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(control.fileno(), ended.set)
        tasks = [
            asyncio.create_task(
                _send_on_connections(attack, address, random.Random(seed + n), statuses)
            )
            for n in range(attack.connections)
        ]
        await ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(attack_until_told())
    control.send(dict(statuses))


async def _send_on_connections(
    attack: Attack, address: str, chance: random.Random, statuses: Counter[str]
) -> None:
    """Open one connection after the other, without end; send requests on each until the server closes it.

    `statuses` counts the answers, and the connections that were "refused" or "closed".
    """
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
                if attack.is_slow:
                    await _send_slowly(reader, writer, sent)
                writer.write(sent)
                is_head = sent.startswith(b"HEAD")
                for _ in range(attack.sent_at_once):
                    statuses[await _read_status(reader, without_body=is_head)] += 1
                if attack.closes:
                    break
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            statuses["closed"] += 1
        finally:
            writer.transport.abort()


async def _send_slowly(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
) -> None:
    """Send half of a request, then the second half byte by byte, and read a byte after each.

    Raises EOFError if the server closes the connection. The caller sends the request a second time afterwards.
    """
    middle = len(sent) // 2
    writer.write(sent[:middle])
    for position in range(middle, len(sent)):
        writer.write(sent[position : position + 1])
        await asyncio.sleep(0.2)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                if not await reader.read(1):
                    raise EOFError


async def _read_status(reader: asyncio.StreamReader, *, without_body: bool) -> str:
    """Read a response to its end; return its status, such as "200". The response to HEAD is read `without_body`."""
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
    """The waits of a caller, in milliseconds, and the number of searches."""

    p50: float
    p99: float
    number: int


def measure_waits(address: str, callers: Iterator[Mapping[str, str]], seconds: float) -> Waits:
    """Measure searches, one after the other, each over a new connection and with the next key."""
    host, latencies, end = urlsplit(address).netloc, [], time.monotonic() + seconds
    while time.monotonic() < end:
        connection = HTTPConnection(host, timeout=60)
        start = time.perf_counter()
        connection.request("GET", _SEARCH, headers=dict(next(callers)))
        response = connection.getresponse()
        response.read()
        latencies.append(1_000 * (time.perf_counter() - start))
        connection.close()
        assert response.status == 200, response.status
        time.sleep(_PAUSE_S)
    latencies.sort()
    return Waits(
        round(latencies[len(latencies) // 2], 2),
        round(latencies[int(0.99 * (len(latencies) - 1))], 2),
        len(latencies),
    )


def measure(
    name: str, server: Server, callers: Iterator[Mapping[str, str]], seconds: float
) -> tuple[Waits, Waits, float, dict[str, int]]:
    """Attack; return the waits alone and during it, the processors the server keeps busy, the attacker's statuses."""
    address = server.address
    alone = measure_waits(address, callers, seconds / 2)
    our_end, attacker_end = multiprocessing.Pipe()
    spawning = multiprocessing.get_context("spawn")
    attacker = spawning.Process(target=_attack, args=(name, address, 7, attacker_end), daemon=True)
    attacker.start()
    time.sleep(1.5)  # until the attacker has started
    start, seconds_before = time.monotonic(), processor_seconds(server)
    during = measure_waits(address, callers, seconds)
    busy_processors = (processor_seconds(server) - seconds_before) / (time.monotonic() - start)
    our_end.send("")  # ends the attack
    statuses = our_end.recv() if our_end.poll(30) else {}
    attacker.join(10)
    attacker.kill()
    return alone, during, busy_processors, statuses


def serve_command(data: Path, state: Path, port: str, workers: str) -> list[str]:
    """The command of a server with the limits that it is shipped with."""
    return [
        sys.executable, "-m", "serve", "--data", str(data), "--state", str(state), "--port", port,
        "--workers", workers, "--trusted-proxies", "127.0.0.1",
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks; print a line of JSON for each; return 1 if a bound of the waits is exceeded, otherwise 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.single_client",
        description="Measure the waits of a caller during attacks of one client.",
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
        callers = cycle(keys(state, CALLERS))  # a key may search ten times a second
        command = serve_command(options.data, state, options.port, options.workers)
        with running(command) as server:
            for name in options.attacks or ATTACKS:
                alone, during, busy, statuses = measure(name, server, callers, options.seconds)
                ratio = during.p50 / alone.p50
                is_over |= ratio > MOST_RATIO or during.p99 > MOST_MS
                row = {
                    "attack": name, "alone": [alone.p50, alone.p99], "beside": [during.p50, during.p99],
                    "ratio": round(ratio, 2), "busy": round(busy, 2), "searches": during.number, "statuses": statuses,
                }  # fmt: skip
                sys.stdout.write(json.dumps(row) + "\n")
                sys.stdout.flush()
    return 1 if is_over else 0


if __name__ == "__main__":
    raise SystemExit(main())
