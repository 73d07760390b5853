"""The write lock of an LMDB file: one process at a time, even if one of them is killed.

LMDB has a lock of its own, a robust mutex in shared memory, and it can lose waiters. A process that
frees the mutex wakes one of the sleeping processes. If the woken process is killed before it runs, and another
process takes the mutex at that moment, the mutex no longer records that other processes are waiting for it. These
processes go on sleeping after the mutex is free, until another process waits as well: on a quiet host for ever
(Linux, glibc; tests/quota/store/test_write_lock.py reproduces it).

A writer therefore first waits for this lock, a `flock`. The kernel queues the waiters of a `flock`, frees the lock when
the process that holds it ends, and still wakes the other waiters if a waiter dies. LMDB's mutex is then taken by one
process at a time, and no process waits for the mutex. The locked file is the data file, so processes
that share the data share the lock. LMDB's own locks are `fcntl` locks of its lock file, and are
independent of this lock.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Seconds between two attempts to take the lock: about as long as a write to a file in memory takes.
_RETRY_S: Final = 50e-6

# Take the lock, or fail at once if another process has it.
_IF_FREE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class WriteLock:
    """The lock of the file `path`; for one thread, because a `flock` belongs to an open file."""

    def __init__(self, path: Path) -> None:
        """Open the file that is locked.

        Raises:
            OSError: the file does not exist, or cannot be read.
        """
        self._path = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock for the duration of the block. Raises TimeoutError as `acquire`."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float | None = None) -> None:
        """Wait for the lock, for at most `timeout` seconds.

        Without a timeout the kernel wakes the waiter; with a timeout the waiter tries again every 50 µs.

        Raises:
            TimeoutError: other processes had the lock all the time.
        """
        if timeout is None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            return
        try:
            fcntl.flock(self._file, _IF_FREE)
        except BlockingIOError:
            self._retry(timeout)

    def release(self) -> None:
        """Free the lock for the next process."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def _retry(self, timeout: float) -> None:
        """Try to take the lock every _RETRY_S seconds; raise TimeoutError after `timeout` seconds."""
        until = time.monotonic() + timeout
        while True:
            time.sleep(_RETRY_S)
            try:
                fcntl.flock(self._file, _IF_FREE)
                return
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise TimeoutError(
                        f"{self._path} was being written by other processes for {timeout:g} s; "
                        "see whether one of them is stopped"
                    ) from None

    def close(self) -> None:
        """Close the file, which also frees the lock if this process holds it."""
        os.close(self._file)
