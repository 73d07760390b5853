"""The figures of a run as Markdown."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from statistics import linear_regression, median
from typing import Final

from tests.bench.figures import SLOW, Figures, Line, Outcome, lines, percentile
from tests.bench.processes import Cost
from tests.bench.questions import absurd, fixed, mix

# Goals of all random searches: milliseconds of p50, p99 and the slowest; ratio; share lost to a peer.
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
    """The heading of a run, with its machine and conditions."""
    return [
        f"## {figures.date}, commit {figures.commit}: {figures.companies:,} companies beside peers",
        "",
        f"{figures.machine}; seed {figures.seed}. Milliseconds, warm. All engines ran the same "
        "searches, in turn, in one run; every total and every row is equal.",
    ]


def _costs(figures: Figures) -> list[str]:
    """The Markdown lines of a table: seconds and memory of each build and load, and the bytes of a company."""
    costs: list[tuple[str, Cost, int | None]] = [
        (f"`{name}`", cost, None) for name, cost in figures.made.items()
    ]
    costs += [
        (f"load {name} {peer.version}", peer.load, peer.bytes)
        for name, peer in figures.peers.items()
    ]
    shard_bytes = f"our shards: {figures.bytes / figures.companies:.0f} bytes a company"
    table = [
        (name, f"{cost.seconds:,.1f}", f"{cost.peak / 2**20:,.0f}",
         "" if size is None else f"{size / figures.companies:.0f}")
        for name, cost, size in costs
    ]  # fmt: skip
    return [*rows("step|seconds|peak memory, MiB|bytes a company", table), "", f"{shard_bytes}."]


def _fixed(figures: Figures) -> list[str]:
    """The table of fixed searches."""
    first_heads = "search, 50 full rows|total|p50|p99|max|cold"
    table = []
    for line in lines(figures.results, fixed.TABLE):
        cold_ms = figures.cold.get(line.kind)
        goal_cells = (_ratio(line.ratios), _number(line.goal.p99), _met(line))
        own_cells = (*_own_times(line), "" if cold_ms is None else milliseconds(cold_ms))
        table.append(
            (line.kind, f"{line.totals[0]:,}", *own_cells, *_peer_times(line), *goal_cells)
        )
    return rows(f"{first_heads}{_peer_heads(figures)}|ratio|goal p99|met", table)


def _mix(figures: Figures) -> list[str]:
    """The table of random searches, by class."""
    first_heads = "random searches|median total|p50|p99|max"
    table = []
    for line in lines(figures.results, mix.TABLE):
        goals = " / ".join(_number(goal) for goal in (line.goal.p50, line.goal.p99))
        table.append((
            line.kind, f"{median(line.totals):,.0f}", *_own_times(line), *_peer_times(line),
            _ratio(line.ratios), _ratio(line.ratios[:1]), goals, _number(line.goal.ratio),
            _met(line),
        ))  # fmt: skip
    last_heads = "ratio to the best, median|worst|goal p50 / p99|goal ratio|met"
    return rows(f"{first_heads}{_peer_heads(figures)}|{last_heads}", table)


def _overall(figures: Figures) -> list[str]:
    """The Markdown lines of a table: the figures of all random searches together, with their goals (met or not)."""
    random_results = [result for result in figures.results if result.table == mix.TABLE]
    times = list(chain.from_iterable(result.alone for result in random_results))
    ratios = [result.ratio for result in random_results if result.ratio is not None]
    reached = [median(times), percentile(times, 0.99), max(times)]
    names = ["p50, ms", "p99, ms", "max, ms"]
    table = [
        (name, milliseconds(value), _number(goal), "yes" if value <= goal else "**no**")
        for name, value, goal in zip(names, reached, OVERALL, strict=False)
    ]
    if ratios:
        ratio, lost_share = median(ratios), sum(1 for ratio in ratios if ratio < 1) / len(ratios)
        table += [
            ("median ratio to the best peer", f"{ratio:.1f}", _number(OVERALL[3]),
             "yes" if ratio >= OVERALL[3] else "**no**"),
            ("searches in which a peer wins", f"{lost_share:.1%}", f"{OVERALL[4]:.0%}",
             "yes" if lost_share <= OVERALL[4] else "**no**"),
        ]  # fmt: skip
    if by_processor := [r.processor_ratio for r in random_results if r.processor_ratio is not None]:
        lost_share = sum(1 for ratio in by_processor if ratio < 1) / len(by_processor)
        table += [
            ("median ratio by processor time (of threads: divided by the cores)",
             f"{median(by_processor):.1f}", "", ""),
            ("searches in which a peer wins by processor time", f"{lost_share:.1%}", "", ""),
        ]  # fmt: skip
    return rows(f"all {len(random_results)} random searches|reached|goal|met", table)


def _absurd(figures: Figures) -> list[str]:
    """The table of rare and absurd searches."""
    table = [
        (
            line.kind,
            f"{line.totals[0]:,}",
            *_own_times(line),
            *_peer_times(line),
            _ratio(line.ratios),
        )
        for line in lines(figures.results, absurd.TABLE)
    ]
    return rows(f"rare and absurd|total|p50|p99|max{_peer_heads(figures)}|ratio", table)


# -- growth -------------------------------------------------------------------------


def growth(runs: Sequence[Figures]) -> str:
    """The times of the classes that all runs have, by size, with slopes.

    A slope is the least-squares slope of log(milliseconds) over log(companies): 0 is a constant time, 1 a time in
    proportion to the number of companies.
    """
    ascending = sorted(runs, key=lambda run: run.companies)
    sizes = [run.companies for run in ascending]
    head = "search|" + "|".join(f"{size:,}: p50|p99" for size in sizes) + "|slope of p50|of p99"
    table = []
    for name in (fixed.TABLE, mix.TABLE):
        by_run = [{line.kind: line for line in lines(run.results, name)} for run in ascending]
        for kind in by_run[0]:
            if all(kind in run_lines for run_lines in by_run):
                table.append(_growth_row(kind, sizes, [run_lines[kind] for run_lines in by_run]))
    return "\n".join(rows(head, table)) + "\n"


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent of the size in the cost: the slope of its logarithm.

    >>> slope((10, 100, 1000), (1, 2, 4))
    0.3010299956639812
    """
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, costs))).slope


