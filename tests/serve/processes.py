"""Run real server processes, and read their output."""

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
def server_process(
    data: Path,
    *flags: str,
    environment: Mapping[str, str] | None = None,
    stderr: IO[bytes] | None = None,
) -> Iterator["subprocess.Popen[str]"]:
    """Run `python -m serve` on a free port; kill it at the end of the block.

    The log goes to a file: nobody reads a pipe while the process runs, and a full pipe would block it.
    """
    command = [sys.executable, "-m", "serve", "--data", str(data), "--port", "0"]
    command += ["--state", str(data.with_name("state")), *flags]
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("SOCIETES_")
    }
    variables |= environment or {}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log_file,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=stderr or log_file,
        ) as process,
    ):
        _LOGS[process.pid] = log_file
        try:
            yield process
        finally:
            process.kill()


_LOGS: dict[int, IO[str]] = {}  # the file with the log of a process, by its id

# Start a command as systemd starts the service of a socket unit: the sockets are descriptors 3, 4, …, and two
# variables have their number and the id of the process.
_PASS_SOCKETS = """
import os, sys
passed = sys.argv[1].split(",")
for place, number in enumerate(passed):
    os.dup2(int(number), 3 + place)
os.environ |= {"LISTEN_FDS": str(len(passed)), "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""


def command_with_sockets(sockets: Sequence[socket.socket], command: Sequence[str]) -> list[str]:
    """A command line that starts `command` with these sockets, as a socket unit does.

    The caller of subprocess lets the process inherit the sockets (`pass_fds`).
    """
    numbers = ",".join(str(listener.fileno()) for listener in sockets)
    return [sys.executable, "-c", _PASS_SOCKETS, numbers, *command]


def read_line(process: "subprocess.Popen[str]") -> str:
    """Wait for the next line of the standard output."""
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def processor_seconds(pid: int) -> float:
    """The processor time of a process: fields 14 and 15 of proc_pid_stat(5)."""
    # The fields after the name of the program, from field 3.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def ask(address: str, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """The status and the body of the response to a GET."""
    host = address.removeprefix("http://")
    # Longer than the server waits for an export (serve/features/export), which has a low priority.
    with closing(http.client.HTTPConnection(host, timeout=200)) as connection:
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read()


def stop(process: "subprocess.Popen[str]", signal_number: int = signal.SIGTERM) -> tuple[str, str]:
    """Stop a process, which must exit with 0; return its unread standard output, and its log."""
    process.send_signal(signal_number)
    stdout, _ = process.communicate(timeout=120)
    _LOGS[process.pid].seek(0)
    logged = _LOGS[process.pid].read()
    assert process.returncode == 0, logged
    return stdout, logged


def log_so_far(process: "subprocess.Popen[str]") -> str:
    """The log of a running process. `pread` keeps the position of the file, at which the process writes."""
    return os.pread(_LOGS[process.pid].fileno(), 1 << 20, 0).decode()


def avoid_midnight(minutes: int = 2) -> None:
    """Sleep until tomorrow if midnight UTC is less than `minutes` away: counters of a day restart then."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    seconds_left = (midnight - now).total_seconds()
    if seconds_left < 60 * minutes:
        time.sleep(seconds_left + 1)


def parse_log(stderr: str) -> list[dict[str, object]]:
    """The JSON objects of a log, one a line."""
    return [orjson.loads(line) for line in stderr.splitlines()]


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether a condition becomes true within two minutes. An OSError counts as false.

    A busy machine needs time: the process that reads ahead has the lowest priority, and may get a hundredth of a
    processor during other tests.
    """
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if condition():
                return True
        except OSError:
            pass
        time.sleep(0.02)
    return False


def in_time(try_once: Callable[[], bool]) -> bool:
    """Whether a measured operation ends within its bound in one of three tries; other work may delay a try."""
    return any(try_once() for _ in range(3))


def children(parent: int, thread: int | None = None) -> set[int]:
    """The processes that a thread of a parent has spawned, without the resource tracker of multiprocessing.

    Args:
        thread: by default the main thread.
    """
    pids = Path(f"/proc/{parent}/task/{thread or parent}/children").read_text().split()
    return {int(pid) for pid in pids if b"spawn_main" in _command_line(pid)}


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def _command_line(pid: str) -> bytes:
    """The command line of a process, its arguments ended by zero bytes; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # the process has ended
        return b""
