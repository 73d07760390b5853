"""`python -m tests.bench.versions CHECKOUT --data DATA`: the searches of two versions of the code, in turn.

CHECKOUT is another checkout of this project with its own `.venv`. A process of each version opens the same generation
(`--data-before`: one of its own format, built from the same input) and is asked the same random searches, one after the
other, in a new order and with another first each round. Both must find the same total, and as many rows. A ratio is
that of the least times, so it holds on a busy machine too.
"""

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

from tests import ROOT
from tests.bench.candidate import Candidate
from tests.bench.questions import mix, values
from tests.bench.questions.question import Question

# Run in each checkout: it knows nothing of this module, which an older version does not have.
_WORKER: Final = """
import gc, json, sys, time
from pathlib import Path
from shards import query as queries
from tests.bench.candidate import Candidate
from tests.bench.questions.question import Question

def read(ranges, **fields):
    fields = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    if hasattr(queries, "Range"):
        return queries.Query(**fields, ranges=tuple(queries.Range(*one) for one in ranges))
    # An older version has two fields a column.
    names = {"ca_eur": "ca", "effectif": "effectif", "creation": "cree", "actif_eur": "actif"}
    for column, least, most in ranges:
        fields |= {f"{names[column]}_min": least, f"{names[column]}_max": most}
    return queries.Query(**fields)

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


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    versions = [(options.checkout, options.data_before or options.data), (ROOT, options.data)]
    questions, (before, after) = search_in_turn(
        versions, options.searches, options.rounds, options.seed
    )
    _print(questions, before, after)
    return 0


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


def _print(questions: Sequence[Question], before: dict[int, int], after: dict[int, int]) -> None:
    """A line per class of searches: medians in microseconds, and the ratio of the sums."""
    classes = by_class(questions)
    print(
        f"{'class':44}{'before p50 / p99 / max µs':>28}{'after p50 / p99 / max µs':>28}{'ratio':>8}"
    )
    for kind, numbers in {**classes, "all": list(before)}.items():
        old, new = [before[n] for n in numbers], [after[n] for n in numbers]
        print(f"{kind:44}{_spread(old):>28}{_spread(new):>28}{sum(new) / sum(old):>8.3f}")


def _spread(times: Sequence[int]) -> str:
    """Median, 99th percentile and maximum of nanoseconds, in microseconds."""
    ordered = sorted(times)
    return " / ".join(
        f"{time / 1e3:,.0f}"
        for time in (median(ordered), ordered[int(0.99 * len(ordered))], ordered[-1])
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.versions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="of the version before")
    parser.add_argument("--data", type=Path, metavar="DATA", required=True, help="built already")
    parser.add_argument("--data-before", type=Path, metavar="DATA", help="of CHECKOUT's format")
    parser.add_argument("--searches", type=int, default=20, metavar="N", help="random, per class")
    parser.add_argument("--rounds", type=int, default=12, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
