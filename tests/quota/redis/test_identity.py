"""Servers that lost their rows, or have other rows, are refused; tested with real servers, emptied and refilled."""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quota.__main__ import main
from quota.errors import StoreUnavailable
from quota.open_store import forget_store, open_store
from quota.redis import connection, identity
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import KINDS, Server, running
from tests.quota.small import NOON, PLANS


@pytest.fixture(scope="module", params=KINDS)
def running_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each kind, which all tests of this module share and empty."""
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture
def server(running_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """An empty server, to which a store connects again at once after a failure."""
    monkeypatch.setattr(connection, "PAUSE_S", 0.0)
    with running_server.client as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.flushall()
    return running_server


@pytest.fixture
def key(server: Server) -> str:
    """A key of an account of the server."""
    store = RedisStore(server.url, create=True)
    account = create_account(store, "data", PLANS, NOON).result().id
    text = create_key(store, account, PLANS, NOON).result()[1]
    store.close()
    return text


def _refusal(operation: Callable[[], object]) -> str:
    """The text of the error of an operation that must fail as StoreUnavailable."""
    with pytest.raises(StoreUnavailable) as error:
        operation()
    return str(error.value)


def test_only_the_first_account_makes_a_store(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Other commands, or the start of a server, leave an empty server empty."""
    words = ["--quota", server.url, "account", "list"]

    assert main(words) == 1
    assert "account create" in capsys.readouterr().err
    assert "account create" in _refusal(lambda: open_store(server.url, tmp_path))
    assert server.rows() == []
    assert main([*words[:2], "account", "create", "--plan", "free"]) == 0
    assert main(words) == 0
    open_store(server.url, tmp_path).close()
    assert identity.recall(tmp_path) == dict(server.rows())[b"identity"]


def test_lost_rows_are_an_error_at_the_next_call_until_they_are_restored(
    server: Server, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the error a server without rows would answer every key with 401"""
    store = RedisStore(server.url, state=tmp_path)
    assert store.identify(key).result()
    with server.client as client:
        dumped_rows = {name: client.dump(name) for name in client.keys("*")}
        client.flushall()

        error_of_read = _refusal(store.identify(key).result)
        error_of_call = store.take("a_", 9, NOON).exception()
        error_of_restart = _refusal(lambda: RedisStore(server.url, state=tmp_path))
        keys_after = client.keys("*")
        for name, value in dumped_rows.items():
            client.restore(name, 0, value)

    assert "lost its rows" in error_of_read
    assert isinstance(error_of_call, StoreUnavailable)
    assert "lost its rows" in error_of_restart
    assert keys_after == []
    assert store.identify(key).result()
    assert store.take("a_", 9, NOON).result().used == 1
    assert any("lost its rows" in record.getMessage() for record in caplog.records)
    store.close()


def test_a_call_in_the_pipeline_that_detects_lost_rows_writes_nothing(
    server: Server, key: str
) -> None:
    store = RedisStore(server.url)
    store.take("a_", 9, NOON).result()
    with server.client as client:
        client.flushall()

        error = store.take("a_", 9, NOON).exception()

        assert isinstance(error, StoreUnavailable)
        assert client.keys("*") == []
    store.close()


def test_another_store_is_refused_until_the_operator_forgets_the_known_store(
    server: Server, key: str, tmp_path: Path
) -> None:
    """The option `--new-store` does this"""
    open_store(server.url, tmp_path).close()
    with server.client as client:
        client.flushall()
    assert main(["--quota", server.url, "account", "create", "--plan", "free"]) == 0

    refused = _refusal(lambda: open_store(server.url, tmp_path))
    forget_store(tmp_path)
    open_store(server.url, tmp_path).close()

    assert "--new-store" in refused
    assert "another store" in refused


def test_a_server_that_begins_to_evict_rows_is_refused_within_a_minute(
    server: Server, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Seconds between two checks of the settings, in place of a minute.
    monkeypatch.setattr(connection, "CHECK_S", 0.2)
    store = RedisStore(server.url)
    with caplog.at_level(logging.INFO, "quota.redis"), server.client as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        time.sleep(0.2)
        errors = [_refusal(store.identify(key).result) for _ in range(3)]
        client.config_set("maxmemory-policy", "noeviction")
        account_after_repair = store.identify(key).result()
    store.close()

    assert all("allkeys-lru" in message for message in errors)
    assert account_after_repair
    log_lines = [record.getMessage() for record in caplog.records if "503" in record.getMessage()]
    assert len(log_lines) == 1
    assert caplog.records[-1].getMessage().endswith("is used again")


def test_a_store_works_without_a_folder_for_its_identity(
    server: Server, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = RedisStore(server.url, state=tmp_path / "none")

    assert store.identify(key).result()
    assert identity.FILE in caplog.text
    store.close()


def test_rows_of_a_store_without_identity_get_one(server: Server, key: str) -> None:
    """A version before identities wrote the rows; all hosts get the same identity"""
    with server.client as client:
        client.hdel("societes:meta", "identity")

    stores = [RedisStore(server.url) for _ in range(2)]

    assert all(store.identify(key).result() for store in stores)
    assert len(dict(server.rows())[b"identity"]) == 16  # bytes
    for store in stores:
        store.close()
