"""The figures of a run as Markdown."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from statistics import linear_regression, median
from typing import Final

from tests.bench.figures import SLOW, Figures, Line, Outcome, lines, percentile
from tests.bench.processes import Cost
from tests.bench.questions import absurd, fixed, mix

# Goals of the whole mix: milliseconds of p50, p99 and the slowest; ratio; share lost to a peer.
OVERALL: Final = (1.0, 15.0, 50.0, 30.0, 0.05)


def markdown(figures: Figures) -> str:
    """All tables of a run, with a heading."""
    parts = (
        _heading(figures),
        _costs(figures),
        _fixed(figures),
        _mix(figures),
        _overall(figures),
        _absurd(figures),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _heading(figures: Figures) -> list[str]:
    return [
        f"## {figures.date}, commit {figures.commit}: {figures.companies:,} companies beside peers",
        "",
        f"{figures.machine}; seed {figures.seed}. Milliseconds, warm; all asked the same, in turn, "
        "in one run; every total and every row is the same.",
    ]


def _costs(figures: Figures) -> list[str]:
    costs: list[tuple[str, Cost, int | None]] = [
        (f"`{name}`", cost, None) for name, cost in figures.made.items()
    ]
    costs += [
        (f"load {name} {peer.version}", peer.load, peer.bytes)
        for name, peer in figures.peers.items()
    ]
    own = f"our shards: {figures.bytes / figures.companies:.0f} bytes a company"
    table = [
        (name, f"{cost.seconds:,.1f}", f"{cost.peak / 2**20:,.0f}",
         "" if size is None else f"{size / figures.companies:.0f}")
        for name, cost, size in costs
    ]  # fmt: skip
    return [*rows("what|seconds|peak memory, MiB|bytes a company", table), "", f"{own}."]


def _fixed(figures: Figures) -> list[str]:
    head = "search, 50 full rows|total|p50|p99|max|cold"
    table = []
    for line in lines(figures.results, fixed.TABLE):
        cold = figures.cold.get(line.kind)
        ends = (_ratio(line.ratios), _number(line.goal.p99), _met(line))
        own = (*_own(line), "" if cold is None else milliseconds(cold))
        table.append((line.kind, f"{line.totals[0]:,}", *own, *_peers(line), *ends))
    return rows(f"{head}{_names(figures)}|ratio|goal p99|met", table)


def _mix(figures: Figures) -> list[str]:
    head = "random searches|median total|p50|p99|max"
    table = []
    for line in lines(figures.results, mix.TABLE):
        goals = " / ".join(_number(goal) for goal in (line.goal.p50, line.goal.p99))
        table.append((
            line.kind, f"{median(line.totals):,.0f}", *_own(line), *_peers(line),
            _ratio(line.ratios), _ratio(line.ratios[:1]), goals, _number(line.goal.ratio),
            _met(line),
        ))  # fmt: skip
    end = "ratio to the best, median|worst|goal p50 / p99|goal ratio|met"
    return rows(f"{head}{_names(figures)}|{end}", table)


def _overall(figures: Figures) -> list[str]:
    own = [result for result in figures.results if result.table == mix.TABLE]
    times = list(chain.from_iterable(result.alone for result in own))
    ratios = [result.ratio for result in own if result.ratio is not None]
    reached = [median(times), percentile(times, 0.99), max(times)]
    names = ["p50, ms", "p99, ms", "max, ms"]
    table = [
        (name, milliseconds(value), _number(goal), "yes" if value <= goal else "**no**")
        for name, value, goal in zip(names, reached, OVERALL, strict=False)
    ]
    if ratios:
        ratio, wins = median(ratios), sum(1 for ratio in ratios if ratio < 1) / len(ratios)
        table += [
            ("median ratio to the best peer", f"{ratio:.1f}", _number(OVERALL[3]),
             "yes" if ratio >= OVERALL[3] else "**no**"),
            ("searches in which a peer wins", f"{wins:.1%}", f"{OVERALL[4]:.0%}",
             "yes" if wins <= OVERALL[4] else "**no**"),
        ]  # fmt: skip
    if by_processor := [r.processor_ratio for r in own if r.processor_ratio is not None]:
        wins = sum(1 for ratio in by_processor if ratio < 1) / len(by_processor)
        table += [
            ("median ratio by processor time, threads of a peer at best side by side",
             f"{median(by_processor):.1f}", "", ""),
            ("searches in which a peer wins by it", f"{wins:.1%}", "", ""),
        ]  # fmt: skip
    return rows(f"all {len(own)} random searches|reached|goal|met", table)


def _absurd(figures: Figures) -> list[str]:
    table = [
        (line.kind, f"{line.totals[0]:,}", *_own(line), *_peers(line), _ratio(line.ratios))
        for line in lines(figures.results, absurd.TABLE)
    ]
    return rows(f"rare and absurd|total|p50|p99|max{_names(figures)}|ratio", table)


# -- growth -------------------------------------------------------------------------


def growth(runs: Sequence[Figures]) -> str:
    """The classes that all runs share at several sizes, with slopes.

    A slope is that of log(milliseconds) over log(companies) by least squares: 0 is a constant cost, 1 a cost in
    proportion to the number of companies.
    """
    ascending = sorted(runs, key=lambda run: run.companies)
    sizes = [run.companies for run in ascending]
    head = "search|" + "|".join(f"{size:,}: p50|p99" for size in sizes) + "|slope of p50|of p99"
    table = []
    for name in (fixed.TABLE, mix.TABLE):
        by_run = [{line.kind: line for line in lines(run.results, name)} for run in ascending]
        for kind in by_run[0]:
            if all(kind in known for known in by_run):
                table.append(_growth_row(kind, sizes, [known[kind] for known in by_run]))
    return "\n".join(rows(head, table)) + "\n"


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent of the size in the cost.

    >>> slope((10, 100, 1000), (1, 2, 4))
    0.3010299956639812
    """
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, costs))).slope


