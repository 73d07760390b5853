"""A real Dask scheduler and its workers, as processes that end with a test."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import environ
from pathlib import Path

ROOT = Path(__file__).parents[3]
_PATIENCE = 60.0  # seconds until a process must have said that it is ready


class Dask:
    """A scheduler that listens at `address`, and its workers."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._folder, self._ends = folder, ends
        self.workers: list[subprocess.Popen[bytes]] = []
        self.process, said = self._started(
            ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
            r"Scheduler at:\s+(tcp://\S+)",
            ROOT,
        )
        self.address = said[1]

    def work(self, root: Path = ROOT) -> None:
        """Start a worker of one thread, with the code of `root`; return when it is registered."""
        command = [
            "worker", self.address, "--nthreads", "1", "--memory-limit", "4GiB",
            "--no-nanny", "--no-dashboard", "--local-directory", str(self._folder),
        ]  # fmt: skip
        self.workers.append(self._started(command, "Registered to", root)[0])

    def _started(
        self, command: list[str], said: str, root: Path
    ) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
        program = Path(sys.executable).with_name("dask")
        log = self._folder / f"{command[0]}-{len(self.workers)}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [program, *command], stdout=stream, stderr=stream, cwd=root,
                env={**environ, "PYTHONPATH": str(root)},
            )  # fmt: skip
        self._ends.enter_context(process)
        self._ends.callback(process.kill)
        end = time.monotonic() + _PATIENCE
        while not (found := re.search(said, log.read_text())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        return process, found


@contextmanager
def scheduler(folder: Path) -> Iterator[Dask]:
    """A scheduler on a free port, without workers yet."""
    folder.mkdir()
    with ExitStack() as ends:
        yield Dask(folder, ends)
