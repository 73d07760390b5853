"""The report of a nightly run: JSON for programs, lines for people, metrics for Prometheus.

WORK/reports/<start>.json, .txt; the metrics are a file for the textfile collector of a node exporter, in Prometheus'
text format 0.0.4.
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

State = Literal["complet", "partiel", "echec"]
SourceResult = Literal["nouveau", "inchange", "partiel", "precedent", "absent"]
_PARTIAL: Final = 3  # the exit code; 2 is wrong use
_OVERDUE: Final = 2  # periods of a source
_DAY: Final = 86_400
_LAST_SUCCESS: Final = "societes_night_last_success_timestamp_seconds"
_METRICS: Final = {
    "source_tried": "Whether a server was asked for the source.",
    "source_fetched": "Whether an edition of the source came or has not changed, and was not refused.",
    "source_age_seconds": "The age of the edition that is served; absent if its files tell no date.",
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
    """What became of a source; the attributes are the keys of its JSON.

    Attributes:
        resultat: `nouveau`: this run imported an edition; `inchange`: there is none that is newer;
            `precedent`: one was refused, and the one before is served; `partiel`: a file was
            refused, others were imported; `absent`: there is nothing to build.
        motifs: why a file or an import was refused.
        fichiers: each file: its result, size, rows, date.
        date, age_jours: the date of the edition that is served, its oldest file's, and its age in days; null where
            no file tells its date.
        en_retard: whether it is older than two periods of the source; where no file tells its date, whether they
            were published, or came, so long ago.
        comptage: the rows of its imports: read, kept, rejected and dropped.
        demandee: whether a server was asked; not so where files are placed by hand.
        secondes: of its fetch and its import.
        obtenue: whether an edition came, or has not changed, or lies there by hand, and was not refused.
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
        """Whether not all that is published of it is served."""
        return self.resultat in ("partiel", "precedent", "absent")

    def lines(self) -> Iterator[str]:
        """The report of the source for a terminal."""
        days = "day" if self.age_jours == 1 else "days"
        old = f", of {self.date}, {self.age_jours} {days} old" if self.date else ""
        late = ", overdue" if self.en_retard else ""
        yield f"  {self.source}: {console.ENGLISH[self.resultat]}{old}{late}"
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
        etat: `complet`: all sources came; `partiel`: published, but a source failed; `echec`: nothing was published.
        generation, precedente: what is published after and before the run.
        erreur: what ended the run.
        rejetees: rows that the build rejected, by country and reason.
        etapes: seconds of each stage.
    """

    debut: str
    fin: str = ""
    etat: State = "echec"
    generation: str | None = None
    precedente: str | None = None
    signee: bool = False
    erreur: str = ""
    sources: list[SourceReport] = field(default_factory=list)
    rejetees: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    etapes: dict[str, float] = field(default_factory=dict)

    @property
    def is_fruitless(self) -> bool:
        """Whether no source came of those that were asked for: each was refused, or not reached."""
        asked = [one for one in self.sources if one.demandee] or self.sources
        return not any(one.obtenue for one in asked)

    def exit_code(self, *, strict: bool = False) -> int:
        """1 if nothing is published or no source came; of a partial night 0, or 3 where it is `strict`."""
        if self.etat == "echec" or self.is_fruitless:
            return 1
        return _PARTIAL if strict and self.etat == "partiel" else 0

    def lines(self) -> Iterator[str]:
        """The report for a terminal."""
        bad = sum(one.has_failed for one in self.sources)
        if self.etat == "echec":
            yield f"failed: {self.erreur}; {self.generation or 'nothing'} stays published"
        else:
            same = " again, nothing has changed" if self.generation == self.precedente else ""
            signed = " and signed" if self.signee else ""
            yield f"published{signed} {self.generation}{same}; {bad} of {len(self.sources)} sources failed"
        for one in self.sources:
            yield from one.lines()
        for iso2, reasons in self.rejetees.items():
            counts = ", ".join(
                console.reason_and_count(reason, count) for reason, count in reasons.items()
            )
            yield f"  {iso2}: rejected by the build: {counts}"
        yield "  " + ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.etapes.items())

    def write(self, folder: Path, keep: int) -> Path:
        """Write the report into `folder`, in which `keep` stay; return the path of its JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        name = self.debut.replace("-", "").replace(":", "").replace("+0000", "Z")
        path = folder / f"{name}.json"
        atomic_files.write(path, orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n")
        text = "\n".join(self.lines()) + "\n"
        atomic_files.write(path.with_suffix(".txt"), text.encode())
        for old in sorted(folder.glob("*.json"))[:-keep]:
            old.with_suffix(".txt").unlink(missing_ok=True)
            old.unlink()
        return path


def of_source(
    file: PublishedFile,
    fetched: list[FetchedFile],
    imported: SourceImports,
    raw: Path,
    now: datetime,
    seconds: float,
) -> SourceReport:
    """The report of one source.

    Args:
        seconds: of its import.
        file: the first of its published files.
    """
    refused = [f"{file.name}: {file.reason}" for file in fetched if file.result == "refuse"]
    by_hand = [file.reason for file in fetched if file.result == "manuel"]
    motifs = (*refused, *imported.failures, *(by_hand if not imported.imports else ()))
    # Editions that add up are as old as the newest of them.
    pick = max if file.editions > 1 else min
    edition = pick((kept.date for kept in imported.imports if kept.date), default=None)
    age = _days(_first_moment(edition), now) if edition else None
    came = pick(_moments(fetched, imported, raw), default=None)
    known = age if age is not None else _days(came, now) if came else 0
    if not imported.imports:
        result: SourceResult = "absent"
    elif motifs:
        result = "partiel" if imported.fresh else "precedent"
    else:
        result = "nouveau" if imported.fresh else "inchange"
    asked = any(copy.result != "manuel" for copy in fetched)
    had = not asked or any(copy.result in ("nouveau", "inchange") for copy in fetched)
    # One file that is refused says nothing of the others where editions add up.
    is_refused = bool(imported.failures) and (file.editions == 1 or not imported.imports)
    return SourceReport(
        source=imported.source,
        resultat=result,
        motifs=motifs,
        fichiers=tuple(_file(file) for file in fetched),
        date=edition,
        age_jours=age,
        en_retard=file.days is not None and known > _OVERDUE * file.days,
        comptage=_counts(imported),
        demandee=asked,
        secondes=round(seconds + sum(copy.seconds for copy in fetched), 3),
        obtenue=had and bool(imported.imports) and not is_refused,
    )


def _file(file: FetchedFile) -> dict[str, Any]:
    found = file.receipt
    return {
        "fichier": file.name,
        "resultat": file.result,
        "octets": found.octets if found else None,
        "lignes": found.lignes if found else None,
        "modifie": found.modifie if found else None,
    }


def _counts(imported: SourceImports) -> dict[str, int]:
    if not imported.imports:
        return {}
    counts = [one.comptage for one in imported.imports]
    plain = {key: sum(int(one[key]) for one in counts) for key in ("lus", "gardes")}
    by_reason = {
        key: sum(sum(one[key].values()) for one in counts) for key in ("ecartes", "rejetes")
    }
    return plain | by_reason


def _first_moment(day: str) -> datetime:
    """The begin of a day, a month or a year (ISO 8601)."""
    return datetime.fromisoformat(day + "-01-01"[len(day) - 4 :]).replace(tzinfo=UTC)


def _days(since: datetime, now: datetime) -> int:
    return max(0, int((now - since).total_seconds()) // _DAY)


def _moments(fetched: list[FetchedFile], imported: SourceImports, raw: Path) -> Iterator[datetime]:
    """When the files that are served were published, as their server says, else when they came here."""
    told = {file.name: file.receipt.modifie for file in fetched if file.receipt}
    for one in imported.imports:
        for name in one.fichiers:
            path = raw / imported.source / name
            try:
                yield parsedate_to_datetime(told.get(name, "")).astimezone(UTC)
            except ValueError:
                if path.exists():
                    yield datetime.fromtimestamp(path.stat().st_mtime, UTC)


def write_metrics(
    path: Path, report: NightlyReport, data: Path, *, ended: datetime, success: bool
) -> None:
    """Write the metrics of a night to `path`, by one rename, also after a night that failed.

    The time of the last success is then that of the file before.

    Raises:
        OSError: the file cannot be written.
    """
    last = int(ended.timestamp()) if success else _last_success(path)
    text = "".join(f"{line}\n" for line in _metric_lines(report, data, last))
    partial = path.with_name(path.name + atomic_files.PARTIAL)
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)  # the collector is another user
    atomic_files.appear(partial, path)


def _metric_lines(report: NightlyReport, data: Path, last: int | None) -> Iterator[str]:
    families: dict[str, list[tuple[str, float]]] = {}
    for source in report.sources:
        for name, value in _source_metrics(source):
            families.setdefault(name, []).append((f'{{source="{source.source}"}}', value))
    for name, plain in _night_metrics(report, data, last):
        families[name] = [("", plain)]
    for name, text in _METRICS.items():
        if samples := families.get(name):
            yield f"# HELP societes_night_{name} {text}"
            yield f"# TYPE societes_night_{name} gauge"
            for labels, value in samples:
                yield f"societes_night_{name}{labels} {value:.14g}"


def _source_metrics(source: SourceReport) -> Iterator[tuple[str, float]]:
    yield "source_tried", source.demandee
    yield "source_fetched", source.demandee and source.obtenue
    if source.age_jours is not None:
        yield "source_age_seconds", source.age_jours * _DAY
    yield "source_rows", source.comptage.get("gardes", 0)
    yield "source_rejected_rows", source.comptage.get("rejetes", 0)
    yield "source_seconds", source.secondes


def _night_metrics(
    report: NightlyReport, data: Path, last: int | None
) -> Iterator[tuple[str, float]]:
    if "build" in report.etapes:
        yield "build_seconds", report.etapes["build"]
    if report.generation:
        folder = data / report.generation
        yield "build_bytes", sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    of = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    yield "peak_memory_bytes", max(resource.getrusage(who).ru_maxrss for who in of) * _KIBIBYTE
    if last is not None:
        yield "last_success_timestamp_seconds", last


def _last_success(path: Path) -> int | None:
    """The time of the last success in the file of the night before, if it has one."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        (found,) = (
            line.removeprefix(_LAST_SUCCESS)
            for line in lines
            if line.startswith(f"{_LAST_SUCCESS} ")
        )
        return int(found)
    except (OSError, ValueError):  # absent, or damaged
        return None
