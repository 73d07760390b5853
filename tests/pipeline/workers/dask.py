"""A real Dask scheduler and its workers, as processes that end with a test."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import environ
from pathlib import Path

ROOT = Path(__file__).parents[3]  # the repository, whose code the workers import
_READY_SECONDS = 60.0  # the longest wait until the log of a process says that it is ready


class Dask:
    """A scheduler that listens at `address`, and the worker processes that `start_worker` adds."""

    def __init__(self, folder: Path, exits: ExitStack) -> None:
        """Start the scheduler and wait until it prints its address; sets `address`, and `workers` (none yet)."""
        self._folder, self._exits = folder, exits
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler_process, ready_line = self._start(
            ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
            r"Scheduler at:\s+(tcp://\S+)",
            ROOT,
        )
        self.address = ready_line[1]

    def start_worker(self, root: Path = ROOT) -> None:
        """Start a worker of one thread, with the code of `root`; return when the scheduler has it."""
        command = [
            "worker", self.address, "--nthreads", "1", "--memory-limit", "4GiB",
            "--no-nanny", "--no-dashboard", "--local-directory", str(self._folder),
        ]  # fmt: skip
        self.workers.append(self._start(command, "Registered to", root)[0])

    def _start(
        self, command: list[str], ready_pattern: str, root: Path
    ) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
        """Start `dask` with the arguments `command`; return the process and the match of `ready_pattern` in its log."""
        program = Path(sys.executable).with_name("dask")
        log = self._folder / f"{command[0]}-{len(self.workers)}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [program, *command], stdout=stream, stderr=stream, cwd=root,
                env={**environ, "PYTHONPATH": str(root)},
            )  # fmt: skip
        self._exits.enter_context(process)
        self._exits.callback(process.kill)
        deadline = time.monotonic() + _READY_SECONDS
        while not (ready_line := re.search(ready_pattern, log.read_text())):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        return process, ready_line


@contextmanager
def running_scheduler(folder: Path) -> Iterator[Dask]:
    """A scheduler on a free port, without workers yet; at the end it and its workers are killed."""
    folder.mkdir()
    with ExitStack() as exits:
        yield Dask(folder, exits)
