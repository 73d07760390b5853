"""Reads of a server: reads that wait at the same time share their round trips, and what they read fits together."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from quota.ledger import (
    account_rows,
    activity,
    calls,
    exports,
    payments,
    people,
    row_format,
    tickets,
)
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.people import MEMBER
from quota.ledger.row_format import ReadTransaction
from quota.new_values import new_person
from quota.periods import seconds
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key, invite
from tests.quota.redis.distance import counted_trips
from tests.quota.servers import KINDS, Server, running
from tests.quota.small import NOON, PLANS

DAYS = 30


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture
def store(server: Server) -> Iterator[RedisStore]:
    with server.client as client:
        client.flushall()
    opened = RedisStore(server.url, create=True)
    yield opened
    opened.close()


def test_the_reads_of_a_page_are_three_round_trips(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, and the rows that they name; then whether these rows fit together."""
    account = create_account(store, "data", PLANS, NOON).result().id
    keys = [create_key(store, account, PLANS, NOON).result()[0] for _ in range(2)]
    for n in range(4):
        store.submit(
            people.add_person, new_person(account, f"p{n}@exemple.fr", "hash", NOON)
        ).result()
        store.take(account, 99, NOON - timedelta(days=n)).result()
    trips = counted_trips(store, monkeypatch)

    hold = threading.Event()
    store._queue.call(hold.wait)
    listed, members = (
        store.read(account_rows.keys_of, account),
        store.read(people.people_of, account),
    )
    by_day = store.read(activity.calls_by_day, account, DAYS, NOON)
    others = (
        store.read(account_rows.keys_of, account, ADDRESSES),
        store.usage(account, PLANS["data"], NOON),
        store.read(payments.of_account, account),
        store.read(exports.counted_exports, account),
        store.read(activity.key_calls, account, DAYS, NOON),
        store.read(tickets.of_account, account, seconds(NOON)),
        store.read(calls.recent_charges, account, NOON),
    )
    hold.set()
    for one in others:
        one.result()

    assert len(trips) <= 3
    assert {one.id for one in listed.result()} == {one.id for one in keys}
    assert len(members.result()) == 4
    assert [count for _, count in by_day.result()] == [0] * (DAYS - 4) + [1] * 4


def test_the_mails_that_wait_are_counted_over_the_hours(store: RedisStore) -> None:
    account = create_account(store, "data", PLANS, NOON).result().id
    for hour in range(3):
        late = NOON + timedelta(hours=hour)
        invite(store, account, f"p{hour}@exemple.fr", MEMBER, late, mail=True).result()

    assert store.read(tickets.waiting_mails, seconds(NOON + timedelta(hours=3))).result() == 3


def test_a_read_begins_again_where_its_rows_were_written_meanwhile(
    server: Server, store: RedisStore
) -> None:
    """The first row names the second: a read never sees one of before and one of after."""
    with server.client as client:
        client.hset("societes:meta", mapping={"first": "a", "a": "of a", "b": "of b"})
    seen = []

    def read(txn: ReadTransaction) -> bytes | None:
        first = txn.get(b"first")
        assert first
        seen.append(first)
        if len(seen) == 2:  # the first row is there, the second not yet
            with server.client as client:
                client.hset("societes:meta", mapping={"first": "b", "a": "nothing"})
        return txn.get(first)

    assert store._queue.look(read).result() == b"of b"


def test_a_read_without_rows_and_one_that_is_refused(store: RedisStore) -> None:
    assert store._queue.look(lambda _: 7).result() == 7
    assert store.read(people.by_email, "nobody@exemple.fr").result() is None
    with pytest.raises(Exception, match="a_0"):
        store.read(account_rows.account_of, "a_0").result()


def test_an_unreadable_row_fails_its_own_read(server: Server, store: RedisStore) -> None:
    """A row of another type, in the same round trips as a good read."""
    with server.client as client:
        client.set("societes:s/p_1", "no hash")
    hold = threading.Event()
    store._queue.call(hold.wait)
    bad = store._queue.look(lambda txn: txn.get(row_format.join(row_format.SESSION, "p_1", "x")))
    good = store.read(account_rows.accounts)
    hold.set()

    assert good.result() == []
    assert "WRONGTYPE" in str(bad.exception())
