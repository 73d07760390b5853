"""Hostile requests to every route of a real server: no 5xx, no hang, and little delay for other callers.

    python -m tests.proof.hostile --data DATA --requests 50000

A seeded generator draws each request: a route of the API or of the pages with hostile values, paths, methods, headers
and bodies, or bytes that are not HTTP. Each request has its own connection, which must end within `ANSWER_S` (for an
export: `EXPORT_S`). A well-formed request must have an answer. A 5xx is a fault, except the 503 of a full queue of
exports or of payment without settings. Meanwhile another caller sends plain searches. The p99 of this caller is
compared with its p99 while as many clients sent plain searches. The output is one line of JSON; the exit code is 1 if
there are faults.
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

CLIENTS: Final = 16  # that send hostile requests at the same time
ANSWER_S: Final = 30.0  # the longest time of a connection
EXPORT_S: Final = 180.0  # a workbook of 10 000 rows, while other exports run
PAUSE_S: Final = 0.05  # of the caller whose latency is measured
MOST_P99_RATIO: Final = 3.0  # of the p99 during hostile requests to the p99 during plain searches
ENOUGH: Final = 10_000  # requests that a meaningful p99 needs
PLAIN: Final = "/api/v1/societes?q=lab"  # a plain search

_ROUTES: Final = Router(PRODUCT.operations).routes
# Hostile values of parameters.
VALUES: Final = (
    "", "a", "FR", "EE,UK", "1", "0", "-1", "1e308", "-1e999", "9" * 400, "NaN", "inf", "0x10", "١٢", "ﬀ" * 60,
    "é" * 119, "a" * 121, "\x00", "\r\nX: 1", "%", "%%%", "%zz", "\ud800", "\U0001f4a9" * 30, "' OR 1=1 --",
    "${jndi:ldap://x}", "{{7*7}}", "../../../etc/passwd", "<script>alert(1)</script>", "=cmd|' /C calc'!A0",
    "(a+)+$", "a,a,a," * 900, "[" * 3_000, "\u202e" * 20, "İ" * 100, "ß" * 100, "null", "true", "[]", "{}",
)  # fmt: skip
# A method that is listed several times is drawn more often.
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
# Requests that are not well-formed HTTP.
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
    """The bytes of a request; if `is_http`, it must have an answer."""

    sent: bytes
    is_http: bool


@dataclass
class Findings:
    """The answers to an attack: their statuses (0: not HTTP), faults, and the slowest in seconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0


def draw(chance: random.Random, host: str, key: str) -> HostileRequest:
    """Draw a hostile request: one in ten is not HTTP, the others are requests to the API, pages or /mcp."""
    if chance.random() < 0.1:
        garbage = bytearray(chance.choice(GARBAGE))
        for _ in range(chance.randrange(3)):
            garbage[chance.randrange(len(garbage))] = chance.randrange(256)
        return HostileRequest(bytes(garbage), is_http=False)
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
    return HostileRequest(head.encode("utf-8", "surrogatepass") + body, is_http=True)


def _api_path(chance: random.Random) -> str:
    """A path of the API with hostile segments and parameters."""
    route = chance.choice(_ROUTES)
    path = "/" + "/".join(part or _quoted_value(chance) for part in route.segments)
    names = [
        *parameters.names(SEARCH),
        "depuis",
        "version",
        "format",
        "lang",
        _quoted_value(chance)[:40],
    ]
    pairs = [f"{chance.choice(names)}={_quoted_value(chance)}" for _ in range(chance.randrange(6))]
    return path + ("?" + "&".join(pairs) if pairs else "")


def _page_path(chance: random.Random) -> str:
    """A path of a page, sometimes hostile or with a hostile parameter."""
    path = chance.choice(
        [
            *pages_of(PRODUCT).examples(),
            "/societes/" + _quoted_value(chance),
            "/" + _quoted_value(chance),
        ]
    )
    return path + (
        f"?{chance.choice(SEARCH)}={_quoted_value(chance)}" if chance.random() < 0.5 else ""
    )


def _quoted_value(chance: random.Random) -> str:
    """A hostile value, percent-encoded, sometimes incompletely."""
    value = chance.choice(VALUES) if chance.random() < 0.7 else _random_text(chance)
    encoded = value.encode("utf-8", "surrogatepass")
    return quote(encoded, safe="%&=/" if chance.random() < 0.3 else "")[:4_000]


def _random_text(chance: random.Random) -> str:
    """Up to 80 random characters, half of them ASCII."""
    return "".join(
        chr(chance.choice((chance.randrange(128), chance.randrange(0xD800))))
        for _ in range(chance.randrange(80))
    )


