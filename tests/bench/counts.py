"""`python -m tests.bench.counts DATA`: the cost of counts (X3), completions and near words (X4), in process.

Times are of the thread's processor and of the wall, in milliseconds; the former hold on a busy machine, too. Counts
are of random searches of all kinds of the bench, one dimension at a time. Completions are of all texts of one and two
letters; names with a wrong letter are corrected.
"""

import argparse
import random
import string
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from shards.query import Query, Range
from shards.search.distribution import DIMENSIONS, distributions
from shards.search.search import UNLIMITED, ShardSet
from shards.suggest import proposals, suggestions
from tests.bench.candidate import Candidate
from tests.bench.questions import mix, values
from tests.bench.questions.question import Question

Times = tuple[float, float]

_NAMES: Final = 200
_LARGE: Final = (
    Query(q="a"),
    Query(etats=("active",)),
    Query(ranges=(Range("creation", 20000101),)),
    Query(ranges=(Range("ca_eur", 0),)),
)
_COMPLETIONS: Final[Sequence[tuple[Callable[..., object], int]]] = (
    (suggestions.companies, 8), (suggestions.words, 5), (suggestions.towns, 5),
)  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.counts")
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument("--searches", metavar="N", type=int, default=10, help="random, of a kind")
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| what | questions | processor p50 | p99 | max | wall p99 | max |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    with Candidate(options.data) as candidate:
        chance = random.Random(options.seed)
        sample = values.sample(candidate.generation, chance)
        asked = mix.questions(sample, chance, options.searches)
        base = candidate.generation.shards
        _counts(base, [question.query for question in asked])
        _completions(base)
        _near(base, chance)


def _counts(base: ShardSet, queries: Sequence[Query]) -> None:
    for name in DIMENSIONS:
        distributions(base, Query(), [name], UNLIMITED)  # what slots share is found once
    for what, asked in (("the whole base", [Query()]), ("searches that keep most of it", _LARGE)):
        _row(
            f"one distribution of {what}", [_counted(base, q, n) for q in asked for n in DIMENSIONS]
        )
    for query in _LARGE:
        text = Question("", "", query).text
        _row(
            f"all ten of {text}",
            [_times(partial(distributions, base, query, DIMENSIONS, UNLIMITED))],
        )
    for name in DIMENSIONS:
        _row(f"`par={name}` of random searches", [_counted(base, q, name) for q in queries])


def _counted(base: ShardSet, query: Query, name: str) -> Times:
    return _times(partial(distributions, base, query, [name], UNLIMITED))


def _completions(base: ShardSet) -> None:
    for size in (1, 2):
        texts = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=size)]
        for complete, most in _COMPLETIONS:
            times = [_times(partial(complete, base, text, (), most)) for text in texts]
            _row(f"{complete.__name__} that complete {size} letters", times)


def _near(base: ShardSet, chance: random.Random) -> None:
    queries = [Query(q=q) for q in _misspelt(base, chance)]
    times = [_times(partial(proposals.nearest_texts, base, query)) for query in queries]
    _row("what a misspelt name may have meant", times)


def _misspelt(base: ShardSet, chance: random.Random) -> Iterator[str]:
    """Two words of the names of a company, one of them with one letter changed."""
    shards = [shard for shard in base.values() if shard.rows]
    made = 0
    while made < _NAMES:
        shard = chance.choice(shards)
        words = str(shard.company(chance.randrange(shard.rows))["nom"]).split()[:2]
        at = chance.randrange(len(words))
        if len(words[at]) < 5:
            continue
        letter = chance.randrange(len(words[at]))
        words[at] = words[at][:letter] + chance.choice("kwxyz") + words[at][letter + 1 :]
        made += 1
        yield " ".join(words)


def _times(call: Callable[[], object]) -> Times:
    """Milliseconds of the processor and of the wall; the second of two calls."""
    call()
    wall, processor = time.perf_counter(), time.thread_time()
    call()
    return 1e3 * (time.thread_time() - processor), 1e3 * (time.perf_counter() - wall)


def _row(what: str, times: Sequence[Times]) -> None:
    processor, wall = np.array(times).T
    shown = [*np.quantile(processor, (0.5, 0.99, 1)), *np.quantile(wall, (0.99, 1))]
    print(
        f"| {what} | {len(times)} | " + " | ".join(f"{one:.2f}" for one in shown) + " |", flush=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])
