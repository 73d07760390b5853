"""`python -m tests.bench.http DATA`: requests per second, beside bare aiohttp, in one run.

`wrk` runs 64 connections for a few seconds per row. The reference is an aiohttp handler that sends
fixed bytes of the size of a search of 50 rows, measured again before each row, so that each ratio
compares neighbouring seconds. Burst limits are lifted, and accounts of the largest plan take turns,
because calls over its daily limit would be 429. One row repeats one search and one row draws from
more searches than the server memoises: the difference is the gain of the memo. The last two rows are
the ceiling: a server built like ours whose handler does nothing.

Two more tables: cheap searches beside expensive ones, and several workers.
"""

import random
import re
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Final

from shards.query import ORDERS
from tests.bench.cold import touch
from tests.bench.load import Rate, Request, Server, bare, idle, measure, running
from tests.bench.served import Headers, data_of, keys, serving

SECONDS: Final = 3
ACCOUNTS: Final = 64  # of 10 000 calls a day: two minutes at 5 000 a second
DIFFERENT: Final = 5_000  # more than any memo of the server holds
SEARCHES: Final = "/api/v1/societes"
SEARCH: Final = f"{SEARCHES}?pays=EE&tri=nom"
_LETTERS: Final = "abcdefghijklmnoprstuv"

Case = tuple[str, Sequence[Request]]


def main(data: Path) -> None:
    # Work that a server starts by itself and that would disturb the measurement.
    touch(list(data.glob("*/*.shard")))
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state")
        accounts = keys(state, ACCOUNTS)
        with serving(data, state, "--warm", "false") as server:
            _one_worker(server, accounts)
            _beside_dear_ones(server)
        with serving(data, state, "--warm", "false", "--workers", "2") as server:
            _several_workers(server, accounts)


# -- the tables ----------------------------------------------------------------------


def _one_worker(server: Server, accounts: Sequence[Headers]) -> None:
    cases, size = _cases(server.address, accounts)
    print(f"Ready after {server.ready:.2f} s. One worker; bare aiohttp sends {size:,} bytes.\n")
    print("| what | requests/s | p99 ms | CPU µs each | bare: requests/s | CPU µs | "
          "of bare | by CPU |\n| --- | --: | --: | --: | --: | --: | --: | --: |")  # fmt: skip
    with running(bare(size)) as other:
        for name, requests in cases:
            _row(name, server, requests, other)
        for what, sent in (("the same bytes", size), ("no body", 0)):
            with running(idle(sent)) as nothing:
                _row(f"nothing done, {what}", nothing, [Request("/", {})], other)
    print(f"\nPrivate memory after all that: {server.private():.0f} MiB.\n")


def _row(name: str, server: Server, requests: Sequence[Request], other: Server) -> None:
    base = measure(other, [Request("/", {})], seconds=SECONDS)
    ours = measure(server, requests, seconds=SECONDS)
    print(f"| {name} | {ours.each_second:,.0f} | {ours.p99:.1f} | {ours.cpu:.0f} | "
          f"{base.each_second:,.0f} | {base.cpu:.0f} | "
          f"{ours.each_second / base.each_second:.0%} | {base.cpu / ours.cpu:.0%} |",
          flush=True)  # fmt: skip


def _beside_dear_ones(server: Server) -> None:
    """Measure 16 connections of cheap searches and 4 of expensive ones: alone, then together."""
    chance = random.Random(1)
    cheap = [Request(f"{SEARCHES}?pays=EE&limit=2&ca_min={number}", {}) for number in range(100)]
    dear = [
        Request(f"{SEARCHES}?q={chance.choice(_LETTERS)}+{chance.choice(_LETTERS)}", {})
        for _ in range(200)
    ]
    for request in dear:  # the pages that they need are read once, in seconds
        with urllib.request.urlopen(server.address + request.path) as answer:
            answer.read()
    dear_alone = measure(server, dear, seconds=SECONDS, connections=4)
    alone = measure(server, cheap, seconds=SECONDS, connections=16)
    beside: list[Rate] = []
    thread = threading.Thread(
        target=lambda: beside.append(measure(server, dear, seconds=SECONDS + 2, connections=4))
    )
    thread.start()
    crowded = measure(server, cheap, seconds=SECONDS, connections=16)
    thread.join()
    print("| what | requests/s | p99 ms |\n| --- | --: | --: |")
    for name, rate in (
        ("16 connections of cheap searches, alone", alone),
        ("4 connections of dear searches, alone", dear_alone),
        ("the cheap ones beside the dear ones", crowded),
        ("the dear ones beside the cheap ones", beside[0]),
    ):
        print(f"| {name} | {rate.each_second:,.0f} | {rate.p99:.1f} |")
    print()


def _several_workers(server: Server, accounts: Sequence[Headers]) -> None:
    print(f"Two workers, ready after {server.ready:.2f} s.\n")
    print("| what | requests/s | p99 ms | CPU µs each |\n| --- | --: | --: | --: |")
    for name, requests in _cases(server.address, accounts)[0]:
        rate = measure(server, requests, seconds=SECONDS)
        print(f"| {name} | {rate.each_second:,.0f} | {rate.p99:.1f} | {rate.cpu:.0f} |", flush=True)
    print(f"\nPrivate memory of the larger one: {server.private():.0f} MiB.")


# -- requests -------------------------------------------------------------------


def _cases(address: str, accounts: Sequence[Headers]) -> tuple[Sequence[Case], int]:
    """The measured requests, and the bytes of a search with a key."""
    tag, body = _tag(address + SEARCH, accounts[0])
    visitor_tag, _ = _tag(address + SEARCH, {})
    found = re.search(rb'"iso2":"EE","id":"([^"]+)"', body)
    assert found
    company = f"{SEARCHES}/EE/{found[1].decode()}"
    return (
        ("keyed search, 50 rows, counted", [Request(SEARCH, key) for key in accounts]),
        ("the same, all different", list(_different(accounts))),
        ("visitor search, 2 rows", [Request(SEARCH, {})]),
        ("keyed 304", [Request(SEARCH, {**key, "If-None-Match": tag}) for key in accounts]),
        ("visitor 304", [Request(SEARCH, {"If-None-Match": visitor_tag})]),
        ("keyed record, counted", [Request(company, key) for key in accounts]),
        ("visitor record", [Request(company, {})]),
        ("countries", [Request("/api/v1/pays", {})]),
        ("keyed search, 10 rows, counted", [Request(f"{SEARCH}&limit=10", k) for k in accounts]),
        ("the same by search_companies", [_tool(key) for key in accounts]),
    ), len(body)


def _tool(key: Headers) -> Request:
    """The search tool, called as a client of 2025-11-25 does after its handshake."""
    wanted = '{"name":"search_companies","arguments":{"pays":["EE"],"tri":"nom","limit":10}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{wanted}}}'
    return Request("/api/mcp", {**key, "Content-Type": "application/json"}, body)


def _different(accounts: Sequence[Headers]) -> Iterator[Request]:
    """Different searches of 50 rows of one country, shuffled."""
    pages = list(product(ORDERS, range(900)))
    random.Random(2).shuffle(pages)
    for (tri, offset), key in zip(pages[:DIFFERENT], cycle(accounts), strict=False):
        yield Request(f"{SEARCHES}?pays=EE&tri={tri}&offset={offset}", key)


def _tag(url: str, headers: Headers) -> tuple[str, bytes]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers))) as answer:
        return answer.headers["ETag"], answer.read()


if __name__ == "__main__":
    main(data_of(sys.argv))
