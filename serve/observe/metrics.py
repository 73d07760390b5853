"""The metrics of /metrics (contract G10): requests, durations, refusals, the generation.

No label contains text of a caller: the routes, plans, status classes and codes are few. With several
workers, each writes its figures to a file in a folder that the parent made, and the worker that
answers /metrics adds up all files (the multiprocess mode of prometheus-client); what dead workers have
counted still counts, and what they held does not. Each worker measures itself every few seconds, and the
one that answers once more. The generation, its sources and the queue of mail are as that one knows them.

The memory of a process is the anonymous one, in use or swapped out (proc(5)). Mapped shards are not in it: they are the
page cache, which all workers share and the system takes back. Linux keeps it and the time on a processor anyway, so
reading both costs microseconds, whatever the size of the process.
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

# Between two measurements of a process; Prometheus usually asks every 15 seconds.
MEASURE_SECONDS: Final = 5.0

# The kinds of processes of a server: those that answer requests, and those that make their exports.
WORKER: Final = "worker"
EXPORT: Final = "export"

_ANONYMOUS: Final = ("RssAnon:", "VmSwap:")
_KIBIBYTE: Final = 1_024
_PROCESSOR: Final = slice(11, 13)  # utime and stime, counted from the field after the name


class ExportPool(Protocol):
    """The processes of a worker that make exports."""

    @property
    def pids(self) -> Collection[int]:
        """Those that have been started."""
        ...

    @property
    def in_progress(self) -> int:
        """The exports that are being made, or wait for a process."""
        ...


class Metrics:
    """The figures of one serving process.

    Attributes:
        exports: the processes that make exports, once there are some.
        mails: returns how many mails wait to be sent; None where none are, or nobody knows.
    """

    def __init__(self) -> None:
        self.exports: ExportPool | None = None
        self.mails: Callable[[], int | None] = lambda: None
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

    def measure(self) -> None:
        """Note what this process and those of its exports take now."""
        pool = self.exports
        for kind, usage in measure_processes(pool.pids if pool else ()).items():
            self._memory.labels(kind).set(usage.memory)
            # A process that ends during the measurement may be missed, until the next one.
            more = max(0.0, usage.processor - self._processor_counted[kind])
            self._processor.labels(kind).inc(more)
            self._processor_counted[kind] += more
        self._exports.set(pool.in_progress if pool else 0)

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
        """The figures of all workers, and the data and the mail as this one knows them.

        Args:
            source_dates: the dates of the editions that are served, by source.
            mirrored: when this mirror last had what its source publishes.
        """
        self.measure()
        registry = self._registry
        if _FOLDER in os.environ:
            registry = CollectorRegistry()
            registry.register(_SharedFiles(None))  # type: ignore[no-untyped-call]
        own = _OwnFigures(status, now, source_dates, mirrored, self.mails())
        return generate_latest(registry) + generate_latest(own.registry())


class _SharedFiles(MultiProcessCollector):
    """The files of all workers, but for those that a starting worker has made and not filled yet."""

    def collect(self) -> Iterable[Metric]:
        """The figures of all files, added up."""
        files = [path for path in Path(self._path).glob("*.db") if _is_filled(path)]
        found: Iterable[Metric] = self.merge(map(str, files))  # type: ignore[no-untyped-call]
        return found


def _is_filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:  # of a worker that has just ended
        return False


@contextmanager
def share_with_children(state: Path) -> Iterator[None]:
    """Share the figures of the processes spawned within the block; for the parent of workers."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else state
    _remove_leftovers(place)
    with _locked_folder(place) as folder:
        os.environ[_FOLDER] = str(folder)
        try:
            yield
        finally:
            del os.environ[_FOLDER]