def _mcp_body(chance: random.Random) -> bytes:
    """A call of a tool with hostile arguments."""
    fields = [*parameters.names(SEARCH), "iso2", "id", "depuis", _random_text(chance)]
    arguments: dict[str, object] = {
        chance.choice(fields): chance.choice([*VALUES, 1, -1, 1e300, None, [], {}, [["a"]]])
        for _ in range(3)
    }
    call: dict[str, object] = {
        "jsonrpc": chance.choice(("2.0", "1.0", 2)), "id": chance.choice((1, "a", None, 1.5, [])),
        "method": chance.choice(("tools/call", "tools/list", "initialize", "server/discover", "x" * 500)),
        "params": {"name": chance.choice([*tools(PRODUCT), "x"]), "arguments": arguments},
    }  # fmt: skip
    return json.dumps(call).encode()


# -- the run -------------------------------------------------------------------------


async def exchange(address: str, sent: bytes) -> bytes:
    """Send a request; return all bytes that come until the server closes the connection.

    Raises:
        TimeoutError: the connection is not closed within `ANSWER_S`, or `EXPORT_S` for an export.
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
    address: str, next_request: Callable[[], HostileRequest | None], findings: Findings
) -> None:
    """Send requests until `next_request` returns None; record the statuses and faults."""
    while request := next_request():
        start = time.monotonic()
        try:
            answer = await exchange(address, request.sent)
        except TimeoutError:
            findings.faults.append(f"no end within {ANSWER_S:g} s: {request.sent[:300]!r}")
            continue
        findings.slowest = max(findings.slowest, time.monotonic() - start)
        status = int(answer[9:12]) if answer[:7] == b"HTTP/1." else 0
        findings.statuses[status] += 1
        # These 503 are no faults: the queue of exports may be full, and payment is not configured.
        is_expected = status == 503 and (
            b"/export" in request.sent[:60] or b"/paiement/" in request.sent[:60]
        )
        if (status >= 500 and not is_expected) or (request.is_http and status == 0):
            findings.faults.append(f"{status} {answer[:200]!r} for {request.sent[:300]!r}")


async def plain_latencies(address: str, until: asyncio.Event) -> list[float]:
    """Send plain searches until `until` is set; return their latencies in milliseconds, ascending."""
    sent = _plain_search(urlsplit(address).netloc).sent
    latencies = []
    while not until.is_set():
        start = time.monotonic()
        answer = await exchange(address, sent)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        latencies.append(1_000 * (time.monotonic() - start))
        await asyncio.sleep(PAUSE_S)
    return sorted(latencies)


def _plain_search(host: str) -> HostileRequest:
    """The request of a plain search."""
    return HostileRequest(
        f"GET {PLAIN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(), is_http=True
    )


async def run_phase(
    address: str, number: int, make_request: Callable[[], HostileRequest], findings: Findings
) -> float:
    """Send `number` requests from all clients; add their statuses and faults to `findings`.

    Returns:
        The p99 in milliseconds of another caller, who sends plain searches meanwhile.
    """
    remaining = iter(range(number))
    ended = asyncio.Event()
    latencies = asyncio.create_task(plain_latencies(address, ended))
    try:
        await asyncio.gather(
            *(
                attack(
                    address,
                    lambda: make_request() if next(remaining, None) is not None else None,
                    findings,
                )
                for _ in range(CLIENTS)
            )
        )
    finally:
        ended.set()
    ordered = await latencies
    return ordered[int(0.99 * (len(ordered) - 1))]


async def run(address: str, key: str, number: int, seed: int) -> dict[str, object]:
    """Attack with plain searches, then with hostile requests; return the figures and faults.

    The phase of plain searches shows how long another caller waits under the same load without hostile requests.
    """
    host, chance = urlsplit(address).netloc, random.Random(seed)
    plain_findings, findings = Findings(), Findings()
    plain_p99 = await run_phase(
        address, max(500, number // 10), lambda: _plain_search(host), plain_findings
    )
    hostile_p99 = await run_phase(address, number, lambda: draw(chance, host, key), findings)
    if number >= ENOUGH and hostile_p99 > MOST_P99_RATIO * plain_p99:
        findings.faults.append(
            f"p99 of another caller: {hostile_p99:.1f} ms, and beside plain searches {plain_p99:.1f}"
        )
    return {
        "requests": number, "statuses": dict(sorted(findings.statuses.items())),
        "slowest_s": round(findings.slowest, 2),
        "p99_ms_beside_plain": round(plain_p99, 1), "p99_ms_beside_hostile": round(hostile_p99, 1),
        "faults": [*plain_findings.faults, *findings.faults][:20],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a server, attack it, print a line of JSON; return 1 if there are faults."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.hostile", description="Send hostile requests to a server."
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder DATA")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        state = Path(folder) / "state"
        key = keys(state, 1)[0]["Authorization"].removeprefix("Bearer ")
        # Without --warm false, /readyz is 503 until the data are read, which would count as a fault.
        with serving(options.data, state, "--warm", "false") as server:
            result = asyncio.run(run(server.address, key, options.requests, options.seed))
    sys.stdout.write(json.dumps(result) + "\n")
    return 1 if result["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
