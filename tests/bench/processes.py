"""The time of a command, and the largest memory of all its processes together."""

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests import ROOT

_INTERVAL: Final = 0.1  # seconds between two samples


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a command.

    Attributes:
        seconds: of the wall clock.
        peak: bytes of memory of all processes, with the files that they map.
    """

    seconds: float
    peak: int


def run(command: Sequence[str], root: Path = ROOT) -> Cost:
    """Run a command at the root of the project.

    Raises:
        SystemExit: the command failed; the message has its errors.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    peaks = [0]
    ended = threading.Event()
    watch = threading.Thread(target=_record_peaks, args=(process.pid, peaks, ended))
    watch.start()
    _, errors = process.communicate()
    seconds = time.perf_counter() - start
    ended.set()
    watch.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {errors[-2000:]}")
    return Cost(seconds, max(peaks))


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def _record_peaks(pid: int, peaks: list[int], ended: threading.Event) -> None:
    """Append the memory of a process tree to `peaks` at each interval until `ended`."""
    while not ended.wait(_INTERVAL):
        peaks.append(sum(map(_resident, _tree(pid))))


def _tree(pid: int) -> Iterable[int]:
    """A process and all its descendants."""
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))
    except OSError:  # the process has ended
        return


def _resident(pid: int) -> int:
    """Bytes of memory of a process; pages that two processes share count twice."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:  # the process has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
