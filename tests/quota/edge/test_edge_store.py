"""An edge with its centre, without it, and with it again, on real servers and a real file."""

import asyncio
import shutil
import signal
import time
from collections.abc import Iterator
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
from quota.redis import connection
from quota.redis.connection import ANSWER_S
from quota.redis.store import RedisStore
from quota.store.interface import Store
from tests.quota.filling import create_account, create_key
from tests.quota.servers import Server, running
from tests.quota.small import NOON, PLANS
from tests.serve.processes import eventually, in_time

LIMIT = 100  # calls a day, with which an edge reserves blocks of 2 calls


@pytest.fixture
def server() -> Iterator[Server]:
    """A Redis server with no rows."""
    with running("redis") as started:
        yield started


@pytest.fixture
def centre(server: Server) -> Iterator[RedisStore]:
    """The store on the server, to which edges connect."""
    opened = RedisStore(server.url, create=True)
    yield opened
    opened.close()


class Clock:
    """A clock that a test sets: call it to read it."""

    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(autouse=True)
def quick_maintenance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maintenance runs every 50 ms, so that a test need not wait for it."""
    monkeypatch.setattr(edge_store, "MAINTENANCE_S", 0.05)


def open_edge(folder: Path, server: Server, clock: Clock | None = None) -> EdgeStore:
    """An edge with its file in `folder`, whose centre is the server."""
    return EdgeStore(folder, lambda: RedisStore(server.url, create=True), clock or Clock())


def used_at_centre(centre: RedisStore) -> int:
    """The calls of the account `a_` that the centre counts as used: served by edges, or lent to them."""
    return centre.calls("a_", LIMIT, NOON).result().used


def take_calls(store: EdgeStore, count: int) -> list[Meter]:
    """Take up to `count` calls, one after the other, until the store is unavailable; returns a meter of each call."""

    async def take_all() -> list[Meter]:
        meters: list[Meter] = []
        try:
            while len(meters) < count:
                meters.append(await store.take("a_", LIMIT, NOON))
        except StoreUnavailable:
            pass
        # Until a request for the next block, which an edge sends in the background, has ended.
        await asyncio.sleep(0.05)
        return meters

    return asyncio.run(take_all())


def test_an_edge_grants_exactly_the_limit_and_numbers_the_calls(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """D3, D6: the meter of each call has the number of the call in the day"""
    store = open_edge(tmp_path, server)

    meters = take_calls(store, LIMIT + 5)

    assert [meter.granted for meter in meters] == [True] * LIMIT + [False] * 5
    assert [meter.used for meter in meters[:LIMIT]] == list(range(1, LIMIT + 1))
    assert used_at_centre(centre) == LIMIT
    store.close()


def test_without_its_centre_an_edge_continues_until_its_block_is_used(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """R6: afterwards it is unavailable, which is not 429; when the centre is back, every call is counted"""
    store = open_edge(tmp_path, server)
    calls_before = len(take_calls(store, 11))
    server.stop(signal.SIGKILL)

    calls_without_centre = len(take_calls(store, LIMIT))
    server.start()
    meters_after = (
        take_calls(store, LIMIT) if eventually(lambda: bool(take_calls(store, 1))) else []
    )

    assert calls_before == 11
    assert 1 <= calls_without_centre <= 4  # the calls left in its blocks of 2
    assert not meters_after[-1].granted
    # 1 is the call by which `wait_for` noticed that the centre was back.
    assert (
        used_at_centre(centre)
        == LIMIT
        == calls_before + calls_without_centre + 1 + sum(meter.granted for meter in meters_after)
    )
    store.close()


def test_a_centre_that_stays_away_is_logged_once(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The edge tries to connect again and again, but only the first failure is a line of the log."""
    attempts: list[None] = []

    def count_and_connect() -> RedisStore:
        attempts.append(None)
        return RedisStore(server.url, create=True)

    server.stop(signal.SIGKILL)
    store = EdgeStore(tmp_path, count_and_connect, Clock())
    assert eventually(lambda: len(attempts) > 5)
    store.close()

    logged = [record.getMessage() for record in caplog.records]
    assert sum("calls are granted while blocks last" in line for line in logged) == 1


