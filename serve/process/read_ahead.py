"""The thread that reads the shards once after a start: it brings them into memory and compares them.

A search needs single pages all over a shard, so shards are mapped without read-ahead. If nothing has
read the files since the machine started, each of the first searches therefore waits for the disk some
hundred times. This thread reads them from end to end at the lowest priority while requests are already
answered. It compares each file with the digest of the manifest: a shard that was damaged
since it was written is reported, and served no longer than this takes. Later generations are compared
before they are served.

Files that would push others out of memory are compared, and leave it again. Of several workers, one reads; all of
them fill their page tables when it has.
"""

import fcntl
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from blake3 import blake3

from serve.process import page_tables

# The files may take this share of the available memory, which includes what they occupy already.
_SHARE: Final = 0.8
_MACHINE: Final = Path("/proc/meminfo")
_CONTAINER: Final = Path("/sys/fs/cgroup/memory.max")  # "max", or bytes
# Bytes per call, many: a thread of the lowest priority should rarely take Python's lock, since it may
# hold it for long. Reading and hashing free it.
_PIECE: Final = 16 << 20
_MIB: Final = 1 << 20
_LOWEST: Final = 19
_PATIENCE_S: Final = 1.0

_log: Final = logging.getLogger("serve.process.read_ahead")


class ReadAhead:
    """A thread that reads and compares `files` until it has finished or is stopped.

    Of several workers, the one that locks the file `turn` reads, the others wait for it. The folder cannot be that
    lock: every reader of a generation locks it (shards/generations/locks.py).
    """

    def __init__(
        self,
        turn: Path,
        files: Mapping[Path, str],
        wanted: Callable[[], bool],
        damaged: Callable[[Path], None],
    ) -> None:
        """Read `files`, with their BLAKE3 in hexadecimal, in this order.

        Args:
            wanted: called repeatedly, from the thread: False ends it.
            damaged: called from the thread for each file that has another digest.
        """
        self._turn = turn
        self._files = files
        self._wanted = wanted
        self._damaged = damaged
        self._stopped = threading.Event()
        # A daemon: a disk that does not answer must not prevent the end of the process.
        self._thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current piece; wait for a second, since a bad disk may never return it."""
        self._stopped.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        _lower_priority()
        try:
            turn = os.open(self._turn, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _locks(turn, fcntl.LOCK_EX):
                    self._read()
                while not _locks(turn, fcntl.LOCK_SH) and self._goes_on():
                    self._stopped.wait(_PATIENCE_S)
            finally:
                os.close(turn)
            if fits(self._files):
                page_tables.fill(self._files, self._goes_on)
        except OSError as error:
            _log.warning("the shards are not read ahead, so first searches are slower: %s", error)

    def _goes_on(self) -> bool:
        return not self._stopped.is_set() and self._wanted()

    def _read(self) -> None:
        start = time.monotonic()
        done = 0
        size, free = _size(self._files), _free_bytes()
        keep = size <= free
        if not keep:
            _log.warning(
                "the shards (%d MiB) are compared, but not kept in memory: %d MiB of it may be taken "
                "for them; the first searches wait for the disk", size // _MIB, free // _MIB,
            )  # fmt: skip
        for path, digest in self._files.items():
            hasher = blake3()
            for piece in _pieces(path, keep=keep):
                hasher.update(piece)
                done += len(piece)
                if not self._goes_on():
                    _log.info("the shards are not read ahead any further: %d MiB", done // _MIB)
                    return
            if hasher.hexdigest() != digest:
                _log.error("%s is damaged; build or fetch the generation again", path)
                self._damaged(path)
        seconds = time.monotonic() - start
        _log.info("the shards are read ahead: %d MiB in %.1f s", done // _MIB, seconds)


def fits(files: Collection[Path]) -> bool:
    """Whether memory holds files, without pushing out others."""
    return _size(files) <= _free_bytes()


def _size(files: Collection[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _free_bytes() -> int:
    return int(_SHARE * available_bytes())


def _locks(file: int, kind: int) -> bool:
    """Whether a file can be locked at once."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pieces(path: Path, *, keep: bool) -> Iterator[memoryview]:
    """The content of a file, each piece in the place of the one before; `keep` it in the page cache."""
    buffer = memoryview(bytearray(min(_PIECE, path.stat().st_size)))
    at = 0
    with path.open("rb", buffering=0) as file:
        # With SEQUENTIAL the kernel reads further ahead; WILLNEED would queue before other reads.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while buffer and (read := file.readinto(buffer)):
            yield buffer[:read]
            if not keep:
                os.posix_fadvise(file.fileno(), at, read, os.POSIX_FADV_DONTNEED)
            at += read


def available_bytes() -> int:
    """Available bytes of memory, page cache included; 0 if the system does not say."""
    machine = re.search(r"MemAvailable:\s+(\d+) kB", _text(_MACHINE))
    container = re.match(r"\d+", _text(_CONTAINER))
    found = int(machine[1]) << 10 if machine else 0
    return min(found, int(container[0])) if container else found


def _lower_priority() -> None:
    """Give this thread the lowest priority (on Linux, priorities belong to threads)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
