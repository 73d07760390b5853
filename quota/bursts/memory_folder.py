"""The folders for a file that the processes of a host share in memory and that may be lost.

The first choice is a folder in /dev/shm that belongs to one STATE folder. If /dev/shm is absent, or
cannot be used, a folder inside STATE replaces it, named after this boot: a file that was never
synced must not be opened again after a power cut.
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
            (folder / _STATE).write_text(name, encoding="utf-8")
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
        if not Path((folder / _STATE).read_text(encoding="utf-8")).exists():
            shutil.rmtree(folder)


def _is_ours(folder: Path) -> bool:
    """Create the folder; False if another user, who may write to /dev/shm too, made it first."""
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError:
        return False
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
