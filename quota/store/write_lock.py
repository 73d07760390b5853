"""The write lock of an LMDB file: one process at a time, even if one of them is killed.

LMDB has a lock of its own, a robust mutex in shared memory, and it can lose waiters. A process that
frees the mutex wakes one of the sleeping processes. If that process is killed before it runs, while
another one takes the mutex in passing, the mutex no longer records that others sleep behind it.
They go on sleeping after it is free, until some other process happens to wait too: on a quiet host
for ever (Linux, glibc; tests/quota/store/test_write_lock.py makes it happen).

A writer therefore waits here first. The kernel itself queues a `flock`: it frees the lock when the
owner's process ends, and wakes everyone behind a waiter that dies. LMDB's mutex is then taken by
one process at a time and never waited for. The locked file is the data file, so processes that
share one share the other. LMDB's own locks are `fcntl` locks of its lock file, and are independent
of this one.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Between two attempts to take the lock: about the duration of a change in memory.
_RETRY_S: Final = 50e-6

_IF_FREE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class WriteLock:
    """The lock of the file `path`; for one thread, because a `flock` belongs to an open file."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: the file does not exist, or cannot be read.
        """
        self._path = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock for the duration of the block; as `acquire`."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float | None = None) -> None:
        """Wait for the lock, for at most `timeout` seconds.

        Without a timeout the kernel wakes the waiter; with one it tries again every 50 µs.

        Raises:
            TimeoutError: another process had the lock for all of this time.
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
        os.close(self._file)
