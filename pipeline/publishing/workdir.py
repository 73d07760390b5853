"""The work folder of a build, `DATA/.building`: finished countries and temporary files.

The folder outlives a build that fails or dies, so that the next build takes the finished countries
(`resume` checks them) and builds the others. A build that succeeds removes it. A lock admits one
build at a time.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shards.generations import locks

FOLDER: Final = ".building"


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """`done` holds the shards and receipts of finished countries; `work` is for temporary files."""

    done: Path
    work: Path


@contextmanager
def open_workdir(out: Path) -> Iterator[WorkFolder]:
    """Lock `out` and make the work folder of a build.

    Raises:
        GenerationError: another build runs in `out`.
    """
    with locks.write_lock(out):
        folder = out / FOLDER
        done = folder / "done"
        done.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("work-*"):
            shutil.rmtree(left)
        work = Path(tempfile.mkdtemp(prefix="work-", dir=folder))
        try:
            yield WorkFolder(done, work)
        except BaseException:
            shutil.rmtree(work)
            if not any(done.iterdir()):
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)
