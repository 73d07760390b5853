"""An edge with its centre, without it, and with it again, on real servers and a real file."""

import asyncio
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from quota import credentials
from quota.edge import edge_store, leases
from quota.edge.edge_store import FRESH_S, EdgeStore
from quota.errors import StoreUnavailable, WrongStoreError
from quota.ledger import account_rows, activity
from quota.ledger.calls import Meter, Purchase
from quota.periods import iso
from quota.redis.store import RedisStore
from quota.store.interface import Store
from tests.quota.filling import create_account, create_key
from tests.quota.servers import Server, running
from tests.quota.small import NOON, PLANS

LIMIT = 100  # blocks of 2


@pytest.fixture
def server() -> Iterator[Server]:
    with running("redis") as started:
        yield started


@pytest.fixture
def centre(server: Server) -> Iterator[RedisStore]:
    opened = RedisStore(server.url, create=True)
    yield opened
    opened.close()


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(autouse=True)
def quick_maintenance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maintenance runs every 50 ms, so that a test need not wait for it."""
    monkeypatch.setattr(edge_store, "MAINTENANCE_S", 0.05)


def edge(folder: Path, server: Server, clock: Clock | None = None) -> EdgeStore:
    return EdgeStore(folder, lambda: RedisStore(server.url, create=True), clock or Clock())


def used(centre: RedisStore) -> int:
    return centre.calls("a_", LIMIT, NOON).result().used


def taken(store: EdgeStore, count: int) -> list[Meter]:
    """Up to `count` calls, one after the other, until the store is unavailable."""

    async def take() -> list[Meter]:
        meters: list[Meter] = []
        try:
            while len(meters) < count:
                meters.append(await store.take("a_", LIMIT, NOON))
        except StoreUnavailable:
            pass
        await asyncio.sleep(0.05)  # for a refill ahead of time
        return meters

    return asyncio.run(take())


def eventually(claim: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_an_edge_grants_exactly_the_limit_and_says_so(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """D3, D6"""
    store = edge(tmp_path, server)

    meters = taken(store, LIMIT + 5)

    assert [meter.granted for meter in meters] == [True] * LIMIT + [False] * 5
    assert [meter.used for meter in meters[:LIMIT]] == list(range(1, LIMIT + 1))
    assert used(centre) == LIMIT
    store.close()


def test_without_its_centre_an_edge_goes_on_until_its_block_is_used(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """R6: then it is unavailable, which is not 429; with the centre again, nothing is lost"""
    store = edge(tmp_path, server)
    with_it = len(taken(store, 11))
    server.stop(signal.SIGKILL)

    without = len(taken(store, LIMIT))
    server.start()
    again = taken(store, LIMIT) if eventually(lambda: bool(taken(store, 1))) else []

    assert with_it == 11
    assert 1 <= without <= 4
    assert not again[-1].granted
    assert used(centre) == LIMIT == with_it + without + 1 + sum(meter.granted for meter in again)
    store.close()


def test_a_centre_that_stays_away_is_logged_once(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: list[None] = []

    def connect() -> RedisStore:
        attempts.append(None)
        return RedisStore(server.url, create=True)

    server.stop(signal.SIGKILL)
    store = EdgeStore(tmp_path, connect, Clock())
    assert eventually(lambda: len(attempts) > 5)
    store.close()

    logged = [record.getMessage() for record in caplog.records]
    assert sum("calls are granted while blocks last" in line for line in logged) == 1


def test_many_at_once_ask_for_their_blocks_together(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store = edge(tmp_path, server)

    async def all_at_once() -> list[Meter]:
        return await asyncio.gather(*(store.take("a_", LIMIT, NOON) for _ in range(LIMIT + 20)))

    meters = asyncio.run(all_at_once())

    assert sum(meter.granted for meter in meters) == used(centre) == LIMIT
    store.close()


def test_a_block_outlives_its_process_and_comes_back_at_the_end(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store = edge(tmp_path, server)
    taken(store, 1)
    lent = used(centre)
    abandoned(store)
    server.stop(signal.SIGKILL)

    again = edge(tmp_path, server)
    granted = len(taken(again, LIMIT))
    server.start()
    assert eventually(lambda: again._centre is not None)
    again.close()

    assert lent == 1 + granted
    assert used(centre) == lent


def test_what_is_not_used_comes_back(server: Server, centre: RedisStore, tmp_path: Path) -> None:
    """At the end, when it is idle, and when its day is over"""
    clock = Clock()
    store = edge(tmp_path, server, clock)
    taken(store, 1)
    assert used(centre) > 1

    clock.now += timedelta(seconds=edge_store.IDLE_S + 1)
    idle = eventually(lambda: used(centre) == 1)
    clock.now = NOON
    taken(store, 1)
    lent = used(centre)
    store.close()

    assert idle
    assert lent > 2
    assert used(centre) == 2


def test_calls_that_could_not_be_given_back_are_at_the_next_start(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store = edge(tmp_path, server)
    taken(store, 1)
    server.stop(signal.SIGKILL)
    store.close()
    server.start()

    again = edge(tmp_path, server)

    assert eventually(lambda: used(centre) == 1)
    again.close()


def test_a_block_whose_answer_was_lost_is_lent_once(
    server: Server, centre: RedisStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quota.redis.connection.ANSWER_S", 0.2)
    store = edge(tmp_path, server)
    unheard = store._send

    def deaf(*arguments: object) -> object:
        unheard(*arguments).result()  # type: ignore[arg-type]
        raise StoreUnavailable("the answer was lost")

    monkeypatch.setattr(store, "_send", deaf)
    assert taken(store, 1) == []
    monkeypatch.setattr(store, "_send", unheard)
    first = taken(store, 1)
    abandoned(store)

    assert [meter.used for meter in first] == [1]
    assert used(centre) <= 4  # the block, and one requested ahead of time


def test_a_key_is_known_for_seconds_and_without_the_centre(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """A4: a revoked key is refused within FRESH_S while the centre is reachable"""
    account = create_account(centre, "free", PLANS, NOON).result()
    key, text = create_key(centre, account.id, PLANS, NOON).result()
    clock = Clock()
    store = edge(tmp_path, server, clock)

    async def who(name: str = text) -> str | None:
        found = await store.identify(name)
        await asyncio.sleep(0.2)  # what was learnt is written meanwhile
        return found.id if found else None

    first = asyncio.run(who())
    centre.submit(account_rows.revoke_key, key.id, iso(NOON)).result()
    clock.now = NOON + timedelta(seconds=FRESH_S - 1)
    within = asyncio.run(who())
    clock.now = NOON + timedelta(seconds=FRESH_S)
    after = asyncio.run(who())
    server.stop()
    clock.now = NOON + timedelta(hours=1)
    without = asyncio.run(who())
    with pytest.raises(StoreUnavailable):
        asyncio.run(who("soc_live_000000000000000000000000000000002wjyrI"))

    assert (first, within) == (account.id, account.id)
    assert (after, without) == (None, None)
    store.close()


def test_a_centre_that_says_nothing_is_waited_for_once(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    account = create_account(centre, "free", PLANS, NOON).result()
    _, text = create_key(centre, account.id, PLANS, NOON).result()
    clock = Clock()
    store = edge(tmp_path, server, clock)

    async def who() -> str | None:
        found = await store.identify(text)
        return found.id if found else None

    known = [asyncio.run(who())]
    digest = credentials.key_digest(text)
    read = store._file.read
    assert eventually(lambda: read(lambda txn: leases.recall(txn, digest)) is not None)
    assert server.process
    server.process.send_signal(signal.SIGSTOP)
    clock.now = NOON + timedelta(hours=1)
    known.append(asyncio.run(who()))
    began = time.monotonic()
    known += [asyncio.run(who()) for _ in range(20)]
    took = time.monotonic() - began
    server.process.send_signal(signal.SIGCONT)
    store.close()

    assert set(known) == {account.id}
    assert took < 1


def test_a_charge_is_the_centres_and_without_it_nothing_is_counted(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """D9"""
    store = edge(tmp_path, server)

    async def read(company: str) -> str:
        meter, charge = await store.take_and_charge(Purchase("a_", LIMIT, company, 5, 12), NOON)
        assert charge
        await asyncio.sleep(0.05)
        return f"{charge.outcome} {meter.used}"

    async def is_charged(company: str) -> bool:
        return await store.is_charged("a_", company, NOON)

    outcomes = [asyncio.run(read(f"EE/{number}")) for number in (1, 1, 2, 3)]
    server.stop(signal.SIGKILL)
    with pytest.raises(StoreUnavailable):
        asyncio.run(read("EE/4"))
    server.start()
    assert eventually(lambda: centre_of(store).calls("a_", LIMIT, NOON).exception() is None)
    taken(store, 1)
    paid = asyncio.run(is_charged("EE/1")), asyncio.run(is_charged("EE/3"))
    store.close()

    assert outcomes == ["charged 1", "already 2", "charged 3", "refused 4"]
    assert paid == (True, False)
    assert used(centre) == 5
    assert centre.usage("a_", PLANS["free"], NOON).result().credits.used == 10


def test_matches_are_the_centres(server: Server, centre: RedisStore, tmp_path: Path) -> None:
    """X19"""
    store = edge(tmp_path, server)

    async def note() -> bool:
        await store.submit(activity.note_matches, "a_", ["EE/1", "EE/2"])
        return await store.read(activity.are_matched, "a_", ["EE/2", "EE/1"])

    noted = asyncio.run(note())
    of_other = centre.read(activity.are_matched, "b_", ["EE/1"]).result()
    of_centre = centre.read(activity.are_matched, "a_", ["EE/1"]).result()
    server.stop(signal.SIGKILL)
    with pytest.raises(StoreUnavailable):
        asyncio.run(note())
    store.close()

    assert (noted, of_other, of_centre) == (True, False, True)


def test_accounts_are_the_centres(server: Server, centre: RedisStore, tmp_path: Path) -> None:
    store: Store = edge(tmp_path, server)

    assert store.ledger is None
    assert centre.read(account_rows.accounts).result() == []
    store.close()


def test_exports_are_the_centres(server: Server, centre: RedisStore, tmp_path: Path) -> None:
    store = edge(tmp_path, server)
    server.stop()

    async def reserve() -> object:
        return await store.reserve("a_", 9, 2, timedelta(hours=1), NOON)

    with pytest.raises(StoreUnavailable):
        asyncio.run(reserve())
    store.close()


def test_a_centre_that_would_lose_counters_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        running("redis", "--maxmemory-policy", "allkeys-lru") as server,
        pytest.raises(WrongStoreError),
    ):
        edge(tmp_path, server)
    with running("redis") as server:
        edge(tmp_path, server).close()


def centre_of(store: EdgeStore) -> RedisStore:
    assert store._centre
    return store._centre


def abandoned(store: EdgeStore) -> None:
    """End the store as a killed process does: no call is given back."""
    store._ending.set()
    store._maintenance.join()
    store._writer.close()
    store._file.close()
    if store._centre:
        store._centre.close()


def test_copies_of_a_killed_edge_give_its_block_back_once(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """M3: three copies, and one of them a second time, as a snapshot that is restored"""
    first = edge(tmp_path / "0", server)
    taken(first, 1)
    abandoned(first)
    copies = [tmp_path / name for name in ("1", "2", "3", "4")]
    for copy in copies:
        shutil.copytree(tmp_path / "0", copy)
    lent = used(centre)

    for folder in (tmp_path / "0", *copies):
        again = edge(folder, server)
        taken(again, 3)
        again.close()

    assert lent > 1
    assert used(centre) == 1 + 5 * 3
