"""`python -m tests.bench.export DATA`: the largest tables and workbook, beside bare writers.

Bare writers write the same cells, read back from our file, without search, formats, links or
charts. All run in turn in separate processes, which report their times. Libraries are imported where they are
used: a process has the memory of its own only. On a shared machine trust
the ratio of processor times more than that of wall times. A second part measures cheap searches on
a server while exports run.
"""

import csv
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import orjson

from quota.plans import load
from serve.contract.export_tables import CSV, NDJSON, PARQUET
from serve.guests.files.tables import table_files
from serve.guests.files.workbook import book
from serve.guests.files.workbook.export_request import ExportRequest
from serve.request.file_options import FileOptions
from shards.generations import generation_files, pointer
from shards.query import Query
from tests.bench.load import Request, Server, measure
from tests.bench.served import Headers, data_of, get, keys, serving

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
    """A plain list and the largest workbook, in turn with bare writers of the same cells."""
    path = folder / "ours.xlsx"
    print(
        "| file | writer | rows, sheets | MB | processor s | of xlsxwriter | peak MiB | private |"
    )
    print("| --- | --- | --: | --: | --: | --: | --: | --: |")
    whole = _asked(data, Query())
    plain = replace(whole, plan=replace(whole.plan, etats_financiers=False))
    for kind, asked in {"list": plain, "workbook": whole}.items():
        _in_a_process(_ours, asked, path, folder)
        sheets = _sheets(path)
        writers: dict[str, tuple[Any, ...]] = {
            "ours": (_ours, asked, path, folder),
            "xlsxwriter": (_bare, sheets, folder / "bare.xlsx"),
            "pyexcelerate": (_pyexcelerate, sheets, folder / "pyexcelerate.xlsx"),
            "rustpy-xlsxwriter": (_rust, _records(sheets), folder / "rust.xlsx"),
        }
        took: dict[str, list[Took]] = {name: [] for name in writers}
        for _ in range(ROUNDS):
            for name, work in writers.items():
                took[name].append(_in_a_process(*work))
        bare = median(one.cpu for one in took["xlsxwriter"])
        rows = len(dict(sheets)["Liste"]) - 1
        for name, work in writers.items():
            found = took[name]
            cpu = median(one.cpu for one in found)
            size = next(one for one in work if isinstance(one, Path)).stat().st_size / 1e6
            print(
                f"| {kind} | {name} | {rows:,}, {len(sheets)} | {size:.1f} | {cpu:.2f} | {cpu / bare:.2f} | "
                f"{max(one.peak for one in found):.0f} | {max(one.private for one in found):.0f} |",
                flush=True,
            )
    print()


def _tables(data: Path, folder: Path) -> None:
    """Each format of a table, and a bare writer of the same rows, which it is given decoded."""
    asked = _asked(data, Query())
    place = asked.folder
    path = folder / "table"
    print(
        "| format | rows | bytes | processor s | of bare | of polars | with `comptes=1` s | peak MiB | private |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
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
            frames = _processor(partial(_POLARS[form], rows, path))
            both = _processor(partial(make, form, comptes=True))
            table = replace(asked, file=FileOptions(form))
            took = _in_a_process(_our_table, table, path, folder)
            print(
                f"| {form} | {len(rows):,} | {size:,} | {ours:.2f} | {ours / theirs:.2f} | {ours / frames:.2f} | "
                f"{both:.2f} | {took.peak:.0f} | {took.private:.0f} |",
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
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(list(rows)), path, compression="zstd", compression_level=3
    )


_BARE: Final = {CSV: _bare_csv, NDJSON: _bare_ndjson, PARQUET: _bare_parquet}


def _frame(rows: Sequence[dict[str, Any]]) -> Any:
    import polars as pl

    return pl.from_dicts(rows, infer_schema_length=None)


def _polars_csv(rows: Sequence[dict[str, Any]], path: Path) -> None:
    import polars as pl

    texts = pl.col(pl.List(pl.String)).list.join("|")
    _frame(rows).with_columns(texts).write_csv(path)


def _polars_ndjson(rows: Sequence[dict[str, Any]], path: Path) -> None:
    _frame(rows).write_ndjson(path)


def _polars_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    _frame(rows).write_parquet(path, compression="zstd", compression_level=3)


_POLARS: Final = {CSV: _polars_csv, NDJSON: _polars_ndjson, PARQUET: _polars_parquet}


def _our_table(asked: ExportRequest, path: Path, folder: Path) -> None:
    with generation_files.load(asked.folder.parent, asked.folder.name) as generation:
        table_files.make(asked, generation, path, folder)


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


def _bare(sheets: Sheets, path: Path) -> None:
    from xlsxwriter import Workbook

    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        options = {"constant_memory": True, "tmpdir": temporary}
        workbook = Workbook(str(path), options)
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


def _pyexcelerate(sheets: Sheets, path: Path) -> None:
    import pyexcelerate

    workbook = pyexcelerate.Workbook()
    for name, rows in sheets:
        workbook.new_sheet(name, data=[[value or None for value in row] for row in rows])
    workbook.save(str(path))


def _rust(records: Sequence[tuple[str, Sequence[dict[str, Any]]]], path: Path) -> None:
    import rustpy_xlsxwriter

    rustpy_xlsxwriter.write_worksheets(records, str(path))


def _records(sheets: Sheets) -> Sequence[tuple[str, Sequence[dict[str, Any]]]]:
    """The sheets as rustpy-xlsxwriter takes them: a row is a dict."""
    return [
        (name, [{str(col): value or None for col, value in enumerate(row)} for row in rows])
        for name, rows in sheets
    ]


def _sheets(path: Path) -> Sheets:
    """The cells of a workbook: text, "" where there is none, and numbers."""
    from python_calamine import CalamineWorkbook

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
    theirs.close()  # a process that fails ends the pipe
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
    get(server, f"export?limit={limit}", account)


if __name__ == "__main__":
    main(data_of(sys.argv))
