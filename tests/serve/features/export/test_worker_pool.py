"""Faults while a workbook is made or sent: the counter does not change, and no file is left (F5, F6).

Worker processes are stopped with SIGSTOP at a defined point, so most tests do not depend on timing.
"""

import os
import re
import signal
import socket
import threading
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
from tests.serve.client import UNREACHABLE_LIMITS, Customer, Reply, Server, run_server
from tests.serve.clock import Clock
from tests.serve.exports import EXPORT_PATH, export_count, get_export, spool_files
from tests.serve.processes import eventually
from tests.world import company

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class ExportServer:
    """A server, its state folder and its clock; `other_workers` are the worker processes of other servers."""

    server: Server
    state: Path
    clock: Clock
    other_workers: frozenset[BaseProcess] = frozenset()

    def workers(self) -> set[BaseProcess]:
        """The worker processes of this server, without those of a server that tests share."""
        return set(active_children()) - self.other_workers

    def is_clean(self) -> bool:
        """Whether no file of an export is left, neither in the spool nor as an open deleted file."""
        open_files = [link_target(path) for path in Path("/proc/self/fd").iterdir()]
        return not list(spool_files(self.state)) and not any(
            str(self.state / "exports") in path and path.endswith("(deleted)")
            for path in open_files
        )


def link_target(path: Path) -> str:
    """The target of a link in /proc; empty if the descriptor is closed."""
    try:
        return str(path.readlink())
    except OSError:  # closed meanwhile
        return ""


@pytest.fixture
def export_server(tmp_path: Path) -> Iterator[ExportServer]:
    """A server with its own state folder, clock and worker processes."""
    with run_export_server(tmp_path) as export_server:
        yield export_server


@contextmanager
def run_export_server(
    folder: Path,
    opener: Callable[[Path], LmdbStore] = LmdbStore,
    worker_count: int = 2,
    debit: BurstLimits = UNREACHABLE_LIMITS,
) -> Iterator[ExportServer]:
    """Serve the companies of the HTTP tests; fails if a process or a file is left at the end."""
    data, state, clock = folder / "data", folder / "state", Clock("2026-11-21T12:00:00")
    world.publish(data)
    other_workers = frozenset(active_children())
    with run_server(
        data, state=state, now=clock, opener=opener, makers=worker_count, debit=debit
    ) as server:
        export_server = ExportServer(server, state, clock, other_workers)
        yield export_server
    assert not list((state / "exports").iterdir())
    assert not export_server.workers()


@contextmanager
def stopped_worker(export_server: ExportServer, customer: Customer) -> Iterator[int]:
    """Start a worker process and stop it with SIGSTOP; yields its id. If it still exists at the end, it continues."""
    for _ in range(2):
        assert get_export(export_server.server, customer, q="introuvable").status == 200
    (process,) = export_server.workers()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield process.pid
    finally:
        if process in export_server.workers():
            os.kill(process.pid, signal.SIGCONT)


@contextmanager
def pending_export(export_server: ExportServer, customer: Customer) -> Iterator[list[Reply]]:
    """Start an export that the worker has received; yields a list that has its reply at the end."""
    replies: list[Reply] = []

    def export() -> None:
        """Request an export, and note its reply, if one comes."""
        with suppress(HTTPException, OSError):  # the server may end before it replies
            replies.append(get_export(export_server.server, customer))

    thread = threading.Thread(target=export)
    thread.start()
    assert eventually(lambda: export_count(export_server.server, customer) == 1)
    assert eventually(lambda: bool(list((export_server.state / "exports").glob("*/*/"))))
    # The pool sends the job after it has made its folder, before the event loop answers another request.
    assert export_server.server.ask("/healthz").status == 200
    yield replies
    thread.join(120)


def metric_value(server: Server, name: str) -> float:
    """The value of a series of /metrics."""
    lines = server.ask("/metrics").body.decode().splitlines()
    (series,) = (line for line in lines if line.startswith(f"{name} "))
    return float(series.split()[1])