def test_concurrent_calls_share_the_refills_of_their_edge(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store = open_edge(tmp_path, server)

    async def take_at_once() -> list[Meter]:
        return await asyncio.gather(*(store.take("a_", LIMIT, NOON) for _ in range(LIMIT + 20)))

    meters = asyncio.run(take_at_once())

    assert sum(meter.granted for meter in meters) == used_at_centre(centre) == LIMIT
    store.close()


def test_a_block_outlives_its_process_and_comes_back_at_the_end(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """An edge that is killed leaves the calls of its block (calls reserved at the centre) to the next process.

    That process grants them without the centre, so at its end it has no unused calls to return.
    """
    store = open_edge(tmp_path, server)
    take_calls(store, 1)
    used_before = used_at_centre(centre)
    abandon(store)
    server.stop(signal.SIGKILL)

    next_edge = open_edge(tmp_path, server)
    granted = len(take_calls(next_edge, LIMIT))
    server.start()
    assert eventually(lambda: next_edge._centre is not None)
    next_edge.close()

    assert used_before == 1 + granted
    assert used_at_centre(centre) == used_before


def test_unused_calls_are_given_back_to_the_centre(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """An edge gives them back when it closes, and when its block was idle"""
    clock = Clock()
    store = open_edge(tmp_path, server, clock)
    take_calls(store, 1)
    assert used_at_centre(centre) > 1

    clock.now += timedelta(seconds=edge_store.IDLE_S + 1)
    is_returned_when_idle = eventually(lambda: used_at_centre(centre) == 1)
    clock.now = NOON
    take_calls(store, 1)
    used_before_close = used_at_centre(centre)
    store.close()

    assert is_returned_when_idle
    assert used_before_close > 2
    assert used_at_centre(centre) == 2  # the two calls that were served


def test_calls_that_could_not_be_given_back_at_the_end_are_given_back_at_the_next_start(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """The centre is not reachable when the edge closes"""
    store = open_edge(tmp_path, server)
    take_calls(store, 1)
    server.stop(signal.SIGKILL)
    store.close()
    server.start()

    next_edge = open_edge(tmp_path, server)

    assert eventually(lambda: used_at_centre(centre) == 1)
    next_edge.close()


def test_a_block_whose_answer_was_lost_is_lent_once(
    server: Server, centre: RedisStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edge repeats its request for a block by the same name, so the centre does not lend a second block for it."""
    store = open_edge(tmp_path, server)
    send = store._send_move

    def send_and_lose_the_answer(*arguments: object) -> object:
        """Let the centre lend the block, but raise as if its answer did not come."""
        send(*arguments).result()  # type: ignore[arg-type]
        raise StoreUnavailable("the answer was lost")

    monkeypatch.setattr(store, "_send_move", send_and_lose_the_answer)
    assert take_calls(store, 1) == []
    monkeypatch.setattr(store, "_send_move", send)
    meters = take_calls(store, 1)
    abandon(store)

    assert [meter.used for meter in meters] == [1]
    # A block of 2, and a second block that was requested in the background.
    assert used_at_centre(centre) <= 4


def test_the_account_of_a_key_is_remembered_for_seconds_and_without_the_centre(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """A4: a revoked key is refused within FRESH_S while the centre is reachable"""
    account = create_account(centre, "free", PLANS, NOON).result()
    key, text = create_key(centre, account.id, PLANS, NOON).result()
    clock = Clock()
    store = open_edge(tmp_path, server, clock)

    async def identified_account(key_text: str = text) -> str | None:
        """The id of the account of a key, as the edge identifies it; None for a revoked key."""
        account_or_none = await store.identify(key_text)
        # The edge stores the answer in the background, before this operation.
        await store._writer.submit(lambda txn: None)
        return account_or_none.id if account_or_none else None

    when_valid = asyncio.run(identified_account())
    centre.submit(account_rows.revoke_key, key.id, iso(NOON)).result()
    clock.now = NOON + timedelta(seconds=FRESH_S - 1)
    just_after_revocation = asyncio.run(identified_account())
    clock.now = NOON + timedelta(seconds=FRESH_S)
    when_stale = asyncio.run(identified_account())
    server.stop()
    clock.now = NOON + timedelta(hours=1)
    without_centre = asyncio.run(identified_account())
    with pytest.raises(StoreUnavailable):
        asyncio.run(identified_account("soc_live_000000000000000000000000000000002wjyrI"))

    assert (when_valid, just_after_revocation) == (account.id, account.id)
    assert (when_stale, without_centre) == (None, None)
    store.close()


def test_a_silent_centre_is_waited_for_once(
    server: Server, centre: RedisStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one wait for the stopped centre, the edge identifies a known key from its own file without waiting."""
    account = create_account(centre, "free", PLANS, NOON).result()
    _, text = create_key(centre, account.id, PLANS, NOON).result()
    clock = Clock()
    monkeypatch.setattr(connection, "ANSWER_S", ANSWER_S)
    store = open_edge(tmp_path, server, clock)

    async def identified_account() -> str | None:
        """The id of the account of the key, as the edge identifies it."""
        identified = await store.identify(text)
        return identified.id if identified else None

    answers = [asyncio.run(identified_account())]
    digest = credentials.secret_digest(text)
    read_file = store._file.read
    assert eventually(lambda: read_file(lambda txn: leases.recall_key(txn, digest)) is not None)
    assert server.process
    server.process.send_signal(signal.SIGSTOP)
    clock.now = NOON + timedelta(hours=1)
    answers.append(asyncio.run(identified_account()))

    def seconds_of_call() -> float:
        """The seconds until the account is identified."""
        start = time.monotonic()
        answers.append(asyncio.run(identified_account()))
        return time.monotonic() - start

    are_in_time = in_time(lambda: max(seconds_of_call() for _ in range(20)) < ANSWER_S)
    server.process.send_signal(signal.SIGCONT)
    store.close()

    assert set(answers) == {account.id}
    assert are_in_time


def test_the_centre_charges_companies_and_without_it_nothing_is_counted(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """D9: a company costs 5 of 12 credits, so the third company is refused"""
    store = open_edge(tmp_path, server)

    async def read_company(company: str) -> str:
        """The outcome of the charge of a company, and the calls used so far."""
        meter, charge = await store.take_and_charge(Purchase("a_", LIMIT, company, 5, 12), NOON)
        assert charge
        # Until a request for the next block, which an edge sends in the background, has ended.
        await asyncio.sleep(0.05)
        return f"{charge.outcome} {meter.used}"

    async def is_charged(company: str) -> bool:
        return await store.is_charged("a_", company, NOON)

    outcomes = [asyncio.run(read_company(f"EE/{number}")) for number in (1, 1, 2, 3)]
    server.stop(signal.SIGKILL)
    with pytest.raises(StoreUnavailable):
        asyncio.run(read_company("EE/4"))
    server.start()
    assert eventually(lambda: current_centre(store).calls("a_", LIMIT, NOON).exception() is None)
    take_calls(store, 1)
    are_charged = asyncio.run(is_charged("EE/1")), asyncio.run(is_charged("EE/3"))
    store.close()

    assert outcomes == ["charged 1", "already 2", "charged 3", "refused 4"]
    assert are_charged == (True, False)
    assert used_at_centre(centre) == 5  # four companies, and the call after the restart
    assert centre.usage("a_", PLANS["free"], NOON).result().credits.used == 10


def test_matches_are_stored_at_the_centre_only(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    """X19: the companies that an account has matched; without the centre the edge can neither note nor find them"""
    store = open_edge(tmp_path, server)

    async def note_and_look() -> bool:
        """Note two matched companies at the edge; returns whether the edge then says that they are matched."""
        await store.submit(activity.note_matches, "a_", ["EE/1", "EE/2"])
        return await store.read(activity.are_matched, "a_", ["EE/2", "EE/1"])

    are_noted = asyncio.run(note_and_look())
    are_noted_for_other = centre.read(activity.are_matched, "b_", ["EE/1"]).result()
    are_noted_at_centre = centre.read(activity.are_matched, "a_", ["EE/1"]).result()
    server.stop(signal.SIGKILL)
    with pytest.raises(StoreUnavailable):
        asyncio.run(note_and_look())
    store.close()

    assert (are_noted, are_noted_for_other, are_noted_at_centre) == (True, False, True)


def test_an_edge_has_no_accounts_of_its_own(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store: Store = open_edge(tmp_path, server)

    assert store.ledger is None
    assert centre.read(account_rows.accounts).result() == []
    store.close()


def test_without_its_centre_an_edge_reserves_no_export(
    server: Server, centre: RedisStore, tmp_path: Path
) -> None:
    store = open_edge(tmp_path, server)
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
        open_edge(tmp_path, server)
    with running("redis") as server:
        open_edge(tmp_path, server).close()


def current_centre(store: EdgeStore) -> RedisStore:
    """The centre to which the edge is connected."""
    assert store._centre
    return store._centre


def abandon(store: EdgeStore) -> None:
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
    """M3: the original folder and four copies of it are opened, as if snapshots had been restored"""
    killed = open_edge(tmp_path / "0", server)
    take_calls(killed, 1)
    abandon(killed)
    copies = [tmp_path / name for name in ("1", "2", "3", "4")]
    for copy in copies:
        shutil.copytree(tmp_path / "0", copy)
    used_before = used_at_centre(centre)

    for folder in (tmp_path / "0", *copies):
        next_edge = open_edge(folder, server)
        take_calls(next_edge, 3)
        next_edge.close()

    assert used_before > 1
    # One call before the kill, and three at each of five edges.
    assert used_at_centre(centre) == 1 + 5 * 3
