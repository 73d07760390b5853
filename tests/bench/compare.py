"""Comparison: the same questions to the candidate and to every peer, in turn, in one process.

Questions of all kinds are shuffled, so that no search profits from the one before it. The first
round loads the pages that are needed and compares all answers byte by byte: any difference ends the
run. The second round measures. A peer that exceeds the time limit skips the other questions of that
kind. After the peers are closed and their memory is free, the candidate repeats all questions in
other orders.
"""

import gc
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Self

from tqdm import tqdm

from tests.bench.candidate import Candidate
from tests.bench.figures import NOT_EXPRESSIBLE, SLOW, Outcome, Result
from tests.bench.peers.peer import PARALLEL, NotExpressible, Peer, TooSlow
from tests.bench.questions import absurd, fixed, mix
from tests.bench.questions.question import Answer, Question

_OFTEN: Final = {fixed.TABLE: 6, mix.TABLE: 1, absurd.TABLE: 1}  # repetitions per round
_EVERY: Final = 0.05  # seconds between two looks at the time of a slow search
_ONCE: Final = 1_000.0  # milliseconds; a slower peer is asked once only


def compare(
    candidate: Candidate,
    peers: Mapping[str, Peer],
    questions: Sequence[Question],
    chance: random.Random,
    limit: float,
) -> list[Result]:
    """Ask all engines in turn; return one result per question, in the order of the questions.

    Args:
        limit: seconds that a peer may take for one search.

    Raises:
        SystemExit: if an answer differs, naming the question and both totals.
    """
    gc.collect()
    gc.freeze()  # long-lived objects are not scanned again during a search
    results = {}
    shuffled = chance.sample(range(len(questions)), len(questions))
    with _Watchdog() as watchdog:
        referee = _Referee(peers, limit, watchdog)
        for number in tqdm(shuffled, desc="comparing", disable=None):
            results[number] = _compare(candidate, referee, questions[number])
    return [results[number] for number in range(len(questions))]


def repeat(
    candidate: Candidate,
    questions: Sequence[Question],
    results: Sequence[Result],
    chance: random.Random,
    rounds: int,
) -> None:
    """Ask the candidate alone for `rounds` rounds and add the times to the results.

    Fixed searches, one per class, are repeated more often.
    """
    often = [n for n, question in enumerate(questions) for _ in range(_OFTEN[question.table])]
    for _ in range(rounds):
        for number in chance.sample(often, len(often)):
            results[number].ours.append(_time(candidate, questions[number]))


def _compare(candidate: Candidate, referee: "_Referee", question: Question) -> Result:
    """Ask all engines twice; keep the second times."""
    answer = candidate.search(question)
    first = referee.ask_all(question, answer)
    before = time.thread_time()
    ours = [_time(candidate, question)]
    processor = round((time.thread_time() - before) * 1e3, 4)
    second = referee.ask_all(question, answer, first)
    return Result(
        question.table, question.kind, question.text, answer.total, ours, second, processor
    )


def _time(candidate: Candidate, question: Question) -> float:
    start = time.perf_counter()
    candidate.search(question)
    return round((time.perf_counter() - start) * 1e3, 4)


class _Referee:
    """The peers, with their time limit and a comparison of their answers with ours."""

    def __init__(self, peers: Mapping[str, Peer], limit: float, watchdog: "_Watchdog") -> None:
        self._peers, self._limit, self._watchdog = peers, limit, watchdog
        self._slow: set[tuple[str, str, str]] = set()

    def ask_all(
        self, question: Question, ours: Answer, before: Mapping[str, Outcome] | None = None
    ) -> dict[str, Outcome]:
        """Ask the peers; an outcome of `before` stays if it was slow or there is none."""
        found = dict(before or {})
        for name in self._peers:
            known = found.get(name)
            if known is None or (known.ms is not None and known.ms < _ONCE):
                found[name] = self._ask(name, question, ours)
        return found

    def _ask(self, name: str, question: Question, ours: Answer) -> Outcome:
        over = Outcome(self._limit * 1e3, SLOW)
        kind = (name, question.table, question.kind)
        if kind in self._slow:
            return over
        start, processor = time.perf_counter(), time.process_time()
        try:
            with self._watchdog.watch(self._peers[name], self._limit):
                theirs = self._peers[name].search(question)
        except NotExpressible:
            return Outcome(None, NOT_EXPRESSIBLE)
        except TooSlow:
            self._slow.add(kind)
            return over
        ms, processor = (time.perf_counter() - start) * 1e3, time.process_time() - processor
        _expect_same(name, question, ours, theirs)
        if ms > self._limit * 1e3:
            self._slow.add(kind)
        cores = os.cpu_count() or 1 if name in PARALLEL else 1
        return Outcome(round(ms, 4), processor=round(processor * 1e3 / cores, 4))


class _Watchdog:
    """A thread that interrupts the watched peer repeatedly until its search ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: tuple[Peer, float] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def watch(self, peer: Peer, seconds: float) -> Iterator[None]:
        """Interrupt `peer` if the body takes longer."""
        self._watched = (peer, time.monotonic() + seconds)
        try:
            yield
        finally:
            with self._lock:  # no interrupt may reach the next search
                self._watched = None

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            with self._lock:
                if self._watched and time.monotonic() > self._watched[1]:
                    self._watched[0].interrupt()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def _expect_same(name: str, question: Question, ours: Answer, theirs: Answer) -> None:
    """Raise SystemExit unless both answers are equal."""
    asked = f"{question.kind} ({question.text})"
    if ours.total != theirs.total:
        raise SystemExit(f"{asked}: the total is {ours.total} here, {theirs.total} in {name}")
    if len(ours.rows) != len(theirs.rows):
        raise SystemExit(f"{asked}: {len(ours.rows)} rows here, {len(theirs.rows)} in {name}")
    for place, (mine, other) in enumerate(zip(ours.rows, theirs.rows, strict=True)):
        if mine != other:
            raise SystemExit(
                f"{asked}: row {place} is {mine[:200]!r} here, {other[:200]!r} in {name}"
            )
