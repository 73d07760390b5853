"""Real server processes, for the tests that need one."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import orjson

ROOT = Path(__file__).parents[2]


@contextmanager
def started(
    data: Path,
    *flags: str,
    environment: Mapping[str, str] | None = None,
    stderr: IO[bytes] | None = None,
) -> Iterator["subprocess.Popen[str]"]:
    """`python -m serve` on a free port; killed if it is still there at the end.

    What it logs goes to a file: nobody reads a pipe while it runs, and it would fill.
    """
    command = [sys.executable, "-m", "serve", "--data", str(data), "--port", "0"]
    command += ["--state", str(data.with_name("state")), *flags]
    variables = {name: v for name, v in os.environ.items() if not name.startswith("SOCIETES_")}
    variables |= environment or {}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as said,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=stderr or said,
        ) as process,
    ):
        _LOGS[process.pid] = said
        try:
            yield process
        finally:
            process.kill()


_LOGS: dict[int, IO[str]] = {}

# As systemd does: descriptors from 3 on, and the id of the process itself.
_PASSING = """
import os, sys
passed = sys.argv[1].split(",")
for place, number in enumerate(passed):
    os.dup2(int(number), 3 + place)
os.environ |= {"LISTEN_FDS": str(len(passed)), "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""


def with_sockets(sockets: Sequence[socket.socket], command: Sequence[str]) -> list[str]:
    """A command as a socket unit starts it; the process that starts it passes these sockets on (`pass_fds`)."""
    numbers = ",".join(str(listener.fileno()) for listener in sockets)
    return [sys.executable, "-c", _PASSING, numbers, *command]


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def processor_seconds(pid: int) -> float:
    """The time that a process has spent on a processor: field 14 and 15 of proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def ask(address: str, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    host = address.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read()


def stop(process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> tuple[str, str]:
    """What it still said on stdout and all it logged, after it was told to stop and left with 0."""
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=20)
    _LOGS[process.pid].seek(0)
    logged = _LOGS[process.pid].read()
    assert process.returncode == 0, logged
    return stdout, logged


def logged_so_far(process: "subprocess.Popen[str]") -> str:
    """The log of a process that runs. It is read at places: the process writes at the position of the same file."""
    return os.pread(_LOGS[process.pid].fileno(), 1 << 20, 0).decode()


def avoid_midnight(minutes: int = 2) -> None:
    """Sleep until tomorrow if today has fewer `minutes` left: counters of a day begin anew at midnight UTC."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    left = (midnight - now).total_seconds()
    if left < 60 * minutes:
        time.sleep(left + 1)


def log(stderr: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in stderr.splitlines()]


def eventually(claim: Callable[[], bool]) -> bool:
    """Does it become true within two minutes? A busy machine needs some of it.

    The process that reads ahead has the lowest priority: beside other tests it gets a hundredth of a processor.
    """
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if claim():
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def children(parent: int, thread: int | None = None) -> set[int]:
    """The processes that a thread of a parent has spawned (the main one, if none is named):
    multiprocessing's own tracker is none."""
    pids = Path(f"/proc/{parent}/task/{thread or parent}/children").read_text().split()
    return {int(pid) for pid in pids if b"spawn_main" in _command(pid)}


def alive(pid: int) -> bool:
    """Does a process run? One that has ended and whose parent has not read its status does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return b""
