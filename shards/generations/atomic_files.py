"""Files that appear whole, and stay: written under another name, synced, then renamed."""

import os
import shutil
from pathlib import Path
from typing import Final

PARTIAL: Final = ".partial"
# Folders that are being put together begin like this; what a dead process left of them, the next
# build removes.
STAGED: Final = ".partial-"


def write(path: Path, content: bytes) -> None:
    """Write a whole file in the place of whatever was there."""
    partial = path.with_name(path.name + PARTIAL)
    partial.write_bytes(content)
    appear(partial, path)


def appear(partial: Path, path: Path) -> None:
    """Give what is complete its name, once it is on the disk."""
    sync(partial)
    partial.replace(path)
    sync(path.parent)


def link(path: Path, to: Path) -> None:
    """Let `to` be the same file, or a copy where the file system knows no links."""
    try:
        os.link(path, to)
    except OSError:
        partial = to.with_name(to.name + PARTIAL)
        shutil.copyfile(path, partial)
        sync(partial)
        partial.replace(to)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle(staged: Path, folder: Path) -> None:
    """Give a finished folder its name, once all that is in it is on the disk."""
    for path in staged.iterdir():
        sync(path)
    sync(staged)
    staged.chmod(0o755)  # mkdtemp's 0700 would keep the server's user out
    staged.rename(folder)
    sync(folder.parent)
