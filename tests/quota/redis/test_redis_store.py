"""The store over real Redis and Valkey servers: the state machine, and servers that fail."""

import logging
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from quota.errors import NotAllowedError, StoreUnavailable, WrongStoreError
from quota.ledger import account_rows, exports
from quota.ledger.calls import Meter
from quota.ledger.exports import CountedExport, Reservation
from quota.periods import iso
from quota.redis.connection import ANSWER_S, PAUSE_S
from quota.redis.store import RedisStore
from quota.store.future import StoreFuture
from tests.proof.tools import need
from tests.quota.filling import create_account, create_key
from tests.quota.ledger.test_ledger import check_the_last_openings
from tests.quota.machine import StoreAgainstModel
from tests.quota.servers import KINDS, SYNCED, Server, free_port, run_on, running
from tests.quota.small import NOON, PLANS, SMALL


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param) as started:
        yield started


@pytest.fixture
def store(server: Server) -> Iterator[RedisStore]:
    """The store of an empty server."""
    with server.client as client:
        client.flushall()
    opened = RedisStore(server.url, create=True)
    yield opened
    opened.close()


class _OverServer(StoreAgainstModel):
    """Each example begins with an empty server."""

    server: Server

    def __init__(self) -> None:
        super().__init__()
        with self.server.client as client:
            client.flushall()
        self.store = RedisStore(self.server.url, create=True)

    def rows(self) -> list[tuple[bytes, bytes]]:
        return self.server.rows()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_store_does_what_the_model_does(kind: str) -> None:
    """D6 to D9, F5, A4, A9: scripts and ledger, over any mix"""
    run_on(kind, _OverServer)


def test_a_key_revoked_by_another_host_is_nobody_at_the_next_look(
    server: Server, store: RedisStore
) -> None:
    """A4, A11"""
    account = create_account(store, "data", PLANS, NOON, nom="Société Générale").result()
    key, text = create_key(store, account.id, PLANS, NOON).result()
    elsewhere = RedisStore(server.url, create=True)
    before = elsewhere.identify(text).result()

    store.submit(account_rows.revoke_key, key.id, iso(NOON)).result()

    assert before == account
    assert elsewhere.identify(text).result() is None
    elsewhere.close()
    assert text[9:].encode() not in b"".join(part for row in server.rows() for part in row)


def test_the_last_openings_of_a_month_are_told_the_newest_first(store: RedisStore) -> None:
    check_the_last_openings(store)


def test_what_waits_is_sent_at_once_and_answered_in_its_order(store: RedisStore) -> None:
    futures = [store.take("a_", 700, NOON) for _ in range(1_000)]

    used = [future.result().used for future in futures]

    assert used == [*range(1, 701)] + [700] * 300