def export_request_bytes(customer: Customer, further_headers: str = "") -> bytes:
    """A request for an export of all companies, as bytes."""
    head = f"GET {EXPORT_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {customer.key}\r\n"
    return f"{head}{further_headers}\r\n".encode()


# -- the worker -------------------------------------------------------------------------


def test_a_worker_that_is_killed_costs_nothing_and_another_takes_its_place(
    export_server: ExportServer,
) -> None:
    customer = export_server.server.customer("data")

    with (
        stopped_worker(export_server, customer) as pid,
        pending_export(export_server, customer) as answers,
    ):
        os.kill(pid, signal.SIGKILL)

    (reply,) = answers
    assert (reply.status, reply.code) == (503, "indisponible")
    assert reply.headers["Retry-After"]
    assert export_count(export_server.server, customer) == 0
    assert eventually(export_server.is_clean)
    assert get_export(export_server.server, customer).headers["X-Quota-Used"] == "1"


def test_the_metrics_have_an_export_in_progress_and_the_memory_of_its_process(
    export_server: ExportServer,
) -> None:
    """During the export; 0 before it and after its process was killed"""
    server, customer = export_server.server, export_server.server.customer("data")
    memory_series = 'societes_memory_bytes{kind="export"}'
    assert metric_value(server, "societes_exports_in_progress") == 0
    assert metric_value(server, memory_series) == 0

    with stopped_worker(export_server, customer) as pid, pending_export(export_server, customer):
        in_progress = metric_value(server, "societes_exports_in_progress")
        memory = metric_value(server, memory_series)
        os.kill(pid, signal.SIGKILL)

    assert in_progress == 1
    # 10 MiB is less than any Python process with the libraries of a workbook.
    assert memory > 10 << 20
    assert metric_value(server, "societes_exports_in_progress") == 0
    assert metric_value(server, memory_series) == 0


def test_an_export_stops_when_its_client_disconnects(export_server: ExportServer) -> None:
    """F6"""
    server, customer = export_server.server, export_server.server.customer("data")

    with stopped_worker(export_server, customer):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(export_request_bytes(customer))
            assert eventually(lambda: export_count(server, customer) == 1)  # a reservation
        # The server gives the reservation back and ends the worker.
        assert eventually(lambda: export_count(server, customer) == 0)
        assert eventually(lambda: not export_server.workers())

    assert eventually(export_server.is_clean)


