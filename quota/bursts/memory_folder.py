"""The folders for a file that the processes of a host share in memory and that may be lost.

The first choice is a folder in /dev/shm that belongs to one STATE folder. If /dev/shm is absent, or
cannot be used, a folder inside STATE replaces it, named after this boot: a file that was never
synced must not be opened again after a power cut.

Anybody may write to /dev/shm, and leave there whatever hangs or misleads who opens it: a pipe, a link, a
file without an end. So only folders that belong to this user, and that nobody else may write to, are
looked into; and there only whole small files are read, without waiting.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATE: Final = "state"  # a file with the path of the STATE folder that a folder belongs to
_LONGEST: Final = 4_096  # bytes of such a path (PATH_MAX)
# Neither through a link nor waiting for the other end of a pipe.
_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folders(state: Path, memory: Path) -> Iterator[Path]:
    """The folders to try, in this order: in `memory` if possible, then in the STATE folder.

    Raises:
        OSError: the STATE folder cannot be written.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = str(state.resolve())
    family = f"societes-debit-{os.getuid()}-"
    folder = memory / f"{family}{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    if memory.is_dir() and os.access(memory, os.W_OK) and _is_ours(folder):
        with contextlib.suppress(OSError):
            _write(folder / _STATE, name)
        for other in memory.glob(f"{family}*"):
            _remove_if_abandoned(other)
        yield folder
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else "boot"
    folder = state / f"debit-{boot}"
    folder.mkdir(exist_ok=True, mode=0o700)
    yield folder


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder whose STATE folder was deleted: nothing else frees memory."""
    # Another process may be removing it, too.
    with contextlib.suppress(OSError):
        if _is_private(folder) and not Path(_read(folder / _STATE)).exists():
            shutil.rmtree(folder)


def _read(path: Path) -> str:
    """The text of a small file. Raises OSError: it is none."""
    with os.fdopen(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file; remove it")
        text = file.read(_LONGEST + 1)
    if not 0 < len(text) <= _LONGEST:
        raise OSError(f"{path} has not from 1 to {_LONGEST} bytes; remove it")
    return os.fsdecode(text)


def _write(path: Path, text: str) -> None:
    """Write a small file anew. Raises OSError: something else has its name."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | _FLAGS, 0o600), "wb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file; remove it")
        file.truncate()
        file.write(os.fsencode(text))


def _is_ours(folder: Path) -> bool:
    """Create the folder; False if another user, who may write to /dev/shm too, made it first."""
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        return _is_private(folder)
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """Is it a folder of this user that nobody else may write to? Raises OSError."""
    status = folder.lstat()
    is_folder, others = stat.S_ISDIR(status.st_mode), status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_folder and status.st_uid == os.getuid() and not others
