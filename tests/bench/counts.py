"""`python -m tests.bench.counts DATA`: the cost of counts (X3), completions and near words (X4), in process.

Times are of the thread's processor and of the wall, in milliseconds; the former hold on a busy machine, too. Counts are of
random searches of all kinds of the bench, whose dimensions are each asked for alone. Completions are of all texts of
one and two letters, words of names with one error for what may have been meant.
"""

import argparse
import random
import string
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from shards.query import Query
from shards.search.counts.distribution import DIMENSIONS, distributions
from shards.search.proposals import spelling, suggestions
from shards.search.search import UNLIMITED, Base
from tests.bench.candidate import Candidate
from tests.bench.questions import mix, values

_NAMES: Final = 200


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


def _counts(base: Base, queries: Sequence[Query]) -> None:
    for name in DIMENSIONS:
        distributions(base, Query(), [name], UNLIMITED)  # what slots share is found once
    whole = [
        _times(lambda n=name: distributions(base, Query(), [n], UNLIMITED)) for name in DIMENSIONS
    ]  # type: ignore[misc]
    _row("one distribution of the whole base", whole)
    for name in DIMENSIONS:
        found = [
            _times(lambda q=query, n=name: distributions(base, q, [n], UNLIMITED))
            for query in queries
        ]  # type: ignore[misc]
        _row(f"`par={name}` of random searches", found)


def _completions(base: Base) -> None:
    letters = string.ascii_lowercase
    for size in (1, 2):
        texts = ["".join(pair) for pair in product(letters, repeat=size)]
        for what, complete in (
            ("companies", lambda text: suggestions.companies(base, text, (), 8)),
            ("words", lambda text: suggestions.words(base, text, (), 5)),
            ("towns", lambda text: suggestions.towns(base, text, (), 5)),
        ):
            times = [_times(lambda t=text, c=complete: c(t)) for text in texts]  # type: ignore[misc]
            _row(f"{what} that complete {size} letters", times)


def _near(base: Base, chance: random.Random) -> None:
    misspelt = [Query(q=q) for q in _misspelt(base, chance)]
    _row(
        "what a misspelt name may have meant",
        [_times(lambda q=query: spelling.nearest(base, q)) for query in misspelt],
    )  # type: ignore[misc]


def _misspelt(base: Base, chance: random.Random) -> Iterator[str]:
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


def _times(call: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the processor and of the wall; the second of two calls."""
    call()
    wall, processor = time.perf_counter(), time.thread_time()
    call()
    return 1e3 * (time.thread_time() - processor), 1e3 * (time.perf_counter() - wall)


def _row(what: str, times: Sequence[tuple[float, float]]) -> None:
    processor, wall = np.array(times).T
    shown = [*np.quantile(processor, (0.5, 0.99, 1)), *np.quantile(wall, (0.99, 1))]
    print(
        f"| {what} | {len(times)} | " + " | ".join(f"{one:.2f}" for one in shown) + " |", flush=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])
