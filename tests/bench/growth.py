"""Growth of cost with the number of companies: the same classes at several sizes, with slopes.

A slope is that of log(milliseconds) over log(companies) by least squares: 0 is a constant cost, 1 a
cost in proportion to the number of companies.
"""

import math
from collections.abc import Sequence
from statistics import linear_regression

from tests.bench.figures import Figures, Line, lines
from tests.bench.questions import fixed, mix
from tests.bench.tables import milliseconds, rows


def markdown(runs: Sequence[Figures]) -> str:
    """A table of the classes that all runs share, with one column per run."""
    ascending = sorted(runs, key=lambda run: run.companies)
    sizes = [run.companies for run in ascending]
    head = "search|" + "|".join(f"{size:,}: p50|p99" for size in sizes) + "|slope of p50|of p99"
    table = []
    for name in (fixed.TABLE, mix.TABLE):
        by_run = [{line.kind: line for line in lines(run.results, name)} for run in ascending]
        for kind in by_run[0]:
            if all(kind in known for known in by_run):
                table.append(_row(kind, sizes, [known[kind] for known in by_run]))
    return "\n".join(rows(head, table)) + "\n"


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent of the size in the cost.

    >>> slope((10, 100, 1000), (1, 2, 4))
    0.3010299956639812
    """
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, costs))).slope


def _row(kind: str, sizes: Sequence[int], known: Sequence[Line]) -> list[str]:
    cells = [milliseconds(value) for line in known for value in (line.p50, line.p99)]
    middle = slope(sizes, [line.p50 for line in known])
    last = slope(sizes, [line.p99 for line in known])
    return [kind, *cells, f"{middle:.2f}", f"{last:.2f}"]
