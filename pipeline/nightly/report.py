"""The report of a nightly run: JSON for programs, lines for people, metrics for Prometheus.

A report is WORK/reports/<start>.json and <start>.txt. The metrics are a file in Prometheus' text format 0.0.4 for the
textfile collector of a node exporter.
"""

import resource
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from pipeline import console
from pipeline.nightly.fetching import FetchedFile
from pipeline.nightly.imports import SourceImports
from pipeline.nightly.published_files import PublishedFile
from shards.generations import atomic_files

NightState = Literal["complet", "partiel", "echec"]
SourceResult = Literal["nouveau", "inchange", "partiel", "precedent", "absent"]
_PARTIAL_EXIT_CODE: Final = 3  # the exit code of a partial night with --strict; 2 is wrong use
# A source is overdue when its edition is older than this number of its periods.
_OVERDUE_PERIODS: Final = 2
_DAY_SECONDS: Final = 86_400
# The complete name of the metric that is read from the file of the previous night.
_LAST_SUCCESS: Final = "societes_night_last_success_timestamp_seconds"
# Name without `societes_night_` -> help.
_METRICS: Final = {
    "source_tried": "Whether a request was sent for the source.",
    "source_fetched": "Whether the source was fetched or unchanged, and accepted.",
    "source_age_seconds": "The age of the served edition; absent if its files have no date.",
    "source_rows": "The rows that the imports of the source kept.",
    "source_rejected_rows": "The rows that the imports of the source rejected.",
    "source_seconds": "The seconds of the fetch and the import of the source.",
    "build_seconds": "The seconds of the build.",
    "build_bytes": "The size of the published generation.",
    "peak_memory_bytes": "The largest resident memory of one process of the night.",
    "last_success_timestamp_seconds": "When a night with exit code 0 ended.",
}
_KIBIBYTE: Final = 1_024  # the unit of ru_maxrss on Linux


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The report of a source; the attributes are the keys of its JSON.

    Attributes:
        resultat: `nouveau`: this run imported an edition; `inchange`: there is no newer edition;
            `precedent`: an edition was refused, and the previous edition is served; `partiel`: a file was
            refused, others were imported; `absent`: there is nothing to build.
        motifs: the reasons why a file or an import was refused.
        fichiers: for each file its result, size, rows and date.
        date, age_jours: the date of the served edition, which is that of its oldest file, and its age in days; null if
            no file has a date.
        en_retard: whether the served edition is older than two periods of the source. If no file has a date, the age
            is counted from the time at which the files were published or received.
        comptage: the numbers of rows of the imports: read, kept, rejected and dropped.
        demandee: whether a request was sent; false if an operator puts the files into the folder.
        secondes: the seconds of the fetch and the import.
        obtenue: whether an edition was received, is unchanged or was put there by hand, and was not refused.
    """

    source: str
    resultat: SourceResult
    motifs: tuple[str, ...]
    fichiers: tuple[dict[str, Any], ...]
    date: str | None
    age_jours: int | None
    en_retard: bool
    comptage: dict[str, int]
    demandee: bool
    obtenue: bool
    secondes: float

    @property
    def has_failed(self) -> bool:
        """Whether the newest edition of the source is not served, or only in part."""
        return self.resultat in ("partiel", "precedent", "absent")

    def lines(self) -> Iterator[str]:
        """The report of the source for a terminal."""
        days = "day" if self.age_jours == 1 else "days"
        age = f", of {self.date}, {self.age_jours} {days} old" if self.date else ""
        overdue = ", overdue" if self.en_retard else ""
        yield f"  {self.source}: {console.ENGLISH[self.resultat]}{age}{overdue}"
        if self.comptage:
            yield (
                "    {lus:,} read, {gardes:,} kept, {ecartes:,} dropped, {rejetes:,} rejected".format(
                    **self.comptage
                )
            )
        for file in self.fichiers:
            yield f"    {file['fichier'] or 'files'}: {console.ENGLISH[file['resultat']]}"
        for reason in self.motifs:
            yield f"    refused: {reason}"


@dataclass(slots=True)
class NightlyReport:
    """The report of a run; the attributes are the keys of its JSON.

    Attributes:
        debut, fin: the start and the end, in ISO 8601.
        etat: `complet`: no source failed; `partiel`: published, but a source failed; `echec`: nothing was published, or
            a step after the publication failed (then `generation` is the new one).
        generation, precedente: the published generation after the run, and before the run.
        signee: whether the run signed the generation.
        erreur: the error that ended the run.
        rejetees: rows that the build rejected, by country and reason.
        etapes: the seconds of each stage.
    """

    debut: str
    fin: str = ""
    etat: NightState = "echec"
    generation: str | None = None
    precedente: str | None = None
    signee: bool = False
    erreur: str = ""
    sources: list[SourceReport] = field(default_factory=list)
    rejetees: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    etapes: dict[str, float] = field(default_factory=dict)

    @property
    def is_fruitless(self) -> bool:
        """Whether no requested source was obtained: each was refused, or its server was not reached."""
        requested = [source for source in self.sources if source.demandee] or self.sources
        return not any(source.obtenue for source in requested)

    def exit_code(self, *, strict: bool = False) -> int:
        """1 if the night failed or no source was obtained; for a partial night 3 if `strict`; otherwise 0."""
        if self.etat == "echec" or self.is_fruitless:
            return 1
        return _PARTIAL_EXIT_CODE if strict and self.etat == "partiel" else 0

    def lines(self) -> Iterator[str]:
        """The report for a terminal."""
        failed = sum(source.has_failed for source in self.sources)
        if self.etat == "echec":
            yield f"failed: {self.erreur}; {self.generation or 'nothing'} stays published"
        else:
            same = " again, nothing has changed" if self.generation == self.precedente else ""
            signed = " and signed" if self.signee else ""
            yield f"published{signed} {self.generation}{same}; {failed} of {len(self.sources)} sources failed"
        for source in self.sources:
            yield from source.lines()
        for iso2, reasons in self.rejetees.items():
            counts = ", ".join(
                console.reason_and_count(reason, count) for reason, count in reasons.items()
            )
            yield f"  {iso2}: rejected by the build: {counts}"
        yield "  " + ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.etapes.items())

    def write(self, folder: Path, keep: int) -> Path:
        """Write the report into `folder`, and keep the last `keep` reports; return the path of its JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        # 2026-11-01T02:00:00+00:00 becomes 20261101T020000Z.
        name = self.debut.replace("-", "").replace(":", "").replace("+0000", "Z")
        path = folder / f"{name}.json"
        atomic_files.write(path, orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n")
        text = "\n".join(self.lines()) + "\n"
        atomic_files.write(path.with_suffix(".txt"), text.encode())
        for old in sorted(folder.glob("*.json"))[:-keep]:
            old.with_suffix(".txt").unlink(missing_ok=True)
            old.unlink()
        return path


def source_report(
    file: PublishedFile,
    fetched: list[FetchedFile],
    imported: SourceImports,
    raw: Path,
    now: datetime,
    seconds: float,
) -> SourceReport:
    """The report of one source.

    Args:
        file: the first published file of the source, whose cadence and number of editions count for the source.
        raw: the folder of the fetched files of all sources.
        seconds: the seconds of the import.
    """
    refusals = [f"{file.name}: {file.reason}" for file in fetched if file.result == "refuse"]
    manual_reasons = [file.reason for file in fetched if file.result == "manuel"]
    motifs = (*refusals, *imported.failures, *(manual_reasons if not imported.imports else ()))
    # The age of editions that add up is that of the newest edition. Files of one edition are as old as the oldest file.
    oldest_or_newest = max if file.editions > 1 else min
    edition = oldest_or_newest(
        (edition_import.date for edition_import in imported.imports if edition_import.date),
        default=None,
    )
    age_days = _days_between(_first_moment(edition), now) if edition else None
    file_time = oldest_or_newest(_file_times(fetched, imported, raw), default=None)
    days_old = (
        age_days if age_days is not None else _days_between(file_time, now) if file_time else 0
    )
    if not imported.imports:
        result: SourceResult = "absent"
    elif motifs:
        result = "partiel" if imported.fresh else "precedent"
    else:
        result = "nouveau" if imported.fresh else "inchange"
    is_requested = any(outcome.result != "manuel" for outcome in fetched)
    # Without a request, the files that an operator put into the folder count as received.
    is_received = not is_requested or any(
        outcome.result in ("nouveau", "inchange") for outcome in fetched
    )
    # If editions add up, each is imported by itself: a refused edition does not keep the others from being imported.
    is_refused = bool(imported.failures) and (file.editions == 1 or not imported.imports)
    return SourceReport(
        source=imported.source,
        resultat=result,
        motifs=motifs,
        fichiers=tuple(_file_entry(file) for file in fetched),
        date=edition,
        age_jours=age_days,
        en_retard=file.days is not None and days_old > _OVERDUE_PERIODS * file.days,
        comptage=_row_counts(imported),
        demandee=is_requested,
        secondes=round(seconds + sum(outcome.seconds for outcome in fetched), 3),
        obtenue=is_received and bool(imported.imports) and not is_refused,
    )


def _file_entry(file: FetchedFile) -> dict[str, Any]:
    """The entry of a file in `fichiers`."""
    receipt = file.receipt
    return {
        "fichier": file.name,
        "resultat": file.result,
        "octets": receipt.octets if receipt else None,
        "lignes": receipt.lignes if receipt else None,
        "modifie": receipt.modifie if receipt else None,
    }


def _row_counts(imported: SourceImports) -> dict[str, int]:
    """The numbers of rows of all imports of a source; empty without an import."""
    if not imported.imports:
        return {}
    counts = [counted.comptage for counted in imported.imports]
    totals = {key: sum(int(counted[key]) for counted in counts) for key in ("lus", "gardes")}
    # Rows that are left out or rejected are counted by reason: here, the sum over the reasons.
    sums = {
        key: sum(sum(counted[key].values()) for counted in counts) for key in ("ecartes", "rejetes")
    }
    return totals | sums


def _first_moment(day: str) -> datetime:
    """The beginning of a day, a month or a year (ISO 8601)."""
    return datetime.fromisoformat(day + "-01-01"[len(day) - 4 :]).replace(tzinfo=UTC)


def _days_between(since: datetime, now: datetime) -> int:
    """The complete days from `since` to `now`; 0 for a time in the future."""
    return max(0, int((now - since).total_seconds()) // _DAY_SECONDS)


def _file_times(
    fetched: list[FetchedFile], imported: SourceImports, raw: Path
) -> Iterator[datetime]:
    """The time of each served file: when it was modified, as its server says; otherwise when it was received."""
    modified = {file.name: file.receipt.modifie for file in fetched if file.receipt}
    for edition in imported.imports:
        for name in edition.fichiers:
            path = raw / imported.source / name
            try:
                yield parsedate_to_datetime(modified.get(name, "")).astimezone(UTC)
            except ValueError:
                if path.exists():
                    yield datetime.fromtimestamp(path.stat().st_mtime, UTC)


def write_metrics(
    path: Path, report: NightlyReport, data: Path, *, ended: datetime, success: bool
) -> None:
    """Write the metrics of a night to `path`, by one rename, so that a collector never reads a part of the file.

    After a failed night the time of the last success is taken from the previous file.

    Raises:
        OSError: the file cannot be written.
    """
    last_success = int(ended.timestamp()) if success else _last_success(path)
    text = "".join(f"{line}\n" for line in _metric_lines(report, data, last_success))
    partial = path.with_name(path.name + atomic_files.PARTIAL)
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)  # the collector runs as another user, who must be able to read it
    atomic_files.rename_synced_file(partial, path)


def _metric_lines(report: NightlyReport, data: Path, last_success: int | None) -> Iterator[str]:
    """The lines of the file of metrics, in the text format of Prometheus; metrics without a value are left out.

    Args:
        last_success: the end of the last complete night, in seconds since 1970; None if unknown.
    """
    families: dict[str, list[tuple[str, float]]] = {}
    for source in report.sources:
        for name, value in _source_metrics(source):
            families.setdefault(name, []).append((f'{{source="{source.source}"}}', value))
    for name, number in _night_metrics(report, data, last_success):
        families[name] = [("", number)]
    for name, help_text in _METRICS.items():
        if samples := families.get(name):
            yield f"# HELP societes_night_{name} {help_text}"
            yield f"# TYPE societes_night_{name} gauge"
            for labels, value in samples:
                yield f"societes_night_{name}{labels} {value:.14g}"


def _source_metrics(source: SourceReport) -> Iterator[tuple[str, float]]:
    """The metrics of one source, as names of _METRICS and values."""
    yield "source_tried", source.demandee
    yield "source_fetched", source.demandee and source.obtenue
    if source.age_jours is not None:
        yield "source_age_seconds", source.age_jours * _DAY_SECONDS
    yield "source_rows", source.comptage.get("gardes", 0)
    yield "source_rejected_rows", source.comptage.get("rejetes", 0)
    yield "source_seconds", source.secondes


def _night_metrics(
    report: NightlyReport, data: Path, last_success: int | None
) -> Iterator[tuple[str, float]]:
    """The metrics without the label `source`, as names of _METRICS and values."""
    if "build" in report.etapes:
        yield "build_seconds", report.etapes["build"]
    if report.generation:
        folder = data / report.generation
        yield "build_bytes", sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    yield (
        "peak_memory_bytes",
        max(resource.getrusage(who).ru_maxrss for who in processes) * _KIBIBYTE,
    )
    if last_success is not None:
        yield "last_success_timestamp_seconds", last_success


def _last_success(path: Path) -> int | None:
    """The time of the last success (seconds since 1970) in the file of the previous night; None if it has none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        (timestamp,) = (
            line.removeprefix(_LAST_SUCCESS)
            for line in lines
            if line.startswith(f"{_LAST_SUCCESS} ")
        )
        return int(timestamp)
    except (OSError, ValueError):  # no file, or not exactly one line with a number
        return None
