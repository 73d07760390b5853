"""`python -m tests.bench.http DATA`: requests per second, compared with bare aiohttp in one run.

`wrk` runs 64 connections for a few seconds per row. The reference is an aiohttp handler that sends fixed bytes of the
size of a search of 50 rows. It is measured again before each row, so each ratio is of measurements seconds apart.
Burst limits are lifted, and accounts of the largest plan take turns, because calls over the daily limit of an account
get 429. One row repeats one search, another has more different searches than the server memoises: the difference is
the gain of the memo. The last two rows are the upper bound, because their server is built like ours but does no work.

Two more tables: cheap and expensive searches together, and several workers.
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
from tests.bench.load import Rate, Request, Server, bare_command, idle_command, measure, running
from tests.bench.served import Headers, data_folder, keys, serving

SECONDS: Final = 3  # of each measurement
ACCOUNTS: Final = 64  # with 10 000 calls a day each: two minutes at 5 000 calls a second
DIFFERENT: Final = 5_000  # more than any memo of the server has
SEARCHES: Final = "/api/v1/societes"
SEARCH: Final = f"{SEARCHES}?pays=EE&tri=nom"
_LETTERS: Final = "abcdefghijklmnoprstuv"

Case = tuple[str, Sequence[Request]]


def main(data: Path) -> None:
    """Print the tables of one worker, of mixed load and of two workers."""
    # Read the shards now: a server would do it at its start and disturb the measurement.
    touch(list(data.glob("*/*.shard")))
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state")
        accounts = keys(state, ACCOUNTS)
        with serving(data, state, "--warm", "false") as server:
            _one_worker(server, accounts)
            _mixed_load(server)
        with serving(data, state, "--warm", "false", "--workers", "2") as server:
            _several_workers(server, accounts)


# -- the tables ----------------------------------------------------------------------


def _one_worker(server: Server, accounts: Sequence[Headers]) -> None:
    """Print the table of all cases and of the bare servers, with one worker."""
    cases, size = _cases(server.address, accounts)
    print(f"Ready after {server.ready:.2f} s. One worker; bare aiohttp sends {size:,} bytes.\n")
    print("| requests | requests/s | p99 ms | CPU µs each | bare: requests/s | CPU µs | "
          "of bare | by CPU |\n| --- | --: | --: | --: | --: | --: | --: | --: |")  # fmt: skip
    with running(bare_command(size)) as reference:
        for name, requests in cases:
            _print_row(name, server, requests, reference)
        for body, sent in (("the same bytes", size), ("no body", 0)):
            with running(idle_command(sent)) as idle_server:
                _print_row(
                    f"handler does nothing, {body}", idle_server, [Request("/", {})], reference
                )
    print(f"\nPrivate memory at the end: {server.private():.0f} MiB.\n")


def _print_row(name: str, server: Server, requests: Sequence[Request], reference: Server) -> None:
    """Measure the reference, then `requests`; print both and their ratios."""
    bare = measure(reference, [Request("/", {})], seconds=SECONDS)
    ours = measure(server, requests, seconds=SECONDS)
    print(f"| {name} | {ours.each_second:,.0f} | {ours.p99:.1f} | {ours.cpu:.0f} | "
          f"{bare.each_second:,.0f} | {bare.cpu:.0f} | "
          f"{ours.each_second / bare.each_second:.0%} | {bare.cpu / ours.cpu:.0%} |",
          flush=True)  # fmt: skip


def _mixed_load(server: Server) -> None:
    """Measure 16 connections of cheap searches and 4 of expensive searches: alone, then together."""
    chance = random.Random(1)
    cheap = [Request(f"{SEARCHES}?pays=EE&limit=2&ca_min={number}", {}) for number in range(100)]
    expensive = [
        Request(f"{SEARCHES}?q={chance.choice(_LETTERS)}+{chance.choice(_LETTERS)}", {})
        for _ in range(200)
    ]
    for request in expensive:  # the first read of their pages takes seconds
        with urllib.request.urlopen(server.address + request.path) as answer:
            answer.read()
    expensive_alone = measure(server, expensive, seconds=SECONDS, connections=4)
    cheap_alone = measure(server, cheap, seconds=SECONDS, connections=16)
    expensive_together: list[Rate] = []
    thread = threading.Thread(
        target=lambda: expensive_together.append(
            measure(server, expensive, seconds=SECONDS + 2, connections=4)
        )
    )
    thread.start()
    cheap_together = measure(server, cheap, seconds=SECONDS, connections=16)
    thread.join()
    print("| requests | requests/s | p99 ms |\n| --- | --: | --: |")
    for name, rate in (
        ("16 connections of cheap searches, alone", cheap_alone),
        ("4 connections of expensive searches, alone", expensive_alone),
        ("the cheap searches beside the expensive ones", cheap_together),
        ("the expensive searches beside the cheap ones", expensive_together[0]),
    ):
        print(f"| {name} | {rate.each_second:,.0f} | {rate.p99:.1f} |")
    print()


def _several_workers(server: Server, accounts: Sequence[Headers]) -> None:
    """Print the table of all cases, with two workers."""
    print(f"Two workers, ready after {server.ready:.2f} s.\n")
    print("| requests | requests/s | p99 ms | CPU µs each |\n| --- | --: | --: | --: |")
    for name, requests in _cases(server.address, accounts)[0]:
        rate = measure(server, requests, seconds=SECONDS)
        print(f"| {name} | {rate.each_second:,.0f} | {rate.p99:.1f} | {rate.cpu:.0f} |", flush=True)
    print(f"\nPrivate memory of the larger worker: {server.private():.0f} MiB.")


# -- requests -------------------------------------------------------------------


def _cases(address: str, accounts: Sequence[Headers]) -> tuple[Sequence[Case], int]:
    """The measured requests by name of the case, and the size in bytes of the answer to a search with a key."""
    tag, body = _etag_and_body(address + SEARCH, accounts[0])
    visitor_tag, _ = _etag_and_body(address + SEARCH, {})
    match = re.search(rb'"iso2":"EE","id":"([^"]+)"', body)
    assert match
    company = f"{SEARCHES}/EE/{match[1].decode()}"
    return (
        ("keyed search, 50 rows, counted", [Request(SEARCH, key) for key in accounts]),
        ("keyed search, 50 rows, all different", list(_different_searches(accounts))),
        ("visitor search, 2 rows", [Request(SEARCH, {})]),
        ("keyed 304", [Request(SEARCH, {**key, "If-None-Match": tag}) for key in accounts]),
        ("visitor 304", [Request(SEARCH, {"If-None-Match": visitor_tag})]),
        ("keyed record, counted", [Request(company, key) for key in accounts]),
        ("visitor record", [Request(company, {})]),
        ("countries", [Request("/api/v1/pays", {})]),
        ("keyed search, 10 rows, counted", [Request(f"{SEARCH}&limit=10", k) for k in accounts]),
        (
            "keyed search, 10 rows, by the tool search_companies",
            [_tool_call(key) for key in accounts],
        ),
    ), len(body)


def _tool_call(key: Headers) -> Request:
    """A call of the search tool, as a client of MCP 2025-11-25 sends it after its handshake."""
    params = '{"name":"search_companies","arguments":{"pays":["EE"],"tri":"nom","limit":10}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    return Request("/api/mcp", {**key, "Content-Type": "application/json"}, body)


def _different_searches(accounts: Sequence[Headers]) -> Iterator[Request]:
    """Different searches of 50 rows of one country, shuffled."""
    pages = list(product(ORDERS, range(900)))
    random.Random(2).shuffle(pages)
    for (tri, offset), key in zip(pages[:DIFFERENT], cycle(accounts), strict=False):
        yield Request(f"{SEARCHES}?pays=EE&tri={tri}&offset={offset}", key)


def _etag_and_body(url: str, headers: Headers) -> tuple[str, bytes]:
    """The ETag and the body of the response to a GET."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers))) as answer:
        return answer.headers["ETag"], answer.read()


if __name__ == "__main__":
    main(data_folder(sys.argv))
