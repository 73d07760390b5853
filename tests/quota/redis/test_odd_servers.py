"""Servers whose replies are slow, endless or malformed: a proxy before a real server changes the replies."""

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from quota.errors import StoreUnavailable, WrongStoreError
from quota.redis import connection
from quota.redis.store import RedisStore
from tests.quota.filling import create_account, create_key
from tests.quota.servers import Server, running
from tests.quota.small import NOON, PLANS
from tests.serve import world
from tests.serve.processes import ask, eventually, in_time, read_line, server_process, stop

# Bounds for the tests, smaller than those of the connection.
LARGEST = 16 << 20  # bytes of a reply
CHUNK_S = 0.3  # seconds for the next bytes of a reply
REPLY_S = 1.0  # seconds for all bytes of a reply

# Sends bytes of a reply, changed or not, to a socket.
Sender = Callable[[bytes, socket.socket], object]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A Redis server with an empty store."""
    with running("redis", "--appendonly", "no") as started:
        RedisStore(started.url, create=True).close()
        yield started


@pytest.fixture(autouse=True)
def quick_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short bounds, so that a test need not wait for those of the connection."""
    monkeypatch.setattr(connection, "ANSWER_S", CHUNK_S)
    monkeypatch.setattr(connection, "PAUSE_S", 0.0)
    monkeypatch.setattr(connection, "WHOLE_REPLY_S", REPLY_S)
    monkeypatch.setattr(connection, "LARGEST_REPLY", LARGEST)


class Proxy:
    """Passes on all requests; `send_reply` sends the replies of the server, and a test can replace it."""

    def __init__(self, port: int) -> None:
        """Listen on a free port, for connections to the server at `port`."""
        self.send_reply: Sender = lambda chunk, client: client.sendall(chunk)
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        self._start(self._accept)

    def close(self) -> None:
        """Accept no more connections."""
        self._listening.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        """Run a method in a thread, which ends with the process."""
        threading.Thread(target=target, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        """For each connection, pass requests to Redis on unchanged, and replies by `send_reply`."""
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                redis = socket.create_connection(("127.0.0.1", self._port))
                self._start(self._pass, client, redis, lambda chunk, redis: redis.sendall(chunk))
                self._start(
                    self._pass, redis, client, lambda chunk, client: self.send_reply(chunk, client)
                )

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, send: Sender) -> None:
        """Pass on all that `source` sends, by `send`; the end of either connection ends the other connection."""
        with suppress(OSError), source:
            while chunk := source.recv(1 << 20):
                send(chunk, target)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_of(server: Server) -> Iterator[Proxy]:
    """A proxy before the server, until the end of the test."""
    proxy = Proxy(server.port)
    try:
        yield proxy
    finally:
        proxy.close()


def _open_store(proxy: Proxy) -> RedisStore:
    """A store through the proxy; the short bounds may be too short for a busy machine, so it is tried ten times."""
    for _ in range(9):
        with suppress(StoreUnavailable):
            return RedisStore(proxy.url)
    return RedisStore(proxy.url)


def _send_slowly(chunk: bytes, client: socket.socket) -> None:
    """Send a byte at a time: each arrives in time, but all of them do not."""
    for index in range(len(chunk)):
        client.sendall(chunk[index : index + 1])
        time.sleep(CHUNK_S / 2)


def _send_without_end(chunk: bytes, client: socket.socket) -> None:
    """Send the beginning of a reply of 9 GB, and bytes for ever."""
    client.sendall(b"$9000000000\r\n")
    while True:
        client.sendall(bytes(1 << 20))


def _seconds_of(operation: Callable[[], object]) -> float:
    """The seconds that an operation takes."""
    start = time.monotonic()
    operation()
    return time.monotonic() - start


def test_a_reply_that_comes_byte_by_byte_has_a_deadline(server: Server) -> None:
    """Each byte renews the timeout of a socket; the whole reply has a deadline."""

    def is_in_time() -> bool:
        """Whether a call and a close end within their bounds in seconds; a slow machine may need a second try."""
        with proxy_of(server) as proxy:
            store = _open_store(proxy)
            proxy.send_reply = _send_slowly

            seconds_of_call = _seconds_of(lambda: store.take("a_", 9, NOON).exception())
            late_future = store.take("a_", 9, NOON)
            seconds_of_close = _seconds_of(store.close)

        assert isinstance(late_future.exception(), StoreUnavailable)
        return seconds_of_call < REPLY_S + 0.5 and seconds_of_close < 2 * CHUNK_S + 0.5

    assert in_time(is_in_time)


def test_a_store_closes_while_a_reply_trickles(server: Server) -> None:
    """SIGTERM ends a server within its grace."""

    def is_in_time() -> bool:
        """Whether the store closes within its bound in seconds; its waiting calls must fail in any case."""
        with proxy_of(server) as proxy:
            store = _open_store(proxy)
            proxy.send_reply = _send_slowly
            futures = [store.take("a_", 9, NOON) for _ in range(3)]
            time.sleep(0.1)

            seconds_of_close = _seconds_of(store.close)
            assert {type(future.exception()) for future in futures} == {StoreUnavailable}
            return seconds_of_close < 2 * CHUNK_S + 0.5

    assert in_time(is_in_time)


