"""Several hosts on one central store that is killed: no call is lost, and none is granted twice.

Each host is a real `python -m serve` with a STATE of its own; the central store is a real Redis or
Valkey server.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
import orjson
import pytest

from quota.edge.leases import block
from quota.ledger import account_rows
from quota.periods import iso
from quota.plans import load
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import KINDS, Server, running
from tests.serve import world
from tests.serve.client import Customer
from tests.serve.processes import ask, avoid_midnight, children, eventually, line_of, started, stop

pytestmark = pytest.mark.slow

HOSTS: Final = 4
CLIENTS: Final = 4  # per host
PLANS: Final = load()
LIMIT: Final = PLANS["data"].appels_api_par_jour
ASKED: Final = 2 * block(LIMIT)  # more than an edge has reserved
PAGE: Final = {"Accept": "text/html"}
SEARCH: Final = "/api/v1/societes?limit=1"
RECORD: Final = "/api/v1/societes/FR/552100554"
WIDE: Final = {f"SOCIETES_DEBIT_{name}": "1000000" for name in ("DATA", "VISITEUR")}


@dataclass
class StatusCounts:
    """Answers by (host, status): before the kill, without the central store, and after it."""

    before: Counter[tuple[int, int]] = field(default_factory=Counter)
    without: Counter[tuple[int, int]] = field(default_factory=Counter)
    after: Counter[tuple[int, int]] = field(default_factory=Counter)

    def without_centre(self, status: int) -> set[int]:
        """The hosts that gave this status while the central store was down."""
        return {host for host, it in self.without if it == status}

    def of(self, status: int) -> int:
        counters = self.before, self.without, self.after
        return sum(n for counter in counters for (_, it), n in counter.items() if it == status)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@pytest.fixture(params=KINDS)
def centre(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param) as server:
        yield server


@contextmanager
def hosts(data: Path, centre: Server, *flags: str, count: int = HOSTS) -> Iterator[Sequence[str]]:
    """Start `count` servers; yield their addresses; stop them at the end."""
    with ExitStack() as stack:
        servers = []
        for number in range(count):
            state = str(data.with_name(f"state-{number}"))
            own = ("--state", state, "--quota", centre.url, "--makers", "1", *flags)
            servers.append(stack.enter_context(started(data, *own, environment=WIDE)))
        yield [line_of(server) for server in servers]
        for server in servers:
            stop(server)


def customer_of(centre: Server) -> Customer:
    store = RedisStore(centre.url, create=True)
    avoid_midnight()
    now = datetime.now(UTC)
    account = create_account(store, "data", PLANS, now, api_tool=True).result()
    _, text = create_key(store, account.id, PLANS, now).result()
    store.close()
    return Customer(account.id, text)


def used(centre: Server, customer: Customer) -> int:
    store = RedisStore(centre.url, create=True)
    usage = store.usage(customer.account, PLANS["data"], datetime.now(UTC)).result()
    store.close()
    return usage.calls.used


async def until_refused(
    addresses: Sequence[str], customer: Customer, counts: StatusCounts, moment: Callable[[], str]
) -> None:
    """Let every client ask until it gets 429; after a 503 it waits a little longer."""

    async def one(session: aiohttp.ClientSession, host: int) -> None:
        while True:
            at = moment()
            async with session.get(addresses[host] + SEARCH) as reply:
                await reply.read()
            # A request may begin before the kill and end after it.
            counted = getattr(counts, at if at == moment() else "after")
            counted[host, reply.status] += 1
            if reply.status == 429:
                return
            await asyncio.sleep(0.002 if reply.status == 200 else 0.05)

    async with aiohttp.ClientSession(headers=customer.headers) as session:
        every = [one(session, host) for host in range(HOSTS) for _ in range(CLIENTS)]
        await asyncio.gather(*every)


def test_four_edges_serve_exactly_the_limit_though_the_centre_is_killed(
    data: Path, centre: Server
) -> None:
    """R6, R5: the kill comes while blocks are being reserved, and they are recovered"""
    customer = customer_of(centre)
    counts, state = StatusCounts(), {"moment": "before"}

    async def fault() -> None:
        while counts.of(200) < LIMIT // 4:
            await asyncio.sleep(0.01)
        centre.stop(signal.SIGKILL)
        state["moment"] = "without"
        while len(counts.without_centre(503)) < HOSTS:
            await asyncio.sleep(0.01)
        state["moment"] = "after"
        await asyncio.to_thread(centre.start)

    async def run(addresses: Sequence[str]) -> None:
        asking = until_refused(addresses, customer, counts, lambda: state["moment"])
        await asyncio.gather(asking, fault())

    with hosts(data, centre, "--lease", "true", "--quota-strict", "true") as addresses:
        asyncio.run(run(addresses))
        visitor, _ = ask(addresses[0], SEARCH)

    assert counts.of(200) == LIMIT == used(centre, customer)
    # A host whose block is used up at the kill has no call left.
    assert {status for _, status in counts.without} <= {200, 503}
    assert counts.of(429) == HOSTS * CLIENTS
    assert visitor == 200


def test_without_their_centre_edges_serve_what_they_hold_and_not_a_call_more(
    data: Path, centre: Server
) -> None:
    """R5: then 503, never 429: another host may have calls left"""
    customer = customer_of(centre)

    with hosts(data, centre, "--lease", "true") as addresses:
        before = [ask(address, SEARCH, customer.headers)[0] for address in addresses]
        centre.stop(signal.SIGKILL)
        without = [
            Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(ASKED))
            for address in addresses
        ]
        centre.start()
        again = [eventually(partial(_serves, at, customer)) for at in addresses]

    reserved = block(LIMIT) - 1  # one was used before
    assert before == [200] * HOSTS
    assert without == [Counter({200: reserved, 503: ASKED - reserved})] * HOSTS
    assert again == [True] * HOSTS
    assert used(centre, customer) == HOSTS * (block(LIMIT) + 1)


def test_what_an_edge_does_not_use_comes_back_when_it_stops(data: Path, centre: Server) -> None:
    customer = customer_of(centre)

    with hosts(data, centre, "--lease", "true", "--workers", "2", count=1) as (address,):
        statuses = {ask(address, SEARCH, customer.headers)[0] for _ in range(3)}
        reserved = used(centre, customer)

    assert statuses == {200}
    assert reserved > 3
    assert used(centre, customer) == 3


def test_an_edge_without_its_centre_answers_a_record_as_its_preview(
    data: Path, centre: Server
) -> None:
    """G9, D9: 503 and no charge; searches continue, exports do not"""
    customer = customer_of(centre)
    with hosts(data, centre, "--lease", "true", count=1) as (address,):
        paid = ask(address, RECORD, customer.headers)
        before = used(centre, customer)
        centre.stop(signal.SIGKILL)
        search, _ = ask(address, SEARCH, customer.headers)
        record = ask(address, RECORD, customer.headers)
        export, _ = ask(address, "/api/v1/export?pays=FR", customer.headers)
        visitor, _ = ask(address, RECORD)
        centre.start()
        again = eventually(lambda: ask(address, RECORD, customer.headers)[0] == 200)

    body = orjson.loads(record[1])
    assert (paid[0], search, record[0], export, visitor) == (200, 200, 503, 503, 200)
    assert body["erreur"]["code"] == "indisponible"
    assert body["societe"]["nom"] == "Société Générale d'Orléans"
    assert body["societe"]["telephone"] is None
    assert body["droits"] == {"etats_financiers": False, "coordonnees": False}
    assert "comptes" not in body
    assert again
    assert used(centre, customer) == 3
    assert before >= 1


def test_the_pages_of_an_edge_say_that_accounts_are_kept_elsewhere(
    data: Path, centre: Server
) -> None:
    """Before a form is filled in; pages that need no account are served."""
    with hosts(data, centre, "--lease", "true", count=1) as (address,):
        forms = [ask(address, path, PAGE) for path in ("/inscription", "/connexion")]
        others = [ask(address, path, PAGE)[0] for path in ("/?q=lab", "/tarifs", "/statut")]
        personal, _ = ask(address, "/compte", PAGE)

    assert [status for status, _ in forms] == [503, 503]
    assert all("serveur central" in body.decode() for _, body in forms)
    assert others == [200, 200, 200]
    assert personal == 303


def test_a_company_is_charged_once_on_all_hosts(data: Path, centre: Server) -> None:
    """R7, D9: 800 reads at once"""
    customer = customer_of(centre)

    async def read(addresses: Sequence[str]) -> list[str]:
        connector = aiohttp.TCPConnector(limit=64)
        async with aiohttp.ClientSession(headers=customer.headers, connector=connector) as session:

            async def one(number: int) -> str:
                async with session.get(addresses[number % HOSTS] + RECORD) as reply:
                    assert reply.status == 200
                    return reply.headers["X-Credits-Debites"]

            return await asyncio.gather(*(one(number) for number in range(800)))

    with hosts(data, centre) as addresses:
        debits = asyncio.run(read(addresses))

    assert Counter(debits) == {"5": 1, "0": 799}
    assert used(centre, customer) == 800


def test_hosts_without_leases_need_their_centre(data: Path, centre: Server) -> None:
    """G9: keys get 503, visitors are served, and service resumes; revocation is immediate (A4)"""
    customer = customer_of(centre)
    with hosts(data, centre, count=2) as (one, other):
        first, second = (ask(address, SEARCH, customer.headers)[0] for address in (one, other))
        centre.stop(signal.SIGKILL)
        keyed, body = ask(one, RECORD, customer.headers)
        visitor, _ = ask(one, SEARCH)
        centre.start()
        again = [eventually(partial(_serves, at, customer)) for at in (one, other)]
        store = RedisStore(centre.url, create=True)
        (key,) = store.read(account_rows.keys_of, customer.account).result()
        store.submit(account_rows.revoke_key, key.id, iso(datetime.now(UTC))).result()
        store.close()
        revoked = [ask(address, SEARCH, customer.headers)[0] for address in (one, other)]

    assert (first, second, keyed, visitor) == (200, 200, 503, 200)
    assert orjson.loads(body)["erreur"]["code"] == "indisponible"
    assert again == [True, True]
    assert revoked == [401, 401]


def test_rows_that_are_lost_are_503_until_they_are_back_also_for_a_new_worker(
    data: Path, centre: Server
) -> None:
    """M1: not 401 for everybody, whatever starts meanwhile, and healed without a restart"""
    customer = customer_of(centre)
    flags = "--state", str(data.with_name("state")), "--quota", centre.url, "--workers", "2"
    with started(data, *flags, environment=WIDE) as server, centre.client as client:
        address = line_of(server)
        before = {ask(address, SEARCH, customer.headers)[0] for _ in range(20)}
        rows = {name: client.dump(name) for name in client.keys("*")}
        client.flushall()
        emptied = Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(20))
        killed = children(server.pid)
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
        assert eventually(lambda: len(children(server.pid) - killed) == 2)
        assert eventually(lambda: all(ask(address, SEARCH)[0] == 200 for _ in range(20)))
        restarted = Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(20))
        for name, value in rows.items():
            client.restore(name, 0, value)
        time.sleep(2)  # a store that was not open is tried again each second
        healed = Counter(ask(address, SEARCH, customer.headers)[0] for _ in range(20))
        _, logged = stop(server)

    assert before == {200}
    assert set(emptied) == set(restarted) == {503}
    assert set(healed) == {200}
    assert "lost its rows" in logged


def _serves(address: str, customer: Customer) -> bool:
    return ask(address, SEARCH, customer.headers)[0] == 200
