"""Locks on folders of DATA: one writer at a time, and nothing is removed that somebody reads.

All are of `flock` on the folder itself: they end with the process that holds them, however it
ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shards.errors import GenerationError

# Says who holds the folder beside it; the lock itself is on the folder.
HOLDER: Final = ".lock"


@contextmanager
def write_lock(data: Path) -> Iterator[None]:
    """Be the only one who builds, publishes or rolls back in `data`.

    Raises:
        GenerationError: another process is; the message has its id.
    """
    data.mkdir(parents=True, exist_ok=True)
    holder = data / HOLDER
    descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _take(descriptor, data)
        holder.write_text(f"{os.getpid()}\n")
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _take(descriptor: int, data: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        try:
            holder = (data / HOLDER).read_text().strip()
        except OSError:  # it has just begun, or is just done
            holder = "?"
        raise GenerationError(
            f"another build or rollback is under way in {data}, by process {holder}; "
            "wait for its end, or name another folder"
        ) from error


class ReadLock:
    """Keeps a folder from being removed, from now until `end`."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            GenerationError: the folder is gone, or is being removed.
        """
        try:
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise GenerationError(f"there is no folder {folder}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.end()
            raise GenerationError(f"{folder} is being removed") from error
        except OSError:
            pass  # a file system without locks: its folders are removed by nobody or by time

    def end(self) -> None:
        """Twice is once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def removal_lock(folder: Path) -> Iterator[bool]:
    """Whether `folder` may be removed now: nobody reads it, and nobody begins to within."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except BlockingIOError:
        free = False
    try:
        yield free
    finally:
        os.close(descriptor)
