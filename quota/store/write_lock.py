"""Whose turn it is to write a file of LMDB: one process at a time, also when one of them is killed.

LMDB has a lock for that, a robust mutex in shared memory, and it loses waiters. A process that
frees it wakes one of those that sleep. If that one is killed before it runs, while another process
takes the mutex in passing, then nothing says any more that others sleep behind it, and they go on
sleeping after the mutex is free: until somebody else happens to wait too, on a quiet host for ever
(Linux, glibc; tests/quota/test_turn.py makes it happen).

So who wants to write waits here first. A `flock` is queued by the kernel itself, which frees it
when its process ends and wakes all who stood behind a waiter that dies; the mutex, then taken by
one process at a time, is never waited for. The file locked is that of the data: who shares one
shares the other. LMDB's own locks are `fcntl` locks of its lock file and know nothing of this one.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Between two looks whether it is our turn: about what a change in memory takes.
_LOOK_AGAIN_S: Final = 50e-6

_IF_FREE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class WriteLock:
    """The right to write the file `path`; for one thread, as a `flock` belongs to an open file."""

    def __init__(self, path: Path) -> None:
        """Raises OSError: there is no such file, or it cannot be read."""
        self._path = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def held(self, patience: float | None = None) -> Iterator[None]:
        """`take` the turn, and keep it within the block."""
        self.take(patience)
        try:
            yield
        finally:
            self.leave()

    def take(self, patience: float | None = None) -> None:
        """Wait for the turn; `leave` gives it to the next.

        A wait without `patience` is woken when the turn comes; one with it looks again and again.

        Raises:
            TimeoutError: it did not come within `patience` seconds.
        """
        if patience is None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            return
        try:
            fcntl.flock(self._file, _IF_FREE)
        except BlockingIOError:
            self._look_again(patience)

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def _look_again(self, patience: float) -> None:
        until = time.monotonic() + patience
        while True:
            time.sleep(_LOOK_AGAIN_S)
            try:
                fcntl.flock(self._file, _IF_FREE)
                return
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise TimeoutError(
                        f"{self._path} was being written by other processes for {patience:g} s; "
                        "see whether one of them is stopped"
                    ) from None

    def close(self) -> None:
        os.close(self._file)
