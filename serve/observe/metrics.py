"""The metrics of /metrics (contract G10): requests, durations, refusals, the generation.

Labels contain no text of callers; there are few routes, plans, status classes and codes. Each worker writes its
figures to a file in a folder of the parent, and the worker that answers /metrics adds up all files (the multiprocess
mode of prometheus-client). Counters of dead workers still count; their gauges (memory, exports) do not. Each worker
measures itself every few seconds, and again when it answers /metrics. The generation, its sources and the queue of
mail are not added up: they are the values of the answering worker.

The memory of a process is its anonymous memory, in use or swapped out (proc(5)). Mapped shards are not part of it:
they are in the page cache, which all workers share and the system can reclaim. Linux maintains the memory and the
processor time of a process, so reading both takes microseconds.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:  # the parent of several workers imports this module, and opens no generation
    from serve.generation.current_generation import GenerationStatus

# The text format of Prometheus.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# prometheus-client reads this variable when it is imported, so it is set before a worker is spawned.
_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
# A folder in memory for the files of workers; without this folder the files are in STATE.
_MEMORY_FOLDER: Final = Path("/dev/shm")
_FOLDER_PREFIX: Final = "societes-metrics"  # of the folders that workers share

# Seconds. A 304 takes half a millisecond, a search a millisecond, a durable write to a busy disk ten.
_BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
)  # fmt: skip

# The outcomes of requests that are counted as refusals (error codes).
REFUSALS: Final = ("quota_api", "quota_export", "trop_de_requetes", "credits_epuises")

# The time between two measurements of a process; Prometheus usually reads every 15 seconds.
MEASURE_SECONDS: Final = 5.0

# The kinds of processes of a server: workers answer requests; others make exports.
WORKER: Final = "worker"
EXPORT: Final = "export"

# The lines of /proc/PID/status with the anonymous memory in KiB, in use and swapped out.
_ANONYMOUS: Final = ("RssAnon:", "VmSwap:")
_KIBIBYTE: Final = 1_024
_PROCESSOR_FIELDS: Final = slice(11, 13)  # utime and stime, counted from the field after the name


class ExportPool(Protocol):
    """The processes of a worker that make exports."""

    @property
    def pids(self) -> Collection[int]:
        """The ids of the started processes."""
        ...

    @property
    def running_count(self) -> int:
        """The number of exports that are being made, or wait for a process."""
        ...


class Metrics:
    """The figures of one serving process.

    Attributes:
        exports: the processes that make exports, once there are any.
        mails: returns the number of mails that wait to be sent; None without mail, or if the number is unknown.
        store_errors: counts the responses 503 that the store of counters caused.
        log_losses: counts the dropped lines of the log.
    """

    def __init__(self) -> None:
        """Create the metrics and their registry."""
        self.exports: ExportPool | None = None
        self.mails: Callable[[], int | None] = lambda: None
        # The seconds that were added to the counter, by kind of process.
        self._processor_counted = dict.fromkeys((WORKER, EXPORT), 0.0)
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
        self.store_errors = Counter(
            "societes_store_errors",
            "Requests answered with 503 because the counters could not be kept.",
            registry=registry,
        )
        self.log_losses = Counter(
            "societes_log_lines_lost",
            "Lines of the log dropped because stderr did not take them.",
            registry=registry,
        )
        self._memory = Gauge(
            "societes_memory_bytes",
            "Private memory of the processes: anonymous, without mapped files.",
            ["kind"],
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._processor = Counter(
            "societes_processor_seconds",
            "Time of the processes on a processor.",
            ["kind"],
            registry=registry,
        )
        self._exports = Gauge(
            "societes_exports_in_progress",
            "Exports that are being made, or wait for a process.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._registry = registry
        # The counter of a combination of labels is looked up once, because a look-up costs as much as an increment.
        self._requests = cache(requests.labels)
        self._seconds = cache(seconds.labels)
        self._refusals = {code: refusals.labels(code) for code in REFUSALS}

    def request(
        self, route: str | None, plan: str | None, status: int, outcome: str, seconds: float
    ) -> None:
        """Count a sent response; `outcome` is `RequestTrace.quota`."""
        self._requests(route or "aucune", plan or "aucun", f"{status // 100}xx").inc()
        self._seconds(route or "aucune").observe(seconds)
        if outcome in self._refusals:
            self._refusals[outcome].inc()

    def measure(self) -> None:
        """Measure the memory and processor time of this process and of its exports."""
        pool = self.exports
        for kind, usage in measure_processes(pool.pids if pool else ()).items():
            self._memory.labels(kind).set(usage.memory)
            # The time of an export process that ends during the measurement can be missing from the sum, which is then
            # lower than before; the next measurement counts this time.
            newly_used = max(0.0, usage.processor - self._processor_counted[kind])
            self._processor.labels(kind).inc(newly_used)
            self._processor_counted[kind] += newly_used
        self._exports.set(pool.running_count if pool else 0)

    async def keep_measuring(self) -> None:
        """Measure every MEASURE_SECONDS until cancelled, for the other workers that answer /metrics."""
        while True:
            self.measure()
            await asyncio.sleep(MEASURE_SECONDS)

    def text(
        self,
        status: "GenerationStatus",
        now: datetime,
        source_dates: Mapping[str, datetime],
        mirrored: datetime | None = None,
    ) -> bytes:
        """The figures of all workers, with the data and the mail of this worker.

        Args:
            source_dates: the dates of the served editions, by source.
            mirrored: the last time at which this mirror was equal to its source.
        """
        self.measure()
        registry = self._registry
        if _FOLDER_VARIABLE in os.environ:
            registry = CollectorRegistry()
            registry.register(_SharedFiles(None))  # type: ignore[no-untyped-call]
        own_figures = _OwnFigures(status, now, source_dates, mirrored, self.mails())
        return generate_latest(registry) + generate_latest(own_figures.registry())


class _SharedFiles(MultiProcessCollector):
    """The files of all workers, without the empty files of starting workers."""

    def collect(self) -> Iterable[Metric]:
        """The figures of all files, added up."""
        files = [path for path in Path(self._path).glob("*.db") if _is_filled(path)]
        figures: Iterable[Metric] = self.merge(map(str, files))  # type: ignore[no-untyped-call]
        return figures


def _is_filled(path: Path) -> bool:
    """Whether a file exists and is not empty."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:  # the worker has just ended
        return False


