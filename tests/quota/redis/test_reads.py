"""Reads of a server: concurrent reads share their round trips, and each read is consistent."""

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

DAYS = 30  # days of calls that the page of an account shows


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each kind, which all tests of this module share and empty."""
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture
def store(server: Server) -> Iterator[RedisStore]:
    """The store of an empty server."""
    with server.client as client:
        client.flushall()
    opened = RedisStore(server.url, create=True)
    yield opened
    opened.close()


def test_the_reads_of_a_page_are_three_round_trips(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, and the rows that they name; then a check that these rows are consistent."""
    account = create_account(store, "data", PLANS, NOON).result().id
    keys = [create_key(store, account, PLANS, NOON).result()[0] for _ in range(2)]
    for number in range(4):
        store.submit(
            people.add_person, new_person(account, f"p{number}@exemple.fr", "hash", NOON)
        ).result()
        store.take(account, 99, NOON - timedelta(days=number)).result()
    trips = counted_trips(store, monkeypatch)

    # The thread of the store waits until all reads are queued.
    hold = threading.Event()
    store._queue.call(hold.wait)
    listed, members = (
        store.read(account_rows.keys_of, account),
        store.read(people.people_of, account),
    )
    by_day = store.read(activity.calls_by_day, account, DAYS, NOON)
    other_reads = (
        store.read(account_rows.keys_of, account, ADDRESSES),
        store.usage(account, PLANS["data"], NOON),
        store.read(payments.payments_of, account),
        store.read(exports.counted_exports, account),
        store.read(activity.key_calls, account, DAYS, NOON),
        store.read(tickets.valid_tickets, account, seconds(NOON)),
        store.read(calls.recent_charges, account, NOON),
    )
    hold.set()
    for future in other_reads:
        future.result()

    assert len(trips) <= 3
    assert {key.id for key in listed.result()} == {key.id for key in keys}
    assert len(members.result()) == 4
    # A call was counted on each of the last four days, and none before.
    assert [count for _, count in by_day.result()] == [0] * (DAYS - 4) + [1] * 4


def test_waiting_mails_of_several_hours_are_counted(store: RedisStore) -> None:
    account = create_account(store, "data", PLANS, NOON).result().id
    for hour in range(3):
        invited_at = NOON + timedelta(hours=hour)
        invite(store, account, f"p{hour}@exemple.fr", MEMBER, invited_at, mail=True).result()

    assert store.read(tickets.waiting_mails, seconds(NOON + timedelta(hours=3))).result() == 3


def test_a_read_is_repeated_if_its_rows_were_written_meanwhile(
    server: Server, store: RedisStore
) -> None:
    """The first row names the second: a read sees both before a write, or both after it."""
    with server.client as client:
        client.hset("societes:meta", mapping={"first": "a", "a": "of a", "b": "of b"})
    attempts = []

    def read_both(txn: ReadTransaction) -> bytes | None:
        """Read a row and the row that it names; in the second attempt another host writes between the two."""
        name = txn.get(b"first")
        assert name
        attempts.append(name)
        if len(attempts) == 2:  # the first row was read, the second not yet
            with server.client as client:
                client.hset("societes:meta", mapping={"first": "b", "a": "nothing"})
        return txn.get(name)

    assert store._queue.read(read_both).result() == b"of b"


def test_a_read_without_rows_gives_its_result_and_an_unknown_account_is_an_error(
    store: RedisStore,
) -> None:
    assert store._queue.read(lambda _: 7).result() == 7
    assert store.read(people.find_by_email, "nobody@exemple.fr").result() is None
    with pytest.raises(Exception, match="a_0"):
        store.read(account_rows.account_of, "a_0").result()


def test_an_unreadable_row_fails_its_own_read(server: Server, store: RedisStore) -> None:
    """A read of a row of a wrong type shares its round trips with a good read"""
    with server.client as client:
        client.set("societes:s/p_1", "no hash")
    hold = threading.Event()
    store._queue.call(hold.wait)
    bad_read = store._queue.read(
        lambda txn: txn.get(row_format.join(row_format.SESSION, "p_1", "x"))
    )
    good_read = store.read(account_rows.accounts)
    hold.set()

    assert good_read.result() == []
    assert "WRONGTYPE" in str(bad_read.exception())
