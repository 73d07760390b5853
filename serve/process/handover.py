"""One server takes the place of another on its port, and no request is lost (`--take-over`).

    1. the new one listens beside the old one (SO_REUSEPORT), once it has a generation to serve
    2. from then on, the kernel gives new connections to it alone (`steer`)
    3. it asks /readyz until it is itself that answers
    4. a moment later, when the old one has accepted what was on its way, it is told to stop: it
       answers what still comes on its open connections, each with `Connection: close`, and leaves

Who serves a port says so in STATE/serve-<port>.pid, and holds that file by a lock as long as it
lives. A new server that does not become ready leaves, and the old one serves on. So does one whose
STATE is another: nobody would give it the place, and both would serve, with counters of their own.
"""

import ctypes
import fcntl
import http.client
import logging
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson

# Handshakes with the old server end, and it accepts them, while the new one has the new ones.
SETTLING_SECONDS: Final = 1.0
PROOF_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.1
# How long a server may listen on without its place: one of workers whose parent was killed.
LEAVING_SECONDS: Final = 5.0

# Linux, asm-generic/socket.h; Python does not name them.
_ATTACH: Final = 51  # SO_ATTACH_REUSEPORT_CBPF
_DETACH: Final = 68  # SO_DETACH_REUSEPORT_BPF
# Instructions of classic BPF (linux/filter.h): operation, two jumps, a constant.
_INSTRUCTION: Final = struct.Struct("=HBBI")
_RANDOM: Final = (0x20, 0xFFFFF000 + 56)  # load SKF_AD_RANDOM
_MODULO: Final = 0x94
_ADD: Final = 0x04
_RETURN: Final = 0x16
_LISTENING: Final = "0A"  # in /proc/net/tcp

_log: Final = logging.getLogger("serve.process.handover")


class HandoverError(Exception):
    """The place on the port cannot be had."""


class PortLock:
    """The place on a port: who has it holds a file, and says in it which process that is."""

    def __init__(self, state: Path, port: int) -> None:
        self.state = state
        self.port = port
        self._path = state / f"serve-{port}.pid"
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self, *, waiting: bool = False) -> bool:
        """Have it, at once or when who has it leaves; False where somebody has it."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if waiting else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        return True

    def is_held(self) -> bool:
        """Has another process the place at this moment?"""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return False

    def holder(self) -> int:
        """The process that has it.

        Raises:
            HandoverError: it does not say so.
        """
        told = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
        if not told.isdigit():
            raise HandoverError(f"{self._path} names no process; stop the old server by hand")
        return int(told)


def to_relieve(post: PortLock) -> int:
    """How many sockets of the server that has the place listen on its port; 0 where nobody does.

    Raises:
        HandoverError: whoever listens there has no place in this STATE, and so would not leave.
    """
    deadline = time.monotonic() + LEAVING_SECONDS
    while others := listening(post.port):
        if post.is_held():
            return others
        if time.monotonic() > deadline:
            raise HandoverError(
                f"port {post.port} is served, but not with STATE {post.state}; "
                "give the --state of that server, or stop it"
            )
        time.sleep(PAUSE_SECONDS)
    return 0


def relieve(post: PortLock, address: str, pids: Callable[[], Collection[int]]) -> None:
    """Prove that this server answers at `address`, then have the old one leave.

    Args:
        pids: the processes of this server that answer requests.

    Raises:
        HandoverError: it does not become ready; the old one was not told anything.
    """
    if post.take():
        return  # there is nobody to be relieved, or no longer
    deadline = time.monotonic() + PROOF_SECONDS
    while _ready(address) not in pids():
        if time.monotonic() > deadline:
            raise HandoverError(
                f"not ready within {PROOF_SECONDS:g} s, so the old server serves on; "
                f"{address}/readyz says why"
            )
        time.sleep(PAUSE_SECONDS)
    time.sleep(SETTLING_SECONDS)
    old = post.holder()
    _log.info("process %d is told to stop", old)
    os.kill(old, signal.SIGTERM)
    post.take(waiting=True)
    _log.info("process %d has left the port to this server", old)


def listening(port: int) -> int:
    """How many sockets listen on a port of this machine; 0 where nobody says."""
    found = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state, *_ = row.split()
            found += state == _LISTENING and local.endswith(f":{port:04X}")
    return found


def steer(listener: socket.socket, others: int) -> bool:
    """Give new connections to the sockets that listened last, none to the `others` before them.

    Only Linux can; elsewhere both servers get some until the old one stops.
    """
    if sys.platform != "linux":
        return False
    ours = max(1, listening(listener.getsockname()[1]) - others)
    program = b"".join(
        _INSTRUCTION.pack(operation, 0, 0, constant)
        for operation, constant in (_RANDOM, (_MODULO, ours), (_ADD, others), (_RETURN, 0))
    )
    instructions = ctypes.create_string_buffer(program)
    described = struct.pack("HP", 4, ctypes.addressof(instructions))
    listener.setsockopt(socket.SOL_SOCKET, _ATTACH, described)
    return True


def steer_no_more(listener: socket.socket) -> None:
    """Let the kernel deal connections out as usual again."""
    listener.setsockopt(socket.SOL_SOCKET, _DETACH, 0)


def _ready(address: str) -> int:
    """The process that says that it is ready, 0 where none does."""
    target = urlsplit(address)
    try:
        with closing(http.client.HTTPConnection(target.netloc, timeout=5)) as connection:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read()
        return int(orjson.loads(body)["pid"]) if answer.status == 200 else 0
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return 0
