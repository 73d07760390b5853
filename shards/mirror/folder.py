"""A mirror source in a folder of this machine: a mounted disk, a network share, another DATA."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from shards.mirror.errors import AbsentError, FaultError
from shards.mirror.source import Body

_PIECE: Final = 1 << 20
_IRREGULAR: Final = "{} is no regular file; put the file itself there"


class Folder:
    """The folder DATA at `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        return str(self._root)

    def is_at(self, folder: Path) -> bool:
        """Whether this source is that folder."""
        return self._root.resolve() == folder.resolve()

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Body]:
        where = self._root / path
        try:
            file = _open_regular(where)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise AbsentError(f"{where} is not there") from error
        except OSError as error:
            raise _fault(where, error) from error
        with file:
            file.seek(start)
            yield Body(start, _pieces(file, where))


def _open_regular(where: Path) -> IO[bytes]:
    """Open a regular file, without following a link and without waiting for the writer of a FIFO.

    Raises:
        FaultError: it is no regular file.
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            raise
        raise FaultError(_IRREGULAR.format(where)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FaultError(_IRREGULAR.format(where))
    return os.fdopen(descriptor, "rb")


def _pieces(file: IO[bytes], where: Path) -> Iterator[bytes]:
    try:
        while piece := file.read(_PIECE):
            yield piece
    except OSError as error:
        raise _fault(where, error) from error


def _fault(where: Path, error: OSError) -> FaultError:
    """The error for a share that is away, a disk that fails, or missing permissions."""
    return FaultError(f"{where} cannot be read: {error.strerror or error}")
