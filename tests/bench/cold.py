"""The first search after a reboot, with no page of the shards in memory.

Before each question the shards are dropped from the page cache, and the generation is opened again. The kernel does not
drop pages that a process has mapped, so no other process may have the shards open (a server on the same files spoils
the figure). The time is of the search, without opening.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.candidate import Candidate
from tests.bench.questions.question import Question


def search_cold(
    data: Path, files: Sequence[Path], questions: Sequence[Question]
) -> dict[str, float]:
    """Milliseconds of each question by its kind, each from disk; the generation of `data` must be closed."""
    times = {}
    for question in questions:
        for path in files:
            _forget(path)
        with Candidate(data) as candidate:
            start = time.perf_counter()
            candidate.search(question)
            times[question.kind] = round((time.perf_counter() - start) * 1e3, 3)
    return times


def touch(files: Sequence[Path]) -> None:
    """Read the files once, so that they are in memory as far as they fit."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def _forget(path: Path) -> None:
    """Drop a file that no process has mapped from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
