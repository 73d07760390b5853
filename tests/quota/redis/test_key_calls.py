"""The statistics of keys on a server: those of the ledger, and no request waits for them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest

from quota.credentials import key_digest
from quota.ledger import activity, people
from quota.redis.store import RedisStore
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account, create_key
from tests.quota.redis.distance import at_distance, counted_trips
from tests.quota.servers import KINDS, Server, running
from tests.quota.small import NOON, PLANS

KEYS: Final = 10_000
FAR: Final = 0.005  # seconds of a round trip


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param, "--appendonly", "no") as started:
        yield started


def test_they_are_those_of_the_ledger(server: Server) -> None:
    """Several days, days that are dropped, a key that nobody has, and a row that cannot be read."""
    with server.client as client:
        client.flushall()
    store, model = RedisStore(server.url, create=True), DictStore()
    found = []
    for kept in (store, model):
        account = create_account(kept, "data", PLANS, NOON).result().id
        made = [create_key(kept, account, PLANS, NOON).result() for _ in range(2)]
        days = [NOON + timedelta(days=n) for n in (0, 3, 1, 62, 63, 64)]
        for n, day in enumerate(days, 1):
            calls = {key_digest(text): n * place for place, (_, text) in enumerate(made, 1)}
            kept.add_key_calls({**calls, key_digest("soc_live_nobody"): 9}, day.date()).result()
        ids = [key.id for key, _ in made]
        by_key = kept.read(activity.key_calls, account, 99, days[-1]).result()
        last = kept.read(people.last_used, ids).result()
        found.append([(by_key.get(one), last[one]) for one in ids])

    assert found[0] == found[1]
    with server.client as client:
        client.hset("societes:k", key_digest("broken"), "{")
    text = made[0][1]
    store.add_key_calls({key_digest("broken"): 1, key_digest(text): 1}, NOON.date()).result()
    store.close()


def test_no_request_waits_for_them(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts at a distance, with ten thousand keys in use: five round trips at most."""
    with server.client as client:
        client.flushall()
        used = [key_digest(f"key {n}") for n in range(KEYS)]
        for n, name in enumerate(used):
            row = {"id": f"k_{n}", "account": f"a_{n % 100}"}
            client.hset("societes:k", name, json.dumps(row))
    with at_distance(server.port, FAR) as url:
        hosts = [RedisStore(url, create=True) for _ in range(2)]
        trips = [counted_trips(one, monkeypatch) for one in hosts]
        calls = dict.fromkeys(used, 2)
        writing = [one.add_key_calls(calls, NOON.date()) for one in hosts]
        waits = []
        while not all(one.done() for one in writing):
            for one, made in zip(hosts, trips, strict=True):
                before = len(made)
                assert one.take("a_1", 10**6, NOON).result().granted
                waits.append(len(made) - before)
        for one in hosts:
            one.close()

    assert [one.exception() for one in writing] == [None, None]
    assert len(waits) > 20
    assert max(waits) <= 5
    assert max(map(max, trips)) <= 5  # commands
    with server.client as client:
        days = [client.hget(f"societes:D/a_{n % 100}", f"{NOON.date()}/k_{n}") for n in (0, 9_999)]
    assert days == [(4).to_bytes(8, "big")] * 2
