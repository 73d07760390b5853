"""`python -m tests.bench.export DATA`: the largest files of an export, and searches during exports.

Each file has 10 000 companies and is written in its own process, which opens the generation first; the figures include
both. Processor time is also reliable on a busy machine.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from quota.plans import load
from serve.contract.files import CSV, NDJSON, PARQUET
from serve.features.export import tables
from serve.features.export.workbook import book
from serve.features.export.workbook.export_data import ExportRequest
from serve.request.values import FileOptions
from shards.generations import generation_files, pointer
from shards.query import Query
from tests.bench.load import Request, Server, measure
from tests.bench.served import Headers, data_folder, get, keys, serving

ROUNDS: Final = 5  # exports of each kind of file; the median is printed
SECONDS: Final = 8  # of each measurement of searches
EXPORTS: Final = 4  # at the same time
_INTERVAL: Final = 0.02  # seconds between two samples of the memory of a process
# Searches of a small country, two rows each.
CHEAP: Final = [
    Request(f"/api/v1/societes?pays=EE&limit=2&ca_min={number}", {}) for number in range(100)
]

Make = Callable[[ExportRequest, Path, Path], None]


class Cost(NamedTuple):
    """The cost of a process: processor seconds, and MiB at its peak.

    `private` is the memory of the process alone; the pages of the shards are shared and can be evicted.
    """

    processor: float
    peak: float
    private: float


def main(data: Path) -> None:
    """Print the tables of files and of searches during exports."""
    with tempfile.TemporaryDirectory() as folder:
        _print_files(data, Path(folder))
        _searches_during_exports(data, Path(folder))


# -- files -------------------------------------------------------------------------------


def _print_files(data: Path, folder: Path) -> None:
    """Print size and cost of the largest file of each kind."""
    largest = _largest_request(data)
    requests: dict[str, tuple[Make, ExportRequest]] = {
        "xlsx": (
            _write_workbook,
            replace(largest, plan=replace(largest.plan, etats_financiers=False)),
        ),
        "xlsx with statements": (_write_workbook, largest),
    }
    for form in (CSV, NDJSON, PARQUET):
        requests[form] = _write_table, replace(largest, file=FileOptions(form))
        with_statements = FileOptions(form, comptes=True)
        requests[f"{form} with statements"] = _write_table, replace(largest, file=with_statements)
    print("| file | MB | processor s | peak MiB | private |\n| --- | --: | --: | --: | --: |")
    path = folder / "file"
    for name, (make, request) in requests.items():
        costs = [_measure_write(make, request, path, folder) for _ in range(ROUNDS)]
        processor = median(cost.processor for cost in costs)
        peak, private = max(cost.peak for cost in costs), max(cost.private for cost in costs)
        size = path.stat().st_size / 1e6
        print(f"| {name} | {size:.1f} | {processor:.2f} | {peak:.0f} | {private:.0f} |", flush=True)


def _largest_request(data: Path) -> ExportRequest:
    """The largest export: as many companies as the largest plan allows."""
    current = pointer.require(data)
    plan, now = load()["integral"], datetime.now(UTC)
    return ExportRequest(
        data / current.generation, datetime.fromisoformat(current.published), Query(),
        plan.lignes_par_export, "fr", plan, (), "mesure", now,
    )  # fmt: skip


def _write_workbook(request: ExportRequest, path: Path, folder: Path) -> None:
    """Write the workbook of a request."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as temporary,
        generation_files.load(request.folder.parent, request.folder.name) as generation,
    ):
        book.make(request, generation, path, Path(temporary))


def _write_table(request: ExportRequest, path: Path, folder: Path) -> None:
    """Write the CSV, NDJSON or Parquet file of a request."""
    with generation_files.load(request.folder.parent, request.folder.name) as generation:
        tables.make(request, generation, path, folder)


def _measure_write(make: Make, request: ExportRequest, path: Path, folder: Path) -> Cost:
    """Write a file in a new process; return the cost of the process."""
    context = get_context("spawn")
    receiver, sender = context.Pipe()
    process = context.Process(target=_run_make, args=(sender, make, request, path, folder))
    process.start()
    sender.close()  # so that the pipe ends if the process fails
    private = 0.0
    while not receiver.poll(_INTERVAL):
        private = max(private, _mib(process.pid, "RssAnon"))
    processor, peak = receiver.recv()
    process.join()
    return Cost(processor, peak, private)


def _run_make(
    pipe: Connection, make: Make, request: ExportRequest, path: Path, folder: Path
) -> None:
    """The new process: write a file, then send its processor seconds and its peak memory."""
    start = time.process_time()
    make(request, path, folder)
    # Not ru_maxrss: it starts at the memory of the parent.
    pipe.send((time.process_time() - start, _mib("self", "VmHWM")))


def _mib(pid: int | str | None, name: str) -> float:
    """The amount of memory `name` (such as `VmHWM`) in the kernel's status of a process, in MiB; 0 if it has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0  # the process has just ended


# -- searches during exports -------------------------------------------------------------


def _searches_during_exports(data: Path, folder: Path) -> None:
    """Measure cheap searches on 16 connections, alone and during four exports."""
    accounts = keys(folder / "state", EXPORTS)
    with serving(data, folder / "state") as server:
        _export(server, accounts[0], 25)  # start the worker process
        alone = measure(server, CHEAP, seconds=SECONDS, connections=16)
        export_seconds: list[float] = []
        stop = threading.Event()
        threads = [threading.Thread(target=_export_repeatedly, args=(server, account, stop, export_seconds))
                   for account in accounts]  # fmt: skip
        for thread in threads:
            thread.start()
        during_exports = measure(server, CHEAP, seconds=SECONDS, connections=16)
        stop.set()
        for thread in threads:
            thread.join()
        print("\n| 16 connections of cheap searches | requests/s | p99 ms |\n| --- | --: | --: |")
        print(f"| alone | {alone.each_second:,.0f} | {alone.p99:.1f} |")
        print(
            f"| beside {EXPORTS} exports | {during_exports.each_second:,.0f} | {during_exports.p99:.1f} |"
        )
        print(
            f"| the exports: {len(export_seconds)} done, seconds "
            f"| {median(export_seconds):.1f} | {max(export_seconds):.1f} |"
        )
        print(f"\nPrivate memory of the server after that: {server.private():.0f} MiB.")


def _export_repeatedly(
    server: Server, account: Headers, stop: threading.Event, export_seconds: list[float]
) -> None:
    """Export the most rows again and again until `stop`; append the seconds of each export."""
    while not stop.is_set():
        start = time.perf_counter()
        _export(server, account, 10_000)
        export_seconds.append(time.perf_counter() - start)


def _export(server: Server, account: Headers, limit: int) -> None:
    """Request a file of at most `limit` companies and read it."""
    get(server, f"export?limit={limit}", account)


if __name__ == "__main__":
    main(data_folder(sys.argv))
