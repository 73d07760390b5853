"""Hand the port of a running server over to its successor without losing a request (`--take-over`).

    1. The successor connects to STATE/serve-<port>.sock and receives the listening sockets of the
       running server (SCM_RIGHTS).
    2. Once it has a generation to serve, it accepts connections from the same kernel queues.
    3. It requests /readyz until one of its own processes answers.
    4. It asks the running server to stop. That server closes its copies of the sockets, answers the
       requests on its open connections, each with `Connection: close`, and exits.

The kernel resets the connections that wait in the queue of a listening socket when its last copy is
closed. The successor has a copy before the running server closes its own, so no queue is lost.

A successor that does not become ready exits, and the running server goes on. The socket in STATE
also proves that both servers share a STATE: two servers with different ones would each count calls
and charge credits on their own.
"""

import http.client
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

import orjson

from serve.process import port as ports

# A server is ready once its shards are in memory, after a minute at most.
PROOF_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.1
# A worker whose parent was killed listens for a moment longer; a server that has just started
# listens for a moment before it offers its sockets.
SETTLING_SECONDS: Final = 5.0

_STOP: Final = b"S"
_MOST_SOCKETS: Final = 253  # SCM_MAX_FD, Linux include/net/scm.h
_LONGEST_NAME: Final = 100  # bytes in sockaddr_un: 108 on Linux, 104 elsewhere

_log: Final = logging.getLogger("serve.process.handover")


class HandoverError(Exception):
    """The port cannot be taken over; the message says why, and which server goes on."""


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The running server whose port this one takes over."""

    pid: int
    listeners: Sequence[socket.socket]
    connection: socket.socket  # open as long as that process lives

    def relieve(self, address: str, pids: Callable[[], Collection[int]]) -> bool:
        """Prove that this server answers at `address`, then stop the other one and wait for its end.

        Args:
            pids: returns the processes of this server that answer requests.

        Returns:
            False if this server was itself stopped meanwhile, so that the other one goes on.

        Raises:
            HandoverError: this server is not ready in time; the other one was not stopped.
        """
        deadline = time.monotonic() + PROOF_SECONDS
        while _ready_pid(address) not in pids():
            if time.monotonic() > deadline:
                raise HandoverError(
                    f"not ready within {PROOF_SECONDS:g} s, so the old server serves on; "
                    f"{address}/readyz says why"
                )
            time.sleep(PAUSE_SECONDS)
        if any(listener.fileno() < 0 for listener in self.listeners):
            return False
        _log.info("process %d is told to stop", self.pid)
        with suppress(ConnectionError):  # that process has already ended
            self.connection.settimeout(None)
            self.connection.sendall(_STOP)
            self.connection.recv(1)
        self.connection.close()
        _log.info("process %d has left the port to this server", self.pid)
        return True


def find_predecessor(state: Path, host: str, port: int) -> Predecessor | None:
    """Receive the sockets of the server of `state` that listens on a port; None if it is free.

    Raises:
        HandoverError: the server on that port has another STATE or another address.
        PortError: a program that does not share the port listens there.
    """
    if not port:
        return None
    ports.bind(host, port, shared=True).close()
    deadline = time.monotonic() + SETTLING_SECONDS
    while not ports.is_free(host, port):
        with suppress(FileNotFoundError, ConnectionError):
            return _receive(state, host, port)
        if time.monotonic() > deadline:
            raise HandoverError(
                f"port {port} is served, but not with STATE {state}; "
                "give the --state of that server, or stop it"
            )
        time.sleep(PAUSE_SECONDS)
    return None


def offer(state: Path, port: int, listeners: Sequence[socket.socket]) -> None:
    """Start a thread that sends `listeners` to successors, and stops this server when one says so."""
    path = _path(state, port)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    with _short_name(path) as name:
        server.bind(name)
    path.chmod(0o600)  # a process that can connect can stop this server
    server.listen()
    Thread(target=_offer, args=(server, listeners), name="handover", daemon=True).start()


def _offer(server: socket.socket, listeners: Sequence[socket.socket]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError as error:  # no descriptor is free
            _log.error("a successor cannot connect, trying again: %s", error)
            time.sleep(PAUSE_SECONDS)
            continue
        with connection, suppress(OSError):  # the successor failed, or this server is stopping
            descriptors = [listener.fileno() for listener in listeners]
            socket.send_fds(connection, [str(os.getpid()).encode()], descriptors)
            if connection.recv(1) == _STOP:
                os.kill(os.getpid(), signal.SIGTERM)
                connection.recv(1)  # for the rest of this process: its end closes the connection


def _receive(state: Path, host: str, port: int) -> Predecessor:
    with ExitStack() as opened:
        connection = opened.enter_context(socket.socket(socket.AF_UNIX))
        with _short_name(_path(state, port)) as name:
            connection.connect(name)
        connection.settimeout(SETTLING_SECONDS)
        try:
            pid, descriptors, _, _ = socket.recv_fds(connection, 32, _MOST_SOCKETS)
        except TimeoutError as error:
            raise HandoverError(f"port {port} is being taken over; try again later") from error
        if not pid:
            raise ConnectionResetError("that server is stopping")
        listeners = [
            opened.enter_context(socket.socket(fileno=descriptor)) for descriptor in descriptors
        ]
        for listener in listeners:
            listener.set_inheritable(False)
            if ports.address(listener) != ports.resolved_address(host, port):
                raise HandoverError(
                    f"that server listens on {ports.address(listener)}; give its --host, or stop it"
                )
        opened.pop_all()
    return Predecessor(int(pid), listeners, connection)


def _ready_pid(address: str) -> int:
    """The process that answers /readyz with 200; 0 if none does."""
    target = urlsplit(address)
    try:
        with closing(http.client.HTTPConnection(target.netloc, timeout=5)) as connection:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            body = response.read()
        return int(orjson.loads(body)["pid"]) if response.status == 200 else 0
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return 0


def _path(state: Path, port: int) -> Path:
    return state / f"serve-{port}.sock"


@contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """A name of `path` that fits into the address of a Unix socket, however deep STATE lies."""
    if len(os.fsencode(path)) <= _LONGEST_NAME:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
