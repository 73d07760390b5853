"""The commands `fetch` and `nightly` of `python -m pipeline`."""

import argparse
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tqdm import tqdm

from pipeline.nightly import config
from pipeline.nightly.fetch import fetching, published

EXAMPLE_FETCH: Final = "example: python -m pipeline fetch ee uk-basic --out raw"


def arguments_of_fetch(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fetch`."""
    parser.epilog = EXAMPLE_FETCH
    sources = sorted(published.read())
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
    with tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
        found = fetching.run(
            sources, options.out, settings, now=now, came=bar.update, report=_report
        )
    good = [file for file in found if file.result in ("nouveau", "inchange")]
    for file in found:
        if file in good:
            print(file.line())
        else:
            print(f"error: {file.line()}", file=sys.stderr)
    return int(len(good) < len(found))


def _report(message: str) -> None:
    tqdm.write(f"pipeline: {message}", file=sys.stderr)