@contextmanager
def share_with_children(state: Path) -> Iterator[None]:
    """Share the figures of the processes spawned within the block; for the parent of workers."""
    parent_folder = _MEMORY_FOLDER if os.access(_MEMORY_FOLDER, os.W_OK) else state
    _remove_leftovers(parent_folder)
    with _locked_folder(parent_folder) as folder:
        os.environ[_FOLDER_VARIABLE] = str(folder)
        try:
            yield
        finally:
            del os.environ[_FOLDER_VARIABLE]


@contextmanager
def _locked_folder(parent_folder: Path) -> Iterator[Path]:
    """A new folder, locked while it is in use: a server in another container sees the lock, but not this process."""
    # The name begins with a point until the lock is taken: `_remove_leftovers` would remove an unlocked folder.
    unlocked = Path(tempfile.mkdtemp(prefix=f".{_FOLDER_PREFIX}-", dir=parent_folder))
    lock = os.open(unlocked, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = unlocked.rename(
            parent_folder / f"{_FOLDER_PREFIX}-{os.getpid()}-{unlocked.name.rpartition('-')[2]}"
        )
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def forget_process(pid: int) -> None:
    """Forget the gauges of a worker that has ended: memory and exports. Its counters stay."""
    if _FOLDER_VARIABLE in os.environ:
        mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _remove_leftovers(parent_folder: Path) -> None:
    """Remove the folders of metrics that servers of this user left when they were killed: their process is gone."""
    for folder in parent_folder.glob(f"{_FOLDER_PREFIX}-*"):
        pid = folder.name.removeprefix(f"{_FOLDER_PREFIX}-").partition("-")[0]
        # Another user may have left a link, and another process may be removing the folder.
        with suppress(OSError):
            is_ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if pid.isdigit() and not Path("/proc", pid).exists() and is_ours:
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    """Remove a folder. Raises OSError if a process has locked it."""
    lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True, eq=False)  # a registry hashes its collectors
