"""Round trips to a server that calls and pages over HTTP make, and what pages do to the calls beside them."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest

from quota.credentials import key_digest
from quota.redis.connection import RedisConnection
from quota.redis.store import RedisStore
from tests.quota.filling import create_key
from tests.quota.redis.distance import at_distance
from tests.quota.servers import Server, running
from tests.serve import world
from tests.serve.client import GENEROUS, PLANS, Served, serving
from tests.serve.surfaces.site.visitor import Visitor, address, member

SEARCH: Final = "/api/v1/societes?limit=1"
RECORD: Final = "/api/v1/societes/FR/552100554"
EXPORT: Final = "/api/v1/export?pays=FR"
PAGE: Final = "/societes/FR/552100554"
FAR: Final = 0.02  # seconds of a round trip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running("redis", "--appendonly", "no") as started:
        RedisStore(started.url, create=True).close()
        yield started


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "data"
    world.publish(folder)
    return folder


@pytest.fixture
def served(server: Server, data: Path) -> Iterator[Served]:
    with serving(data, debit=GENEROUS, opener=lambda _: RedisStore(server.url)) as found:
        yield found


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The commands of each round trip, of all connections, but for the test of a quiet one."""
    return _counted(monkeypatch)


def _counted(patch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    send = RedisConnection._send

    def counting(self: RedisConnection, commands: Sequence[Any]) -> list[Any]:
        if commands != [("PING",)]:
            counted.append(len(commands))
        return send(self, commands)

    patch.setattr(RedisConnection, "_send", counting)
    return counted


@pytest.mark.parametrize(
    ("path", "most"),
    [("/compte", 3), ("/compte/membres", 3), (PAGE, 3), ("/?q=lab", 3), ("/", 1)],
)
def test_a_page_of_somebody_logged_in_is_three_round_trips_at_most(
    served: Served, trips: list[int], path: str, most: int
) -> None:
    """H2, with two keys, an invitation, and a call that was not added yet"""
    person, account = member(served, "integral")
    key = create_key(served.store, account, PLANS, served.context.now()).result()[1]
    assert served.ask(SEARCH, headers={"Authorization": f"Bearer {key}"}).status == 200
    person.get("/compte/membres")
    person.send("/compte/membres", {"geste": "invitation", "email": address()})
    trips.clear()
    seen = person.get(path)

    assert seen.status == 200
    assert len(trips) <= most


@pytest.mark.parametrize(
    ("path", "most"),
    [(SEARCH, 2), (RECORD, 2), ("/api/v1/compte", 3), (EXPORT, 5), (f"{EXPORT}&format=csv", 5)],
)
def test_a_call_to_the_api_is_few_round_trips(
    served: Served, trips: list[int], path: str, most: int
) -> None:
    customer = served.customer("integral")
    for _ in range(2):
        trips.clear()
        reply = served.ask(path, headers=customer.headers)

    assert reply.status == 200
    assert len(trips) <= most


def test_exports_at_once_are_counted_each_though_their_rows_change(
    served: Served, trips: list[int]
) -> None:
    """The rows that a transaction read were changed meanwhile: the second try reads them again"""
    customer = served.customer("integral")
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(served.ask(f"{EXPORT}&format=csv", headers=customer.headers).status)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    store, now = served.store, served.context.now()
    usage = store.usage(customer.account, PLANS["integral"], now)

    assert statuses.count(200) + statuses.count(429) == 4
    assert usage.result().exports.used == statuses.count(200)


def test_a_page_shows_the_calls_that_wait_to_be_added(served: Served) -> None:
    """Those of a minute that the process has counted, and that no page writes."""
    person, account = member(served, "integral")
    key = create_key(served.store, account, PLANS, served.context.now()).result()[1]
    for _ in range(3):
        served.ask(SEARCH, headers={"Authorization": f"Bearer {key}"})
    unsaved = dict(served.context.key_usage.unsaved_calls[0])
    page = person.get("/compte")

    assert unsaved == {key_digest(key): 3}
    assert served.context.key_usage.unsaved_calls[0] == unsaved
    shown = page.text[page.text.index(f"soc_live_…{key[-4:]}") :].split()
    assert shown[7] == "3"  # after the days on which it was made and used


def test_searches_beside_four_people_who_load_their_pages_are_as_quick_as_alone(
    server: Server, data: Path
) -> None:
    """H2: at 20 ms it was 13 times, then 2.5 times"""
    with (
        at_distance(server.port, FAR) as url,
        serving(data, debit=GENEROUS, opener=lambda _: RedisStore(url)) as served,
    ):
        _, alone, beside, pages = compare_beside(served, 30)

    assert len(pages) > 8
    assert median(beside) <= 1.5 * median(alone)


def compare_beside(
    served: Served, searches: int
) -> tuple[Mapping[str, int], Sequence[float], Sequence[float], Sequence[float]]:
    """Round trips by path; seconds of searches alone, and beside four people who load pages; of those."""
    people, customer = [member(served)[0] for _ in range(4)], served.customer("integral")
    trips: dict[str, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        counted = _counted(patch)
        for path in (SEARCH, RECORD, "/api/v1/compte", "/compte", "/compte/membres", PAGE):
            for _ in range(2):
                counted.clear()
                if path.startswith("/api"):
                    served.ask(path, headers=customer.headers)
                else:
                    people[0].get(path)
            trips[path] = len(counted)
    alone = _search(served, customer.headers, searches)
    ended = threading.Event()
    pages: list[float] = []

    def load(person: Visitor) -> None:
        while not ended.is_set():
            begun = time.perf_counter()
            assert person.get("/compte").status == 200
            pages.append(time.perf_counter() - begun)

    loading = [threading.Thread(target=load, args=(person,)) for person in people]
    for one in loading:
        one.start()
    beside = _search(served, customer.headers, searches)
    ended.set()
    for one in loading:
        one.join()
    return trips, alone, beside, pages


def _search(served: Served, headers: Mapping[str, str], count: int) -> list[float]:
    """The seconds of each of so many searches, one after the other."""
    took = []
    for _ in range(count):
        begun = time.perf_counter()
        assert served.ask(SEARCH, headers=headers).status == 200
        took.append(time.perf_counter() - begun)
    return took
