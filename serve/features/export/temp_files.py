"""The temporary files of exports, in one folder per serving process.

Each serving process locks a folder of its own below the spool and removes it at its end. The folder of
a killed process has no lock any more, and the next process that starts removes it. So no file
outlives its process for long, whichever process died. The folder also has a note for each export under
way, an empty file: the notes of dead processes say which exports ended with them.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "serveur-"
_NOTE: Final = ".note"


class TempFiles:
    """The folder of this process below `root`, from `open` or the first `folder` until `close`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None
        self._lock = -1

    def open(self) -> Sequence[str]:
        """Remove the folders of dead processes, and make the folder of this one; return their notes.

        Raises:
            OSError: the folder cannot be made.
        """
        notes: list[str] = []
        if self._own is not None and not self._own.is_dir():  # a cleaner has removed it
            os.close(self._lock)
            self._own = None
        if self._own is not None:
            return notes
        self._root.mkdir(parents=True, exist_ok=True)
        # Without the lock on `root`, another process could remove the new folder before it is locked.
        with _hold_lock(self._root):
            for other in self._root.glob(f"{_PREFIX}*"):
                notes += _remove_if_dead(other)
            own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._root))
            self._lock = os.open(own, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._own = own
        return notes

    def folder(self) -> Path:
        """Make an empty folder, which the caller removes.

        Raises:
            OSError: the folder cannot be made.
        """
        self.open()
        assert self._own is not None
        return Path(tempfile.mkdtemp(dir=self._own))

    def note(self, name: str) -> None:
        """Leave a note, until `forget` or `close`. Raises OSError."""
        self.open()
        assert self._own is not None
        (self._own / f"{name}{_NOTE}").touch()

    def forget(self, name: str) -> None:
        """Remove a note. Raises OSError."""
        if self._own is not None:
            (self._own / f"{name}{_NOTE}").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder of this process and its content."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_if_dead(folder: Path) -> list[str]:
    """Remove the folder of a process that is dead; return its notes."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # whoever else writes to the spool has left something of that name
        return []
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        notes = [path.name.removesuffix(_NOTE) for path in folder.glob(f"*{_NOTE}")]
        shutil.rmtree(folder, ignore_errors=True)
        return notes
    except BlockingIOError:
        return []  # its process lives
    finally:
        os.close(lock)
