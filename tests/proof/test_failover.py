"""A failover by Redis Sentinel under load: what is lost when the primary dies, and when it is cut off.

Replication is not waited for: what was acknowledged and had not reached the replica that is promoted is lost, and
calls are given once more. Two links can be cut or delayed: one by which the replicas and Sentinel reach the primary,
one by which the host reaches whatever Sentinel names, as a TCP proxy with health checks does.
"""

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from redis import Redis
from redis.exceptions import RedisError

from quota.plans import load
from quota.redis.store import RedisStore
from tests.proof.tools import need
from tests.quota.filling import create_account, create_key
from tests.quota.servers import SYNCED, Server, free_port, running
from tests.serve import world
from tests.serve.client import Customer
from tests.serve.processes import ask, avoid_midnight, eventually, line_of, started, stop

pytestmark = pytest.mark.slow

PLANS: Final = load()
PLAN: Final = "integral"
SEARCH: Final = "/api/v1/societes?limit=1"
THREADS: Final = 3
DOWN_MS: Final = 4_000  # without an answer, until Sentinel takes the primary for dead
LINK_S: Final = 0.1  # of the replication, each way
LAG_S: Final = 1  # min-replicas-max-lag
# A primary counts its replicas once a second, and their silence in whole seconds; one more for answers on their way.
REFUSES_AFTER_S: Final = LAG_S + 3
BEFORE_S: Final = 4  # of calls before a fault
GUARDED: Final = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", str(LAG_S))
WIDE: Final = {"SOCIETES_DEBIT_INTEGRAL": "1000000"}


class Link:
    """Connections to the port that `target` returns; pieces are late, or lost where it is cut."""

    def __init__(self, target: Callable[[], int], late_s: float = 0.0) -> None:
        self._target, self._late_s = target, late_s
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def end_connections(self) -> None:
        """End the connections that are open, so that new ones are made."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        self._listening.close()
        self.end_connections()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        with (
            suppress(OSError),
            near,
            socket.create_connection(("127.0.0.1", self._target())) as far,
        ):
            self._open += [near, far]
            there = threading.Thread(target=self._pass, args=(near, far), daemon=True)
            there.start()
            self._pass(far, near)
            there.join()

    def _pass(self, here: socket.socket, there: socket.socket) -> None:
        with suppress(OSError):
            while piece := here.recv(1 << 16):
                time.sleep(self._late_s)
                if not self.is_cut:  # lost, as on a network without an answer
                    there.sendall(piece)
        with suppress(OSError):
            there.shutdown(socket.SHUT_RDWR)


class Cluster:
    """A primary with two replicas, a Sentinel, and a host's link to the primary that it names."""

    def __init__(self, stack: ExitStack, folder: Path, options: Sequence[str]) -> None:
        self.primary = stack.enter_context(running("redis", *SYNCED, *options))
        self.inner = Link(lambda: self.primary.port, LINK_S)
        stack.callback(self.inner.close)
        follow = ("--replicaof", "127.0.0.1", str(self.inner.port))
        for _ in range(2):
            stack.enter_context(running("redis", *SYNCED, *options, *follow))
        self.sentinel = Redis(port=free_port(), protocol=2, decode_responses=True)
        stack.callback(self.sentinel.close)
        _sentinel(stack, folder, self._sentinel_port, self.inner.port)
        self._named = self.inner.port
        self.outer = Link(self.named)
        stack.callback(self.outer.close)
        self._ending = threading.Event()
        stack.callback(self._ending.set)
        threading.Thread(target=self._follow, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.outer.port}/0"

    @property
    def moved(self) -> bool:
        """Whether Sentinel has named another primary."""
        return self._named != self.inner.port

    def named(self) -> int:
        """The port of the primary that Sentinel names; the first one is reached without the inner link."""
        return self._named if self.moved else self.primary.port

    def is_ready(self) -> bool:
        """Whether both replicas follow, and Sentinel knows of them."""
        with self.primary.client as client, suppress(RedisError):
            known = self._ask("MASTER")
            counted = dict(zip(known[::2], known[1::2], strict=True)) if known else {}
            fresh = client.info("replication").get("min_slaves_good_slaves", 2)
            following = client.info("replication")["connected_slaves"]
            return bool(following == 2 and fresh == 2 and counted.get("num-slaves") == "2")
        return False

    @property
    def _sentinel_port(self) -> int:
        port: int = self.sentinel.connection_pool.connection_kwargs["port"]
        return port

    def _ask(self, question: str) -> Sequence[str]:
        found: Sequence[str] = self.sentinel.execute_command("SENTINEL", question, "societes")  # type: ignore[no-untyped-call]
        return found

    def _follow(self) -> None:
        """Ask Sentinel again and again; where it names another, the host has to connect anew."""
        while not self._ending.wait(0.1):
            with suppress(RedisError, TypeError):
                named = int(self._ask("GET-MASTER-ADDR-BY-NAME")[1])
                if named != self._named:
                    self._named = named
                    self.outer.end_connections()


