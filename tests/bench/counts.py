"""`python -m tests.bench.counts DATA`: the cost of counts (X3), completions and near words (X4), in process.

Times are processor time of the thread and wall time, in milliseconds; processor time is also reliable on a busy
machine. Counts are of random searches of all kinds of the bench, one dimension at a time. Completions are of all texts
of one and two letters, near words of names with one wrong letter.
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

Times = tuple[float, float]  # milliseconds: processor time, wall time

_NAMES: Final = 200  # misspelt names
# Searches that most companies match.
_LARGE: Final = (
    Query(q="a"),
    Query(etats=("active",)),
    Query(ranges=(Range("creation", 20000101),)),
    Query(ranges=(Range("ca_eur", 0),)),
)
# Each completion, with the number of proposals that the server requests.
_COMPLETIONS: Final[Sequence[tuple[Callable[..., object], int]]] = (
    (suggestions.companies, 8), (suggestions.words, 5), (suggestions.towns, 5),
)  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Print the table of all measurements."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.counts")
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument(
        "--searches", metavar="N", type=int, default=10, help="random searches per kind"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| measurement | questions | processor p50 | p99 | max | wall p99 | max |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    with Candidate(options.data) as candidate:
        chance = random.Random(options.seed)
        sample = values.sample(candidate.generation, chance)
        questions = mix.questions(sample, chance, options.searches)
        base = candidate.generation.shards
        _print_counts(base, [question.query for question in questions])
        _print_completions(base)
        _print_near_words(base, chance)


def _print_counts(base: ShardSet, queries: Sequence[Query]) -> None:
    """Print the times of distributions (X3) by kind of search and by dimension."""
    for name in DIMENSIONS:
        distributions(base, Query(), [name], UNLIMITED)  # fills the memos
    for scope, scope_queries in (
        ("the whole base", [Query()]),
        ("searches with most companies", _LARGE),
    ):
        _print_row(
            f"one distribution of {scope}",
            [_time_counts(base, q, n) for q in scope_queries for n in DIMENSIONS],
        )
    for query in _LARGE:
        text = Question("", "", query).text
        _print_row(
            f"all ten of {text}",
            [_time_second_call(partial(distributions, base, query, DIMENSIONS, UNLIMITED))],
        )
    for name in DIMENSIONS:
        _print_row(
            f"`par={name}` of random searches", [_time_counts(base, q, name) for q in queries]
        )


def _time_counts(base: ShardSet, query: Query, name: str) -> Times:
    """The times of the distribution of a search by one dimension."""
    return _time_second_call(partial(distributions, base, query, [name], UNLIMITED))


def _print_completions(base: ShardSet) -> None:
    """Print the times of completing every text of one and of two letters (X4)."""
    for size in (1, 2):
        texts = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=size)]
        for complete, most in _COMPLETIONS:
            times = [_time_second_call(partial(complete, base, text, (), most)) for text in texts]
            _print_row(f"{complete.__name__} that complete {size} letters", times)


def _print_near_words(base: ShardSet, chance: random.Random) -> None:
    """Print the times of proposals for misspelt names (X4)."""
    queries = [Query(q=q) for q in _misspelt_names(base, chance)]
    times = [_time_second_call(partial(proposals.nearest_texts, base, query)) for query in queries]
    _print_row("near words of a misspelt name", times)


def _misspelt_names(base: ShardSet, chance: random.Random) -> Iterator[str]:
    """Draw _NAMES times the first two words of a company name, with one letter of a word of five or more replaced."""
    shards = [shard for shard in base.values() if shard.rows]
    count = 0
    while count < _NAMES:
        shard = chance.choice(shards)
        words = str(shard.company(chance.randrange(shard.rows))["nom"]).split()[:2]
        word_number = chance.randrange(len(words))
        if len(words[word_number]) < 5:
            continue
        letter = chance.randrange(len(words[word_number]))
        words[word_number] = (
            words[word_number][:letter] + chance.choice("kwxyz") + words[word_number][letter + 1 :]
        )
        count += 1
        yield " ".join(words)


def _time_second_call(call: Callable[[], object]) -> Times:
    """Processor and wall milliseconds of the second of two calls."""
    call()
    wall, processor = time.perf_counter(), time.thread_time()
    call()
    return 1e3 * (time.thread_time() - processor), 1e3 * (time.perf_counter() - wall)


def _print_row(name: str, times: Sequence[Times]) -> None:
    """Print quantiles of processor and wall time as a row of the table."""
    processor, wall = np.array(times).T
    figures = [*np.quantile(processor, (0.5, 0.99, 1)), *np.quantile(wall, (0.99, 1))]
    print(
        f"| {name} | {len(times)} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |",
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