def _growth_row(kind: str, sizes: Sequence[int], known: Sequence[Line]) -> list[str]:
    cells = [milliseconds(value) for line in known for value in (line.p50, line.p99)]
    middle = slope(sizes, [line.p50 for line in known])
    last = slope(sizes, [line.p99 for line in known])
    return [kind, *cells, f"{middle:.2f}", f"{last:.2f}"]


# -- cells ---------------------------------------------------------------------------


def rows(head: str, table: Iterable[Sequence[str]]) -> list[str]:
    names = head.split("|")
    rule = ["---", *["--:"] * (len(names) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (names, rule, *table)]


def _names(figures: Figures) -> str:
    return "".join(f"|{name}" for name in figures.peers)


def _own(line: Line) -> Iterator[str]:
    return map(milliseconds, (line.p50, line.p99, line.most))


def _peers(line: Line) -> Iterator[str]:
    return map(_outcome, line.peers.values())


def _outcome(outcome: Outcome) -> str:
    if outcome.ms is None:
        return "–"
    return f"> {milliseconds(outcome.ms)}" if outcome.why == SLOW else milliseconds(outcome.ms)


def milliseconds(value: float) -> str:
    """Milliseconds with three digits.

    >>> [milliseconds(value) for value in (0.0123, 1.234, 12.34, 1234.5)]
    ['0.012', '1.23', '12.3', '1,234']
    """
    digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def _ratio(ratios: Sequence[float]) -> str:
    if not ratios:
        return "–"
    middle = median(ratios)
    return f"{middle:,.1f}" if middle < 10 else f"{middle:,.0f}"


def _number(goal: float | None) -> str:
    return "" if goal is None else f"{goal:g}"


def _met(line: Line) -> str:
    return {True: "yes", False: "**no**", None: ""}[line.met]
