"""`python -m pipeline`: fetch and import the files of registers, build a generation; `nightly` does all of it.

Exit codes: 0 success, 1 failure, 2 wrong usage. An error is one line that names the value and the remedy.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import argument_types as types
from pipeline import importing
from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.nightly import command as nightly
from pipeline.publishing import build, plan
from pipeline.publishing.plan import BuildOptions
from pipeline.registers import REGISTERS
from pipeline.stages import quality_report
from pipeline.stages.rejections import MAX_SHARE
from pipeline.workers.isolation import Limits
from seeds import VERSION
from seeds.settings import naming_value, whole_number
from shards.errors import ShardError
from shards.generations import publication
from shards.generations.publication import Gates

_EXAMPLE_IMPORT: Final = "example: python -m pipeline import ee lihtandmed.csv.zip --out input/ee"
_EXAMPLE_BUILD: Final = "example: python -m pipeline build --input input/ee input/uk --out data"

# Types of the options --jobs and --keep.
_JOBS: Final = naming_value(whole_number(1))
_KEEP: Final = naming_value(
    whole_number(
        publication.KEPT, reason="the published generation and at least one to roll back to"
    )
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        options = _parser().parse_args(arguments)
        return _COMMANDS[options.command](options)
    except (BuildError, InputError, ShardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except pl.exceptions.PolarsError as error:
        first_line = str(error).split("\n", 1)[0]
        print(f"error: the input cannot be read: {first_line}; import it again", file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted; what was published stays", file=sys.stderr)
    return 1


def _import(options: argparse.Namespace) -> int:
    """Run the command `import`; return its exit code."""
    report = importing.run_isolated(
        Limits(), options.source, options.files, options.out, options.date, memory=options.memory
    )
    for line in report.lines():
        print(line)
    register = REGISTERS[options.source]
    if excess := report.counts.too_many_rejected(register.max_rejected):
        print(f"warning: {options.source}: {excess}; look into the file", file=sys.stderr)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    """Run the command `build`; return its exit code."""
    options = BuildOptions(
        inputs=tuple(arguments.input),
        out=arguments.out,
        pays=arguments.pays,
        jobs=arguments.jobs,
        memory=arguments.memory,
        cluster=arguments.cluster,
        gates=Gates(arguments.force, arguments.minimum),
        keep=arguments.keep,
        max_rejected=arguments.max_rejected,
        personal_mailboxes=not arguments.no_personal_mailboxes,
        objections=arguments.objections,
    )
    if arguments.dry_run:
        for line in plan.forecast(options):
            print(line)
        return 0
    built = build.run(options)
    for title, countries in (
        ("taken from an interrupted build", built.resumed),
        ("unchanged, taken from the published generation", built.reused),
    ):
        if countries:
            print(f"{title}: {' '.join(countries)}")
    for line in quality_report.table(built.pays, built.hors_pays):
        print(line)
    print(f"published {built.generation} in {arguments.out}")
    return 0


_COMMANDS: Final = {
    "fetch": nightly.fetch,
    "import": _import,
    "build": _build,
    "nightly": nightly.nightly,
}


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline", description=__doc__, epilog=_EXAMPLE_BUILD, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"societes {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, add_arguments, summary in (
        (
            "fetch",
            nightly.add_fetch_arguments,
            "download the files of registers into a folder, and check them",
        ),
        ("import", _add_import_arguments, "published files -> canonical Parquet"),
        ("build", _add_build_arguments, "canonical Parquet -> a published generation"),
        (
            "nightly",
            nightly.add_nightly_arguments,
            "all of these steps, as a configuration file sets them",
        ),
    ):
        add_arguments(commands.add_parser(name, help=summary, allow_abbrev=False))
    return parser


def _add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `import`."""
    parser.epilog = _EXAMPLE_IMPORT
    sources = sorted(REGISTERS)
    parser.add_argument(
        "source", metavar="SOURCE", choices=sources, help=f"one of {', '.join(sources)}"
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="as published")
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help="input of a build")
    parser.add_argument(
        "--date",
        metavar="DAY",
        type=types.day,
        help="the date of the files, as 2026-11-01, 2026-11 or 2026 (default: the date in the files or in"
        " their names; otherwise it is unknown)",
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        type=types.gibibytes,
        help="memory that the import may take, at least 0.5",
    )


def _add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `build`."""
    parser.epilog = _EXAMPLE_BUILD
    add = parser.add_argument
    add(
        "--input",
        metavar="DIR",
        required=True,
        nargs="+",
        action="extend",
        type=Path,
        help="one or more folders of canonical Parquet",
    )
    add("--out", metavar="DATA", required=True, type=Path, help="where generations are published")
    add(
        "--pays",
        type=types.countries,
        help="rebuild only these countries (EE,UK), keep the others as published",
    )
    add("--jobs", metavar="N", type=_JOBS, help="processes (default: one per processor)")
    add(
        "--cluster",
        metavar="ADDRESS",
        type=types.scheduler,
        help="build the countries on the Dask cluster at ADDRESS (tcp://10.0.0.1:8786) instead of"
        " in local processes; its workers need --input and --out under the same paths",
    )
    add(
        "--memory",
        metavar="GIB",
        type=types.gibibytes,
        help="limit for all processes together (default: half of the available memory), on a"
        " cluster for each country: bounds the countries built at once and the rows in memory",
    )
    _add_gates(parser)
    add(
        "--keep",
        metavar="N",
        type=_KEEP,
        default=publication.KEPT,
        help=f"generations to keep, including the new one (default {publication.KEPT})",
    )
    add(
        "--objections",
        metavar="FILE",
        type=Path,
        help="CSV of the data that persons do not want published (pipeline/README.md); this and all later"
        " builds leave them out",
    )
    add(
        "--no-personal-mailboxes",
        action="store_true",
        help="leave out e-mail addresses at consumer providers (seeds/messageries.csv)",
    )
    add("--dry-run", action="store_true", help="print the changes; publish and write nothing")


def _add_gates(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `build` that decide whether a generation can be published."""
    add = parser.add_argument
    add(
        "--max-rejected",
        metavar="SHARE",
        type=types.share,
        default=MAX_SHARE,
        help=f"stop if more of a country's rows are rejected (default {MAX_SHARE})",
    )
    add(
        "--minimum",
        metavar="N|ISO2=N",
        nargs="+",
        action=types.StoreMinimums,
        default={},
        type=types.minimum,
        help="do not publish fewer companies, in total or in a country: 18000000 UK=2500000",
    )
    add(
        "--force",
        action="store_true",
        help="publish even if a country lost over 2 %% of its rows or a --minimum is not reached",
    )


if __name__ == "__main__":
    sys.exit(main())
