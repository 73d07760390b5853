"""Servers whose replies are slow, endless or of another shape: a proxy before a real one changes what it says."""

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from quota.errors import StoreUnavailable, WrongStoreError
from quota.redis import connection
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import Server, running
from tests.quota.small import NOON, PLANS
from tests.serve import world
from tests.serve.processes import ask, line_of, started, stop

LARGEST = 16 << 20
PIECE_S = 0.3
WHOLE_S = 1.0

Say = Callable[[bytes, socket.socket], object]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running("redis", "--appendonly", "no") as started:
        RedisStore(started.url, create=True).close()
        yield started


@pytest.fixture(autouse=True)
def quick_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bounds a fifth of what they are, so that a test need not wait for them."""
    monkeypatch.setattr(connection, "ANSWER_S", PIECE_S)
    monkeypatch.setattr(connection, "PAUSE_S", 0.0)
    monkeypatch.setattr(connection, "WHOLE_REPLY_S", WHOLE_S)
    monkeypatch.setattr(connection, "LARGEST_REPLY", LARGEST)


class Proxy:
    """Passes on what it hears; `say` sends the replies of the server."""

    def __init__(self, port: int) -> None:
        self.say: Say = lambda piece, near: near.sendall(piece)
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        self._start(self._accept)

    def close(self) -> None:
        self._listening.close()

    def _start(self, target: Callable[..., None], *given: object) -> None:
        threading.Thread(target=target, args=given, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._start(self._pass, near, far, lambda piece, far: far.sendall(piece))
                self._start(self._pass, far, near, lambda piece, near: self.say(piece, near))

    @staticmethod
    def _pass(here: socket.socket, there: socket.socket, say: Say) -> None:
        with suppress(OSError), here:
            while piece := here.recv(1 << 20):
                say(piece, there)
        with suppress(OSError):
            there.shutdown(socket.SHUT_RDWR)


@contextmanager
def before(server: Server) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    try:
        yield proxy
    finally:
        proxy.close()


def _trickle(piece: bytes, near: socket.socket) -> None:
    for n in range(len(piece)):
        near.sendall(piece[n : n + 1])
        time.sleep(PIECE_S / 2)


def _never_end(piece: bytes, near: socket.socket) -> None:
    near.sendall(b"$9000000000\r\n")
    while True:
        near.sendall(bytes(1 << 20))


def _timed(claim: Callable[[], object]) -> float:
    began = time.monotonic()
    claim()
    return time.monotonic() - began


def test_a_reply_that_comes_a_byte_a_second_has_an_end(server: Server) -> None:
    """Each byte renews the timeout of a socket; the whole reply has a deadline."""
    with before(server) as proxy:
        store = RedisStore(proxy.url)
        proxy.say = _trickle

        took = _timed(lambda: store.take("a_", 9, NOON).exception())
        waiting = store.take("a_", 9, NOON)
        closed = _timed(store.close)

    assert took < WHOLE_S + 0.5
    assert closed < 2 * PIECE_S + 0.5
    assert isinstance(waiting.exception(), StoreUnavailable)


def test_a_store_closes_while_a_reply_trickles(server: Server) -> None:
    """SIGTERM ends a server within its grace."""
    with before(server) as proxy:
        store = RedisStore(proxy.url)
        proxy.say = _trickle
        waiting = [store.take("a_", 9, NOON) for _ in range(3)]
        time.sleep(0.1)

        assert _timed(store.close) < 2 * PIECE_S + 0.5
        assert {type(one.exception()) for one in waiting} == {StoreUnavailable}


@pytest.mark.slow
def test_a_server_ends_within_its_grace_whatever_its_store_does(
    server: Server, tmp_path: Path
) -> None:
    """SIGTERM with a call under way, and with the store not open"""
    world.publish(tmp_path / "data")
    account = RedisStore(server.url)
    made = create_account(account, "data", PLANS, NOON, api_tool=True).result().id
    _, key = create_key(account, made, PLANS, NOON).result()
    account.close()
    took = []
    for from_start in (False, True):
        with before(server) as proxy:
            if from_start:
                proxy.say = _trickle
            with started(tmp_path / "data", "--quota", proxy.url) as process:
                address = line_of(process)
                proxy.say = _trickle
                sent = {"Authorization": f"Bearer {key}"}
                asking = threading.Thread(
                    target=ask, args=(address, "/api/v1/societes?limit=1", sent)
                )
                asking.start()
                time.sleep(0.5)
                took.append(_timed(lambda: stop(process)))
                asking.join()

    assert max(took) < 15  # it waits 3 s for late requests, and 5 s for the reply to one


def test_a_reply_without_an_end_is_not_kept(server: Server) -> None:
    with before(server) as proxy:
        store = RedisStore(proxy.url)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        proxy.say = _never_end

        refused = store.take("a_", 9, NOON).exception()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) << 10
        store.close()

    assert "larger than 16 MiB" in str(refused)
    assert grown < 3 * LARGEST


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (b"redis_version", b"rediz_version"),
        (b"maxmemory_policy", b"maxmemorz_policy"),
        (b"redis_version:7", b"redis_version:x"),
        (b"redis_version", b"redis_v\xff\xfe\xfdion"),
    ],
)
def test_a_server_that_says_odd_things_of_itself_is_refused(
    server: Server, name: bytes, other: bytes
) -> None:
    """In place of a KeyError, at a start as at a later connect"""
    with before(server) as proxy:
        proxy.say = lambda piece, near: near.sendall(piece.replace(name, other))
        with pytest.raises((StoreUnavailable, WrongStoreError)):
            RedisStore(proxy.url)


@pytest.mark.parametrize(
    "reply", [b":7\r\n", b"*-1\r\n", b"$3\r\nodd\r\n", b"*1\r\n:1\r\n", b"?\r\n", b":x\r\n"]
)
def test_odd_replies_are_503_and_the_next_are_read(server: Server, reply: bytes) -> None:
    """Whatever comes, the thread of the store goes on"""
    with before(server) as proxy:
        store = RedisStore(proxy.url)
        proxy.say = lambda piece, near: near.sendall(reply * 3)
        odd = [store.take("a_", 9, NOON).exception(10) for _ in range(3)]
        proxy.say = lambda piece, near: near.sendall(piece)
        again = store.take("a_", 9**9, NOON).result(10)
        store.close()

    assert {type(one) for one in odd} == {StoreUnavailable}
    assert again.granted


def test_only_a_call_that_was_sent_may_have_been_counted(server: Server) -> None:
    """L2: the 503 says so, and does not for a look, nor where nothing was sent"""
    with before(server) as proxy:
        store = RedisStore(proxy.url)
        proxy.say = lambda piece, near: near.close()
        hold = threading.Event()
        store._queue.call(hold.wait)
        looked = store._queue.look(lambda txn: txn.get(b"floor"))
        counted = store.take("a_", 9, NOON)
        hold.set()
        lost = [looked.exception(), counted.exception()]
        proxy.close()
        never = store.take("a_", 9, NOON).exception()
        store.close()

    assert [one.maybe_done for one in lost if isinstance(one, StoreUnavailable)] == [False, True]
    assert isinstance(never, StoreUnavailable)
    assert not never.maybe_done
