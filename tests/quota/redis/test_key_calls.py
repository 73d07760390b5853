"""The statistics of keys on a server: those of the ledger, and no request waits for them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest

from quota.credentials import secret_digest
from quota.ledger import activity, people
from quota.redis.store import RedisStore
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account, create_key
from tests.quota.redis.distance import at_distance, counted_trips
from tests.quota.servers import KINDS, Server, running
from tests.quota.small import NOON, PLANS
from tests.serve.processes import in_time

KEYS: Final = 10_000  # keys whose calls are written together
DISTANCE_S: Final = 0.02  # the time of a round trip


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each kind, which all tests of this module share and empty."""
    with running(request.param, "--appendonly", "no") as started:
        yield started


def test_statistics_on_a_server_are_those_of_the_ledger_over_a_dict(server: Server) -> None:
    """Several days, deleted days, an unknown key, and a row that cannot be read."""
    with server.client as client:
        client.flushall()
    store, dict_store = RedisStore(server.url, create=True), DictStore()
    results = []
    for each_store in (store, dict_store):
        account = create_account(each_store, "data", PLANS, NOON).result().id
        keys = [create_key(each_store, account, PLANS, NOON).result() for _ in range(2)]
        # The calls of the first days are deleted by the later ones, KEPT_DAYS (62) after them.
        days = [NOON + timedelta(days=number) for number in (0, 3, 1, 62, 63, 64)]
        for day_number, day in enumerate(days, 1):  # so each day and key has another count
            calls = {
                secret_digest(text): day_number * key_number
                for key_number, (_, text) in enumerate(keys, 1)
            }
            each_store.add_key_calls(
                {**calls, secret_digest("soc_live_nobody"): 9}, day.date()
            ).result()
        ids = [key.id for key, _ in keys]
        by_key = each_store.read(activity.key_calls, account, 99, days[-1]).result()
        last_days = each_store.read(people.last_used, ids).result()
        results.append([(by_key.get(key_id), last_days[key_id]) for key_id in ids])

    assert results[0] == results[1]
    with server.client as client:
        client.hset("societes:k", secret_digest("broken"), "{")
    text = keys[0][1]
    store.add_key_calls({secret_digest("broken"): 1, secret_digest(text): 1}, NOON.date()).result()
    store.close()


def test_no_request_waits_while_statistics_are_written(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts at a distance, with ten thousand keys in use: five round trips at most."""

    def is_in_time() -> bool:
        """Whether no call waited for more than five round trips; in any case all calls are counted."""
        with server.client as client:
            client.flushall()
            digests = [secret_digest(f"key {number}") for number in range(KEYS)]
            for number, digest in enumerate(digests):
                row = {"id": f"k_{number}", "account": f"a_{number % 100}"}
                client.hset("societes:k", digest, json.dumps(row))
        with at_distance(server.port, DISTANCE_S) as url:
            hosts = [RedisStore(url, create=True) for _ in range(2)]
            trips = [counted_trips(host, monkeypatch) for host in hosts]
            calls = dict.fromkeys(digests, 2)
            writes = [host.add_key_calls(calls, NOON.date()) for host in hosts]
            trips_per_call = []
            while not all(write.done() for write in writes):
                for host, trips_of_host in zip(hosts, trips, strict=True):
                    trips_before = len(trips_of_host)
                    assert host.take("a_1", 10**6, NOON).result().granted
                    trips_per_call.append(len(trips_of_host) - trips_before)
            for host in hosts:
                host.close()

        assert [write.exception() for write in writes] == [None, None]
        assert (
            len(trips_per_call) > 20
        )  # calls that were answered while the statistics were written
        assert max(map(max, trips)) <= 5  # commands of a round trip
        with server.client as client:
            days = [
                client.hget(f"societes:D/a_{number % 100}", f"{NOON.date()}/k_{number}")
                for number in (0, 9_999)
            ]
        assert days == [(4).to_bytes(8, "big")] * 2  # two hosts noted two calls of each key
        return max(trips_per_call) <= 5

    assert in_time(is_in_time)
