"""The figures of one run: questions, times, and a summary line per kind.

Tables are computed from this value, which is saved as JSON.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from tests.bench.processes import Cost
from tests.bench.questions import fixed, mix
from tests.bench.questions.question import Goal

SLOW: Final = "slow"  # interrupted, here or in an earlier search of the same kind
NOT_EXPRESSIBLE: Final = "not expressible"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The milliseconds of a search by a peer; None, with the reason in `why`, if it cannot express the search.

    Attributes:
        ms: the time limit if `why` is SLOW.
        processor: processor milliseconds, divided by the cores if the peer searches with several threads.
    """

    ms: float | None
    why: str = ""
    processor: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One search: its total, the milliseconds of each of our runs, the outcomes of the peers.

    Our first run was between those of the peers, all later runs after the peers were closed. `processor` is the
    processor milliseconds of the first run.
    """

    table: str
    kind: str
    text: str
    total: int
    ours: list[float]
    peers: dict[str, Outcome]
    processor: float | None = None

    @property
    def best(self) -> float | None:
        """Milliseconds of the best peer; None if no peer could express the search."""
        return min((o.ms for o in self.peers.values() if o.ms is not None), default=None)

    @property
    def alone(self) -> Sequence[float]:
        """Our runs without the peers; the first run if it is the only run."""
        return self.ours[1:] or self.ours

    @property
    def ratio(self) -> float | None:
        """Our speed relative to the best peer, of runs that followed each other."""
        return None if self.best is None else self.best / self.ours[0]

    @property
    def processor_ratio(self) -> float | None:
        """Our speed relative to the best peer by processor time, which is also reliable on a busy machine."""
        times = [o.processor for o in self.peers.values() if o.processor is not None]
        return min(times) / self.processor if times and self.processor else None


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """A peer: its version, the cost of loading it, the bytes of its files."""

    version: str
    load: Cost
    bytes: int


@dataclass(frozen=True, slots=True)
class Figures:
    """A complete run. `made` has the cost of each step that created or built the companies; {} if none ran."""

    date: str
    commit: str
    machine: str
    companies: int
    seed: int
    limit: float
    bytes: int
    made: dict[str, Cost]
    peers: dict[str, PeerFigures]
    cold: dict[str, float]
    results: list[Result]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a report: the results of all searches of one kind, in milliseconds."""

    table: str
    kind: str
    totals: Sequence[int]
    p50: float
    p99: float
    most: float
    peers: Mapping[str, Outcome]
    ratios: Sequence[float]  # ascending
    goal: Goal

    @property
    def met(self) -> bool | None:
        """Whether every goal of the kind is met; None without goals."""
        reached = [
            *([self.p50 <= self.goal.p50] if self.goal.p50 else []),
            *([self.p99 <= self.goal.p99] if self.goal.p99 else []),
            *([median(self.ratios) >= self.goal.ratio] if self.goal.ratio and self.ratios else []),
        ]
        return all(reached) if reached else None


def lines(results: Sequence[Result], table: str) -> Iterator[Line]:
    """A line for each kind of the table, in the order of the results."""
    goals = {fixed.TABLE: fixed.GOALS, mix.TABLE: mix.GOALS}.get(table, {})
    for kind in dict.fromkeys(r.kind for r in results if r.table == table):
        kind_results = [r for r in results if (r.table, r.kind) == (table, kind)]
        times = [ms for result in kind_results for ms in result.alone]
        yield Line(
            table, kind, sorted(r.total for r in kind_results),
            median(times), percentile(times, 0.99), max(times),
            {name: _typical(r.peers[name] for r in kind_results) for name in kind_results[0].peers},
            sorted(r.ratio for r in kind_results if r.ratio is not None),
            goals.get(kind, Goal()),
        )  # fmt: skip


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed.

    >>> percentile(range(1, 101), 0.99)
    99
    """
    ascending = sorted(values)
    return ascending[math.ceil(share * len(ascending)) - 1]


def dump(figures: Figures) -> bytes:
    """The figures as JSON, for `load`."""
    return orjson.dumps(figures)


def load(path: Path) -> Figures:
    """Read the output of `dump`."""
    stored: dict[str, Any] = orjson.loads(path.read_bytes())
    stored["made"] = {name: Cost(**cost) for name, cost in stored["made"].items()}
    stored["peers"] = {
        name: PeerFigures(**{**peer, "load": Cost(**peer["load"])})
        for name, peer in stored["peers"].items()
    }
    stored["results"] = [
        Result(**{**r, "peers": {name: Outcome(**o) for name, o in r["peers"].items()}})
        for r in stored["results"]
    ]
    return Figures(**stored)


def _typical(outcomes: Iterable[Outcome]) -> Outcome:
    """The median outcome of a peer for a kind; SLOW if most outcomes are."""
    all_outcomes = list(outcomes)
    times = [o.ms for o in all_outcomes if o.ms is not None]
    if not times:
        return Outcome(None, NOT_EXPRESSIBLE)
    slow_count = sum(1 for o in all_outcomes if o.why == SLOW)
    return Outcome(median(times), SLOW if 2 * slow_count > len(times) else "")
