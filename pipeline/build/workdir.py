"""The folder of a build under way, `DATA/.building`: countries that are done, room for work.

It outlives a build that fails or dies, so that the next one takes the countries that are done
(resume.py says which of them are still good) and begins with the others; a build that succeeds
leaves nothing. There is one build at a time: two would each take the other's files for their own.
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
    """`done` has a shard and a receipt of each country that is done; `work` ends with the build."""

    done: Path
    work: Path


@contextmanager
def opened(out: Path) -> Iterator[WorkFolder]:
    """The workshop of a build into `out`, made where it is not there.

    Raises:
        GenerationError: another build is under way in `out`.
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
