"""Faults while a workbook is made or sent: the counter stays as it was, and no file is left (F5, F6).

Worker processes are stopped with SIGSTOP at a known point, so no test depends on timing.
"""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from http.client import HTTPException
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from quota.errors import StoreUnavailable
from quota.ledger.calls import Meter
from quota.ledger.exports import Reservation
from quota.store.future import StoreFuture
from quota.store.lmdb_store import LmdbStore
from serve.config import BurstLimits
from serve.features.export import worker_pool
from tests.serve import world
from tests.serve.client import GENEROUS, Customer, Reply, Served, serving
from tests.serve.clock import Clock
from tests.serve.exports import PATH, exports, get, left_behind
from tests.serve.processes import eventually
from tests.world import company

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Place:
    """A server and where its files grow."""

    served: Served
    state: Path
    clock: Clock
    others: frozenset[BaseProcess] = frozenset()

    def workers(self) -> set[BaseProcess]:
        """The processes of its own: a server that many tests share may have some beside them."""
        return set(active_children()) - self.others

    def is_clean(self) -> bool:
        """No file, with a name or without one, is held for an export."""
        held = [target(path) for path in Path("/proc/self/fd").iterdir()]
        return not list(left_behind(self.state)) and not any(
            str(self.state / "exports") in path and path.endswith("(deleted)") for path in held
        )


def target(path: Path) -> str:
    """What a descriptor leads to."""
    try:
        return str(path.readlink())
    except OSError:  # it was closed meanwhile
        return ""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with serving_exports(tmp_path) as found:
        yield found


@contextmanager
def serving_exports(
    folder: Path,
    opener: Callable[[Path], LmdbStore] = LmdbStore,
    makers: int = 2,
    debit: BurstLimits = GENEROUS,
) -> Iterator[Place]:
    """A server of the small world; at its end no process and no file of it may be left."""
    data, state, clock = folder / "data", folder / "state", Clock("2026-11-21T12:00:00")
    world.publish(data)
    others = frozenset(active_children())
    with serving(data, state=state, now=clock, opener=opener, makers=makers, debit=debit) as served:
        place = Place(served, state, clock, others)
        yield place
    assert not list((state / "exports").iterdir())
    assert not place.workers()


@contextmanager
def stopped(place: Place, customer: Customer) -> Iterator[int]:
    """A worker process that stands still; its id. It goes on at the end, if it is there."""
    for _ in range(2):
        assert get(place.served, customer, q="introuvable").status == 200
    (process,) = place.workers()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield process.pid
    finally:
        if process in place.workers():
            os.kill(process.pid, signal.SIGCONT)


@contextmanager
def asking(place: Place, customer: Customer) -> Iterator[list[Reply]]:
    """An export under way, of which the worker has been told; its answer, at the end."""
    answers: list[Reply] = []

    def ask() -> None:
        with suppress(HTTPException, OSError):  # the server may end before it answers
            answers.append(get(place.served, customer))

    thread = threading.Thread(target=ask)
    thread.start()
    assert eventually(lambda: exports(place.served, customer) == 1)
    assert eventually(lambda: bool(list((place.state / "exports").glob("*/*"))))
    yield answers
    thread.join(20)


def metric(served: Served, name: str) -> float:
    """The value of a series of /metrics."""
    lines = served.ask("/metrics").body.decode().splitlines()
    (found,) = (line for line in lines if line.startswith(f"{name} "))
    return float(found.split()[1])


def request(customer: Customer, more: str = "") -> bytes:
    """An export of everything, as bytes."""
    head = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {customer.key}\r\n"
    return f"{head}{more}\r\n".encode()


# -- the worker -------------------------------------------------------------------------


def test_a_worker_that_is_killed_costs_nothing_and_another_takes_its_place(place: Place) -> None:
    customer = place.served.customer("data")

    with stopped(place, customer) as pid, asking(place, customer) as answers:
        os.kill(pid, signal.SIGKILL)

    (reply,) = answers
    assert (reply.status, reply.code) == (503, "indisponible")
    assert reply.headers["Retry-After"]
    assert exports(place.served, customer) == 0
    assert eventually(place.is_clean)
    assert get(place.served, customer).headers["X-Quota-Used"] == "1"


