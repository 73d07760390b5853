"""`python -m pipeline`: import a register's files, build a generation.

Exit codes: 0 done, 1 it failed, 2 wrong use. An error is one line that names the value and the
remedy.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl

from pipeline import importing, seeds
from pipeline.build import build, dry_run, plan
from pipeline.build.plan import BuildOptions
from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.registers import REGISTERS
from pipeline.stages import quality_report
from pipeline.stages.rejections import MAX_SHARE
from pipeline.synth import writer
from pipeline.workers import memory
from shards.errors import ShardError
from shards.publish import publication
from shards.publish.publication import Gates

_SCHEDULER = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")

_EXAMPLE_IMPORT = "example: python -m pipeline import ee lihtandmed.csv.zip --out input/ee"
_EXAMPLE_SYNTH = "example: python -m pipeline synth --companies 100000 --seed 1 --out input/synth"
_EXAMPLE_BUILD = "example: python -m pipeline build --input input/ee input/uk --out data"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    try:
        asked = _parser().parse_args(arguments)
        return _COMMANDS[asked.command](asked)
    except (BuildError, InputError, ShardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except pl.exceptions.PolarsError as error:
        first = str(error).split("\n", 1)[0]
        print(f"error: the input cannot be read: {first}; import it again", file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted; nothing was published", file=sys.stderr)
    return 1


def _import(asked: argparse.Namespace) -> int:
    for line in importing.run(asked.source, asked.files, asked.out).lines():
        print(line)
    return 0


def _build(asked: argparse.Namespace) -> int:
    options = BuildOptions(
        inputs=tuple(asked.input),
        out=asked.out,
        pays=asked.pays,
        jobs=asked.jobs,
        memory=asked.memory,
        cluster=asked.cluster,
        gates=Gates(asked.force, dict(asked.minimum)),
        keep=asked.keep,
        max_rejected=asked.max_rejected,
    )
    if asked.dry_run:
        for line in dry_run.lines(options):
            print(line)
        return 0
    built = build.run(options)
    for what, countries in (
        ("taken from an interrupted build", built.resumed),
        ("unchanged, taken from the published generation", built.reused),
    ):
        if countries:
            print(f"{what}: {' '.join(countries)}")
    for line in quality_report.table(built.pays, built.hors_pays):
        print(line)
    print(f"published {built.generation} in {asked.out}")
    return 0


def _synth(asked: argparse.Namespace) -> int:
    options = writer.SynthOptions(
        companies=asked.companies,
        seed=asked.seed,
        out=asked.out,
        comptes=asked.comptes,
        jobs=asked.jobs,
    )
    written = writer.run(options)
    print(f"{written.companies} companies, {written.lines} statement lines in {asked.out}")
    return 0


_COMMANDS = {"import": _import, "synth": _synth, "build": _build}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline", description=__doc__, epilog=_EXAMPLE_BUILD, allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, fill, what in (
        ("import", _import_parser, "published files -> canonical Parquet"),
        ("synth", _synth_parser, "synthetic canonical Parquet, at any scale"),
        ("build", _build_parser, "canonical Parquet -> a published generation"),
    ):
        fill(commands.add_parser(name, help=what, allow_abbrev=False))
    return parser


def _import_parser(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLE_IMPORT
    parser.add_argument("source", metavar="SOURCE", choices=sorted(REGISTERS), help=_sources())
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="as published")
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help="input of a build")


def _synth_parser(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLE_SYNTH
    parser.add_argument("--companies", metavar="N", required=True, type=_whole, help="in all")
    parser.add_argument(
        "--seed", metavar="S", required=True, type=_whole, help="the same seed, the same bytes"
    )
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help="input of a build")
    parser.add_argument(
        "--comptes",
        metavar="F",
        type=_share,
        default=0.0,
        help="share of the companies that have statements (default 0)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, help="processes (default: one a processor)"
    )


def _build_parser(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLE_BUILD
    parser.add_argument(
        "--input", metavar="DIR", required=True, nargs="+", action="extend", type=Path
    )
    parser.add_argument("--out", metavar="DATA", required=True, type=Path)
    parser.add_argument(
        "--pays", type=_countries, help="rebuild only these (EE,UK), keep the others as published"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, help="processes (default: one a processor)"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        type=_address,
        help="build the countries on a Dask cluster, as tcp://10.0.0.1:8786, instead of in"
        " processes here; its workers see --input and --out under the same paths",
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        type=_gibibytes,
        help="of all processes together (default: half of what is available), on a cluster of each"
        " country: bounds how many are built at once and how many rows are held",
    )
    parser.add_argument(
        "--max-rejected",
        metavar="SHARE",
        type=_share,
        default=MAX_SHARE,
        help=f"of a country's rows that may be rejected (default {MAX_SHARE})",
    )
    parser.add_argument(
        "--minimum",
        metavar="N|ISO2=N",
        nargs="+",
        action="extend",
        default=[],
        type=_minimum,
        help="publish nothing with fewer companies, in all or of a country: 18000000 UK=2500000",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="publish although a country lost over 2 %% of its rows, or a --minimum is not reached",
    )
    parser.add_argument(
        "--keep",
        metavar="N",
        type=_kept,
        default=publication.KEPT,
        help=f"generations that stay, the new one included (default {publication.KEPT})",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, and write nothing"
    )


def _sources() -> str:
    return f"one of {', '.join(sorted(REGISTERS))}"


def _countries(value: str) -> tuple[str, ...]:
    found = tuple(part.strip().upper() for part in value.split(",") if part.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{value!r} names no country; write --pays EE,UK")
    return _known(found)


def _minimum(value: str) -> tuple[str, int]:
    iso2, given, number = value.rpartition("=")
    iso2 = iso2.strip().upper()
    if not number.isascii() or not number.isdigit() or (given and not iso2):
        raise argparse.ArgumentTypeError(
            f"{value!r} is no number of companies; write 18000000, or UK=2500000 for a country"
        )
    return _known((iso2,))[0] if given else publication.EVERYWHERE, int(number)


_seeds = cache(seeds.read)  # a value of --minimum, and there may be 25, asks for them


def _known(countries: tuple[str, ...]) -> tuple[str, ...]:
    """These countries as the tables spell them."""
    found = _seeds()
    try:
        return tuple(plan.wanted_countries(countries, found))
    except BuildError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _address(value: str) -> str:
    """Held here: what is no address keeps Dask's client trying, and dying of it later."""
    found = _SCHEDULER.fullmatch(value)
    if not found or not 0 < int(found["port"]) < 1 << 16:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no address of a scheduler; write tcp://10.0.0.1:8786, or tls://"
        )
    return value


def _kept(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) < publication.KEPT:
        raise argparse.ArgumentTypeError(
            f"{value!r} is too few generations; keep {publication.KEPT} or more, to go back to"
        )
    return int(value)


def _positive(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no number of processes; write 1 or more")
    return int(value)


def _whole(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{value!r} is no whole number; write 0 or more, as 1000")
    return int(value)


def _gibibytes(value: str) -> int:
    try:
        found = int(float(value) * memory.GIB)
    except (ValueError, OverflowError):
        found = 0
    if found <= 0:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no amount of memory; write GiB, as 6 or 1.5"
        )
    return found


def _share(value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no share; write 0 to 1, as 0.01")
    return share


if __name__ == "__main__":
    sys.exit(main())
