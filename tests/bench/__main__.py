"""`python -m tests.bench`: the same searches by our engine and by other engines.

One run creates and builds synthetic companies in WORK (or takes --data), loads the peers with them,
runs fixed, random and absurd searches on all engines in turn, and stops at the first answer that
differs. Tables and figures go to tests/bench/results/<date>-<companies>/.

    python -m tests.bench --companies 200000
    python -m tests.bench load --data DATA --work DIR --peers sqlite      load slow peers beforehand
    python -m tests.bench growth A/figures.json B/figures.json C/figures.json
"""

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests import ROOT
from tests.bench import data as making
from tests.bench import figures as known
from tests.bench import processes, tables
from tests.bench.candidate import Candidate
from tests.bench.cold import cold, touch
from tests.bench.compare import compare, repeat
from tests.bench.data import Made
from tests.bench.figures import Figures, PeerFigures
from tests.bench.peers import loading, peer
from tests.bench.peers.companies import Companies
from tests.bench.processes import Cost, size
from tests.bench.questions import absurd, fixed, mix, values

RESULTS: Final = ROOT / "tests" / "bench" / "results"
_WORK: Final = Path(tempfile.gettempdir()) / "societes-bench"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "growth":
        _growth(options.figures)
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    if options.command == "load":
        loading.load(options.data, options.work, options.peers)
        return 0
    found = _measure(options, options.peers)
    print(tables.markdown(found), end="")
    print(f"\nin {_write(found, options.results)}", file=sys.stderr)
    if not options.keep:
        making.clear(options.work)
    return 0


def _measure(options: argparse.Namespace, names: Sequence[str]) -> Figures:
    made = _prepare(options)
    costs = loading.load(made.data, options.work, names)
    chance = random.Random(options.seed)
    with Candidate(made.data) as candidate:
        sample = values.sample(candidate.generation, chance)
        files, companies = candidate.files, candidate.companies
    of_each = fixed.questions(sample)
    cold_times = cold(made.data, files, of_each)
    touch(files)
    questions = [
        *of_each,
        *mix.questions(sample, chance, options.searches),
        *absurd.questions(sample),
    ]
    place = loading.place(made.data, options.work)
    with Candidate(made.data) as candidate, ExitStack() as stack:
        peers = {name: stack.enter_context(closing(_connected(place, name))) for name in names}
        results = compare(candidate, peers, questions, chance, options.limit)
        stack.close()
        touch(candidate.files)
        repeat(candidate, questions, results, chance, options.rounds - 1)
    return Figures(
        date=f"{datetime.now(UTC):%Y-%m-%d}", commit=_commit(), machine=_machine(),
        companies=companies, seed=options.seed, limit=options.limit, bytes=making.size(made.data),
        made=made.costs, peers={name: _peer(place, name, costs[name]) for name in names},
        cold=cold_times, results=results,
    )  # fmt: skip


def _growth(paths: Sequence[Path]) -> None:
    """Print how cost grows over runs of several sizes."""
    runs = [known.load(path) for path in paths]
    if len({run.companies for run in runs}) < 2:
        raise SystemExit("growth needs runs of two sizes or more")
    print(tables.growth(runs), end="")


def _prepare(options: argparse.Namespace) -> Made:
    if options.data:
        return Made(options.data, {})
    if options.input:
        return making.given(options.work, options.input)
    return making.synthetic(options.work, options.companies, options.seed)


def _connected(place: Path, name: str) -> peer.Peer:
    return peer.engine(name).connect(Companies(place / loading.COMPANIES), place / name)


def _peer(place: Path, name: str, cost: Cost) -> PeerFigures:
    return PeerFigures(peer.engine(name).version(), cost, size(place / name))


def _write(found: Figures, results: Path) -> Path:
    """Write tables and figures."""
    folder = results / f"{found.date}-{found.companies}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_bytes(known.dump(found))
    (folder / "tables.md").write_text(tables.markdown(found))
    return folder


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _machine() -> str:
    memory = processes.memory() / 2**30
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="compare")
    parser.add_argument("--companies", metavar="N", type=int, default=200_000)
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    parser.add_argument("--searches", metavar="N", type=int, default=20, help="random, a class")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=30.0,
                        help="that a peer may take, else it is left out of the class")  # fmt: skip
    parser.add_argument("--rounds", metavar="N", type=int, default=20, help="of our own searches")
    parser.add_argument("--input", metavar="DIR", type=Path, help="canonical, instead of synthetic")
    parser.add_argument("--results", metavar="DIR", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="leave WORK as it is for another run")
    _add_options(parser, required=False)
    commands = parser.add_subparsers(dest="command")
    loads = commands.add_parser("load", help="only load peers with a built DATA")
    _add_options(loads, required=True)
    runs = commands.add_parser("growth", help="how cost grows: several runs beside each other")
    runs.add_argument("figures", nargs="+", type=Path, help="figures.json of each")
    return parser


def _add_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--data", metavar="DATA", type=Path, required=required, help="built already"
    )
    parser.add_argument("--work", metavar="DIR", type=Path, default=_WORK, help=f"default {_WORK}")
    parser.add_argument("--peers", type=_names, default=list(peer.NAMES), help="a,b; default all")


def _names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := set(names) - set(peer.NAMES):
        raise argparse.ArgumentTypeError(
            f"{', '.join(sorted(unknown))} is no peer; known are {', '.join(peer.NAMES)}"
        )
    return names


if __name__ == "__main__":
    raise SystemExit(main())