def test_the_metrics_tell_of_an_export_in_progress_and_of_its_process(place: Place) -> None:
    served, customer = place.served, place.served.customer("data")
    exporter = 'societes_memory_bytes{kind="export"}'
    assert metric(served, "societes_exports_in_progress") == 0
    assert metric(served, exporter) == 0

    with stopped(place, customer) as pid, asking(place, customer):
        in_progress = metric(served, "societes_exports_in_progress")
        memory = metric(served, exporter)
        os.kill(pid, signal.SIGKILL)

    assert in_progress == 1
    assert memory > 10 << 20
    assert metric(served, "societes_exports_in_progress") == 0
    assert metric(served, exporter) == 0


def test_a_client_that_goes_ends_the_work(place: Place) -> None:
    """F6"""
    served, customer = place.served, place.served.customer("data")

    with stopped(place, customer):
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(request(customer))
            assert eventually(lambda: exports(served, customer) == 1)
        assert eventually(lambda: exports(served, customer) == 0)
        assert eventually(lambda: not place.workers())

    assert eventually(place.is_clean)


def test_the_third_export_that_is_left_in_an_hour_counts(tmp_path: Path) -> None:
    """Each ends a process that others wait for; two in an hour are those of a bad line"""
    debit = replace(GENEROUS, exports_abandonnes=2)
    with serving_exports(tmp_path, debit=debit) as place:
        served, customer = place.served, place.served.customer("data")
        for minutes, counted in ((0, 0), (1, 0), (1, 1), (60, 1)):
            place.clock.pass_by(60 * minutes)
            with stopped(place, customer):
                before = exports(served, customer)
                with socket.create_connection(("127.0.0.1", served.port)) as connection:
                    connection.sendall(request(customer))
                    assert eventually(lambda: exports(served, customer) == before + 1)  # noqa: B023
                assert eventually(lambda: not place.workers())
            # A reservation that was neither counted nor released has ended after the hour.
            assert eventually(lambda: exports(served, customer) == counted)  # noqa: B023

        assert eventually(place.is_clean)


def test_a_workbook_that_takes_too_long_is_given_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = place.served.customer("data")

    with stopped(place, customer):
        monkeypatch.setattr(worker_pool, "MAKING", 0.3)
        reply = get(place.served, customer)

    assert (reply.status, reply.code) == (503, "indisponible")
    assert exports(place.served, customer) == 0
    assert eventually(place.is_clean)
    monkeypatch.setattr(worker_pool, "MAKING", 60.0)
    assert get(place.served, customer).status == 200


def test_who_waits_too_long_for_a_free_worker_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "WAITING", 0.3)
    with serving_exports(tmp_path, makers=1) as place:
        first, second = place.served.customer("data"), place.served.customer("data")

        with stopped(place, first) as pid, asking(place, first) as answers:
            reply = get(place.served, second)
            os.kill(pid, signal.SIGCONT)

        assert (reply.status, reply.code) == (503, "indisponible")
        assert exports(place.served, second) == 0
        assert answers[0].status == 200


def test_a_generation_that_is_gone_is_no_fault_of_the_caller(place: Place) -> None:
    customer = place.served.customer("data")
    folder = place.state.with_name("data")
    (generation,) = (path for path in folder.iterdir() if path.is_dir())

    generation.rename(folder / "away")
    reply = get(place.served, customer)
    (folder / "away").rename(generation)

    assert (reply.status, reply.code) == (503, "indisponible")
    assert exports(place.served, customer) == 0
    assert get(place.served, customer).status == 200


@pytest.mark.slow
@pytest.mark.slow
def test_the_end_of_the_server_ends_its_exports(tmp_path: Path) -> None:
    # The server ends first: it waits some seconds for what is in flight, then cuts it off.
    with ExitStack() as end, serving_exports(tmp_path) as place:
        customer = place.served.customer("data")
        end.enter_context(stopped(place, customer))
        answers = end.enter_context(asking(place, customer))

    assert answers == []


# -- the counter ------------------------------------------------------------------------


