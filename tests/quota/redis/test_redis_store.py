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
from quota.redis import connection
from quota.redis.connection import ANSWER_S, PAUSE_S
from quota.redis.store import RedisStore
from quota.store.future import StoreFuture
from tests.proof.tools import need
from tests.quota.filling import create_account, create_key
from tests.quota.ledger.test_ledger import check_the_last_openings
from tests.quota.machine import StoreAgainstModel
from tests.quota.servers import KINDS, SYNCED, Server, free_port, run_on, running
from tests.quota.small import NOON, PLANS, SMALL
from tests.serve.processes import eventually, in_time


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A running server, which acknowledges a write when it is on disk."""
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
    """Compares the store of a server with the model; each example begins with an empty server."""

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


def test_a_key_revoked_by_another_host_is_refused_at_the_next_call(
    server: Server, store: RedisStore
) -> None:
    """A4, A11: the hosts share a server, which never stores the text of a key"""
    account = create_account(store, "data", PLANS, NOON, nom="Société Générale").result()
    key, text = create_key(store, account.id, PLANS, NOON).result()
    other_host = RedisStore(server.url, create=True)
    account_before = other_host.identify(text).result()

    store.submit(account_rows.revoke_key, key.id, iso(NOON)).result()

    assert account_before == account
    assert other_host.identify(text).result() is None
    other_host.close()
    assert text[9:].encode() not in b"".join(part for row in server.rows() for part in row)


def test_the_last_openings_of_a_month_are_listed_the_newest_first(store: RedisStore) -> None:
    check_the_last_openings(store)


def test_a_thousand_waiting_operations_are_answered_in_their_order(store: RedisStore) -> None:
    """The limit is 700 calls a day, so the last 300 find it used up"""
    futures = [store.take("a_", 700, NOON) for _ in range(1_000)]

    used = [future.result().used for future in futures]

    assert used == [*range(1, 701)] + [700] * 300


def test_a_transaction_is_repeated_if_another_host_wrote_its_rows_meanwhile(
    server: Server, store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keys are allowed, and two hosts create the second key at once"""
    account = create_account(store, "data", SMALL, NOON).result().id
    create_key(store, account, SMALL, NOON).result()
    other_host = RedisStore(server.url, create=True)
    transact = store._queue._transact
    keys_of_other_host: list[str] = []

    def transact_slowly(operation: Callable[..., object]) -> object:
        """Run a transaction in whose first attempt the second host creates its key before the commit."""

        def run_and_let_other_host_write(txn: object) -> object:
            """Run the operation; the first time, let the second host create a key."""
            outcome = operation(txn)
            if not keys_of_other_host:
                keys_of_other_host.append(create_key(other_host, account, SMALL, NOON).result()[1])
            return outcome

        return transact(run_and_let_other_host_write)

    monkeypatch.setattr(store._queue, "_transact", transact_slowly)
    refused = create_key(store, account, SMALL, NOON).exception()

    assert isinstance(refused, NotAllowedError)
    assert len(store.read(account_rows.keys_of, account).result()) == 2
    other_host.close()


def test_scripts_that_the_server_forgot_are_sent_again(server: Server, store: RedisStore) -> None:
    """SCRIPT FLUSH between calls, as a restart would do; no call is lost or counted twice"""
    store.take("a_", 9, NOON).result()
    with server.client as client:
        client.script_flush()

    futures = [store.take("a_", 9, NOON) for _ in range(3)]

    assert [future.result().used for future in futures] == [2, 3, 4]


def test_months_that_another_host_dropped_stay_dropped(server: Server, store: RedisStore) -> None:
    """A host whose clock is behind, and which has not seen the new floor"""
    other_host = RedisStore(server.url, create=True)
    other_host.take("a_", 9, NOON).result()
    store.take("a_", 9, NOON - timedelta(days=60)).result()

    assert store.newest_month() == "2026-11"
    dropped = store.compact("2026-11")
    late_meter = other_host.take("a_", 9, NOON - timedelta(days=60)).result()

    assert dropped == 1
    assert (late_meter.used, late_meter.reset.isoformat()) == (1, "2026-11-02T00:00:00+00:00")
    assert store.usage("a_", PLANS["free"], NOON).result().calls.used == 1
    other_host.close()


def test_a_backup_of_a_server_is_refused_and_names_redis_cli(
    store: RedisStore, server: Server
) -> None:
    with pytest.raises(NotAllowedError, match="redis-cli --rdb"):
        store.backup(server.folder / "copie")


