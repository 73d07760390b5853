"""Unreadable rows affect only their account, on LMDB and on a real server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from quota.credentials import secret_digest
from quota.errors import StoreUnavailable
from quota.ledger import row_format
from quota.ledger.calls import Purchase
from quota.periods import day, month
from quota.redis.store import RedisStore
from quota.store.interface import LedgerStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import KINDS, Server, running
from tests.quota.small import NOON, PLANS

# Damaged values for the row of an account or a key: they are not JSON, not an object, or lack fields.
BROKEN: Final = [b"{", b"{}", b"\xff", b"[1]", b'{"id": 1}']
# One of 50 calls a day, for a company that costs 5 of 100 credits a month.
PURCHASE: Final = Purchase("a_1", 50, "FR/552100554", 5, 100)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each kind, which all tests of this module share and empty."""
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture(params=["lmdb", "server"])
def store(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[LedgerStore]:
    """An empty store, on LMDB or on a server."""
    with server.client as client:
        client.flushall()
    opened = LmdbStore(tmp_path) if request.param == "lmdb" else RedisStore(server.url, create=True)
    yield opened
    opened.close()


def write_row(store: LedgerStore, key: bytes, value: bytes) -> None:
    """Write a row as it is, whatever its bytes mean."""
    store.submit(lambda txn: txn.put(key, value)).result()


def new_account_with_key(store: LedgerStore) -> tuple[str, str]:
    """The id of a new account, and the text of its key."""
    account = create_account(store, "data", PLANS, NOON, nom="Żabka").result().id
    return account, create_key(store, account, PLANS, NOON).result()[1]


@pytest.mark.parametrize("broken_row", BROKEN)
@pytest.mark.parametrize("table", ["account", "key"])
def test_a_row_that_cannot_be_read_is_an_outage_of_its_account(
    store: LedgerStore, table: str, broken_row: bytes
) -> None:
    """L5: the writer does not crash, and other operations of its group succeed"""
    account, text = new_account_with_key(store)
    _, other_text = new_account_with_key(store)
    write_row(store, *{
        "account": (row_format.join(row_format.ACCOUNT, account), broken_row),
        "key": (row_format.KEY + secret_digest(text), broken_row),
    }[table])  # fmt: skip

    with pytest.raises(StoreUnavailable):
        store.identify(text).result()
    new_key = create_key(store, account, PLANS, NOON)
    other_call = store.take("a_other", 9, NOON)
    if table == "account":
        assert isinstance(new_key.exception(), StoreUnavailable)

    assert other_call.result().granted
    assert store.identify(other_text).result()


def test_the_log_names_the_function_that_could_not_read_a_row(
    store: LedgerStore, caplog: pytest.LogCaptureFixture
) -> None:
    account, text = new_account_with_key(store)
    write_row(store, row_format.join(row_format.ACCOUNT, account), b"{")

    with pytest.raises(StoreUnavailable):
        store.identify(text).result()

    (line,) = [record for record in caplog.records if "a row cannot be read" in record.getMessage()]
    assert line.levelname == "ERROR"
    assert "load_account" in str(line.exc_text or caplog.text)


def test_a_charge_with_an_unreadable_row_takes_nothing(store: LedgerStore) -> None:
    """L6: neither the call nor credits, after any number of attempts"""
    # Two numbers of 8 bytes are expected.
    write_row(store, row_format.join(row_format.PACKS, "a_1"), b"odd")

    for _ in range(3):
        assert store.take_and_charge(PURCHASE, NOON).exception()

    assert store.calls("a_1", 50, NOON).result().used == 0
    write_row(store, row_format.join(row_format.PACKS, "a_1"), row_format.pack_pair(0, 0))
    meter, charge = store.take_and_charge(PURCHASE, NOON).result()
    assert charge
    assert (meter.used, charge.outcome, charge.left) == (1, "charged", 95)


@pytest.mark.parametrize(
    "table", [row_format.CHARGE, row_format.OPENED, row_format.TRIALS, row_format.GRANT]
)
def test_a_charge_on_a_server_reads_all_its_rows_before_it_writes_any(
    server: Server, table: bytes
) -> None:
    """L6: a script has no rollback; a table of a wrong type makes its read fail"""
    with server.client as client:
        client.flushall()
        store = RedisStore(server.url, create=True)
        client.set(b"societes:" + table + month(NOON).key.encode(), "no hash")

        errors = [store.take_and_charge(PURCHASE, NOON).exception() for _ in range(2)]

        assert {type(error) for error in errors} == {StoreUnavailable}
        assert not client.exists(b"societes:" + row_format.CALLS + day(NOON).key.encode())
    store.close()


def test_a_malformed_first_month_is_an_outage_until_it_is_repaired(server: Server) -> None:
    with server.client as client:
        client.flushall()
        store = RedisStore(server.url, create=True)
        client.hset("societes:meta", "floor", "odd")
        errors = [store.take("a_1", 9, NOON).exception() for _ in range(2)]
        client.hset("societes:meta", "floor", "2026-01")
        meter = store.take("a_1", 9, NOON).result()
    store.close()

    assert {type(error) for error in errors} == {StoreUnavailable}
    assert meter.used == 1


def test_a_server_whose_memory_is_full_is_opened_and_compacted(server: Server) -> None:
    """L4: compaction makes room"""
    with server.client as client:
        client.flushall()
        store = RedisStore(server.url, create=True)
        store.take("a_1", 9, NOON).result()
        store.take("a_1", 9, NOON.replace(year=2025)).result()
        store.close()
        client.config_set("maxmemory", "1")
        try:
            store = RedisStore(server.url)
            dropped = store.compact("2026-01")
        finally:
            client.config_set("maxmemory", "0")

        assert dropped == 1
        assert client.hget("societes:meta", "floor") == b"2026-01"
    assert store.take("a_1", 9, NOON.replace(year=2025)).result().used == 1
    store.close()