class _OwnFigures:
    """The figures of a single worker, which are not added up: each worker has its own generation.

    They are not of the class `Gauge`, which would leave each value in the files that the workers share.
    """

    status: "GenerationStatus"
    now: datetime
    source_dates: Mapping[str, datetime]
    mirrored: datetime | None
    mails: int | None

    def registry(self) -> CollectorRegistry:
        """A registry with these figures alone."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The served generation, damage, and the ages of data and mirror; prometheus-client calls this."""
        status = self.status
        yield _generation_gauge(
            "generation_info", "1 for the generation served.", status.generation
        )
        text = "1 for the published generation if it is damaged: another one is served."
        yield _generation_gauge("generation_refused_info", text, status.refused)
        yield _gauge(
            "countries_missing", "Countries left out because of damage.", len(status.missing)
        )
        if status.since is not None:
            yield self._age("generation", "Time since its publication.", status.since)
        text = "Time since the date of the served edition."
        ages = _family("source_age_seconds", text, "source")
        for source, date in self.source_dates.items():
            ages.add_metric([source], (self.now - date).total_seconds())
        yield ages
        if self.mirrored is not None:
            text = "Time since this mirror was last equal to its source."
            yield self._age("mirror", text, self.mirrored)
        if self.mails is not None:
            yield _gauge("mails_waiting", "Mails that were not accepted yet.", self.mails)

    def _age(self, name: str, text: str, since: datetime) -> GaugeMetricFamily:
        """A gauge of the seconds from `since` until now."""
        return _gauge(f"{name}_age_seconds", text, (self.now - since).total_seconds())


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """A gauge without values."""
    return GaugeMetricFamily(f"societes_{name}", text, labels=labels)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """A gauge without labels."""
    family = _family(name, text)
    family.add_metric([], value)
    return family


def _generation_gauge(name: str, text: str, generation: str | None) -> GaugeMetricFamily:
    """A gauge of 1 with the generation as its label; empty for None."""
    family = _family(name, text, "generation")
    if generation is not None:
        family.add_metric([generation], 1)
    return family


class ProcessUsage(NamedTuple):
    """The resources of the processes of a kind: bytes of memory, and seconds of processor time."""

    memory: int
    processor: float


def measure_processes(exporters: Iterable[int]) -> dict[str, ProcessUsage]:
    """The resources of this process, and of the processes that it has started for exports.

    Args:
        exporters: the ids of running processes; the processor time of ended processes is included.
    """
    times = os.times()
    export_memory, export_processor = (
        0,
        times.children_user + times.children_system,
    )  # of ended exports
    for pid in exporters:
        with suppress(OSError):
            export_memory += _memory_bytes(str(pid))
            export_processor += _processor_seconds(str(pid))
    worker_memory = 0
    with suppress(OSError):  # no /proc
        worker_memory = _memory_bytes("self")
    return {
        WORKER: ProcessUsage(worker_memory, times.user + times.system),
        EXPORT: ProcessUsage(export_memory, export_processor),
    }


def _memory_bytes(pid: str) -> int:
    """The bytes of anonymous memory of a process."""
    lines = Path("/proc", pid, "status").read_text(encoding="utf-8").splitlines()
    return _KIBIBYTE * sum(int(line.split()[1]) for line in lines if line.startswith(_ANONYMOUS))


def _processor_seconds(pid: str) -> float:
    """The processor time of a process in seconds.

    The fields are counted from the last bracket, because the name in brackets can contain any character.
    """
    fields = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[_PROCESSOR_FIELDS])) / os.sysconf("SC_CLK_TCK")
