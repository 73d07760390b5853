"""The command `nightly`: fetch, import, build, verify, publish, sign, prune.

Every stage reuses the finished work of an earlier run, so a run that was killed can be started again, with the same
result. Only one run at a time can use a folder `work`. If a source fails, its previous edition stays in place; if the
build fails, the published generation stays in place.
"""

import errno
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.nightly import fetching, imports, published_files, report
from pipeline.nightly.config import NightlyConfig
from pipeline.nightly.fetching import FetchSettings
from pipeline.nightly.imports import SourceImports
from pipeline.nightly.report import NightlyReport, write_metrics
from pipeline.publishing import build
from pipeline.publishing.build import BuildResult
from pipeline.publishing.plan import BuildOptions
from pipeline.registers.register import LEAST_MEMORY
from shards.analyses import market
from shards.errors import ShardError
from shards.generations import atomic_files, generation_files, locks, pointer
from shards.generations.generation_files import Generation, Inode
from shards.generations.publication import Gates
from shards.mirror import signature
from shards.verify import invariants

VERIFIED: Final = "verified"  # the file in `work` with the name of the last verified generation


@dataclass(frozen=True, slots=True)
class NightlyRun:
    """One run of the command.

    Attributes:
        fetches: the settings of the fetches.
        clock: returns the time, in UTC.
        on_bytes: called with the number of bytes of each fetched piece.
        say: called with a message before a wait.
        begin: called with the name of each stage when it begins.
    """

    config: NightlyConfig
    fetches: FetchSettings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    on_bytes: Callable[[int], object] = lambda _: None
    say: Callable[[str], object] = lambda _: None
    begin: Callable[[str], object] = lambda _: None

    def run(self) -> NightlyReport:
        """Run all stages; return the report, which is also written.

        Raises:
            BuildError: the folder `work` cannot be written.
            ShardError: another run is under way.
        """
        report = NightlyReport(debut=self.clock().isoformat(timespec="seconds"))
        try:
            with locks.write_lock(self.config.work):
                try:
                    self._run_and_report(report)
                finally:
                    self._write_metrics(report)
        except OSError as error:  # of the lock, if the folder cannot be written
            raise BuildError(self._error_message(error)) from error
        return report

    def _run_and_report(self, report: NightlyReport) -> None:
        """Run all stages, and write the report; errors of a stage are in `erreur` of the report."""
        config = self.config
        try:
            if config.key:  # read now, so that a wrong key is not found only after hours
                signature.private_key(config.key)
            report.precedente = report.generation = pointer.current_name(config.data)
            self._run_stages(report)
        except pl.exceptions.PolarsError as error:
            report.erreur = f"the input cannot be read: {str(error).splitlines()[0]}"
        except (BuildError, InputError, ShardError, OSError) as error:
            report.erreur = self._error_message(error)
        report.fin = self.clock().isoformat(timespec="seconds")
        try:
            report.write(config.work / "reports", config.reports)
        except OSError as error:  # the night has failed, but its report is still printed
            report.erreur = (
                report.erreur or f"the report is not written: {self._error_message(error)}"
            )
            report.etat = "echec"

    def _error_message(self, error: Exception) -> str:
        """The message of an error; for a full disk it names the folder, which the system does not, and the remedy."""
        if not isinstance(error, OSError) or error.errno != errno.ENOSPC:
            return str(error)
        config = self.config
        folders = [folder for folder in (config.work, config.data) if folder.is_dir()]
        fullest = min(
            folders, key=lambda folder: shutil.disk_usage(folder).free, default=config.work
        )
        return f"the disk of {fullest} is full; give it space and start the night again, which continues"

    def _write_metrics(self, report: NightlyReport) -> None:
        """Write the metrics, if a file for them is configured; a failure is only a warning."""
        config = self.config
        if not config.textfile:
            return
        code = report.exit_code(strict=config.strict)
        try:
            write_metrics(
                config.textfile, report, config.data, ended=self.clock(), success=code == 0
            )
        except OSError as error:
            self.say(f"warning: textfile {config.textfile} cannot be written: {error.strerror}")

    def _run_stages(self, night: NightlyReport) -> None:
        """Fetch, import, build, verify, publish, sign and prune; add the results to the report `night`."""
        config, raw = self.config, self.config.work / "raw"
        published = published_files.read()
        with self._time_stage(night, "fetch"):
            fetched = fetching.run(
                config.sources,
                raw,
                self.fetches,
                now=self.clock(),
                on_bytes=self.on_bytes,
                report=self.say,
            )
        imported: list[SourceImports] = []
        with self._time_stage(night, "import"):
            for source in config.sources:
                settings = self.fetches.source_settings(source)
                self.begin(f"import {source}")
                started = time.monotonic()
                imported.append(
                    imports.run(
                        source,
                        raw,
                        config.work,
                        accept=source in self.fetches.accept,
                        max_rejected=settings.max_rejected,
                        most_in_build=config.max_rejected,
                        # With less memory, an import would be refused.
                        memory=max(config.memory, LEAST_MEMORY) if config.memory else None,
                        limits=self.fetches.limits,
                    )
                )
                files = [file for file in fetched if file.source == source]
                seconds = time.monotonic() - started
                night.sources.append(
                    report.source_report(
                        published[source][0], files, imported[-1], raw, self.clock(), seconds
                    )
                )
        with self._time_stage(night, "build"):
            built = self._build(imported, night)
        night.generation = built.generation
        night.rejetees = {
            iso2: dict(quality.rejetees)
            for iso2, quality in built.pays.items()
            if any(quality.rejetees.values())
        }
        if config.verify:
            atomic_files.write(config.work / VERIFIED, built.generation.encode())
        if config.key:
            with self._time_stage(night, "sign"):
                signature.sign(config.data, config.key, config.valid_days)
            night.signee = True
        with self._time_stage(night, "prune"):
            imports.prune(imported, config.work)
        failed = any(source.has_failed for source in night.sources)
        night.etat = "partiel" if failed else "complet"

    def _build(self, imported: list[SourceImports], report: NightlyReport) -> BuildResult:
        """Build a generation from the imports, and publish it; verify it before, unless the configuration omits that.

        Raises:
            BuildError: no source has an import to build.
        """
        config = self.config
        inputs = tuple(folder for source in imported for folder in source.folders(config.work))
        if not inputs:
            raise BuildError("no source has anything to build; see the reasons of each source")
        options = BuildOptions(
            inputs=inputs,
            out=config.data,
            jobs=config.jobs,
            memory=config.memory,
            gates=Gates(bool(self.fetches.accept), config.minimum),
            keep=config.keep,
            max_rejected=config.max_rejected,
            personal_mailboxes=config.personal_mailboxes,
            objections=config.objections,
        )

        def verify(generation: Generation) -> None:
            """Check every invariant of the new generation, except in shards that an earlier run has verified."""
            with self._time_stage(report, "verify"):
                invariants.verify(generation, _verified_shards(config), jobs=config.jobs or 1)
                market.verify(generation)

        return build.run(replace(options, check=verify) if config.verify else options)

    @contextmanager
    def _time_stage(self, report: NightlyReport, stage: str) -> Iterator[None]:
        """Announce a stage (`begin`), and record its seconds in the report when the block ends."""
        # A monotonic clock, because the clock of the system can be changed while a stage runs.
        started = time.monotonic()
        self.begin(stage)
        try:
            yield
        finally:
            report.etapes[stage] = round(time.monotonic() - started, 6)


def _verified_shards(config: NightlyConfig) -> set[Inode]:
    """The shards that need no second verification: those of the published generation, if a run has verified it.

    The build links unchanged shards, so they have the same inode in the new generation. Every publication compares
    their bytes with their digests, so damage since their verification does not stay unnoticed.
    """
    try:
        name = (config.work / VERIFIED).read_text()
    except FileNotFoundError:
        return set()
    if name != pointer.current_name(config.data):
        return set()
    return {generation_files.inode_of(path) for path in Path(config.data / name).glob("*.shard")}
