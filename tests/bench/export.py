"""`python -m tests.bench.export DATA`: the largest files of an export, and searches beside exports.

Each file has 10 000 companies and is made in a process of its own, which opens the generation first; both are in its
figures. Processor time holds on a busy machine, too.
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
from tests.bench.served import Headers, data_of, get, keys, serving

ROUNDS: Final = 5
SECONDS: Final = 8
EXPORTS: Final = 4
_EVERY: Final = 0.02  # seconds between two samples of the memory of a process
CHEAP: Final = [
    Request(f"/api/v1/societes?pays=EE&limit=2&ca_min={number}", {}) for number in range(100)
]

Make = Callable[[ExportRequest, Path, Path], None]


class Cost(NamedTuple):
    """The cost of a process: processor seconds, and MiB at its peak.

    `private` is memory of the process alone; pages of the shards are shared and can be evicted.
    """

    processor: float
    peak: float
    private: float


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _files(data, Path(folder))
        _beside_exports(data, Path(folder))


# -- files -------------------------------------------------------------------------------


def _files(data: Path, folder: Path) -> None:
    whole = _request(data)
    requests: dict[str, tuple[Make, ExportRequest]] = {
        "xlsx": (_workbook, replace(whole, plan=replace(whole.plan, etats_financiers=False))),
        "xlsx with statements": (_workbook, whole),
    }
    for form in (CSV, NDJSON, PARQUET):
        requests[form] = _table, replace(whole, file=FileOptions(form))
        both = FileOptions(form, comptes=True)
        requests[f"{form} with statements"] = _table, replace(whole, file=both)
    print("| file | MB | processor s | peak MiB | private |\n| --- | --: | --: | --: | --: |")
    path = folder / "file"
    for name, (make, request) in requests.items():
        costs = [_cost(make, request, path, folder) for _ in range(ROUNDS)]
        processor = median(cost.processor for cost in costs)
        peak, private = max(cost.peak for cost in costs), max(cost.private for cost in costs)
        size = path.stat().st_size / 1e6
        print(f"| {name} | {size:.1f} | {processor:.2f} | {peak:.0f} | {private:.0f} |", flush=True)


def _request(data: Path) -> ExportRequest:
    """The largest export: all companies, as far as the largest plan allows."""
    current = pointer.require(data)
    plan, now = load()["integral"], datetime.now(UTC)
    return ExportRequest(
        data / current.generation, datetime.fromisoformat(current.published), Query(),
        plan.lignes_par_export, "fr", plan, (), "mesure", now,
    )  # fmt: skip


def _workbook(request: ExportRequest, path: Path, folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory(dir=folder) as temporary,
        generation_files.load(request.folder.parent, request.folder.name) as generation,
    ):
        book.make(request, generation, path, Path(temporary))


def _table(request: ExportRequest, path: Path, folder: Path) -> None:
    with generation_files.load(request.folder.parent, request.folder.name) as generation:
        tables.make(request, generation, path, folder)


def _cost(make: Make, request: ExportRequest, path: Path, folder: Path) -> Cost:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measured, args=(theirs, make, request, path, folder))
    process.start()
    theirs.close()  # a process that fails ends the pipe
    private = 0.0
    while not ours.poll(_EVERY):
        private = max(private, _mib(process.pid, "RssAnon"))
    processor, peak = ours.recv()
    process.join()
    return Cost(processor, peak, private)


def _measured(
    pipe: Connection, make: Make, request: ExportRequest, path: Path, folder: Path
) -> None:
    start = time.process_time()
    make(request, path, folder)
    # Not ru_maxrss, which starts with the memory of the parent.
    pipe.send((time.process_time() - start, _mib("self", "VmHWM")))


def _mib(pid: int | str | None, name: str) -> float:
    """A line of the kernel's status of a process, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0  # the process has just ended


# -- a server ----------------------------------------------------------------------------


def _beside_exports(data: Path, folder: Path) -> None:
    """Measure cheap searches on 16 connections, alone and during four exports."""
    accounts = keys(folder / "state", EXPORTS)
    with serving(data, folder / "state") as server:
        _export(server, accounts[0], 25)  # start the worker process
        alone = measure(server, CHEAP, seconds=SECONDS, connections=16)
        done: list[float] = []
        stop = threading.Event()
        threads = [threading.Thread(target=_exporting, args=(server, account, stop, done))
                   for account in accounts]  # fmt: skip
        for thread in threads:
            thread.start()
        crowded = measure(server, CHEAP, seconds=SECONDS, connections=16)
        stop.set()
        for thread in threads:
            thread.join()
        print("\n| 16 connections of cheap searches | requests/s | p99 ms |\n| --- | --: | --: |")
        print(f"| alone | {alone.each_second:,.0f} | {alone.p99:.1f} |")
        print(f"| beside {EXPORTS} exports | {crowded.each_second:,.0f} | {crowded.p99:.1f} |")
        print(f"| the exports: {len(done)} done, seconds | {median(done):.1f} | {max(done):.1f} |")
        print(f"\nPrivate memory of the server after that: {server.private():.0f} MiB.")


def _exporting(server: Server, account: Headers, stop: threading.Event, done: list[float]) -> None:
    while not stop.is_set():
        start = time.perf_counter()
        _export(server, account, 10_000)
        done.append(time.perf_counter() - start)


def _export(server: Server, account: Headers, limit: int) -> None:
    get(server, f"export?limit={limit}", account)


if __name__ == "__main__":
    main(data_of(sys.argv))