def test_a_transaction_begins_again_where_another_was_written_first(
    server: Server, store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keys are allowed, and two hosts make the second at once"""
    account = create_account(store, "data", SMALL, NOON).result().id
    create_key(store, account, SMALL, NOON).result()
    elsewhere = RedisStore(server.url, create=True)
    again = store._queue._transact
    met: list[str] = []

    def meanwhile(operation: Callable[..., object]) -> object:
        def slow(txn: object) -> object:
            outcome = operation(txn)
            if not met:
                met.append(create_key(elsewhere, account, SMALL, NOON).result()[1])
            return outcome

        return again(slow)

    monkeypatch.setattr(store._queue, "_transact", meanwhile)
    refused = create_key(store, account, SMALL, NOON).exception()

    assert isinstance(refused, NotAllowedError)
    assert len(store.read(account_rows.keys_of, account).result()) == 2
    elsewhere.close()


def test_scripts_that_the_server_forgot_are_sent_again(server: Server, store: RedisStore) -> None:
    store.take("a_", 9, NOON).result()
    with server.client as client:
        client.script_flush()

    futures = [store.take("a_", 9, NOON) for _ in range(3)]

    assert [future.result().used for future in futures] == [2, 3, 4]


def test_months_that_another_host_dropped_stay_dropped(server: Server, store: RedisStore) -> None:
    """A host whose clock is behind, and which has not seen the new floor"""
    elsewhere = RedisStore(server.url, create=True)
    elsewhere.take("a_", 9, NOON).result()
    store.take("a_", 9, NOON - timedelta(days=60)).result()

    assert store.newest_month() == "2026-11"
    dropped = store.compact("2026-11")
    late = elsewhere.take("a_", 9, NOON - timedelta(days=60)).result()

    assert dropped == 1
    assert (late.used, late.reset.isoformat()) == (1, "2026-11-02T00:00:00+00:00")
    assert store.usage("a_", PLANS["free"], NOON).result().calls.used == 1
    elsewhere.close()


def test_a_server_is_copied_by_its_own_means(store: RedisStore, server: Server) -> None:
    with pytest.raises(NotAllowedError, match="redis-cli --rdb"):
        store.backup(server.folder / "copie")


# -- servers that fail -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_acknowledged_outlives_a_killed_server(kind: str) -> None:
    """R2, with `appendfsync always`; the store fails at once meanwhile, and recovers by itself"""
    with running(kind) as server:
        store = RedisStore(server.url, create=True)
        futures = [store.take("a_", 10**6, NOON) for _ in range(2_000)]
        futures[500].result()
        server.stop(signal.SIGKILL)
        granted = sum(future.exception() is None for future in futures)
        began = time.monotonic()
        refused = [store.take("a_", 10**6, NOON).exception() for _ in range(100)]
        took = time.monotonic() - began

        server.start()

        used = _in_time(lambda: store.take("a_", 10**6, NOON)).used - 2
        assert {type(one) for one in refused} == {StoreUnavailable}
        assert took < 10  # those that waited for a time-out would take 200 s
        assert 500 < granted <= used <= 2_000
        store.close()


def test_a_server_that_is_stopped_is_not_waited_for_long(server: Server, store: RedisStore) -> None:
    assert server.process
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    refused = store.take("a_", 9, NOON).exception(10)
    took = time.monotonic() - began
    server.process.send_signal(signal.SIGCONT)

    used = _in_time(lambda: store.take("a_", 9, NOON)).used - 2

    assert isinstance(refused, StoreUnavailable)
    assert took < ANSWER_S + 1
    assert used in (0, 1)  # the reply was lost: the call may have been counted, never twice


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_lost_its_rows_is_not_taken_for_an_empty_one(kind: str) -> None:
    """Otherwise every key would be unknown, and every counter at 0"""
    with running(kind, "--appendonly", "no") as server:
        store = RedisStore(server.url, create=True)
        store.take("a_", 9, NOON).result()
        server.stop()
        server.start()
        refused = [_after(PAUSE_S, lambda: store.take("a_", 9, NOON)) for _ in range(3)]
        store.close()

        assert "lost its rows" in str(refused[-1])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--maxmemory-policy", "allkeys-lru"), "maxmemory-policy noeviction"),
        (("--maxmemory-policy", "volatile-ttl"), "maxmemory-policy noeviction"),
        (("--cluster-enabled", "yes"), "cluster"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_would_lose_counters_is_refused(
    kind: str, options: tuple[str, ...], named: str
) -> None:
    with running(kind, *options) as server, pytest.raises(WrongStoreError, match=named):
        RedisStore(server.url, create=True)


@pytest.mark.parametrize(
    "options", [("--appendonly", "no"), ("--appendonly", "yes", "--appendfsync", "everysec")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_may_forget_is_warned_of_or_refused(
    kind: str, options: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """`appendfsync always` is advised"""
    with running(kind, *options) as server:
        with caplog.at_level(logging.WARNING, "quota.redis"):
            RedisStore(server.url, create=True).close()
        with pytest.raises(WrongStoreError, match="appendfsync always"):
            RedisStore(server.url, strict=True, create=True)
    with running(kind, *SYNCED) as server:
        RedisStore(server.url, strict=True, create=True).close()

    (warning,) = [record.getMessage() for record in caplog.records]
    assert " ".join(option.strip("-") for option in options[-2:]) in warning
    assert "CONFIG SET appendfsync always" in warning


def test_a_replica_and_an_older_format_are_not_used(server: Server, store: RedisStore) -> None:
    with server.client as client:
        client.hset("societes:meta", "format", "0")
        with pytest.raises(WrongStoreError, match="format 0, this code reads 2"):
            RedisStore(server.url, create=True)
        client.replicaof("127.0.0.1", "1")
        with pytest.raises(StoreUnavailable, match="name the primary"):
            RedisStore(server.url, create=True)
        client.replicaof("NO", "ONE")


def test_a_full_server_refuses_and_counts_nothing(server: Server, store: RedisStore) -> None:
    with server.client as client:
        client.config_set("maxmemory", "1")
        refused = store.take("a_", 9, NOON).exception()
        client.config_set("maxmemory", "0")

    assert isinstance(refused, StoreUnavailable)
    assert store.take("a_", 9, NOON).result().used == 1


def test_nobody_is_there() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/0") as caught:
        RedisStore("redis://quota:secret@127.0.0.1:1/0")
    assert "secret" not in str(caught.value)


def test_a_place_for_an_export_is_held_on_all_hosts(server: Server, store: RedisStore) -> None:
    """F5, D7"""
    elsewhere = RedisStore(server.url, create=True)
    hour = timedelta(hours=1)
    held = store.reserve("a_", 2, 2, hour, NOON).result()
    assert isinstance(held, Reservation)
    also = elsewhere.reserve("a_", 2, 2, hour, NOON).result()
    refused = store.reserve("a_", 2, 9, hour, NOON).result()

    export = CountedExport("", "csv", "societes.csv", 3, 9, "q=Ψ", "abcd")
    assert elsewhere.commit(held, NOON, export).result().granted
    assert store.read(exports.counted_exports, "a_").result() == [export]  # X10
    assert not store.commit(held, NOON).result().granted
    assert isinstance(also, Reservation)
    assert not isinstance(refused, Reservation)
    elsewhere.close()


def test_a_server_with_tls_and_a_password(tmp_path: Path) -> None:
    """`rediss://`: both certificates are checked"""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [need("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    command += ["-subj", "/CN=centre", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    tls = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
    tls += ["--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no"]
    with running("redis", *tls) as server:
        port = free_port()
        with server.client as client:
            client.config_set("tls-port", port)
            client.config_set("requirepass", "geheim/é")
        url = f"rediss://:geheim%2F%C3%A9@127.0.0.1:{port}/0"
        store = RedisStore(f"{url}?ssl_ca_certs={certificate}", create=True)
        used = store.take("a_", 9, NOON).result().used
        store.close()
        with pytest.raises(StoreUnavailable, match="certificate") as caught:
            RedisStore(url, create=True)

    assert used == 1
    assert "geheim" not in str(caught.value)


def _in_time(take: Callable[[], StoreFuture[Meter]]) -> Meter:
    """The result once the server is reachable again."""
    deadline = time.monotonic() + 10
    while (refused := take().exception()) is not None:
        assert isinstance(refused, StoreUnavailable)
        assert time.monotonic() < deadline, refused
        time.sleep(0.05)
    return take().result()


def _after(seconds: float, take: Callable[[], StoreFuture[Meter]]) -> BaseException | None:
    time.sleep(seconds)
    return take().exception()
