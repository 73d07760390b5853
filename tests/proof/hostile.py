"""Hostile requests over every route of a real server: no 5xx, no hang, and the other callers hardly wait.

    python -m tests.proof.hostile --data DATA --requests 50000

Each request is drawn from a seeded generator: a route of the API or of the pages with hostile values, paths,
methods, headers and bodies, or bytes that are no HTTP. It has a connection of its own, and an end within
`ANSWER_S` (an export: `EXPORT_S`). A well-formed request must have an answer; none may have a 5xx but the 503
of a full queue of exports. Meanwhile a caller reads plain searches. Its p99 is compared with that of a time in
which as many clients sent plain searches. One line of JSON is printed; the exit code is 1 if there are faults.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from serve.app import PRODUCT
from serve.contract import parameters
from serve.contract.parameters import SEARCH
from serve.http.router import Router
from serve.surfaces.mcp.tool_list import tools
from serve.surfaces.site.page_request import pages_of
from tests.bench.served import keys, serving

CLIENTS: Final = 16
ANSWER_S: Final = 30.0
EXPORT_S: Final = 180.0  # a workbook of 10 000 rows, while others are made
PAUSE_S: Final = 0.05  # of the caller whose latency is measured
MOST_RATIO: Final = 3.0
ENOUGH: Final = 10_000  # requests after which a p99 means something
PLAIN: Final = "/api/v1/societes?q=lab"

_ROUTES: Final = Router(PRODUCT.operations).routes
VALUES: Final = (
    "", "a", "FR", "EE,UK", "1", "0", "-1", "1e308", "-1e999", "9" * 400, "NaN", "inf", "0x10", "١٢", "ﬀ" * 60,
    "é" * 119, "a" * 121, "\x00", "\r\nX: 1", "%", "%%%", "%zz", "\ud800", "\U0001f4a9" * 30, "' OR 1=1 --",
    "${jndi:ldap://x}", "{{7*7}}", "../../../etc/passwd", "<script>alert(1)</script>", "=cmd|' /C calc'!A0",
    "(a+)+$", "a,a,a," * 900, "[" * 3_000, "\u202e" * 20, "İ" * 100, "ß" * 100, "null", "true", "[]", "{}",
)  # fmt: skip
METHODS: Final = (
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "BREW",
    "get",
    "G" * 500,
)
BODIES: Final = (
    b"", b"{}", b"[]", b"null", b"[" * 20_000, b'{"a":' * 5_000, b'{"limit": 1e999}', b'{"q": "\xff"}',
    b"\x1f\x8b\x08\x00",
    b'{"q": "\\ud800"}', b'{"q": NaN}', b'{"pays": [["FR"]]}', b'{"limit": ' + b"9" * 5_000 + b"}", b"a=1&a=2&" * 900,
    b"email=a%40b.fr&mot_de_passe=x", bytes(range(256)), b'{"q": "a", "q": "b"}', b"x" * 70_000,
)  # fmt: skip
HEADERS: Final = (
    ("Authorization", ("Bearer", "Bearer x", "Bearer soc_live_" + "a" * 36, "Basic eDp5", "Bearer " + "é" * 40)),
    ("Accept", ("text/html", "*/*;q=9", "," * 900, "application/" + "x" * 900, "text/markdown")),
    ("Accept-Language", ("en", "fr;q=x", "-" * 500, "en-" * 200)),
    ("If-None-Match", ("*", '"' * 500, 'W/"a",' * 200, "\x80")),
    ("Cookie", ("session=" + "a" * 3_000, ";" * 900, "session=p_aaaaaaaaaaaa." + "0" * 64 + "." + "A" * 43)),
    ("Origin", ("null", "http://evil.example", "http://localhost:1", "x" * 500)),
    ("Content-Type", ("application/json", "text/plain", "multipart/form-data; boundary=" + "-" * 200, "")),
    ("Content-Encoding", ("gzip", "br", "identity, gzip", "x")),
    ("Range", ("bytes=0-", "bytes=-1", "bytes=" + "0-1," * 300)),
    ("Expect", ("100-continue", "200-ok")),
    ("X-Forwarded-For", ("1.2.3.4", "::1", "x, " * 300, "999.1.1.1")),
    ("X-Request-Id", ("a" * 129, "a b", "é")),
    ("Mcp-Method", ("tools/call", "x")), ("MCP-Protocol-Version", ("2026-07-28", "1", "é")),
    ("Upgrade", ("websocket", "h2c")), ("Connection", ("upgrade", "keep-alive, close", "x" * 900)),
)  # fmt: skip
GARBAGE: Final = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 50,
    b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"POST /api/mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST /api/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
    b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 500 + b"\r\n", b"GET / HTTP/1.1\nHost: a\n\n",
    b"POST /api/v1/export HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", bytes(range(256)) * 20,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """The bytes of a request; `formed` if it is HTTP, so that it must have an answer."""

    sent: bytes
    formed: bool


@dataclass
class Findings:
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0


def draw(chance: random.Random, host: str, key: str) -> HostileRequest:
    """A request of any kind."""
    if chance.random() < 0.1:
        garbage = bytearray(chance.choice(GARBAGE))
        for _ in range(chance.randrange(3)):
            garbage[chance.randrange(len(garbage))] = chance.randrange(256)
        return HostileRequest(bytes(garbage), formed=False)
    method = chance.choice(METHODS)
    path = _api_path(chance) if chance.random() < 0.6 else _page_path(chance)
    body = b""
    if method in ("POST", "PUT", "PATCH") or "mcp" in path:
        method = method if method != "GET" else "POST"
        body = _mcp_body(chance) if chance.random() < 0.5 else chance.choice(BODIES)
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    if chance.random() < 0.3:
        lines.append(f"Authorization: Bearer {key}")
    lines += [
        f"{name}: {chance.choice(values)}"
        for name, values in chance.sample(HEADERS, chance.randrange(4))
    ]
    head = "\r\n".join(lines) + "\r\n\r\n"
    return HostileRequest(head.encode("utf-8", "surrogatepass") + body, formed=True)


def _api_path(chance: random.Random) -> str:
    route = chance.choice(_ROUTES)
    path = "/" + "/".join(part or _quoted(chance) for part in route.segments)
    names = [*parameters.names(SEARCH), "depuis", "version", "format", "lang", _quoted(chance)[:40]]
    pairs = [f"{chance.choice(names)}={_quoted(chance)}" for _ in range(chance.randrange(6))]
    return path + ("?" + "&".join(pairs) if pairs else "")


def _page_path(chance: random.Random) -> str:
    path = chance.choice(
        [*pages_of(PRODUCT).examples(), "/societes/" + _quoted(chance), "/" + _quoted(chance)]
    )
    return path + (f"?{chance.choice(SEARCH)}={_quoted(chance)}" if chance.random() < 0.5 else "")


def _quoted(chance: random.Random) -> str:
    """A hostile value, percent-encoded or nearly so."""
    value = chance.choice(VALUES) if chance.random() < 0.7 else _noise(chance)
    packed = value.encode("utf-8", "surrogatepass")
    return quote(packed, safe="%&=/" if chance.random() < 0.3 else "")[:4_000]


def _noise(chance: random.Random) -> str:
    return "".join(
        chr(chance.choice((chance.randrange(128), chance.randrange(0xD800))))
        for _ in range(chance.randrange(80))
    )


def _mcp_body(chance: random.Random) -> bytes:
    """A call of a tool with hostile arguments."""
    known = [*parameters.names(SEARCH), "iso2", "id", "depuis", _noise(chance)]
    given: dict[str, object] = {
        chance.choice(known): chance.choice([*VALUES, 1, -1, 1e300, None, [], {}, [["a"]]])
        for _ in range(3)
    }
    call: dict[str, object] = {
        "jsonrpc": chance.choice(("2.0", "1.0", 2)), "id": chance.choice((1, "a", None, 1.5, [])),
        "method": chance.choice(("tools/call", "tools/list", "initialize", "server/discover", "x" * 500)),
        "params": {"name": chance.choice([*tools(PRODUCT), "x"]), "arguments": given},
    }  # fmt: skip
    return json.dumps(call).encode()


# -- the run -------------------------------------------------------------------------


async def exchange(address: str, sent: bytes) -> bytes:
    """All bytes of the answer; the connection is closed by the server.

    Raises:
        TimeoutError: it is not closed within `ANSWER_S`, or `EXPORT_S` for an export.
    """
    target = urlsplit(address)
    async with asyncio.timeout(EXPORT_S if b"/export" in sent[:40] else ANSWER_S):
        reader, writer = await asyncio.open_connection(target.hostname, target.port)
        answer = b""
        try:
            writer.write(sent)
            while piece := await reader.read(1 << 16):
                answer += piece
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
    return answer


async def attack(
    address: str, next_one: Callable[[], HostileRequest | None], found: Findings
) -> None:
    """Send requests until there are no more."""
    while one := next_one():
        since = time.monotonic()
        try:
            answer = await exchange(address, one.sent)
        except TimeoutError:
            found.faults.append(f"no end within {ANSWER_S:g} s: {one.sent[:300]!r}")
            continue
        found.slowest = max(found.slowest, time.monotonic() - since)
        status = int(answer[9:12]) if answer[:7] == b"HTTP/1." else 0
        found.statuses[status] += 1
        # The queue of exports may be full; without settings nobody can pay.
        busy = status == 503 and (b"/export" in one.sent[:60] or b"/paiement/" in one.sent[:60])
        if (status >= 500 and not busy) or (one.formed and status == 0):
            found.faults.append(f"{status} {answer[:200]!r} for {one.sent[:300]!r}")


async def wait_times(address: str, until: asyncio.Event) -> list[float]:
    """The latencies in milliseconds of a caller that sends plain searches, in ascending order."""
    sent = _plain(urlsplit(address).netloc).sent
    found = []
    while not until.is_set():
        since = time.monotonic()
        answer = await exchange(address, sent)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        found.append(1_000 * (time.monotonic() - since))
        await asyncio.sleep(PAUSE_S)
    return sorted(found)


def _plain(host: str) -> HostileRequest:
    return HostileRequest(
        f"GET {PLAIN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(), formed=True
    )


async def phase(
    address: str, number: int, make: Callable[[], HostileRequest], found: Findings
) -> float:
    """Send so many requests from all clients; the p99 of the other caller meanwhile."""
    left = iter(range(number))
    done = asyncio.Event()
    waits = asyncio.create_task(wait_times(address, done))
    try:
        await asyncio.gather(
            *(
                attack(address, lambda: make() if next(left, None) is not None else None, found)
                for _ in range(CLIENTS)
            )
        )
    finally:
        done.set()
    ordered = await waits
    return ordered[int(0.99 * (len(ordered) - 1))]


async def run(address: str, key: str, number: int, seed: int) -> dict[str, object]:
    host, chance = urlsplit(address).netloc, random.Random(seed)
    calm, found = Findings(), Findings()
    before = await phase(address, max(500, number // 10), lambda: _plain(host), calm)
    during = await phase(address, number, lambda: draw(chance, host, key), found)
    if number >= ENOUGH and during > MOST_RATIO * before:
        found.faults.append(
            f"p99 of another caller: {during:.1f} ms, beside plain searches {before:.1f}"
        )
    return {
        "requests": number, "statuses": dict(sorted(found.statuses.items())), "slowest_s": round(found.slowest, 2),
        "p99_ms_beside_plain": round(before, 1), "p99_ms_beside_hostile": round(during, 1),
        "faults": [*calm.faults, *found.faults][:20],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.hostile", description="Hostile requests."
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder DATA")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        state = Path(folder) / "state"
        key = keys(state, 1)[0]["Authorization"].removeprefix("Bearer ")
        # While data are read ahead, /readyz is 503, and that is no fault.
        with serving(options.data, state, "--warm", "false") as server:
            found = asyncio.run(run(server.address, key, options.requests, options.seed))
    sys.stdout.write(json.dumps(found) + "\n")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
