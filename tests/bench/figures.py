"""The figures of one run: what was asked, how long each took; and a line of them for each kind.

All that is printed and drawn is computed from this one value, which is kept as JSON.
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
    """Milliseconds of a peer, or why there are none; of a SLOW one they are the limit."""

    ms: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One search: the total that all agree on, milliseconds of each of our runs, of the peers.

    The first of our runs was made in turn with the peers, the others after they had gone.
    """

    table: str
    kind: str
    text: str
    total: int
    ours: list[float]
    peers: dict[str, Outcome]

    @property
    def best(self) -> float | None:
        """Milliseconds of the best peer, at least; None if none could ask this."""
        return min((o.ms for o in self.peers.values() if o.ms is not None), default=None)

    @property
    def alone(self) -> Sequence[float]:
        """Our runs without anybody else; the first one where there was no other."""
        return self.ours[1:] or self.ours

    @property
    def ratio(self) -> float | None:
        """How many times faster than the best peer, in turn with it."""
        return None if self.best is None else self.best / self.ours[0]


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """A peer that took part: its version, what loading it took, the bytes of its files."""

    version: str
    load: Cost
    bytes: int


@dataclass(frozen=True, slots=True)
class Figures:
    """A whole run. `made` has what synth and build took, as far as this run did them."""

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
    """The results of one kind together; milliseconds."""

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
        """Whether every goal of the kind is met; None if it has none."""
        reached = [
            *([self.p50 <= self.goal.p50] if self.goal.p50 else []),
            *([self.p99 <= self.goal.p99] if self.goal.p99 else []),
            *([median(self.ratios) >= self.goal.ratio] if self.goal.ratio and self.ratios else []),
        ]
        return all(reached) if reached else None


def lines(results: Sequence[Result], table: str) -> Iterator[Line]:
    """A line for each kind of the table, in the order in which they are asked."""
    goals = {fixed.TABLE: fixed.GOALS, mix.TABLE: mix.GOALS}.get(table, {})
    for kind in dict.fromkeys(r.kind for r in results if r.table == table):
        own = [r for r in results if (r.table, r.kind) == (table, kind)]
        times = [ms for result in own for ms in result.alone]
        yield Line(
            table, kind, sorted(r.total for r in own),
            median(times), percentile(times, 0.99), max(times),
            {name: _typical(r.peers[name] for r in own) for name in own[0].peers},
            sorted(r.ratio for r in own if r.ratio is not None),
            goals.get(kind, Goal()),
        )  # fmt: skip


def percentile(values: Iterable[float], share: float) -> float:
    """The least of the values that at least `share` of them do not pass.

    >>> percentile(range(1, 101), 0.99)
    99
    """
    ascending = sorted(values)
    return ascending[math.ceil(share * len(ascending)) - 1]


def dump(figures: Figures) -> bytes:
    return orjson.dumps(figures)


def load(path: Path) -> Figures:
    """What `dump` wrote."""
    known: dict[str, Any] = orjson.loads(path.read_bytes())
    known["made"] = {name: Cost(**cost) for name, cost in known["made"].items()}
    known["peers"] = {
        name: PeerFigures(**{**peer, "load": Cost(**peer["load"])})
        for name, peer in known["peers"].items()
    }
    known["results"] = [
        Result(**{**r, "peers": {name: Outcome(**o) for name, o in r["peers"].items()}})
        for r in known["results"]
    ]
    return Figures(**known)


def _typical(outcomes: Iterable[Outcome]) -> Outcome:
    """The median of a peer's searches of a kind; over the limit if most of them are."""
    known = list(outcomes)
    answered = [o.ms for o in known if o.ms is not None]
    if not answered:
        return Outcome(None, NOT_EXPRESSIBLE)
    slow = sum(1 for o in known if o.why == SLOW)
    return Outcome(median(answered), SLOW if 2 * slow > len(answered) else "")