def _sentinel(stack: ExitStack, folder: Path, port: int, monitored: int) -> None:
    settings = folder / "sentinel.conf"
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor societes 127.0.0.1 {monitored} 1\n"
        f"sentinel down-after-milliseconds societes {DOWN_MS}\n"
        "sentinel failover-timeout societes 10000\n"
    )
    program = need("redis-server", "redis-server")
    command = [program, str(settings), "--sentinel"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)


@contextmanager
def cluster(tmp_path: Path, options: Sequence[str]) -> Iterator[Cluster]:
    with ExitStack() as stack:
        found = Cluster(stack, tmp_path, options)
        assert eventually(found.is_ready)
        yield found


def _customer(server: Server) -> Customer:
    avoid_midnight()
    store, now = RedisStore(server.url, create=True), datetime.now(UTC)
    account = create_account(store, PLAN, PLANS, now).result().id
    key = create_key(store, account, PLANS, now).result()[1]
    store.close()
    return Customer(account, key)


class Load:
    """Threads that search with a key until they are told to end; the moments of all answers."""

    def __init__(self, address: str, customer: Customer) -> None:
        self.answers: list[tuple[float, int]] = []
        self._ended = threading.Event()

        def search() -> None:
            while not self._ended.is_set():
                status, _ = ask(address, SEARCH, customer.headers)
                self.answers.append((time.monotonic(), status))
                time.sleep(0.0 if status == 200 else 0.05)

        self._threads = [threading.Thread(target=search) for _ in range(THREADS)]
        for one in self._threads:
            one.start()

    def end(self) -> None:
        self._ended.set()
        for one in self._threads:
            one.join()

    def count(self, status: int, since: float = 0.0, until: float = float("inf")) -> int:
        return sum(it == status and since <= at < until for at, it in self.answers)


def _fail_over(tmp_path: Path, fault: Callable[[Cluster], object], *options: str) -> dict[str, int]:
    """What a host answers and the promoted replica has counted, with a fault after seconds of calls."""
    world.publish(tmp_path / "data")
    with cluster(tmp_path, options) as servers:
        customer = _customer(servers.primary)
        own = ("--state", str(tmp_path / "state"), "--quota", servers.url, "--makers", "1")
        with started(tmp_path / "data", *own, environment=WIDE) as server:
            address = line_of(server)
            load_ = Load(address, customer)
            time.sleep(BEFORE_S)
            at = time.monotonic()
            fault(servers)
            moved = eventually(lambda: servers.moved)
            promoted = time.monotonic()
            again = eventually(lambda: load_.count(200, promoted + 0.5) > 20)
            visitor, _ = ask(address, SEARCH)
            load_.end()
            stop(server)
        assert moved
        assert again
        assert visitor == 200
        store = RedisStore(servers.url)
        counted = store.usage(customer.account, PLANS[PLAN], datetime.now(UTC)).result().calls.used
        store.close()
    after = [moment for moment, status in load_.answers if status == 200 and moment > promoted]
    found = {
        "answered before": load_.count(200, 0, at),
        "answered in the second before": load_.count(200, at - 1, at),
        "answered between": load_.count(200, at, promoted),
        "answered after the lag": load_.count(200, at + REFUSES_AFTER_S, promoted),
        "refused": load_.count(503),
        "lost": load_.count(200) - counted,
        "ms until it was named": round((promoted - at) * 1e3),
        "ms until 200 again": round((min(after) - at) * 1e3),
    }
    print(found)  # noqa: T201 - figures of quota/README.md
    return found


def _kill(servers: Cluster) -> None:
    """As a machine that dies: what is on its way to the replicas does not arrive."""
    _cut(servers)
    servers.primary.stop(signal.SIGKILL)


def _cut(servers: Cluster) -> None:
    servers.inner.is_cut = True


def test_a_primary_that_dies_loses_what_its_replicas_had_not_yet(tmp_path: Path) -> None:
    """What had reached a replica is kept; the host goes on without a restart"""
    found = _fail_over(tmp_path, _kill)

    assert found["lost"] < found["answered before"] - found["answered in the second before"]
    assert found["refused"] > 0


def test_a_primary_that_is_cut_off_loses_all_that_it_answers_until_it_is_left(
    tmp_path: Path,
) -> None:
    """It goes on where nobody but the host hears of it."""
    found = _fail_over(tmp_path, _cut)

    assert found["lost"] > 0.5 * found["answered between"] > 0


def test_a_primary_that_counts_its_replicas_loses_a_few_seconds_at_most(tmp_path: Path) -> None:
    """`min-replicas-to-write 1`: it refuses calls when it hears no replica any more"""
    found = _fail_over(tmp_path, _cut, *GUARDED)

    assert found["answered after the lag"] == 0
    assert found["refused"] > 0
