"""Servers that lost their rows, or have others, are refused: by real servers that are emptied and filled again."""

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
    with running(request.param, "--appendonly", "no") as started:
        yield started


@pytest.fixture
def server(running_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """An empty server, asked again at once after a failure."""
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


def _refusal(look: Callable[[], object]) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        look()
    return str(refused.value)


def test_only_the_first_account_makes_a_store(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A look at what is wrong, or the start of a server, leaves an empty server empty."""
    words = ["--quota", server.url, "account", "list"]

    assert main(words) == 1
    assert "account create" in capsys.readouterr().err
    assert "account create" in _refusal(lambda: open_store(server.url, tmp_path))
    assert server.rows() == []
    assert main([*words[:2], "account", "create", "--plan", "free"]) == 0
    assert main(words) == 0
    open_store(server.url, tmp_path).close()
    assert identity.recall(tmp_path) == dict(server.rows())[b"identity"]


def test_rows_that_are_lost_are_an_error_at_the_next_call_and_healed_by_their_restoration(
    server: Server, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise every key is answered with 401"""
    store = RedisStore(server.url, state=tmp_path)
    assert store.identify(key).result()
    with server.client as client:
        rows = {name: client.dump(name) for name in client.keys("*")}
        client.flushall()

        first = _refusal(store.identify(key).result)
        counted = store.take("a_", 9, NOON).exception()
        restarted = _refusal(lambda: RedisStore(server.url, state=tmp_path))
        written = client.keys("*")
        for name, value in rows.items():
            client.restore(name, 0, value)

    assert "lost its rows" in first
    assert isinstance(counted, StoreUnavailable)
    assert "lost its rows" in restarted
    assert written == []
    assert store.identify(key).result()
    assert store.take("a_", 9, NOON).result().used == 1
    assert any("lost its rows" in record.getMessage() for record in caplog.records)
    store.close()


def test_a_call_on_its_way_writes_nothing_where_the_rows_are_gone(server: Server, key: str) -> None:
    """The pipeline that finds it out has the call in it."""
    store = RedisStore(server.url)
    store.take("a_", 9, NOON).result()
    with server.client as client:
        client.flushall()

        counted = store.take("a_", 9, NOON).exception()

        assert isinstance(counted, StoreUnavailable)
        assert client.keys("*") == []
    store.close()


def test_another_store_is_refused_until_the_operator_says_so(
    server: Server, key: str, tmp_path: Path
) -> None:
    """`--new-store`"""
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
    monkeypatch.setattr(connection, "CHECK_S", 0.2)
    store = RedisStore(server.url)
    with caplog.at_level(logging.INFO, "quota.redis"), server.client as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        time.sleep(0.2)
        refused = [_refusal(store.identify(key).result) for _ in range(3)]
        client.config_set("maxmemory-policy", "noeviction")
        healed = store.identify(key).result()
    store.close()

    assert all("allkeys-lru" in one for one in refused)
    assert healed
    said = [record.getMessage() for record in caplog.records if "503" in record.getMessage()]
    assert len(said) == 1
    assert caplog.records[-1].getMessage().endswith("is used again")


def test_a_state_on_a_full_disk_does_not_stop_the_store(
    server: Server, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = RedisStore(server.url, state=tmp_path / "none")

    assert store.identify(key).result()
    assert identity.FILE in caplog.text
    store.close()


def test_rows_of_a_store_without_identity_get_one(server: Server, key: str) -> None:
    """Of a version before identities: one for all hosts"""
    with server.client as client:
        client.hdel("societes:meta", "identity")

    stores = [RedisStore(server.url) for _ in range(2)]

    assert all(store.identify(key).result() for store in stores)
    assert len(dict(server.rows())[b"identity"]) == 16
    for store in stores:
        store.close()