def test_a_finished_file_is_not_counted_if_its_client_has_gone(
    export_server: ExportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: most files are ready before the next check of the client."""
    server, customer = export_server.server, export_server.server.customer("data")
    monkeypatch.setattr(worker_pool, "CHECK_SECONDS", 60.0)

    with stopped_worker(export_server, customer) as pid:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(export_request_bytes(customer))
            assert eventually(lambda: export_count(server, customer) == 1)
            assert eventually(lambda: bool(list((export_server.state / "exports").glob("*/*/"))))
        # The reply to this request shows that the server has seen the end of the earlier connection.
        assert metric_value(server, "societes_exports_in_progress") == 1
        assert export_count(server, customer) == 1
        os.kill(pid, signal.SIGCONT)
        assert eventually(lambda: metric_value(server, "societes_exports_in_progress") == 0)
        assert eventually(export_server.is_clean)

    assert export_count(server, customer) == 0


def test_the_third_abandoned_export_in_an_hour_is_counted(tmp_path: Path) -> None:
    """An abandoned export ends a worker that other exports wait for. Two in an hour may have a bad connection."""
    debit = replace(UNREACHABLE_LIMITS, exports_abandonnes=2)
    with run_export_server(tmp_path, debit=debit) as export_server:
        server, customer = export_server.server, export_server.server.customer("data")
        for minutes, exports_after in ((0, 0), (1, 0), (1, 1), (60, 1)):
            export_server.clock.advance(60 * minutes)
            with stopped_worker(export_server, customer):
                exports_before = export_count(server, customer)
                with socket.create_connection(("127.0.0.1", server.port)) as connection:
                    connection.sendall(export_request_bytes(customer))
                    assert eventually(lambda: export_count(server, customer) == exports_before + 1)  # noqa: B023
                assert eventually(lambda: not export_server.workers())
            # After an hour, a reservation that was neither committed nor given back has expired.
            assert eventually(lambda: export_count(server, customer) == exports_after)  # noqa: B023

        assert eventually(export_server.is_clean)


def test_a_workbook_that_takes_too_long_is_503(
    export_server: ExportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = export_server.server.customer("data")

    with stopped_worker(export_server, customer):
        monkeypatch.setattr(worker_pool, "MAKE_SECONDS", 0.3)
        reply = get_export(export_server.server, customer)

    assert (reply.status, reply.code) == (503, "indisponible")
    assert export_count(export_server.server, customer) == 0
    assert eventually(export_server.is_clean)
    monkeypatch.setattr(worker_pool, "MAKE_SECONDS", 60.0)
    assert get_export(export_server.server, customer).status == 200


def test_a_long_wait_for_a_free_worker_is_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only worker is stopped, so the second customer waits in vain; the first gets the file later"""
    monkeypatch.setattr(worker_pool, "WAIT_SECONDS", 0.3)
    with run_export_server(tmp_path, worker_count=1) as export_server:
        running_customer, waiting_customer = (
            export_server.server.customer("data"),
            export_server.server.customer("data"),
        )

        with (
            stopped_worker(export_server, running_customer) as pid,
            pending_export(export_server, running_customer) as answers,
        ):
            reply = get_export(export_server.server, waiting_customer)
            os.kill(pid, signal.SIGCONT)

        assert (reply.status, reply.code) == (503, "indisponible")
        assert export_count(export_server.server, waiting_customer) == 0
        assert answers[0].status == 200


def test_a_missing_generation_is_503_and_costs_nothing(export_server: ExportServer) -> None:
    """Its folder is renamed during the first request only"""
    customer = export_server.server.customer("data")
    folder = export_server.state.with_name("data")
    (generation,) = (path for path in folder.iterdir() if path.is_dir())

    generation.rename(folder / "away")
    reply = get_export(export_server.server, customer)
    (folder / "away").rename(generation)

    assert (reply.status, reply.code) == (503, "indisponible")
    assert export_count(export_server.server, customer) == 0
    assert get_export(export_server.server, customer).status == 200


@pytest.mark.slow
def test_the_end_of_the_server_ends_its_exports(tmp_path: Path) -> None:
    # The contexts end in reverse order, so the server ends first. It waits some seconds for open requests and
    # then cuts them off.
    with ExitStack() as exports_end, run_export_server(tmp_path) as export_server:
        customer = export_server.server.customer("data")
        exports_end.enter_context(stopped_worker(export_server, customer))
        answers = exports_end.enter_context(pending_export(export_server, customer))

    assert answers == []


# -- the counter ------------------------------------------------------------------------


def test_an_expired_reservation_loses_its_export(export_server: ExportServer) -> None:
    """F5: while the worker is stopped, other requests use the last two exports of the month."""
    server, customer = export_server.server, export_server.server.customer("free")

    with (
        stopped_worker(export_server, customer) as pid,
        pending_export(export_server, customer) as answers,
    ):
        export_server.clock.advance(10 * 60)
        for _ in range(2):
            future = server.store.reserve(
                customer.account, 2, 9, timedelta(minutes=5), server.context.now()
            )
            reservation = future.result()
            assert isinstance(reservation, Reservation)
            assert server.store.commit(reservation, server.context.now()).result().granted
        os.kill(pid, signal.SIGCONT)

    (reply,) = answers
    assert (reply.status, reply.code) == (429, "quota_export")
    assert export_count(server, customer) == 2
    assert eventually(export_server.is_clean)


def test_no_file_is_sent_if_the_store_cannot_count_it(tmp_path: Path) -> None:
    """G9: a file is sent only after it was counted."""

    class FailingStore(LmdbStore):
        """A store that reserves an export and cannot count it."""

        def commit(
            self, reservation: Reservation, now: object, export: object = None
        ) -> StoreFuture[Meter]:
            """Fail as a store whose disk has gone."""
            future: StoreFuture[Meter] = StoreFuture()
            future.set_exception(StoreUnavailable("the disk is gone"))
            return future

    with run_export_server(tmp_path, FailingStore) as export_server:
        customer = export_server.server.customer("data")

        reply = get_export(export_server.server, customer)

        assert (reply.status, reply.code) == (503, "indisponible")
        assert export_count(export_server.server, customer) == 0
        assert eventually(export_server.is_clean)


# -- the client -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExportServer]:
    """A server whose workbook has some megabytes, more than socket buffers hold."""
    folder = tmp_path_factory.mktemp("large")
    data, state = folder / "data", folder / "state"
    companies = [company("EE", f"{number:05}", f"{os.urandom(150).hex()}", ville=os.urandom(250).hex())
             for number in range(9_000)]  # fmt: skip
    world.publish(data, companies, {})
    with run_server(data, state=state) as server:
        yield ExportServer(server, state, Clock("2026-11-21T12:00:00"))


def slow_reader(export_server: ExportServer, customer: Customer) -> socket.socket:
    """A client that has read the first bytes of its response and stops reading."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(120)  # a busy machine needs long for the workbook
    connection.connect(("127.0.0.1", export_server.server.port))
    connection.sendall(export_request_bytes(customer, "Connection: close\r\n"))
    assert connection.recv(16) == b"HTTP/1.1 200 OK\r"
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    """The bytes that arrive until the server closes or cuts the connection."""
    blocks = []
    with suppress(ConnectionResetError):
        while block := connection.recv(65_536):
            blocks.append(block)
    return b"".join(blocks)


def content_length(head: bytes) -> int:
    """The value of the header Content-Length."""
    header = re.search(rb"Content-Length: (\d+)", head)
    assert header
    return int(header[1])


def test_a_slow_reader_holds_only_an_open_file(
    large_server: ExportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6"""
    # So only the end of the test cuts the reader off, and the requests in between do not wait for it.
    monkeypatch.setattr("serve.http.connection.PATIENCE_SECONDS", 3_600.0)
    server, customer = large_server.server, large_server.server.customer("integral")

    with slow_reader(large_server, customer):
        assert export_count(server, customer) == 1
        assert not list(spool_files(large_server.state))
        assert get_export(server, customer, limit="1").status == 200
        assert server.ask("/healthz").status == 200
        assert not large_server.is_clean()

    # The client left before the end. The export counts because the file was complete, and the file is removed.
    assert eventually(large_server.is_clean)
    assert export_count(server, customer) == 2


def test_a_reader_that_is_too_slow_is_cut_off(
    large_server: ExportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6"""
    monkeypatch.setattr("serve.http.connection.PATIENCE_SECONDS", 0.3)
    # With a minimum of 1 GiB a second, any client is too slow after the 0.3 s.
    monkeypatch.setattr("serve.http.connection._SLOWEST_BYTES_PER_SECOND", 1 << 30)

    with slow_reader(large_server, large_server.server.customer("integral")) as connection:
        assert eventually(large_server.is_clean)
        head, _, received_body = read_to_end(connection).partition(b"\r\n\r\n")

    assert len(received_body) < content_length(head)


def test_a_slow_reader_gets_the_complete_file(large_server: ExportServer) -> None:
    """F6"""
    customer = large_server.server.customer("integral")

    with slow_reader(large_server, customer) as connection:
        head, _, body = read_to_end(connection).partition(b"\r\n\r\n")

    assert len(body) == content_length(head) > 3_000_000
    assert body.startswith(b"PK")
    assert body[-22:].startswith(b"PK\x05\x06")  # the record that ends a ZIP archive
    assert eventually(large_server.is_clean)


def test_an_idle_worker_ends_and_the_next_export_starts_another(
    export_server: ExportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "UNUSED_SECONDS", 0.3)
    workers_before, customer = export_server.workers(), export_server.server.customer("data")
    assert get_export(export_server.server, customer, pays="EE").status == 200

    assert eventually(lambda: export_server.workers() == workers_before)

    assert get_export(export_server.server, customer, pays="EE").status == 200
    assert export_count(export_server.server, customer) == 2
