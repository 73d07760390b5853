"""The commands `fetch` and `nightly` of `python -m pipeline`: their arguments, the plan of a night, the progress.

`nightly --plan` asks no server and writes nothing. A server may have something new, so the plan names the files that
would be requested, and compares the files that are here with their imports.

The progress is a bar on a terminal, and elsewhere a line a minute with the stage: a run that is silent for hours looks
like one that hangs.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from tqdm import tqdm

from pipeline.errors import BuildError
from pipeline.nightly import config, fetching, imports, published_files, receipt
from pipeline.nightly.config import NightlyConfig
from pipeline.nightly.fetching import FetchSettings
from pipeline.nightly.nightly import NightlyRun
from pipeline.nightly.published_files import PublishedFile
from pipeline.workers.isolation import Limits
from shards.generations import pointer

EXAMPLE_FETCH: Final = "example: python -m pipeline fetch ee uk-basic --out raw"
EXAMPLE_NIGHTLY: Final = "example: python -m pipeline nightly /etc/societes/nightly.toml"
_EVERY_SECONDS: Final = 60.0
_MEGABYTE: Final = 1e6


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
    with show_progress("fetch") as shown:
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
        for line in plan_lines(settings, fetches, datetime.now(UTC).date()):
            print(line)
        return 0
    with show_progress("fetch") as shown:
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


def plan_lines(config: NightlyConfig, settings: FetchSettings, today: date) -> Iterator[str]:
    """The plan of a night (`nightly --plan`).

    Raises:
        FetchError: an address in the settings that is none.
    """
    raw, table, inputs = config.work / "raw", published_files.read(), 0
    for source in config.sources:
        yield f"{source}:"
        for file in published_files.with_settings(table[source], settings.of_source(source)):
            yield f"  fetch: {_planned_request(file, settings, raw / source, today)}"
            if not settings.of_source(source).fetch:
                break
        fresh, done = imports.pending_files(source, raw, config.work)
        inputs += bool(fresh or done)
        if fresh:
            yield f"  import: {', '.join(fresh)}"
        if done:
            yield f"  imported already: {', '.join(done)}"
        if not fresh and not done:
            yield f"  import: only what comes; no file is in {raw / source}"
    stays = pointer.current_name(config.data) or "nothing"
    yield f"build: {inputs} of {len(config.sources)} sources have files here, into {config.data}"
    yield f"  countries without a change are linked; published now: {stays}"


def _planned_request(
    file: PublishedFile, settings: FetchSettings, folder: Path, today: date
) -> str:
    """What would be asked for of one file."""
    if not settings.of_source(file.source).fetch or not file.address:
        return f"nothing, by hand: its files are put into {folder}"
    if reason := fetching.lacks_key(file, settings):
        return f"nothing: {reason}"
    last = receipt.all_of(folder, file.name)
    if file.days is None and last and (folder / last[0].fichier).is_file():
        return f"nothing: {last[0].fichier} is here, and never published again"
    editions = published_files.editions(file, today)
    if file.editions > 1:
        editions = [one for one in editions if not (folder / one.name).is_file()] or editions
    newest = editions[0]
    more = f" and up to {len(editions) - 1} older editions" if len(editions) > 1 else ""
    came = f", of which {last[0].fichier} came on {last[0].recu[:10]}" if last else ""
    part = folder / receipt.FOLDER / newest.name
    begun = f", from byte {part.stat().st_size:,} on" if part.is_file() else ""
    return f"{newest.address}{more}{came}{begun}"


@dataclass(slots=True)
class Progress:
    """What a run is doing: its stage, since when, and the bytes that have come in it."""

    bar: tqdm  # type: ignore[type-arg]  # generic in its stubs alone
    stage: str = ""
    bytes_came: int = 0
    since: float = field(default_factory=time.monotonic)

    def begin(self, stage: str) -> None:
        """Enter a stage."""
        self.stage, self.bytes_came, self.since = stage, 0, time.monotonic()

    def add_bytes(self, size: int) -> None:
        """Count bytes that were fetched."""
        self.bytes_came += size
        self.bar.update(size)

    def say(self, message: str) -> None:
        """Print a message, above the bar."""
        tqdm.write(f"pipeline: {message}", file=sys.stderr)

    def line(self) -> str:
        """What it is doing, for a log."""
        came = f", {self.bytes_came / _MEGABYTE:,.1f} MB have come" if self.bytes_came else ""
        return f"{self.stage}: {time.monotonic() - self.since:,.0f} s{came}"


@contextmanager
def show_progress(stage: str) -> Iterator[Progress]:
    """The progress of a command that begins with `stage`, shown until the end of the block."""
    ended = threading.Event()
    with tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
        progress = Progress(bar, stage)

        def report() -> None:
            while not ended.wait(_EVERY_SECONDS):
                progress.say(progress.line())

        reporter = threading.Thread(target=report, name="progress", daemon=True)
        if bar.disable:
            reporter.start()
        try:
            yield progress
        finally:
            ended.set()
            if reporter.is_alive():
                reporter.join()
