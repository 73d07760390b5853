"""The commands `fetch` and `nightly` of `python -m pipeline`."""

import argparse
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pipeline.errors import BuildError
from pipeline.nightly import config, fetching, forecast, progress, published_files
from pipeline.nightly.nightly import NightlyRun
from pipeline.workers.isolation import Limits

EXAMPLE_FETCH: Final = "example: python -m pipeline fetch ee uk-basic --out raw"
EXAMPLE_NIGHTLY: Final = "example: python -m pipeline nightly /etc/societes/nightly.toml"


def arguments_of_fetch(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fetch`."""
    parser.epilog = EXAMPLE_FETCH
    sources = sorted(published_files.read())
    parser.add_argument(
        "source", metavar="SOURCE", nargs="+", choices=sources, help=f"of {', '.join(sources)}"
    )
    parser.add_argument(
        "--out", metavar="RAW", required=True, type=Path, help="RAW/SOURCE has the files"
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="contact, addresses and keys, as for nightly"
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="take files that are larger or smaller than is credible",
    )


def fetch(options: argparse.Namespace) -> int:
    """Run the command `fetch`; return its exit code."""
    sources = tuple(dict.fromkeys(options.source))
    settings = config.read_fetch_settings(options.config, os.environ)
    if options.accept:
        settings = replace(settings, accept=frozenset(sources))
    now = datetime.now(UTC)
    with progress.show_progress("fetch") as shown:
        found = fetching.run(
            sources, options.out, settings, now=now, came=shown.add_bytes, report=shown.say
        )
    good = [file for file in found if file.result in ("nouveau", "inchange")]
    for file in found:
        if file in good:
            print(file.line())
        else:
            print(f"error: {file.line()}", file=sys.stderr)
    return int(len(good) < len(found))


def arguments_of_nightly(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `nightly`."""
    parser.epilog = EXAMPLE_NIGHTLY
    parser.add_argument("config", metavar="CONFIG", type=Path, help="TOML, as in README.md")
    parser.add_argument(
        "--accept",
        metavar="SOURCE",
        nargs="+",
        action="extend",
        default=[],
        choices=sorted(published_files.read()),
        help="take an edition of these sources that lost rows, is older or is mostly rejected, and open the gates"
        " of the build",
    )

    parser.add_argument(
        "--strict",
        action="store_true",
        help="end with exit code 3 where a source failed, as `strict = true`",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="say what would be fetched, imported and built; ask no server, write nothing",
    )


def nightly(options: argparse.Namespace) -> int:
    """Run the command `nightly`; return its exit code."""
    settings = config.read(options.config)
    if others := sorted(set(options.accept) - set(settings.sources)):
        raise BuildError(
            f"--accept {others[0]}: {options.config} does not name it in `sources`; add it there, "
            "or leave the option out"
        )
    fetches = config.fetch_settings(settings.contact, settings.source, os.environ)
    settings = replace(settings, strict=settings.strict or options.strict)
    fetches = replace(
        fetches,
        accept=frozenset(options.accept),
        slowest=settings.slowest,
        deadline=settings.deadline,
        limits=Limits(settings.import_memory, settings.import_idle),
    )
    if options.plan:
        for line in forecast.lines(settings, fetches, datetime.now(UTC).date()):
            print(line)
        return 0
    with progress.show_progress("fetch") as shown:
        run = NightlyRun(settings, fetches, came=shown.add_bytes, say=shown.say, begin=shown.begin)
        found = run.run()
    for line in found.lines():
        print(line)
    if found.etat == "echec":
        print(f"error: {found.erreur}", file=sys.stderr)
    elif found.is_fruitless:
        print(
            "error: no source came: each was refused or not reached; what was imported before is published again",
            file=sys.stderr,
        )
    for one in found.sources:
        for reason in one.motifs:
            print(f"warning: {one.source}: {reason}", file=sys.stderr)
    return found.exit_code(strict=settings.strict)
