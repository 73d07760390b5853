"""Locks on folders in DATA: one writer at a time, and no generation is removed while a process reads it.

All locks are `flock` on the folder itself, so the system releases them when the process ends, however it ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shards.errors import GenerationError

# The file with the process id of the writer. The lock itself is on the folder.
HOLDER: Final = ".lock"


@contextmanager
def write_lock(data: Path) -> Iterator[None]:
    """Exclude every other build, publication, rollback and mirror in `data`.

    Raises:
        GenerationError: another process has the lock; the message has its id.
    """
    data.mkdir(parents=True, exist_ok=True)
    holder = data / HOLDER
    descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock_folder(descriptor, data)
        holder.write_text(f"{os.getpid()}\n")
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _lock_folder(descriptor: int, data: Path) -> None:
    """Lock the open folder, or raise an error that names the process with the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        try:
            holder = (data / HOLDER).read_text().strip()
        except OSError:  # the other process is just starting or ending
            holder = "?"
        raise GenerationError(
            f"another build or rollback is under way in {data}, by process {holder}; "
            "wait for its end, or name another folder"
        ) from error


class ReadLock:
    """A lock that prevents the removal of a folder, from its construction until `end`."""

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            GenerationError: the folder is gone, or is being removed.
        """
        try:
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise GenerationError(f"there is no folder {folder}; name one that exists") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.end()
            raise GenerationError(
                f"{folder} is being removed; take the published generation, or try again"
            ) from error
        except OSError:
            pass  # a file system without locks, such as some network shares: read without a lock

    def end(self) -> None:
        """Release the lock; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def removal_lock(folder: Path) -> Iterator[bool]:
    """Yield whether no process reads `folder`; if so, no process can begin to read it inside the block."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_unread = True
    except BlockingIOError:
        is_unread = False
    try:
        yield is_unread
    finally:
        os.close(descriptor)