@pytest.mark.slow
def test_a_server_ends_within_its_grace_whatever_its_store_does(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM arrives while a call waits for the store, and before the store could be opened"""
    world.publish(tmp_path / "data")
    for bound in ("ANSWER_S", "WHOLE_REPLY_S"):
        monkeypatch.setattr(connection, bound, 60.0)
    store = RedisStore(server.url)
    account_id = create_account(store, "data", PLANS, NOON, api_tool=True).result().id
    _, key = create_key(store, account_id, PLANS, NOON).result()
    store.close()

    def is_in_time(slow_from_start: bool) -> bool:
        """Whether a server ends within its bound while the replies of its store trickle."""
        with proxy_of(server) as proxy:
            if slow_from_start:
                proxy.send_reply = _send_slowly
            with server_process(tmp_path / "data", "--quota", proxy.url) as process:
                address = read_line(process)
                proxy.send_reply = _send_slowly
                headers = {"Authorization": f"Bearer {key}"}
                request = threading.Thread(target=_ask, args=(address, headers))
                request.start()
                time.sleep(0.5)
                seconds_to_end = _seconds_of(lambda: stop(process))
                request.join()
        # A stopping server waits 3 s for late requests and 5 s for the reply of its store.
        return seconds_to_end < 15

    assert in_time(lambda: is_in_time(False))
    assert in_time(lambda: is_in_time(True))


def _ask(address: str, headers: dict[str, str]) -> None:
    """Send a search, whatever becomes of it."""
    with suppress(OSError, HTTPException):
        ask(address, "/api/v1/societes?limit=1", headers)


def test_a_reply_without_an_end_is_refused_before_it_fills_the_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ANSWER_S", 5.0)
    monkeypatch.setattr(connection, "WHOLE_REPLY_S", 30.0)
    with proxy_of(server) as proxy:
        store = _open_store(proxy)
        peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        proxy.send_reply = _send_without_end

        refused = store.take("a_", 9, NOON).exception()
        bytes_grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) << 10
        store.close()

    assert "larger than 16 MiB" in str(refused)
    assert bytes_grown < 3 * LARGEST


@pytest.mark.parametrize(
    ("good_text", "malformed_text"),
    [
        (b"redis_version", b"rediz_version"),
        (b"maxmemory_policy", b"maxmemorz_policy"),
        (b"redis_version:7", b"redis_version:x"),
        (b"redis_version", b"redis_v\xff\xfe\xfdion"),
    ],
)
def test_a_server_with_a_malformed_description_is_refused(
    server: Server, good_text: bytes, malformed_text: bytes
) -> None:
    """The operator reads an error of the store instead of a KeyError"""
    with proxy_of(server) as proxy:
        proxy.send_reply = lambda chunk, client: client.sendall(
            chunk.replace(good_text, malformed_text)
        )
        with pytest.raises((StoreUnavailable, WrongStoreError)):
            RedisStore(proxy.url)


@pytest.mark.parametrize(
    "reply", [b":7\r\n", b"*-1\r\n", b"$3\r\nodd\r\n", b"*1\r\n:1\r\n", b"?\r\n", b":x\r\n"]
)
def test_odd_replies_are_503_and_later_replies_are_read(server: Server, reply: bytes) -> None:
    """The thread of the store survives any reply"""
    with proxy_of(server) as proxy:
        store = _open_store(proxy)
        proxy.send_reply = lambda chunk, client: client.sendall(reply * 3)
        errors = [store.take("a_", 9, NOON).exception() for _ in range(3)]
        proxy.send_reply = lambda chunk, client: client.sendall(chunk)

        def is_granted() -> bool:
            """Whether a call is granted; the short bounds may be too short for a busy machine to connect again."""
            with suppress(StoreUnavailable):
                return store.take("a_", 9**9, NOON).result().granted
            return False

        assert eventually(is_granted)
        store.close()

    assert {type(error) for error in errors} == {StoreUnavailable}


def test_the_error_says_that_a_call_may_be_counted_only_if_the_call_was_sent(
    server: Server,
) -> None:
    """L2: the 503 of a read, or of a call that was not sent, does not say so"""
    with proxy_of(server) as proxy:
        store = _open_store(proxy)
        proxy.send_reply = lambda chunk, client: client.close()
        hold = threading.Event()
        store._queue.call(hold.wait)
        read = store._queue.read(lambda txn: txn.get(b"floor"))
        call = store.take("a_", 9, NOON)
        hold.set()
        errors = [read.exception(), call.exception()]
        proxy.close()
        unsent_error = store.take("a_", 9, NOON).exception()
        store.close()

    assert [error.maybe_done for error in errors if isinstance(error, StoreUnavailable)] == [
        False,
        True,
    ]
    assert isinstance(unsent_error, StoreUnavailable)
    assert not unsent_error.maybe_done
