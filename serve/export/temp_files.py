"""Where workbooks grow until they are sent: folders that nobody finds again.

Each serving process has a folder of its own below the spool, which it holds by a lock; what is in
it goes with it. A process that was killed leaves its folder without a lock, and the next one that
starts takes it away. So there is never a file of nobody's, whatever died.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "serveur-"


class TempFiles:
    """The folder of this process below `root`, from the first `folder` on until `close`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None
        self._lock = -1

    def open(self) -> None:
        """Take away what dead processes left, and make a folder for this one.

        Raises:
            OSError: it cannot be made.
        """
        if self._own is not None:
            return
        self._root.mkdir(parents=True, exist_ok=True)
        # Between making a folder and holding it, nobody else may look.
        with _held(self._root):
            for other in self._root.glob(f"{_PREFIX}*"):
                _remove_if_dead(other)
            own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._root))
            self._lock = os.open(own, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._own = own

    def folder(self) -> Path:
        """A new and empty folder; whoever asks for it removes it.

        Raises:
            OSError: it cannot be made.
        """
        self.open()
        assert self._own is not None
        return Path(tempfile.mkdtemp(dir=self._own))

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_if_dead(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its process lives
    finally:
        os.close(lock)
