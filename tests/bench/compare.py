"""Comparison: the candidate (our engine) and every peer answer the same questions, one after another, in one process.

Questions of all kinds are shuffled, so that no search profits from the search before it. The first round reads the
needed pages into memory and compares all answers byte by byte; the first difference ends the run. The second round
measures. A peer that exceeds the time limit skips the other questions of that kind. After the peers are closed and
their memory is free, the candidate repeats all questions in other orders.
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

_REPETITIONS: Final = {fixed.TABLE: 6, mix.TABLE: 1, absurd.TABLE: 1}  # repetitions per round
_INTERVAL: Final = 0.05  # seconds between two checks of the watchdog
_TWICE_BELOW: Final = 1_000.0  # milliseconds; a slower peer is asked only once


def compare(
    candidate: Candidate,
    peers: Mapping[str, Peer],
    questions: Sequence[Question],
    chance: random.Random,
    limit: float,
) -> list[Result]:
    """Ask one engine after another; return one result per question, in the order of the questions.

    Args:
        limit: seconds that a peer may take for one search.

    Raises:
        SystemExit: an answer differs; the message names the question and both values.
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
    numbers = [
        n for n, question in enumerate(questions) for _ in range(_REPETITIONS[question.table])
    ]
    for _ in range(rounds):
        for number in chance.sample(numbers, len(numbers)):
            results[number].ours.append(_time(candidate, questions[number]))


def _compare(candidate: Candidate, referee: "_Referee", question: Question) -> Result:
    """Ask all engines twice; the result has the second times."""
    answer = candidate.search(question)
    first_outcomes = referee.ask_all(question, answer)
    start = time.thread_time()
    ours = [_time(candidate, question)]
    processor = round((time.thread_time() - start) * 1e3, 4)
    second_outcomes = referee.ask_all(question, answer, first_outcomes)
    return Result(
        question.table, question.kind, question.text, answer.total, ours, second_outcomes, processor
    )


def _time(candidate: Candidate, question: Question) -> float:
    """The milliseconds of one search by the candidate."""
    start = time.perf_counter()
    candidate.search(question)
    return round((time.perf_counter() - start) * 1e3, 4)


class _Referee:
    """The peers, with their time limit and a comparison of their answers with ours."""

    def __init__(self, peers: Mapping[str, Peer], limit: float, watchdog: "_Watchdog") -> None:
        self._peers, self._limit, self._watchdog = peers, limit, watchdog
        # (peer, table, kind) of searches that exceeded the limit: other questions of the kind are skipped.
        self._slow: set[tuple[str, str, str]] = set()

    def ask_all(
        self, question: Question, ours: Answer, earlier: Mapping[str, Outcome] | None = None
    ) -> dict[str, Outcome]:
        """Ask the peers. An outcome of `earlier` stays if the peer was slow or could not express the search."""
        outcomes = dict(earlier or {})
        for name in self._peers:
            outcome = outcomes.get(name)
            if outcome is None or (outcome.ms is not None and outcome.ms < _TWICE_BELOW):
                outcomes[name] = self._ask(name, question, ours)
        return outcomes

    def _ask(self, name: str, question: Question, ours: Answer) -> Outcome:
        """The milliseconds of a peer for a question; its answer must be the same as ours, else the run ends.

        NOT_EXPRESSIBLE has no time. After a search over the time limit, the peer is not asked questions of that kind
        again: they are SLOW, with the limit as their time.
        """
        too_slow = Outcome(self._limit * 1e3, SLOW)
        peer_kind = (name, question.table, question.kind)
        if peer_kind in self._slow:
            return too_slow
        start, processor = time.perf_counter(), time.process_time()
        try:
            with self._watchdog.watch(self._peers[name], self._limit):
                theirs = self._peers[name].search(question)
        except NotExpressible:
            return Outcome(None, NOT_EXPRESSIBLE)
        except TooSlow:
            self._slow.add(peer_kind)
            return too_slow
        ms, processor = (time.perf_counter() - start) * 1e3, time.process_time() - processor
        _expect_same(name, question, ours, theirs)
        if ms > self._limit * 1e3:
            self._slow.add(peer_kind)
        # A peer with several threads has a processor time as if it used all cores.
        cores = os.cpu_count() or 1 if name in PARALLEL else 1
        return Outcome(round(ms, 4), processor=round(processor * 1e3 / cores, 4))


class _Watchdog:
    """A thread that interrupts the watched peer repeatedly until its search ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: tuple[Peer, float] | None = None  # a peer, and when to interrupt it
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def watch(self, peer: Peer, seconds: float) -> Iterator[None]:
        """Interrupt the search of `peer` if the block takes more than `seconds`."""
        self._watched = (peer, time.monotonic() + seconds)
        try:
            yield
        finally:
            with self._lock:  # no interrupt may reach the next search
                self._watched = None

    def _run(self) -> None:
        """Interrupt the watched peer at every check after its time limit."""
        while not self._ended.wait(_INTERVAL):
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
    """Raise SystemExit unless our answer and the answer of the peer `name` have the same total and the same rows."""
    label = f"{question.kind} ({question.text})"
    if ours.total != theirs.total:
        raise SystemExit(f"{label}: the total is {ours.total} here, {theirs.total} in {name}")
    if len(ours.rows) != len(theirs.rows):
        raise SystemExit(f"{label}: {len(ours.rows)} rows here, {len(theirs.rows)} in {name}")
    for number, (our_row, their_row) in enumerate(zip(ours.rows, theirs.rows, strict=True)):
        if our_row != their_row:
            raise SystemExit(
                f"{label}: row {number} is {our_row[:200]!r} here, {their_row[:200]!r} in {name}"
            )
