"""Several hosts on a central store that is killed: no call is lost or granted twice.

Each host is a real `python -m serve` with its own STATE; the central store is a real Redis or Valkey server.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
import orjson
import pytest

from quota.edge.leases import block_size
from quota.ledger import account_rows
from quota.periods import iso
from quota.plans import load
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import KINDS, MEMORY, Server, running
from tests.serve import world
from tests.serve.client import Customer
from tests.serve.processes import (
    ask,
    avoid_midnight,
    children,
    eventually,
    read_line,
    server_process,
    stop,
)

pytestmark = pytest.mark.slow

HOSTS: Final = 4
CLIENTS: Final = 4  # per host
PLANS: Final = load()
LIMIT: Final = PLANS["data"].appels_api_par_jour
REQUESTS: Final = 2 * block_size(LIMIT)  # more than the block of an edge
PAGE: Final = {"Accept": "text/html"}
SEARCH: Final = "/api/v1/societes?limit=1"
RECORD: Final = "/api/v1/societes/FR/552100554"
# Settings that lift the limits by the minute.
HIGH_LIMITS: Final = {f"SOCIETES_DEBIT_{name}": "1000000" for name in ("DATA", "VISITEUR")}


@dataclass
class StatusCounts:
    """The number of answers by (host, status): before the kill, without the central store, and after its restart."""

    before: Counter[tuple[int, int]] = field(default_factory=Counter)
    without: Counter[tuple[int, int]] = field(default_factory=Counter)
    after: Counter[tuple[int, int]] = field(default_factory=Counter)

    def hosts_without_centre(self, status: int) -> set[int]:
        """The hosts that gave this status while the central store was down."""
        return {host for host, code in self.without if code == status}

    def total(self, status: int) -> int:
        """The number of answers with a status, in all moments."""
        counters = self.before, self.without, self.after
        return sum(n for counter in counters for (_, code), n in counter.items() if code == status)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The DATA folder that all hosts serve."""
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@pytest.fixture(params=KINDS)
def centre(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The central store: Redis, then Valkey."""
    with running(request.param) as server:
        yield server


@contextmanager
def hosts(data: Path, centre: Server, *flags: str, count: int = HOSTS) -> Iterator[Sequence[str]]:
    """Start `count` servers; yield their addresses; stop the servers at the end."""
    with ExitStack() as stack:
        servers = []
        for _ in range(count):
            # In memory if possible: an edge gives its calls back in 2 s, in which a slow disk does not sync.
            state = stack.enter_context(TemporaryDirectory(prefix="host-", dir=MEMORY))
            host_flags = ("--state", state, "--quota", centre.url, "--makers", "1", *flags)
            servers.append(
                stack.enter_context(server_process(data, *host_flags, environment=HIGH_LIMITS))
            )
        yield [read_line(server) for server in servers]
        for server in servers:
            stop(server)


def create_customer(centre: Server) -> Customer:
    """Create an account with a key in the central store."""
    store = RedisStore(centre.url, create=True)
    avoid_midnight()
    now = datetime.now(UTC)
    account = create_account(store, "data", PLANS, now, api_tool=True).result()
    _, text = create_key(store, account.id, PLANS, now).result()
    store.close()
    return Customer(account.id, text)


def count_calls(centre: Server, customer: Customer) -> int:
    """The calls that the central store has counted for a customer today."""
    store = RedisStore(centre.url, create=True)
    usage = store.usage(customer.account, PLANS["data"], datetime.now(UTC)).result()
    store.close()
    return usage.calls.used


async def search_until_refused(
    addresses: Sequence[str],
    customer: Customer,
    counts: StatusCounts,
    current_moment: Callable[[], str],
) -> None:
    """Let every client send searches until it gets 429; after a 503 it waits a little longer."""

    async def search(session: aiohttp.ClientSession, host: int) -> None:
        """Search on a host until 429; count each status at the moment of its request."""
        while True:
            start_moment = current_moment()
            async with session.get(addresses[host] + SEARCH) as reply:
                await reply.read()
            # A request may begin before the kill and end after it.
            counter = getattr(counts, start_moment if start_moment == current_moment() else "after")
            counter[host, reply.status] += 1
            if reply.status == 429:
                return
            await asyncio.sleep(0.002 if reply.status == 200 else 0.05)

    async with aiohttp.ClientSession(headers=customer.headers) as session:
        clients = [search(session, host) for host in range(HOSTS) for _ in range(CLIENTS)]
        await asyncio.gather(*clients)


def test_four_edges_serve_exactly_the_limit_while_the_central_store_is_killed(
    data: Path, centre: Server
) -> None:
    """R6, R5: the kill comes while edges reserve blocks, which are recovered"""
    customer = create_customer(centre)
    counts, state = StatusCounts(), {"moment": "before"}

    async def kill_and_restart() -> None:
        """Kill the central store after a quarter of the calls; restart it when every host has answered 503."""
        while counts.total(200) < LIMIT // 4:
            await asyncio.sleep(0.01)
        centre.stop(signal.SIGKILL)
        state["moment"] = "without"
        while len(counts.hosts_without_centre(503)) < HOSTS:
            await asyncio.sleep(0.01)
        state["moment"] = "after"
        await asyncio.to_thread(centre.start)

    async def search_during_the_kill(addresses: Sequence[str]) -> None:
        """Let all clients search while the central store is killed and restarted."""
        searches = search_until_refused(addresses, customer, counts, lambda: state["moment"])
        await asyncio.gather(searches, kill_and_restart())

    with hosts(data, centre, "--lease", "true", "--quota-strict", "true") as addresses:
        asyncio.run(search_during_the_kill(addresses))
        visitor_status, _ = ask(addresses[0], SEARCH)

    assert counts.total(200) == LIMIT == count_calls(centre, customer)
    # A host whose block is used up at the kill has no calls left, so 200 need not occur.
    assert {status for _, status in counts.without} <= {200, 503}
    assert counts.total(429) == HOSTS * CLIENTS
    assert visitor_status == 200


def test_edges_without_the_central_store_serve_exactly_their_blocks(
    data: Path, centre: Server
) -> None:
    """R5: then 503 instead of 429, since another host may have calls left"""
    customer = create_customer(centre)

    with hosts(data, centre, "--lease", "true") as addresses:
        statuses_before = [ask(address, SEARCH, customer.headers)[0] for address in addresses]
        centre.stop(signal.SIGKILL)
        statuses_without = [
            Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(REQUESTS))
            for address in addresses
        ]
        centre.start()
        serves_again = [eventually(partial(_serves, address, customer)) for address in addresses]

    calls_left = block_size(LIMIT) - 1  # a call of the block was used before
    assert statuses_before == [200] * HOSTS
    assert statuses_without == [Counter({200: calls_left, 503: REQUESTS - calls_left})] * HOSTS
    assert serves_again == [True] * HOSTS
    # Each host used its block, then one call of a second block; it gave back the rest of that block when it stopped.
    assert count_calls(centre, customer) == HOSTS * (block_size(LIMIT) + 1)


def test_an_edge_gives_back_its_unused_calls_when_it_stops(data: Path, centre: Server) -> None:
    customer = create_customer(centre)

    with hosts(data, centre, "--lease", "true", "--workers", "2", count=1) as (address,):
        statuses = {ask(address, SEARCH, customer.headers)[0] for _ in range(3)}
        reserved = count_calls(centre, customer)

    assert statuses == {200}
    assert reserved > 3
    assert count_calls(centre, customer) == 3


def test_an_edge_without_the_central_store_answers_a_record_with_its_preview(
    data: Path, centre: Server
) -> None:
    """G9, D9: 503 and no charge; searches continue, exports are refused"""
    customer = create_customer(centre)
    with hosts(data, centre, "--lease", "true", count=1) as (address,):
        paid_answer = ask(address, RECORD, customer.headers)
        calls_before = count_calls(centre, customer)
        centre.stop(signal.SIGKILL)
        search_status, _ = ask(address, SEARCH, customer.headers)
        record_answer = ask(address, RECORD, customer.headers)
        export_status, _ = ask(address, "/api/v1/export?pays=FR", customer.headers)
        visitor_status, _ = ask(address, RECORD)
        centre.start()
        serves_again = eventually(lambda: ask(address, RECORD, customer.headers)[0] == 200)

    body = orjson.loads(record_answer[1])
    assert (paid_answer[0], search_status, record_answer[0], export_status, visitor_status) == (
        200,
        200,
        503,
        503,
        200,
    )
    assert body["erreur"]["code"] == "indisponible"
    assert body["societe"]["nom"] == "Société Générale d'Orléans"
    assert body["societe"]["telephone"] is None
    assert body["droits"] == {"etats_financiers": False, "coordonnees": False}
    assert "comptes" not in body
    assert serves_again
    # Counted: the paid record, the search without the central store, the record after its restart.
    assert count_calls(centre, customer) == 3
    assert calls_before >= 1


def test_the_pages_of_an_edge_say_that_accounts_are_on_another_server(
    data: Path, centre: Server
) -> None:
    """Forms say so before somebody fills them in; pages without an account are served"""
    with hosts(data, centre, "--lease", "true", count=1) as (address,):
        form_answers = [ask(address, path, PAGE) for path in ("/inscription", "/connexion")]
        other_statuses = [ask(address, path, PAGE)[0] for path in ("/?q=lab", "/tarifs", "/statut")]
        account_status, _ = ask(address, "/compte", PAGE)

    assert [status for status, _ in form_answers] == [503, 503]
    assert all("serveur central" in body.decode() for _, body in form_answers)
    assert other_statuses == [200, 200, 200]
    assert account_status == 303


def test_a_company_is_charged_once_on_all_hosts(data: Path, centre: Server) -> None:
    """R7, D9: 800 simultaneous reads; only one read of the record debits its 5 credits, but each counts as a call"""
    customer = create_customer(centre)

    async def read_at_once(addresses: Sequence[str]) -> list[str]:
        """Read one record 800 times on all hosts; return the credits that each read was charged."""
        connector = aiohttp.TCPConnector(limit=64)
        async with aiohttp.ClientSession(headers=customer.headers, connector=connector) as session:

            async def read_once(number: int) -> str:
                """The credits that one read was charged."""
                async with session.get(addresses[number % HOSTS] + RECORD) as reply:
                    assert reply.status == 200
                    return reply.headers["X-Credits-Debites"]

            return await asyncio.gather(*(read_once(number) for number in range(800)))

    with hosts(data, centre) as addresses:
        debits = asyncio.run(read_at_once(addresses))

    assert Counter(debits) == {"5": 1, "0": 799}
    assert count_calls(centre, customer) == 800


def test_hosts_without_leases_need_the_central_store(data: Path, centre: Server) -> None:
    """G9: keys get 503, visitors are served, and service resumes; a revocation counts immediately (A4)"""
    customer = create_customer(centre)
    with hosts(data, centre, count=2) as (first_host, second_host):
        first_status, second_status = (
            ask(address, SEARCH, customer.headers)[0] for address in (first_host, second_host)
        )
        centre.stop(signal.SIGKILL)
        keyed_status, body = ask(first_host, RECORD, customer.headers)
        visitor_status, _ = ask(first_host, SEARCH)
        centre.start()
        serves_again = [
            eventually(partial(_serves, address, customer)) for address in (first_host, second_host)
        ]
        store = RedisStore(centre.url, create=True)
        (key,) = store.read(account_rows.keys_of, customer.account).result()
        store.submit(account_rows.revoke_key, key.id, iso(datetime.now(UTC))).result()
        store.close()
        statuses_after_revocation = [
            ask(address, SEARCH, customer.headers)[0] for address in (first_host, second_host)
        ]

    assert (first_status, second_status, keyed_status, visitor_status) == (200, 200, 503, 200)
    assert orjson.loads(body)["erreur"]["code"] == "indisponible"
    assert serves_again == [True, True]
    assert statuses_after_revocation == [401, 401]


def test_lost_rows_are_503_until_they_are_restored_even_for_a_new_worker(
    data: Path, centre: Server
) -> None:
    """M1: not 401, even for a worker that starts meanwhile; restored rows need no restart of the server"""
    customer = create_customer(centre)
    flags = "--state", str(data.with_name("state")), "--quota", centre.url, "--workers", "2"
    with server_process(data, *flags, environment=HIGH_LIMITS) as server, centre.client as client:
        address = read_line(server)
        statuses_before = {ask(address, SEARCH, customer.headers)[0] for _ in range(20)}
        rows = {name: client.dump(name) for name in client.keys("*")}
        client.flushall()
        without_rows = Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(20))
        killed_workers = children(server.pid)
        for worker in killed_workers:
            os.kill(worker, signal.SIGKILL)
        assert eventually(lambda: len(children(server.pid) - killed_workers) == 2)
        assert eventually(lambda: all(ask(address, SEARCH)[0] == 200 for _ in range(20)))
        after_restart = Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(20))
        for name, value in rows.items():
            client.restore(name, 0, value)
        # A worker tries every second to open a store that failed.
        serve_again = eventually(lambda: all(_serves(address, customer) for _ in range(20)))
        _, log = stop(server)

    assert statuses_before == {200}
    assert set(without_rows) == set(after_restart) == {503}
    assert serve_again
    assert "lost its rows" in log


def _serves(address: str, customer: Customer) -> bool:
    """Whether a host answers a search of the customer with 200."""
    return ask(address, SEARCH, customer.headers)[0] == 200
