"""The same random searches by several versions of the code, in turn: the measurement of `guard`.

Each version is a checkout with its own `.venv`, and a process that opens a generation of its format. All
get the same searches, in a new order and with another version first each round. They must agree on each total and on
the number of rows. The least time of each search counts, so that ratios hold on a busy machine, too.
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

# Run in each checkout: it knows nothing of this module, which an older version does not have.
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
    """A process of one version, with the least time of each search so far."""

    def __init__(self, checkout: Path, data: Path, questions: Path, stack: ExitStack) -> None:
        command = [str(checkout / ".venv/bin/python"), "-c", _WORKER, str(data), str(questions)]
        self._process = stack.enter_context(
            subprocess.Popen(
                command, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(self._process.kill)
        self.least: dict[int, int] = {}
        if self._line() != ["ready"]:
            raise SystemExit(f"{checkout} cannot search {data}; has it a .venv of its own?")

    def search(self, number: int) -> list[str]:
        """Ask for a search; keep its time, return the total and the bytes of its rows."""
        assert self._process.stdin
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        spent, *answer = self._line()
        self.least[number] = min(int(spent), self.least.get(number, sys.maxsize))
        return answer

    def _line(self) -> list[str]:
        assert self._process.stdout
        return self._process.stdout.readline().split()


def search_in_turn(
    versions: Sequence[tuple[Path, Path]], searches: int, rounds: int, seed: int
) -> tuple[list[Question], list[dict[int, int]]]:
    """Ask versions, each a checkout with its DATA, `searches` random searches a class, `rounds` times.

    Returns the searches, and of each version the least nanoseconds of each search, by number.

    Raises:
        SystemExit: answers differ.
    """
    chance = random.Random(seed)
    places = [(checkout.resolve(), data.resolve()) for checkout, data in versions]
    with Candidate(places[-1][1]) as candidate:
        known = values.sample(candidate.generation, chance)
        questions = mix.questions(known, chance, searches)
    with ExitStack() as stack:
        file = places[-1][1].parent / f".versions-{seed}.json"
        stack.callback(lambda: file.unlink(missing_ok=True))
        file.write_text(json.dumps([(asdict(q.query), q.offset, q.limit) for q in questions]))
        open_versions = [_Version(checkout, data, file, stack) for checkout, data in places]
        for _ in range(rounds):
            for number in chance.sample(range(len(questions)), len(questions)):
                turn = chance.sample(open_versions, len(open_versions))
                first, *others = [version.search(number) for version in turn]
                if any(other != first for other in others):
                    raise SystemExit(f"answers differ: {first}, {others}: {questions[number]}")
        return questions, [version.least for version in open_versions]


def by_class(questions: Sequence[Question]) -> dict[str, list[int]]:
    """The numbers of the searches of each class."""
    classes: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        classes[question.kind].append(number)
    return classes