# -- servers that fail -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_acknowledged_calls_survive_a_killed_server(kind: str) -> None:
    """R2, with `appendfsync always`; the store fails at once meanwhile, and recovers by itself"""
    with running(kind) as server:
        store = RedisStore(server.url, create=True)
        futures = [store.take("a_", 10**6, NOON) for _ in range(2_000)]
        futures[500].result()
        server.stop(signal.SIGKILL)
        granted = sum(future.exception() is None for future in futures)
        start = time.monotonic()
        refused = [store.take("a_", 10**6, NOON).exception() for _ in range(100)]
        seconds_refused = time.monotonic() - start

        server.start()

        used = _once_reachable(lambda: store.take("a_", 10**6, NOON)).used - 2
        assert {type(error) for error in refused} == {StoreUnavailable}
        assert seconds_refused < 10  # with a time-out for each operation it would be 200 s
        assert 500 < granted <= used <= 2_000
        store.close()


def test_a_server_that_is_stopped_is_not_waited_for_long(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ANSWER_S", ANSWER_S)
    store = RedisStore(server.url, create=True)

    def is_in_time() -> bool:
        """Whether a call is refused in time; in any case it is counted once or not at all, as its reply is lost."""
        assert server.process
        used_before = _once_reachable(lambda: store.take("a_", 99, NOON)).used
        server.process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        refused = store.take("a_", 99, NOON).exception()
        seconds_refused = time.monotonic() - start
        server.process.send_signal(signal.SIGCONT)

        used = _once_reachable(lambda: store.take("a_", 99, NOON)).used - 2

        assert isinstance(refused, StoreUnavailable)
        assert used - used_before in (0, 1)
        return seconds_refused < 2 * ANSWER_S  # a second attempt would wait for ANSWER_S again

    assert in_time(is_in_time)
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_lost_its_rows_is_not_taken_for_an_empty_server(kind: str) -> None:
    """Otherwise every key would be unknown, and every counter at 0"""
    with running(kind, "--appendonly", "no") as server:
        store = RedisStore(server.url, create=True)
        store.take("a_", 9, NOON).result()
        server.stop()
        server.start()
        errors = [_error_after(PAUSE_S, lambda: store.take("a_", 9, NOON)) for _ in range(3)]
        store.close()

        assert "lost its rows" in str(errors[-1])


@pytest.mark.parametrize(
    ("options", "expected_text"),
    [
        (("--maxmemory-policy", "allkeys-lru"), "maxmemory-policy noeviction"),
        (("--maxmemory-policy", "volatile-ttl"), "maxmemory-policy noeviction"),
        (("--cluster-enabled", "yes"), "cluster"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_would_lose_counters_is_refused(
    kind: str, options: tuple[str, ...], expected_text: str
) -> None:
    with running(kind, *options) as server, pytest.raises(WrongStoreError, match=expected_text):
        RedisStore(server.url, create=True)


@pytest.mark.parametrize(
    "options", [("--appendonly", "no"), ("--appendonly", "yes", "--appendfsync", "everysec")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_may_lose_writes_causes_a_warning_or_is_refused(
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


def test_a_replica_and_a_server_with_an_older_format_are_refused(
    server: Server, store: RedisStore
) -> None:
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


def test_an_address_without_a_server_is_an_error_without_the_password() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/0") as caught:
        RedisStore("redis://quota:secret@127.0.0.1:1/0")
    assert "secret" not in str(caught.value)


# -- exports of several hosts, and TLS -----------------------------------------------


def test_a_reservation_of_an_export_counts_on_all_hosts(server: Server, store: RedisStore) -> None:
    """F5, D7: two exports a month, so a third reservation is refused"""
    other_host = RedisStore(server.url, create=True)
    hour = timedelta(hours=1)
    first = store.reserve("a_", 2, 2, hour, NOON).result()
    assert isinstance(first, Reservation)
    second = other_host.reserve("a_", 2, 2, hour, NOON).result()
    refused = store.reserve("a_", 2, 9, hour, NOON).result()

    export = CountedExport("", "csv", "societes.csv", 3, 9, "q=Ψ", "abcd")
    assert other_host.commit(first, NOON, export).result().granted
    # X10: every host lists the export.
    assert store.read(exports.counted_exports, "a_").result() == [export]
    assert not store.commit(first, NOON).result().granted
    assert isinstance(second, Reservation)
    assert not isinstance(refused, Reservation)
    other_host.close()


def test_a_server_is_reached_by_tls_and_a_password(tmp_path: Path) -> None:
    """`rediss://`: a certificate that this machine does not trust is refused"""
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


def _once_reachable(take: Callable[[], StoreFuture[Meter]]) -> Meter:
    """The meter of a call once the server is reachable; a first call that succeeds is counted too."""

    def is_reached() -> bool:
        """Whether a call succeeds."""
        refused = take().exception()
        assert refused is None or isinstance(refused, StoreUnavailable)
        return refused is None

    assert eventually(is_reached)
    return take().result()


def _error_after(seconds: float, take: Callable[[], StoreFuture[Meter]]) -> BaseException | None:
    """The error of a call that is sent after a pause of `seconds`; None if the call succeeds."""
    time.sleep(seconds)
    return take().exception()
