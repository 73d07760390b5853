"""The same random searches by several versions of the code, alternately: the measurement of `guard`.

Each version is a checkout with its own `.venv`, and a process that opens a generation of its format. All versions run
the same searches, in a new random order each round. They must agree on each total and on the number of rows. The least
time of each search counts, so that ratios are also reliable on a busy machine.
"""

import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.bench.candidate import Candidate
from tests.bench.questions import mix, values
from tests.bench.questions.question import Question

# Run in each checkout. It does not import this module, which an older version may not have.
_WORKER: Final = """
import gc, json, sys, time
from pathlib import Path
from shards.query import Query, Range
from tests.bench.candidate import Candidate
from tests.bench.questions.question import Question

def read(ranges, **fields):
    fields = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    return Query(**fields, ranges=tuple(Range(*bounds) for bounds in ranges))

candidate = Candidate(Path(sys.argv[1]))
questions = [
    Question("", "", read(**query), offset, limit)
    for query, offset, limit in json.loads(Path(sys.argv[2]).read_text())
]
gc.collect()
gc.freeze()
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter_ns()
    answer = candidate.search(questions[int(line)])
    spent = time.perf_counter_ns() - start
    print(spent, answer.total, len(answer.rows), flush=True)
"""


class _Version:
    """A process that runs the searches with one version of the code, and the least time of each search so far."""

    def __init__(self, checkout: Path, data: Path, questions: Path, stack: ExitStack) -> None:
        """Start the process in `checkout`; wait until it has opened DATA and read the questions."""
        command = [str(checkout / ".venv/bin/python"), "-c", _WORKER, str(data), str(questions)]
        self._process = stack.enter_context(
            subprocess.Popen(
                command, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(self._process.kill)
        self.least_ns: dict[int, int] = {}  # by the number of the search
        if self._read_line() != ["ready"]:
            raise SystemExit(
                f"{checkout} cannot search {data}; check its .venv, and the format of the generation"
            )

    def search(self, number: int) -> list[str]:
        """Run a search and update its least time; return its total and its number of rows, as text."""
        assert self._process.stdin
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        spent, *answer = self._read_line()
        self.least_ns[number] = min(int(spent), self.least_ns.get(number, sys.maxsize))
        return answer

    def _read_line(self) -> list[str]:
        """The words of the next line that the process prints."""
        assert self._process.stdout
        return self._process.stdout.readline().split()


def search_alternately(
    versions: Sequence[tuple[Path, Path]], searches: int, rounds: int, seed: int
) -> tuple[list[Question], list[dict[int, int]]]:
    """Run each random search in all versions, one after another in a random order.

    Args:
        versions: checkouts, each with a DATA folder of its format.
        searches: the number of random searches per class.

    Returns:
        The searches, and for each version the least nanoseconds of each search, by number.

    Raises:
        SystemExit: answers differ.
    """
    chance = random.Random(seed)
    folders = [(checkout.resolve(), data.resolve()) for checkout, data in versions]
    with Candidate(folders[-1][1]) as candidate:
        sample = values.sample(candidate.generation, chance)
        questions = mix.questions(sample, chance, searches)
    with ExitStack() as stack:
        file = folders[-1][1].parent / f".versions-{seed}.json"
        stack.callback(lambda: file.unlink(missing_ok=True))
        file.write_text(json.dumps([(asdict(q.query), q.offset, q.limit) for q in questions]))
        open_versions = [_Version(checkout, data, file, stack) for checkout, data in folders]
        for _ in range(rounds):
            for number in chance.sample(range(len(questions)), len(questions)):
                order = chance.sample(open_versions, len(open_versions))
                first_answer, *other_answers = [version.search(number) for version in order]
                if any(answer != first_answer for answer in other_answers):
                    raise SystemExit(
                        f"answers differ: {first_answer}, {other_answers}: {questions[number]}"
                    )
        return questions, [version.least_ns for version in open_versions]


def group_by_class(questions: Sequence[Question]) -> dict[str, list[int]]:
    """The numbers of the searches of each class."""
    classes: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        classes[question.kind].append(number)
    return classes