def _growth_row(kind: str, sizes: Sequence[int], run_lines: Sequence[Line]) -> list[str]:
    """Times of a class by size of the base, and the slopes of p50 and p99."""
    cells = [milliseconds(value) for line in run_lines for value in (line.p50, line.p99)]
    p50_slope = slope(sizes, [line.p50 for line in run_lines])
    p99_slope = slope(sizes, [line.p99 for line in run_lines])
    return [kind, *cells, f"{p50_slope:.2f}", f"{p99_slope:.2f}"]


# -- cells ---------------------------------------------------------------------------


def rows(head: str, table: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; `head` has the headings with `|` between them."""
    names = head.split("|")
    rule = ["---", *["--:"] * (len(names) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (names, rule, *table)]


def _peer_heads(figures: Figures) -> str:
    """The headings of the columns of peers."""
    return "".join(f"|{name}" for name in figures.peers)


def _own_times(line: Line) -> Iterator[str]:
    """Our p50, p99 and maximum as cells."""
    return map(milliseconds, (line.p50, line.p99, line.most))


def _peer_times(line: Line) -> Iterator[str]:
    """The time of each peer as a cell."""
    return map(_outcome, line.peers.values())


def _outcome(outcome: Outcome) -> str:
    """The time of a peer; `>` for a peer over the limit, a dash for a search it cannot express."""
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
    """The median ratio; a dash without ratios."""
    if not ratios:
        return "–"
    median_ratio = median(ratios)
    return f"{median_ratio:,.1f}" if median_ratio < 10 else f"{median_ratio:,.0f}"


def _number(goal: float | None) -> str:
    """A goal as a cell; empty without a goal."""
    return "" if goal is None else f"{goal:g}"


def _met(line: Line) -> str:
    """Whether all goals are met, as a cell; empty without goals."""
    return {True: "yes", False: "**no**", None: ""}[line.met]
