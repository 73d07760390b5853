"""The picture of a run: latency by class on a logarithmic scale, ours and every peer's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.bench.figures import Figures, Line, lines
from tests.bench.questions import fixed, mix

_MARKS: Final = ("s", "^", "D", "v")
# Text stays text, and equal figures give equal bytes.
_STYLE: Final = {"svg.fonttype": "none", "svg.hashsalt": "societes", "font.size": 8}


def draw(figures: Figures, path: Path) -> None:
    """Write the picture to `path`, as SVG."""
    both = [list(lines(figures.results, table)) for table in (fixed.TABLE, mix.TABLE)]
    heights = [len(part) for part in both]
    with matplotlib.rc_context(_STYLE):
        sheet = Figure(figsize=(8, 0.2 * sum(heights) + 1.6), layout="constrained")
        charts = sheet.subplots(2, 1, sharex=True, height_ratios=heights)
        for chart, part, title in zip(charts, both, ("one of each class", "random"), strict=True):
            _chart(chart, part, list(figures.peers), f"{title}, {figures.companies:,} companies")
        charts[0].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        charts[1].set_xlabel("milliseconds")
        sheet.savefig(path, format="svg", metadata={"Date": None})


def draw_growth(runs: Sequence[Figures], path: Path) -> None:
    """Write p50 and p99 of each class over the number of companies to `path`, both axes logarithmic."""
    ascending = sorted(runs, key=lambda run: run.companies)
    sizes = [run.companies for run in ascending]
    by_run = [{line.kind: line for line in lines(run.results, mix.TABLE)} for run in ascending]
    with matplotlib.rc_context(_STYLE):
        sheet = Figure(figsize=(8, 8), layout="constrained")
        charts = sheet.subplots(2, 1, sharex=True)
        for chart, name in zip(charts, ("p50", "p99"), strict=True):
            for kind in by_run[0]:
                if all(kind in one for one in by_run):
                    times = [getattr(one[kind], name) for one in by_run]
                    chart.plot(sizes, times, "o-", label=kind.replace("`", ""))
            chart.set(xscale="log", yscale="log", ylabel=f"milliseconds, {name}")
            chart.grid(alpha=0.3)
        charts[1].set_xlabel("companies")
        charts[0].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        sheet.savefig(path, format="svg", metadata={"Date": None})


def _chart(chart: Axes, part: Sequence[Line], peers: Sequence[str], title: str) -> None:
    places = range(len(part))
    chart.hlines(places, [line.p50 for line in part], [line.p99 for line in part], "black", lw=1)
    chart.plot([line.p50 for line in part], places, "o", color="black", label="ours, p50 to p99")
    for mark, name in zip(_MARKS, peers, strict=False):
        known = [(ms, place) for place in places if (ms := part[place].peers[name].ms) is not None]
        chart.plot(
            [ms for ms, _ in known], [place for _, place in known], mark, mfc="none", label=name
        )
    chart.set_xscale("log")
    chart.set_yticks(places, [line.kind.replace("`", "") for line in part])
    chart.invert_yaxis()
    chart.grid(axis="x", alpha=0.3)
    chart.set_title(title, loc="left")
