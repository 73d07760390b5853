"""The commands `fetch` and `nightly` of `python -m pipeline`: their arguments, the plan of a night, the progress.

`nightly --plan` sends no request and writes nothing. It cannot know whether a server has a new file, so it lists the
files that would be requested, and compares the files in RAW with their imports.

The progress is a bar on a terminal, otherwise a line per minute with the stage, because a run that is silent for hours
looks as if it hangs.
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
_SECONDS_BETWEEN_LINES: Final = 60.0  # between two lines of progress
_MEGABYTE: Final = 1e6  # bytes


def add_fetch_arguments(parser: argparse.ArgumentParser) -> None:
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
        help="accept files that are larger or smaller than is credible",
    )


def fetch(options: argparse.Namespace) -> int:
    """Run the command `fetch`; return its exit code: 1 if a file was not fetched, else 0."""
    sources = tuple(dict.fromkeys(options.source))
    settings = config.read_fetch_settings(options.config, os.environ)
    if options.accept:
        settings = replace(settings, accept=frozenset(sources))
    now = datetime.now(UTC)
    with show_progress("fetch") as progress:
        fetched = fetching.run(
            sources,
            options.out,
            settings,
            now=now,
            on_bytes=progress.add_bytes,
            report=progress.say,
        )
    accepted = [file for file in fetched if file.result in ("nouveau", "inchange")]
    for file in fetched:
        if file in accepted:
            print(file.line())
        else:
            print(f"error: {file.line()}", file=sys.stderr)
    return int(len(accepted) < len(fetched))


def add_nightly_arguments(parser: argparse.ArgumentParser) -> None:
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
        help="accept an edition of these sources that lost rows, is older or is mostly rejected, and open the gates"
        " of the build",
    )

    parser.add_argument(
        "--strict",
        action="store_true",
        help="end with exit code 3 if a source failed, as `strict = true`",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="print the files that would be fetched, imported and built; send no request, write nothing",
    )


def nightly(options: argparse.Namespace) -> int:
    """Run the command `nightly`; return its exit code."""
    settings = config.read(options.config)
    if not_configured := sorted(set(options.accept) - set(settings.sources)):
        raise BuildError(
            f"--accept {not_configured[0]}: {options.config} does not name it in `sources`; add it there, "
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
    with show_progress("fetch") as progress:
        run = NightlyRun(
            settings, fetches, on_bytes=progress.add_bytes, say=progress.say, begin=progress.begin
        )
        report = run.run()
    for line in report.lines():
        print(line)
    if report.etat == "echec":
        print(f"error: {report.erreur}", file=sys.stderr)
    elif report.is_fruitless:
        print(
            "error: no source was fetched: each was refused or not reached; the earlier imports are published again",
            file=sys.stderr,
        )
    for source in report.sources:
        for reason in source.motifs:
            print(f"warning: {source.source}: {reason}", file=sys.stderr)
    return report.exit_code(strict=settings.strict)


def plan_lines(config: NightlyConfig, settings: FetchSettings, today: date) -> Iterator[str]:
    """The plan of a night as lines of text (`nightly --plan`): the requests and imports of each source, then the build.

    Raises:
        FetchError: an address in the settings is invalid.
    """
    raw, published, sources_with_files = config.work / "raw", published_files.read(), 0
    for source in config.sources:
        yield f"{source}:"
        for file in published_files.apply_settings(
            published[source], settings.source_settings(source)
        ):
            yield f"  fetch: {_planned_request(file, settings, raw / source, today)}"
            if not settings.source_settings(source).fetch:
                break  # this line is for all files of the source
        new_files, imported_files = imports.pending_files(source, raw, config.work)
        sources_with_files += bool(new_files or imported_files)
        if new_files:
            yield f"  import: {', '.join(new_files)}"
        if imported_files:
            yield f"  imported already: {', '.join(imported_files)}"
        if not new_files and not imported_files:
            yield f"  import: only new files; no file is in {raw / source}"
    published_now = pointer.current_name(config.data) or "nothing"
    yield f"build: {sources_with_files} of {len(config.sources)} sources have files here, into {config.data}"
    yield f"  countries without a change are linked; published now: {published_now}"


def _planned_request(
    file: PublishedFile, settings: FetchSettings, folder: Path, today: date
) -> str:
    """The request that a night would send for one file, in words; or why it would send none."""
    if not settings.source_settings(file.source).fetch or not file.address:
        return f"nothing: an operator puts its files into {folder}"
    if reason := fetching.missing_key_reason(file, settings):
        return f"nothing: {reason}"
    receipts = receipt.read_all(folder, file.name)
    if file.days is None and receipts and (folder / receipts[0].fichier).is_file():
        return f"nothing: {receipts[0].fichier} is here, and is not published again"
    editions = published_files.editions(file, today)
    if file.editions > 1:
        editions = [edition for edition in editions if not (folder / edition.name).is_file()]
    if not editions:
        return "nothing: each of its editions is here"
    newest = editions[0]
    older = f" and up to {len(editions) - 1} older editions" if len(editions) > 1 else ""
    received = (
        f", of which {receipts[0].fichier} came on {receipts[0].recu[:10]}" if receipts else ""
    )
    unfinished = folder / receipt.FOLDER / newest.name
    continued = f", from byte {unfinished.stat().st_size:,} on" if unfinished.is_file() else ""
    return f"{newest.address}{older}{received}{continued}"


@dataclass(slots=True)
class Progress:
    """The progress of a run: its stage, the start of the stage (monotonic), and the bytes received in the stage."""

    bar: tqdm  # type: ignore[type-arg]  # generic in its stubs alone
    stage: str = ""
    received_bytes: int = 0
    stage_start: float = field(default_factory=time.monotonic)

    def begin(self, stage: str) -> None:
        """Enter a stage."""
        self.stage, self.received_bytes, self.stage_start = stage, 0, time.monotonic()

    def add_bytes(self, size: int) -> None:
        """Count bytes that were fetched."""
        self.received_bytes += size
        self.bar.update(size)

    def say(self, message: str) -> None:
        """Print a message, above the bar."""
        tqdm.write(f"pipeline: {message}", file=sys.stderr)

    def line(self) -> str:
        """The progress as a line of text: the stage, its seconds, the received bytes."""
        received = (
            f", {self.received_bytes / _MEGABYTE:,.1f} MB received" if self.received_bytes else ""
        )
        return f"{self.stage}: {time.monotonic() - self.stage_start:,.0f} s{received}"


@contextmanager
def show_progress(stage: str) -> Iterator[Progress]:
    """Show the progress of a command until the end of the block; `stage` is its first stage.

    A terminal shows a bar; otherwise a thread prints a line every _SECONDS_BETWEEN_LINES.
    """
    ended = threading.Event()
    # `disable=None` means no bar unless the output is a terminal.
    with tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
        progress = Progress(bar, stage)

        def report() -> None:
            """Print a line of progress every minute, until the command ends."""
            while not ended.wait(_SECONDS_BETWEEN_LINES):
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
