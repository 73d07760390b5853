"""`python -m tests.bench`: the same searches on our engine and on other engines.

A run creates and builds synthetic companies in WORK (or reads --data), loads the peers with them,
and runs fixed, random and absurd searches on one engine after another. The first answer that differs
ends the run. Tables and figures go to tests/bench/results/<date>-<companies>/.

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
from tests.bench import data as measured_data
from tests.bench import figures as figures_file
from tests.bench import processes, tables
from tests.bench.candidate import Candidate
from tests.bench.cold import search_cold, touch
from tests.bench.compare import compare, repeat
from tests.bench.data import BuiltData
from tests.bench.figures import Figures, PeerFigures
from tests.bench.peers import loading, peer
from tests.bench.peers.companies import Companies
from tests.bench.processes import Cost, size
from tests.bench.questions import absurd, fixed, mix, values

RESULTS: Final = ROOT / "tests" / "bench" / "results"
_WORK: Final = Path(tempfile.gettempdir()) / "societes-bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the report; or only load the peers (`load`), or compare runs (`growth`).

    Returns the exit code, 0; a wrong answer or a failed step raises.
    """
    options = _parser().parse_args(arguments)
    if options.command == "growth":
        _growth(options.figures)
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    if options.command == "load":
        loading.load(options.data, options.work, options.peers)
        return 0
    figures = _measure(options, options.peers)
    print(tables.markdown(figures), end="")
    print(f"\nin {_write(figures, options.results)}", file=sys.stderr)
    if not options.keep:
        measured_data.clear(options.work)
    return 0


def _measure(options: argparse.Namespace, names: Sequence[str]) -> Figures:
    """Load the peers `names` and run all searches on our engine and on the peers; returns the figures of the report.

    The fixed searches run cold first, that is, before any page of the files is in memory.
    """
    built = _prepare(options)
    costs = loading.load(built.data, options.work, names)
    chance = random.Random(options.seed)
    with Candidate(built.data) as candidate:
        sample = values.sample(candidate.generation, chance)
        files, companies = candidate.files, candidate.companies
    fixed_questions = fixed.questions(sample)
    # The generation is closed here: the kernel does not drop pages that a process has mapped.
    cold_ms = search_cold(built.data, files, fixed_questions)
    touch(files)
    questions = [
        *fixed_questions,
        *mix.questions(sample, chance, options.searches),
        *absurd.questions(sample),
    ]
    peer_folder = loading.peer_folder(built.data, options.work)
    with Candidate(built.data) as candidate, ExitStack() as stack:
        peers = {name: stack.enter_context(closing(_connect(peer_folder, name))) for name in names}
        results = compare(candidate, peers, questions, chance, options.limit)
        stack.close()  # close the peers, to free their memory for the repetitions
        touch(candidate.files)
        repeat(candidate, questions, results, chance, options.rounds - 1)
    return Figures(
        date=f"{datetime.now(UTC):%Y-%m-%d}", commit=_commit(), machine=_machine(),
        companies=companies, seed=options.seed, limit=options.limit, bytes=measured_data.size(built.data),
        made=built.costs, peers={name: _peer_figures(peer_folder, name, costs[name]) for name in names},
        cold=cold_ms, results=results,
    )  # fmt: skip


def _growth(paths: Sequence[Path]) -> None:
    """Print the growth of the times over runs of several sizes."""
    runs = [figures_file.load(path) for path in paths]
    if len({run.companies for run in runs}) < 2:
        raise SystemExit("growth needs runs of two sizes or more; add a figures.json")
    print(tables.growth(runs), end="")


def _prepare(options: argparse.Namespace) -> BuiltData:
    """The generation to measure: --data, or one built from --input or from synthetic companies."""
    if options.data:
        return BuiltData(options.data, {})
    if options.input:
        return measured_data.build_input(options.work, options.input)
    return measured_data.synthetic(options.work, options.companies, options.seed)


def _connect(folder: Path, name: str) -> peer.Peer:
    """Open the loaded peer `name`."""
    return peer.engine(name).connect(Companies(folder / loading.COMPANIES), folder / name)


def _peer_figures(folder: Path, name: str, cost: Cost) -> PeerFigures:
    """The version, the cost of loading and the size of a loaded peer."""
    return PeerFigures(peer.engine(name).version(), cost, size(folder / name))


def _write(figures: Figures, results: Path) -> Path:
    """Write the figures and the tables of a run to a new folder in `results`; returns the folder."""
    folder = results / f"{figures.date}-{figures.companies}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_bytes(figures_file.dump(figures))
    (folder / "tables.md").write_text(tables.markdown(figures))
    return folder


def _commit() -> str:
    """The commit of this checkout, with `-dirty` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _machine() -> str:
    """The processor, memory and Python of this machine, as a line of the report."""
    memory = processes.memory() / 2**30
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}"
    )


def _parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="compare")
    parser.add_argument("--companies", metavar="N", type=int, default=200_000)
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    parser.add_argument(
        "--searches", metavar="N", type=int, default=20, help="random searches per class"
    )
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=30.0,
                        help="time limit of a search; a slower peer is left out of the class")  # fmt: skip
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=20, help="repetitions of our own searches"
    )
    parser.add_argument(
        "--input", metavar="DIR", type=Path, help="canonical companies, instead of synthetic ones"
    )
    parser.add_argument("--results", metavar="DIR", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="keep WORK for another run")
    _add_options(parser, required=False)
    commands = parser.add_subparsers(dest="command")
    loads = commands.add_parser("load", help="only load the peers with the companies of DATA")
    _add_options(loads, required=True)
    runs = commands.add_parser("growth", help="growth of the times over runs of several sizes")
    runs.add_argument("figures", nargs="+", type=Path, help="figures.json of each run")
    return parser


def _add_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options of both a run and `load`; a run without --data builds its own data."""
    parser.add_argument(
        "--data", metavar="DATA", type=Path, required=required, help="a built generation"
    )
    parser.add_argument("--work", metavar="DIR", type=Path, default=_WORK, help=f"default {_WORK}")
    parser.add_argument(
        "--peers", type=_peer_names, default=list(peer.NAMES), help="a,b; default all"
    )


def _peer_names(text: str) -> list[str]:
    """Parse the value of --peers: names with commas between them."""
    names = [name for name in text.split(",") if name]
    if unknown := set(names) - set(peer.NAMES):
        raise argparse.ArgumentTypeError(
            f"{', '.join(sorted(unknown))} is not a peer; use {', '.join(peer.NAMES)}"
        )
    return names


if __name__ == "__main__":
    raise SystemExit(main())
