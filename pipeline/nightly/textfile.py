"""Metrics of a night for the textfile collector of a Prometheus node exporter.

The file appears by one rename, also after a night that failed: what failed is then in it, and the time of the last
success is that of the file before. The format is Prometheus' text format 0.0.4.
"""

import resource
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from pipeline.nightly.report import NightlyReport, SourceReport
from shards.generations import atomic_files

_SUCCESS: Final = "societes_night_last_success_timestamp_seconds"
_HELP: Final = {
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
_DAY: Final = 86_400
_KIBIBYTE: Final = 1_024  # the unit of ru_maxrss on Linux


def write(path: Path, report: NightlyReport, data: Path, *, ended: datetime, success: bool) -> None:
    """Write the metrics of a night to `path`.

    Raises:
        OSError: the file cannot be written.
    """
    last = int(ended.timestamp()) if success else _last_success(path)
    text = "".join(f"{line}\n" for line in _lines(report, data, last))
    partial = path.with_name(path.name + atomic_files.PARTIAL)
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)  # the collector is another user
    atomic_files.appear(partial, path)


def _lines(report: NightlyReport, data: Path, last: int | None) -> Iterator[str]:
    families: dict[str, list[tuple[str, float]]] = {}
    for source in report.sources:
        for name, value in _of_source(source):
            families.setdefault(name, []).append((f'{{source="{source.source}"}}', value))
    for name, plain in _of_night(report, data, last):
        families[name] = [("", plain)]
    for name, text in _HELP.items():
        if samples := families.get(name):
            yield f"# HELP societes_night_{name} {text}"
            yield f"# TYPE societes_night_{name} gauge"
            for labels, value in samples:
                yield f"societes_night_{name}{labels} {value:.14g}"


def _of_source(source: SourceReport) -> Iterator[tuple[str, float]]:
    yield "source_tried", source.demandee
    yield "source_fetched", source.demandee and source.obtenue
    if source.age_jours is not None:
        yield "source_age_seconds", source.age_jours * _DAY
    yield "source_rows", source.comptage.get("gardes", 0)
    yield "source_rejected_rows", source.comptage.get("rejetes", 0)
    yield "source_seconds", source.secondes


def _of_night(report: NightlyReport, data: Path, last: int | None) -> Iterator[tuple[str, float]]:
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
            line.removeprefix(_SUCCESS) for line in lines if line.startswith(f"{_SUCCESS} ")
        )
        return int(found)
    except (OSError, ValueError):  # absent, or damaged
        return None
