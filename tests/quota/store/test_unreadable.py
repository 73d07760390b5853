"""Rows that cannot be read harm their account alone, on LMDB and on a real server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from quota.credentials import key_digest
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

BROKEN: Final = [b"{", b"{}", b"\xff", b"[1]", b'{"id": 1}']
PURCHASE: Final = Purchase("a_1", 50, "FR/552100554", 5, 100)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture(params=["lmdb", "server"])
def store(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[LedgerStore]:
    with server.client as client:
        client.flushall()
    opened = LmdbStore(tmp_path) if request.param == "lmdb" else RedisStore(server.url, create=True)
    yield opened
    opened.close()


def put(store: LedgerStore, key: bytes, value: bytes) -> None:
    store.submit(lambda txn: txn.put(key, value)).result()


def key_of(store: LedgerStore) -> tuple[str, str]:
    account = create_account(store, "data", PLANS, NOON, nom="Żabka").result().id
    return account, create_key(store, account, PLANS, NOON).result()[1]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("table", ["account", "key"])
def test_a_row_that_cannot_be_read_is_an_outage_of_its_account(
    store: LedgerStore, table: str, broken: bytes
) -> None:
    """L5: not a crash of the writer, nor an error of those who wait with it"""
    account, text = key_of(store)
    _, other = key_of(store)
    put(store, *{
        "account": (row_format.join(row_format.ACCOUNT, account), broken),
        "key": (row_format.KEY + key_digest(text), broken),
    }[table])  # fmt: skip

    with pytest.raises(StoreUnavailable):
        store.identify(text).result()
    refused = create_key(store, account, PLANS, NOON)
    beside = store.take("a_other", 9, NOON)
    if table == "account":
        assert isinstance(refused.exception(), StoreUnavailable)

    assert beside.result().granted
    assert store.identify(other).result()


def test_the_log_has_the_place_of_a_row_that_cannot_be_read(
    store: LedgerStore, caplog: pytest.LogCaptureFixture
) -> None:
    account, text = key_of(store)
    put(store, row_format.join(row_format.ACCOUNT, account), b"{")

    with pytest.raises(StoreUnavailable):
        store.identify(text).result()

    (line,) = [one for one in caplog.records if "a row cannot be read" in one.getMessage()]
    assert line.levelname == "ERROR"
    assert "load_account" in str(line.exc_text or caplog.text)


def test_a_charge_that_meets_such_a_row_takes_nothing(store: LedgerStore) -> None:
    """L6: neither the call nor credits, however often it is tried"""
    put(store, row_format.join(row_format.PACKS, "a_1"), b"odd")

    for _ in range(3):
        assert store.take_and_charge(PURCHASE, NOON).exception()

    assert store.calls("a_1", 50, NOON).result().used == 0
    put(store, row_format.join(row_format.PACKS, "a_1"), row_format.pack_pair(0, 0))
    meter, charge = store.take_and_charge(PURCHASE, NOON).result()
    assert charge
    assert (meter.used, charge.outcome, charge.left) == (1, "charged", 95)


@pytest.mark.parametrize(
    "table", [row_format.CHARGE, row_format.OPENED, row_format.TRIALS, row_format.GRANT]
)
def test_a_charge_reads_all_its_rows_before_it_writes_one(server: Server, table: bytes) -> None:
    """L6, by hashes of another type: a script has no rollback"""
    with server.client as client:
        client.flushall()
        store = RedisStore(server.url, create=True)
        client.set(b"societes:" + table + month(NOON).key.encode(), "no hash")

        failed = [store.take_and_charge(PURCHASE, NOON).exception() for _ in range(2)]

        assert {type(one) for one in failed} == {StoreUnavailable}
        assert not client.exists(b"societes:" + row_format.CALLS + day(NOON).key.encode())
    store.close()


def test_a_floor_that_is_no_month_is_an_outage_until_it_is_repaired(server: Server) -> None:
    with server.client as client:
        client.flushall()
        store = RedisStore(server.url, create=True)
        client.hset("societes:meta", "floor", "odd")
        odd = [store.take("a_1", 9, NOON).exception() for _ in range(2)]
        client.hset("societes:meta", "floor", "2026-01")
        again = store.take("a_1", 9, NOON).result()
    store.close()

    assert {type(one) for one in odd} == {StoreUnavailable}
    assert again.used == 1


def test_a_server_whose_memory_is_full_is_opened_and_compacted(server: Server) -> None:
    """L4: it is what makes room"""
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