def test_an_export_that_comes_after_its_time_has_no_place_any_more(place: Place) -> None:
    """F5: others have taken the last exports of the month meanwhile"""
    served, customer = place.served, place.served.customer("free")

    with stopped(place, customer) as pid, asking(place, customer) as answers:
        place.clock.pass_by(10 * 60)
        for _ in range(2):
            held = served.store.reserve(
                customer.account, 2, 9, timedelta(minutes=5), served.context.now()
            )
            reservation = held.result(10)
            assert isinstance(reservation, Reservation)
            assert served.store.commit(reservation, served.context.now()).result(10).granted
        os.kill(pid, signal.SIGCONT)

    (reply,) = answers
    assert (reply.status, reply.code) == (429, "quota_export")
    assert exports(served, customer) == 2
    assert eventually(place.is_clean)


def test_a_store_that_fails_at_the_end_sends_no_file(tmp_path: Path) -> None:
    """G9: nothing is sent that may not have been counted"""

    class Failing(LmdbStore):
        def commit(
            self, reservation: Reservation, now: object, export: object = None
        ) -> StoreFuture[Meter]:
            future: StoreFuture[Meter] = StoreFuture()
            future.set_exception(StoreUnavailable("the disk is gone"))
            return future

    with serving_exports(tmp_path, Failing) as place:
        customer = place.served.customer("data")

        reply = get(place.served, customer)

        assert (reply.status, reply.code) == (503, "indisponible")
        assert exports(place.served, customer) == 0
        assert eventually(place.is_clean)


# -- the client -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A workbook of some megabytes, more than sockets hold."""
    folder = tmp_path_factory.mktemp("large")
    data, state = folder / "data", folder / "state"
    found = [company("EE", f"{n:05}", f"{os.urandom(150).hex()}", ville=os.urandom(250).hex())
             for n in range(9_000)]  # fmt: skip
    world.publish(data, found, {})
    with serving(data, state=state) as served:
        yield Place(served, state, Clock("2026-11-21T12:00:00"))


def slow_reader(place: Place, customer: Customer) -> socket.socket:
    """A client that has read the head of its file and reads no further."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(120)  # a busy machine takes long to make the workbook
    connection.connect(("127.0.0.1", place.served.port))
    connection.sendall(request(customer, "Connection: close\r\n"))
    assert connection.recv(16) == b"HTTP/1.1 200 OK\r"
    return connection


def received(connection: socket.socket) -> bytes:
    """All that still comes, until the server closes or cuts the connection."""
    pieces = []
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def content_length(head: bytes) -> int:
    found = re.search(rb"Content-Length: (\d+)", head)
    assert found
    return int(found[1])


def test_a_slow_reader_holds_nothing_but_an_open_file(large: Place) -> None:
    """F6"""
    served, customer = large.served, large.served.customer("integral")

    with slow_reader(large, customer):
        assert exports(served, customer) == 1
        assert not list(left_behind(large.state))
        before = time.monotonic()
        assert get(served, customer, limit="1").status == 200
        assert served.ask("/healthz").status == 200
        assert time.monotonic() - before < 5

    # Gone in the middle: the export counts, for its file was whole; the file goes.
    assert eventually(large.is_clean)
    assert exports(served, customer) == 2


def test_who_takes_too_long_is_cut_off(large: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """F6"""
    monkeypatch.setattr("serve.http.connection.PATIENCE", 0.3)
    monkeypatch.setattr("serve.http.connection._SLOWEST", 1 << 30)

    with slow_reader(large, large.served.customer("integral")) as connection:
        assert eventually(large.is_clean)
        head, _, rest = received(connection).partition(b"\r\n\r\n")

    assert len(rest) < content_length(head)


def test_the_whole_file_arrives_however_it_is_read(large: Place) -> None:
    """F6"""
    customer = large.served.customer("integral")

    with slow_reader(large, customer) as connection:
        head, _, body = received(connection).partition(b"\r\n\r\n")

    assert len(body) == content_length(head) > 3_000_000
    assert body.startswith(b"PK")
    assert body[-22:].startswith(b"PK\x05\x06")
    assert eventually(large.is_clean)


def test_a_process_without_orders_is_ended_and_the_next_export_starts_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "KEPT", 0.3)
    before, customer = place.workers(), place.served.customer("data")
    assert get(place.served, customer, pays="EE").status == 200

    eventually(lambda: place.workers() == before)

    assert get(place.served, customer, pays="EE").status == 200
    assert exports(place.served, customer) == 2
