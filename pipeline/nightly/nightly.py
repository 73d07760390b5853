"""The command `nightly`: fetch, import, build, verify, publish, sign, prune.

Every stage finds what an earlier run has finished and does the rest, so a run that was killed is started again and
comes to the same result. One run at a time works in a folder. A source that fails leaves its edition of before in
place; an error of the build leaves the published generation in place.
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

VERIFIED: Final = "verified"  # the file with the name of the last generation that was verified


@dataclass(frozen=True, slots=True)
class NightlyRun:
    """A run.

    Attributes:
        clock: the present, in UTC.
        came: called with the number of bytes that were fetched.
        say: called with a message before a wait.
        begin: called with the name of each stage when it begins.
    """

    config: NightlyConfig
    fetches: FetchSettings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    came: Callable[[int], object] = lambda _: None
    say: Callable[[str], object] = lambda _: None
    begin: Callable[[str], object] = lambda _: None

    def run(self) -> NightlyReport:
        """Run all stages; return the report, which is also written.

        Raises:
            BuildError: nothing can be written to the folder of the work.
            ShardError: another run is under way.
        """
        found = NightlyReport(debut=self.clock().isoformat(timespec="seconds"))
        try:
            with locks.write_lock(self.config.work):
                try:
                    self._try(found)
                finally:
                    self._measure(found)
        except OSError as error:  # of the lock, where nothing can be written
            raise BuildError(self._message(error)) from error
        return found

    def _try(self, report: NightlyReport) -> None:
        """Run all stages, and write the report."""
        config = self.config
        try:
            if config.key:  # a key that is wrong should not be found out after hours
                signature.private_key(config.key)
            report.precedente = report.generation = pointer.current_name(config.data)
            self._stages(report)
        except pl.exceptions.PolarsError as error:
            report.erreur = f"the input cannot be read: {str(error).splitlines()[0]}"
        except (BuildError, InputError, ShardError, OSError) as error:
            report.erreur = self._message(error)
        report.fin = self.clock().isoformat(timespec="seconds")
        try:
            report.write(config.work / "reports", config.reports)
        except OSError as error:  # what the night did is printed all the same
            report.erreur = report.erreur or f"the report is not written: {self._message(error)}"
            report.etat = "echec"

    def _message(self, error: Exception) -> str:
        """The message of an error; of a full disk, which the system does not name, with folder and remedy."""
        if not isinstance(error, OSError) or error.errno != errno.ENOSPC:
            return str(error)
        config = self.config
        there = [folder for folder in (config.work, config.data) if folder.is_dir()]
        full = min(there, key=lambda folder: shutil.disk_usage(folder).free, default=config.work)
        return f"the disk of {full} is full; give it space and start the night again, which goes on"

    def _measure(self, report: NightlyReport) -> None:
        """Write the metrics, which a night without them does not wait for."""
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

    def _stages(self, night: NightlyReport) -> None:
        config, raw = self.config, self.config.work / "raw"
        table = published_files.read()
        with self._time_stage(night, "fetch"):
            fetched = fetching.run(
                config.sources, raw, self.fetches, now=self.clock(), came=self.came, report=self.say
            )
        imported: list[SourceImports] = []
        with self._time_stage(night, "import"):
            for source in config.sources:
                said = self.fetches.of_source(source)
                self.begin(f"import {source}")
                since = time.monotonic()
                imported.append(
                    imports.run(
                        source,
                        raw,
                        config.work,
                        accept=source in self.fetches.accept,
                        max_rejected=said.max_rejected,
                        most_in_build=config.max_rejected,
                        memory=max(config.memory, LEAST_MEMORY) if config.memory else None,
                        limits=self.fetches.limits,
                    )
                )
                files = [file for file in fetched if file.source == source]
                seconds = time.monotonic() - since
                night.sources.append(
                    report.of_source(
                        table[source][0], files, imported[-1], raw, self.clock(), seconds
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
        failed = any(one.has_failed for one in night.sources)
        night.etat = "partiel" if failed else "complet"

    def _build(self, imported: list[SourceImports], report: NightlyReport) -> BuildResult:
        """Build, verify and publish."""
        config = self.config
        inputs = tuple(folder for one in imported for folder in one.folders(config.work))
        if not inputs:
            raise BuildError("no source has anything to build; see the reasons above each of them")
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
            with self._time_stage(report, "verify"):
                invariants.verify(generation, _verified_shards(config), jobs=config.jobs or 1)
                market.verify(generation)

        return build.run(replace(options, check=verify) if config.verify else options)

    @contextmanager
    def _time_stage(self, report: NightlyReport, stage: str) -> Iterator[None]:
        since = time.monotonic()  # the clock may be set while a stage runs
        self.begin(stage)
        try:
            yield
        finally:
            report.etapes[stage] = round(time.monotonic() - since, 6)


def _verified_shards(config: NightlyConfig) -> set[Inode]:
    """The shards of the published generation, if a run has verified it; they are linked, not built again.

    Their bytes are compared with their digests before any publication.
    """
    try:
        name = (config.work / VERIFIED).read_text()
    except FileNotFoundError:
        return set()
    if name != pointer.current_name(config.data):
        return set()
    return {generation_files.inode_of(path) for path in Path(config.data / name).glob("*.shard")}
