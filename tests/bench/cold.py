"""The first search after a reboot: nothing of the shards is in memory.

Before each question the generation is opened again, after the shards were dropped from the page
cache. The kernel keeps pages that a process has mapped, so no other process may have the shards open
(a server on the same files spoils the figure). The time is that of the search, without opening.

`python -m tests.bench.cold DATA`: the first two answers of a server that has just been started so, of one worker,
while it reads the shards and analyses the base.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.bench.candidate import Candidate
from tests.bench.questions.question import Question
from tests.bench.served import get, serving

_STARTS: Final = 3
_FILTERS: Final = ("pays=FR", "", "q=transport", "q=a%20agr")


def main(data: Path) -> None:
    with Candidate(data) as candidate:
        files = candidate.files
    print("| GET, ms: the first, a second one | " + " | ".join(["start"] * _STARTS) + " |")
    print("| --- |" + " --- |" * _STARTS)
    for filters in _FILTERS:
        cells = [" ".join(_first_answers(data, files, filters)) for _ in range(_STARTS)]
        print(f"| societes?{filters} | {' | '.join(cells)} |", flush=True)


def _first_answers(data: Path, files: Sequence[Path], filters: str) -> list[str]:
    """Milliseconds of two answers, of different pages."""
    for file in files:
        forget(file)
    told = []
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(data, Path(folder, "state"), "--workers", "1") as server,
    ):
        for limit in (50, 49):
            start = time.perf_counter()
            get(server, f"societes?limit={limit}&{filters}", {})
            told.append(f"{(time.perf_counter() - start) * 1e3:.0f}")
    return told


def cold(data: Path, files: Sequence[Path], questions: Sequence[Question]) -> dict[str, float]:
    """Milliseconds of each question, by its kind; the generation of `data` must be closed."""
    found = {}
    for question in questions:
        for path in files:
            forget(path)
        with Candidate(data) as candidate:
            start = time.perf_counter()
            candidate.search(question)
            found[question.kind] = round((time.perf_counter() - start) * 1e3, 3)
    return found


def touch(files: Sequence[Path]) -> None:
    """Read the files once, so that they are in memory as far as they fit."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def forget(path: Path) -> None:
    """Drop a file that no process has mapped from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    main(Path(sys.argv[1]))
