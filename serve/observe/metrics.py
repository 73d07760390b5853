"""The metrics of /metrics (contract G10): requests, durations, refusals, the generation.

No label contains text of a caller: the routes, plans, status classes and codes are few. With several
workers, each writes its figures to a file in a folder that the parent made, and the worker that
answers /metrics adds up all files (the multiprocess mode of prometheus-client); the figures of dead
workers still count. The generation is that of the worker that answers.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from serve.generation.generation_status import GenerationStatus

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# prometheus-client reads this variable when it is imported, so it is set before a worker is spawned.
_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_MEMORY: Final = Path("/dev/shm")
_NAME: Final = "societes-metrics"

# Seconds. A 304 takes half a millisecond, a search one, a durable write to a busy disk ten.
_BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
)  # fmt: skip

REFUSALS: Final = ("quota_api", "quota_export", "trop_de_requetes", "credits_epuises")


class Metrics:
    """The figures of one serving process."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        requests = Counter(
            "societes_requests",
            "Requests answered.",
            ["route", "plan", "status"],
            registry=registry,
        )
        seconds = Histogram(
            "societes_request_seconds",
            "From the headers of a request to the end of its answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        refusals = Counter(
            "societes_refusals",
            "Requests refused because a limit was reached.",
            ["code"],
            registry=registry,
        )
        self._store_errors = Counter(
            "societes_store_errors",
            "Requests answered with 503 because the counters could not be kept.",
            registry=registry,
        )
        self._log_losses = Counter(
            "societes_log_lines_lost",
            "Lines of the log dropped because stderr did not take them.",
            registry=registry,
        )
        self._registry = registry
        # Each child is looked up once: a look-up costs as much as the increment.
        self._requests = cache(requests.labels)
        self._seconds = cache(seconds.labels)
        self._refusals = {code: refusals.labels(code) for code in REFUSALS}

    def request(
        self, route: str | None, plan: str | None, status: int, outcome: str, seconds: float
    ) -> None:
        """Count a response that was sent; `outcome` is `RequestTrace.quota`."""
        self._requests(route or "aucune", plan or "aucun", f"{status // 100}xx").inc()
        self._seconds(route or "aucune").observe(seconds)
        if outcome in self._refusals:
            self._refusals[outcome].inc()

    def store_error(self) -> None:
        """Count a 503 because of the store of counters."""
        self._store_errors.inc()

    def log_line_lost(self) -> None:
        """Count a line of the log that was dropped."""
        self._log_losses.inc()

    def text(self, status: GenerationStatus, now: datetime) -> bytes:
        """The figures of all workers, and the generations that this worker serves or refuses."""
        registry = self._registry
        if _FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(_data(status, now))


@contextmanager
def share_with_children(state: Path) -> Iterator[None]:
    """Share the figures of the processes spawned within the block; for the parent of workers."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else state
    _remove_leftovers(place)
    folder = tempfile.mkdtemp(prefix=f"{_NAME}-{os.getpid()}-", dir=place)
    os.environ[_FOLDER] = folder
    try:
        yield
    finally:
        del os.environ[_FOLDER]
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """Remove the folders of this user whose parents were killed."""
    for folder in place.glob(f"{_NAME}-*"):
        pid = folder.name.removeprefix(f"{_NAME}-").partition("-")[0]
        # Another user may have left a link, and another process may be removing the folder.
        with suppress(OSError):
            is_ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if pid.isdigit() and not Path("/proc", pid).exists() and is_ours:
                shutil.rmtree(folder, ignore_errors=True)


def _data(status: GenerationStatus, now: datetime) -> CollectorRegistry:
    # Not shared by the workers: each has a generation of its own, and they cannot be added up.
    registry = CollectorRegistry()
    _info(registry, "societes_generation_info", "1 for the generation served.", status.generation)
    what = "1 for the published generation if it is damaged: another one is served."
    _info(registry, "societes_generation_refused_info", what, status.refused)
    missing = Gauge("societes_countries_missing", "Countries left out: damaged.", registry=registry)
    missing.set(len(status.missing))
    if status.since is not None:
        Gauge("societes_generation_age_seconds", "Since it was published.", registry=registry).set(
            (now - status.since).total_seconds()
        )
    return registry


def _info(registry: CollectorRegistry, name: str, what: str, generation: str | None) -> None:
    info = Gauge(name, what, ["generation"], registry=registry)
    if generation is not None:
        info.labels(generation).set(1)
