"""After a start, the shards are read once, so that searches find them in memory.

A shard is read in place, a page at a time and without read-ahead, for a search needs pages here and
there. Of files that nobody has read since the machine started, that makes of the first search by
name tens of seconds, as many as reading all of them from end to end takes. So a thread does that,
of the lowest priority, while others are answered already: it takes the disk and the page cache, and
no lock of a shard. A generation that is taken up later has been read whole to verify it.

Files that would push others out of memory are left alone. Of several workers one reads.
"""

import fcntl
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

# Files may take this part of the memory that is available; what they have of it already counts.
_SHARE: Final = 0.8
_MACHINE: Final = Path("/proc/meminfo")
_CONTAINER: Final = Path("/sys/fs/cgroup/memory.max")  # "max", or bytes
_NOWHERE: Final = Path("/dev/null")
# A long call each: whoever holds Python's lock at the lowest priority may keep it for long.
_PIECE: Final = 64 << 20
_MIB: Final = 1 << 20
_LOWEST: Final = 19
_PATIENCE_S: Final = 1.0

_log: Final = logging.getLogger("serve.process.read_ahead")


class ReadAhead:
    """A thread that reads `files` until it is done or stopped.

    Of several workers that has the turn which holds `turn`, a file that all of them see; not the
    folder, which every reader of a generation holds (shards/generations/locks.py).
    """

    def __init__(self, turn: Path, files: Sequence[Path], wanted: Callable[[], bool]) -> None:
        """`wanted` is asked again and again, from the thread: False ends it."""
        self._turn = turn
        self._files = files
        self._wanted = wanted
        self._stopped = threading.Event()
        # A daemon: a disk that does not answer must not keep the process.
        self._thread = threading.Thread(target=self._run, name="warming", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the piece that it is reading, which a bad disk may never give."""
        self._stopped.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        _step_back()
        try:
            turn = os.open(self._turn, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._read()
            finally:
                os.close(turn)
        except BlockingIOError:
            return  # another worker reads
        except OSError as error:
            _log.warning("the shards are not read ahead: %s", error)

    def _read(self) -> None:
        size = sum(path.stat().st_size for path in self._files)
        start = time.monotonic()
        done = 0
        for path in self._files:
            free = int(_SHARE * available())
            if size > free:
                _log.warning(
                    "the shards (%d MiB) are not read ahead: %d MiB of memory may be taken for "
                    "them; the first searches wait for the disk", size // _MIB, free // _MIB,
                )  # fmt: skip
                return
            for read in _pieces(path):
                done += read
                if self._stopped.is_set() or not self._wanted():
                    _log.info("the shards are not read ahead any further: %d MiB", done // _MIB)
                    return
        seconds = time.monotonic() - start
        _log.info("the shards are read ahead: %d MiB in %.1f s", done // _MIB, seconds)


def _pieces(path: Path) -> Iterator[int]:
    """Have a file read from end to end; yields how many bytes, piece by piece.

    The kernel sends it nowhere: nothing is copied, and it comes as fast as the disk gives it.
    """
    at = 0
    with path.open("rb", buffering=0) as file, _NOWHERE.open("wb", buffering=0) as nowhere:
        # The kernel reads further ahead; WILLNEED would fill the queue before other reads.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while read := os.sendfile(nowhere.fileno(), file.fileno(), at, _PIECE):
            at += read
            yield read


def available() -> int:
    """Bytes of memory that can be had, page cache included; 0 where nobody says."""
    machine = re.search(r"MemAvailable:\s+(\d+) kB", _text(_MACHINE))
    container = re.match(r"\d+", _text(_CONTAINER))
    found = int(machine[1]) << 10 if machine else 0
    return min(found, int(container[0])) if container else found


def _step_back() -> None:
    """Let every other thread and process go first (on Linux, priorities are those of threads)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
