"""Files that appear complete and durable: written under another name, synced, then renamed."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

# The suffix of the names of unfinished files.
PARTIAL: Final = ".partial"
# The prefix of the names of unfinished folders. The next build removes the folders of dead processes.
STAGED: Final = ".partial-"


def write(path: Path, content: bytes) -> None:
    """Replace the file at `path`, or create it; a reader never sees a part of `content`."""
    partial = path.with_name(path.name + PARTIAL)
    partial.write_bytes(content)
    rename_synced_file(partial, path)


def rename_synced_file(partial: Path, path: Path) -> None:
    """Rename the complete file `partial` to `path`; contents and name are on disk afterwards."""
    replace(partial, path)
    sync(path.parent)


def replace(partial: Path, path: Path) -> None:
    """Rename the complete file `partial` to `path`; the caller syncs the folder."""
    sync(partial)
    partial.replace(path)


def link(path: Path, to: Path) -> None:
    """Make `to` a hard link to `path`, or a copy if the file system has no hard links."""
    try:
        os.link(path, to)
    except OSError:
        partial = to.with_name(to.name + PARTIAL)
        shutil.copyfile(path, partial)
        replace(partial, to)


def relink(path: Path, to: Path) -> None:
    """Replace the file `to`, which has the content of `path`, by a hard link to `path`, which saves disk space.

    Nothing changes if the file system has no hard links.
    """
    partial = to.with_name(to.name + PARTIAL)
    with suppress(OSError):
        os.link(path, partial)
        partial.replace(to)


def rename_synced_folder(staged: Path, folder: Path) -> None:
    """Rename the finished folder `staged` to `folder`; all its files are synced to disk first."""
    for path in staged.iterdir():
        sync(path)
    sync(staged)
    staged.chmod(0o755)  # the 0700 of mkdtemp would exclude the user of the server
    staged.rename(folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