@contextmanager
def _locked_folder(place: Path) -> Iterator[Path]:
    """A new folder that is locked as long as it is used: servers of other containers do not see this process."""
    unlocked = Path(tempfile.mkdtemp(prefix=f".{_NAME}-", dir=place))
    lock = os.open(unlocked, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = unlocked.rename(
            place / f"{_NAME}-{os.getpid()}-{unlocked.name.rpartition('-')[2]}"
        )
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def forget_process(pid: int) -> None:
    """Forget what a worker that has ended held: its memory and its exports; what it counted stays."""
    if _FOLDER in os.environ:
        mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _remove_leftovers(place: Path) -> None:
    """Remove the folders of this user whose parents were killed."""
    for folder in place.glob(f"{_NAME}-*"):
        pid = folder.name.removeprefix(f"{_NAME}-").partition("-")[0]
        # Another user may have left a link, and another process may be removing the folder.
        with suppress(OSError):
            is_ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if pid.isdigit() and not Path("/proc", pid).exists() and is_ours:
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    """Remove a folder that no process has locked. Raises OSError: one has."""
    lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True, eq=False)  # a registry hashes it
class _OwnFigures:
    """The figures of one worker, which are not added up: each has a generation of its own.

    They are no `Gauge`, which would leave each value in the files that the workers share.
    """

    status: "GenerationStatus"
    now: datetime
    source_dates: Mapping[str, datetime]
    mirrored: datetime | None
    mails: int | None

    def registry(self) -> CollectorRegistry:
        found = CollectorRegistry()
        found.register(self)
        return found

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures that are known; prometheus-client calls this."""
        status = self.status
        yield _info("generation_info", "1 for the generation served.", status.generation)
        what = "1 for the published generation if it is damaged: another one is served."
        yield _info("generation_refused_info", what, status.refused)
        yield _gauge("countries_missing", "Countries left out: damaged.", len(status.missing))
        if status.since is not None:
            yield self._age("generation", "Since it was published.", status.since)
        what = "Since the date of the edition that is served."
        ages = _family("source_age_seconds", what, "source")
        for source, date in self.source_dates.items():
            ages.add_metric([source], (self.now - date).total_seconds())
        yield ages
        if self.mirrored is not None:
            what = "Since this mirror last had what its source publishes."
            yield self._age("mirror", what, self.mirrored)
        if self.mails is not None:
            yield _gauge("mails_waiting", "Mails that were not accepted yet.", self.mails)

    def _age(self, of: str, what: str, since: datetime) -> GaugeMetricFamily:
        return _gauge(f"{of}_age_seconds", what, (self.now - since).total_seconds())


def _family(name: str, what: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"societes_{name}", what, labels=labels)


def _gauge(name: str, what: str, value: float) -> GaugeMetricFamily:
    family = _family(name, what)
    family.add_metric([], value)
    return family


def _info(name: str, what: str, generation: str | None) -> GaugeMetricFamily:
    family = _family(name, what, "generation")
    if generation is not None:
        family.add_metric([generation], 1)
    return family


class ProcessUsage(NamedTuple):
    """What the processes of one kind take: bytes, and seconds since they were started."""

    memory: int
    processor: float


def measure_processes(exporters: Iterable[int]) -> dict[str, ProcessUsage]:
    """What this process takes, and the processes that it has started for exports.

    Args:
        exporters: the ids of those that run; what ended ones took of the processor still counts.
    """
    times = os.times()
    memory, processor = 0, times.children_user + times.children_system  # of those that have ended
    for pid in exporters:
        with suppress(OSError):
            memory += _memory(str(pid))
            processor += _processor(str(pid))
    own = 0
    with suppress(OSError):  # no /proc
        own = _memory("self")
    return {
        WORKER: ProcessUsage(own, times.user + times.system),
        EXPORT: ProcessUsage(memory, processor),
    }


def _memory(pid: str) -> int:
    lines = Path("/proc", pid, "status").read_text(encoding="utf-8").splitlines()
    return _KIBIBYTE * sum(int(line.split()[1]) for line in lines if line.startswith(_ANONYMOUS))


def _processor(pid: str) -> float:
    """The seconds of a process; its name, in brackets, may contain anything."""
    fields = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[_PROCESSOR])) / os.sysconf("SC_CLK_TCK")
