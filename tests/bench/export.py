"""`python -m tests.bench.export DATA`: the largest tables and workbook, beside bare writers.

The bare script writes the same cells, read back from our file, without search, formats, links or
charts. Both run in turn in separate processes, which report their times. On a shared machine trust
the ratio of processor times more than that of wall times. A second part measures cheap searches on
a server while exports run.
"""

import csv
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import orjson
import pyarrow.parquet
from python_calamine import CalamineWorkbook
from xlsxwriter import Workbook

from quota.plans import load
from serve.contract.export_tables import CSV, NDJSON, PARQUET
from serve.export.tables import table_files
from serve.export.workbook import book
from serve.export.workbook.export_request import ExportRequest
from serve.request.export_options import FileOptions
from shards.generations import generation_files, pointer
from shards.query import ORDERS, Query
from tests.bench.load import Request, Server, measure
from tests.bench.served import Headers, data_of, keys, serving

ROUNDS: Final = 5
SECONDS: Final = 8
EXPORTS: Final = 4
_EVERY: Final = 0.02  # seconds between two samples of a process's memory
CHEAP: Final = [
    Request(f"/api/v1/societes?pays=EE&limit=2&ca_min={number}", {}) for number in range(100)
]

Sheets = Sequence[tuple[str, Sequence[Sequence[Any]]]]


class Took(NamedTuple):
    """The cost of a process: wall seconds, processor seconds, and MiB at its peak.

    `private` counts memory of the process alone; pages of the shards are shared and can be evicted.
    """

    wall: float
    cpu: float
    peak: float
    private: float


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _tables(data, Path(folder))
        _speed(data, Path(folder))
        _beside_exports(data, Path(folder))


# -- speed and memory --------------------------------------------------------------------


def _speed(data: Path, folder: Path) -> None:
    path = folder / "ours.xlsx"
    print("| tri | rows, sheets | wall s | of bare | processor s | of bare | peak MiB | private |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for tri in ORDERS:
        asked = _asked(data, Query(tri=tri))
        made = _in_a_process(_ours, asked, path, folder)
        sheets = _sheets(path)
        ours, bare = [made], []
        for _ in range(ROUNDS if tri == ORDERS[0] else 2):
            bare.append(_in_a_process(_bare, sheets, folder))
            ours.append(_in_a_process(_ours, asked, path, folder))
        wall, cpu = (median(getattr(one, name) for one in ours[1:]) for name in ("wall", "cpu"))
        others = [median(getattr(one, name) for one in bare) for name in ("wall", "cpu")]
        rows = len(dict(sheets)["Liste"]) - 1
        print(f"| {tri} | {rows:,}, {len(sheets)} | {wall:.2f} | {wall / others[0]:.2f} | "
              f"{cpu:.2f} | {cpu / others[1]:.2f} | {max(one.peak for one in ours):.0f} | "
              f"{max(one.private for one in ours):.0f} |", flush=True)  # fmt: skip


def _tables(data: Path, folder: Path) -> None:
    """Each format of a table, and a bare writer of the same rows, which it is given decoded."""
    asked = _asked(data, Query())
    place = asked.folder
    path = folder / "table"
    print("| format | rows | bytes | processor s | of bare | with `comptes=1` s |")
    print("| --- | --: | --: | --: | --: | --: |")
    with generation_files.load(place.parent, place.name) as generation:

        def make(form: str, *, comptes: bool = False) -> int:
            wanted = replace(asked, file=FileOptions(form, comptes=comptes))
            return table_files.make(wanted, generation, path, folder).lignes

        make(NDJSON)
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        for form, bare in _BARE.items():
            ours = _processor(partial(make, form))
            size = path.stat().st_size
            theirs = _processor(partial(bare, rows, path))
            both = _processor(partial(make, form, comptes=True))
            print(
                f"| {form} | {len(rows):,} | {size:,} | {ours:.2f} | {ours / theirs:.2f} | {both:.2f} |",
                flush=True,
            )
    print()


def _processor(work: Callable[[], object]) -> float:
    """The median processor time of some rounds, the first one left out."""
    spent = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return median(spent[1:])


def _bare_csv(rows: Sequence[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(rows[0])
        lines.writerows(row.values() for row in rows)


def _bare_ndjson(rows: Sequence[dict[str, Any]], path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _bare_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(list(rows)), path, compression="zstd", compression_level=3
    )


_BARE: Final = {CSV: _bare_csv, NDJSON: _bare_ndjson, PARQUET: _bare_parquet}


def _asked(data: Path, query: Query) -> ExportRequest:
    known = pointer.read(data)
    assert known is not None
    plan, now = load()["integral"], datetime.now(UTC)
    published = datetime.fromisoformat(known.published)
    folder = data / known.generation
    return ExportRequest(
        folder, published, query, plan.lignes_par_export, "fr", plan, (), "mesure", now
    )


def _ours(asked: ExportRequest, path: Path, folder: Path) -> None:
    place = asked.folder
    with (
        tempfile.TemporaryDirectory(dir=folder) as temporary,
        generation_files.load(place.parent, place.name) as generation,
    ):
        book.make(asked, generation, path, Path(temporary))


def _bare(sheets: Sheets, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        options = {"constant_memory": True, "tmpdir": temporary}
        workbook = Workbook(str(folder / "bare.xlsx"), options)
        for name, rows in sheets:
            sheet = workbook.add_worksheet(name)
            for row, values in enumerate(rows):
                for col, value in enumerate(values):
                    if isinstance(value, str):
                        if value:
                            sheet.write_string(row, col, value)
                    else:
                        sheet.write_number(row, col, value)
        workbook.close()


def _sheets(path: Path) -> Sheets:
    """The cells of a workbook: text, "" where there is none, and numbers."""
    read = CalamineWorkbook.from_path(str(path))
    return [
        (name, [[_plain(value) for value in line] for line in
                read.get_sheet_by_name(name).to_python(skip_empty_area=False)])
        for name in read.sheet_names
    ]  # fmt: skip


def _plain(value: Any) -> str | float:
    return value if isinstance(value, str | float | int) else 45_000.0


def _in_a_process(work: Any, *arguments: Any) -> Took:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measured, args=(theirs, work, arguments))
    process.start()
    private = 0.0
    while not ours.poll(_EVERY):
        private = max(private, _mib(process.pid, "RssAnon"))
    wall, cpu, peak = ours.recv()
    process.join()
    return Took(wall, cpu, peak, private)


def _mib(pid: int | str | None, name: str) -> float:
    """A line of the kernel's status of a process, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0  # the process has just ended


def _measured(pipe: Any, work: Any, arguments: Sequence[Any]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work(*arguments)
    spent = time.perf_counter() - wall, time.process_time() - cpu
    # Not ru_maxrss, which starts with the memory of the parent.
    pipe.send((*spent, _mib("self", "VmHWM")))


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
    address = f"{server.address}/api/v1/export?limit={limit}"
    wanted = urllib.request.Request(address, None, dict(account))
    with urllib.request.urlopen(wanted) as answer:
        answer.read()


if __name__ == "__main__":
    main(data_of(sys.argv))
