"""Import of a register: published files become canonical Parquet, with an account of every row.

    out/companies/<source>.<stems>.parquet      or out/comptes/…, out/relations/…, by the source
    out/rejected/<source>.<stems>.parquet       only if a row could not be kept
    out/imports/<source>.<stems>.json           the report
    out/sources.json                            register, licence, files and their dates, by table

The name comes from the source and the published files: other files imported into the same folder
are added, the same files replace their earlier output. Each file appears whole (`name.partial`,
fsync, rename). The same files give the same bytes; only sources.json has a time, that of the import
which first gave a table its bytes.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl
from blake3 import blake3

from pipeline import canonical, console, seeds
from pipeline.canonical import TEXT, InputError, Origin
from pipeline.registers import REGISTERS, file_set
from pipeline.registers.register import LEAST_MEMORY, FileDate, Register, RegisterRows, RowCounts
from pipeline.workers import isolation
from pipeline.workers.isolation import IsolationError, Limits
from seeds import TABLES
from shards.generations import atomic_files, register_sources
from shards.generations.register_sources import SOURCES, RegisterFile, RegisterImport

LONGEST_NAME: Final = 120  # a file name holds 255 bytes; the UK product comes in seven parts
_ROOM: Final = 1 << 20  # bytes; a chunk of what an import writes
# The fields of `RowCounts` -> their keys in the report, in its order.
_COUNT_KEYS: Final[Mapping[str, str]] = {
    "read": "lus",
    "kept": "gardes",
    "dropped": "ecartes",
    "rejected": "rejetes",
    "merged": "fusionnes",
    "noted": "traites",
    "ignored": "ignores",
    "examples": "exemples",
    "detail": "detail",
}


@dataclass(frozen=True, slots=True)
class Report:
    """The account of one import. `output` and `rejected` are relative to the output folder."""

    source: str
    files: tuple[str, ...]
    output: str
    rejected: str | None
    counts: RowCounts
    dated: tuple[RegisterFile, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values, under its French keys."""
        counts = asdict(self.counts)
        return {
            "source": self.source,
            "fichiers": self.files,
            "sortie": self.output,
            "rejets": self.rejected,
            "comptage": {key: counts[name] for name, key in _COUNT_KEYS.items()},
        }

    def lines(self) -> list[str]:
        """The report for a terminal, a few short lines."""
        counts = self.counts
        merged = f", {counts.merged:,} merged" if counts.merged else ""
        ignored = sum(counts.ignored.values())
        return [
            f"{self.source}: {', '.join(self.files)} -> {self.output}",
            f"  {counts.read:,} read, {counts.kept:,} kept{merged}",
            *self._section("dropped", counts.dropped),
            *self._section("rejected", counts.rejected),
            *self._section("noted", counts.noted),
            *([f"  ignored on purpose: {ignored:,}"] if ignored else []),
            *self._section("detail", counts.detail),
            *(f"  {file.nom}: {_age(file)}" for file in self.dated),
        ]

    def _section(self, title: str, counts: Mapping[str, int]) -> Iterator[str]:
        for reason, count in counts.items():
            shown = self.counts.examples.get(reason, ()) if title == "noted" else ()
            after = f" (e.g. {', '.join(shown)})" if shown else ""
            if count:
                yield f"  {title}: {console.english_reason(reason)}: {count:,}{after}"


def run(
    source: str,
    files: Sequence[Path],
    out: Path,
    day: str | None = None,
    now: datetime | None = None,
    memory: int | None = None,
) -> Report:
    """Import the published `files` of `source` into the folder `out`.

    Args:
        day: the date of the files (ISO 8601), where the operator knows it; None for what they tell.
        now: the time of the import; None for the time of the clock.
        memory: bytes that it may take, at least LEAST_MEMORY; None for what is usual.

    Raises:
        InputError: an unknown source, too little memory, a file that cannot be read, a column that is new or gone,
            files that an earlier import into `out` shares only in part, or that give nothing.
    """
    register = _register(source)
    _check_files(files)
    file_set.check(files, is_whole=register.table != "comptes")
    if memory is not None and memory < LEAST_MEMORY:
        raise InputError(
            f"{memory / (1 << 30):.3g} GiB are too few, an import needs {LEAST_MEMORY / (1 << 30)} GiB; "
            "give it more as --memory"
        )
    with tempfile.TemporaryDirectory(prefix="import-", dir=_make_folder(out)) as folder:
        try:
            rows = _add_file_dates(register, register.read(files, Path(folder), memory), files, day)
            return _write_output(register, files, rows, out, now or datetime.now(UTC))
        except (pl.exceptions.PolarsError, InputError) as error:
            _check_room(out, error)
            if isinstance(error, InputError):
                raise
            names = ", ".join(file.name for file in files)
            raise InputError(
                f"{names}: no readable CSV ({_first_line(error)}); download it again"
            ) from error


def run_isolated(
    limits: Limits,
    source: str,
    files: Sequence[Path],
    out: Path,
    day: str | None = None,
    memory: int | None = None,
) -> Report:
    """`run` in a process of its own: a file that ends, fills or stops the process is an error like others.

    Raises:
        InputError: as `run`, and where the process ends without a result.
    """
    try:
        return isolation.call(limits, run, source, files, out, day, memory=memory)
    except IsolationError as error:
        _check_room(out, error)
        raise InputError(f"{', '.join(file.name for file in files)}: {error}") from error


def _check_room(out: Path, error: Exception) -> None:
    """Name the full disk where Polars says only that a file of its own cannot be read.

    Raises:
        InputError: the disk of `out` has less than a megabyte left.
    """
    if out.is_dir() and shutil.disk_usage(out).free < _ROOM:
        raise InputError(
            f"the disk of {out} is full; give it space, or name another folder as --out "
            f"({_first_line(error)})"
        ) from error


def _write_output(
    register: Register, files: Sequence[Path], rows: RegisterRows, out: Path, now: datetime
) -> Report:
    name = output_name(register.source, rows.stems)
    _check_overlap(out, register.source, name, rows.stems)
    _check_kept(register, files, rows.counts)
    canonical.check_columns(rows.kept.collect_schema(), *canonical.TABLES[register.table], name)
    target = out / register.table / f"{name}.parquet"
    rejected = out / "rejected" / f"{name}.parquet"
    before = _digest(target) if target.exists() else None
    origin = Origin(register.source, register.complement)
    _sink(rows.kept, target, origin)
    if rows.counts.rejected:
        _sink(rows.rejected, rejected, origin)
    else:
        rejected.unlink(missing_ok=True)
    report = Report(
        source=register.source,
        files=tuple(file.name for file in files),
        output=str(target.relative_to(out)),
        rejected=str(rejected.relative_to(out)) if rows.counts.rejected else None,
        counts=rows.counts,
        dated=_record_source(register, files, rows, target, now, is_new=before != _digest(target)),
    )
    body = report.to_dict() | {"bases": list(rows.stems)}
    text = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    _write(out / "imports" / f"{name}.json", text.encode())
    return report


def output_name(source: str, stems: Sequence[str]) -> str:
    """The name of the output of these files, without suffix; their order does not matter.

    >>> output_name("uk-basic", ["part2", "part1"])
    'uk-basic.part1+part2'
    """
    name = f"{source}.{'+'.join(sorted(stems))}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{source}.{min(stems)[:60]}+{len(stems) - 1}-{digest}"


# -- the dates of the files, and the sources of a folder ---------------------------------------------


# How the date of a file is known, for a terminal.
_ORIGINS: Final[Mapping[str, str]] = {
    "contenu": "told by its content",
    "nom": "told by its name",
    "indiquee": "as given",
}


def _age(file: RegisterFile) -> str:
    if file.origine_date == "inconnue":
        return "of an unknown date; --date gives that of the register"
    return f"of {file.date} ({_ORIGINS[file.origine_date]})"


def _add_file_dates(
    register: Register, rows: RegisterRows, files: Sequence[Path], day: str | None
) -> RegisterRows:
    """The rows with the date of every file, which companies have in `date_source`.

    Rows of a file that does not tell its date have the oldest date in the names of such files.
    """
    if day:
        dates, column = dict.fromkeys(files, FileDate(day, "indiquee")), pl.lit(day, TEXT)
    else:
        rest = {file: file_set.date_of_file(file) for file in files if file not in rows.dates}
        dates = {file: rows.dates.get(file) or rest[file] for file in files}
        oldest = pl.lit(min((one.date for one in rest.values() if one.date), default=None), TEXT)
        is_there = register.table == "companies" and "date_source" in rows.kept.collect_schema()
        column = pl.coalesce("date_source", oldest) if is_there else oldest
    kept = rows.kept
    if register.table == "companies":
        kept = kept.with_columns(date_source=column)
    return replace(rows, kept=kept, dates=dates)


def _record_source(
    register: Register,
    files: Sequence[Path],
    rows: RegisterRows,
    table: Path,
    now: datetime,
    *,
    is_new: bool,
) -> tuple[RegisterFile, ...]:
    """Enter the import into the `sources.json` of its folder; return the files with their dates.

    Entries whose table is gone are removed. If nothing has changed, the time of the import stays.
    """
    out = table.parent.parent
    read = tuple(
        RegisterFile(file.name, *rows.dates[file], file.stat().st_size, _digest(file))
        for file in sorted(files, key=lambda file: file.name)
    )
    entry = RegisterImport(
        source=register.source,
        table=register.table,
        complement=tuple(register.complement),
        fichiers=read,
        importe=now.astimezone(UTC).isoformat(timespec="seconds"),
        lignes=rows.counts.kept,
        **publisher(register.source),
    )
    with _folder_lock(out):
        known = canonical.read_sources(out)
        kept = {path: found for path, found in known.items() if (out / path).exists()}
        key = str(table.relative_to(out))
        for earlier in kept.get(key, ()):
            if not is_new and replace(earlier, importe=entry.importe) == entry:
                entry = earlier
        _write(out / SOURCES, register_sources.dump({**kept, key: (entry,)}))
    return read


def publisher(source: str) -> dict[str, str]:
    """What `seeds/sources.csv` says of a source; several publishers are joined by semicolons."""
    columns = ("registre", "licence", "licence_url", "attribution_fr", "attribution_en")
    rows = seeds.read_table(TABLES / "sources.csv", ("source", "adresse", *columns))
    own = [row for row in rows if row["source"] == source]
    said = {name: " ; ".join(dict.fromkeys(row[name] for row in own)) for name in columns}
    addresses = [row["adresse"] for row in own if row["adresse"]]
    # `{date:…}` in an address stands for that of an edition: only its folder is always there.
    address = addresses[0] if addresses else ""
    address = address.partition("{")[0].rpartition("/")[0] + "/" if "{" in address else address
    return {
        "registre": said["registre"],
        "adresse": address,
        "licence": said["licence"],
        "licence_adresse": said["licence_url"],
        "attribution": said["attribution_fr"],
        "attribution_en": said["attribution_en"],
    }


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Keep other imports into the same folder from writing its `sources.json` meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _digest(path: Path) -> str:
    return blake3(max_threads=blake3.AUTO).update_mmap(path).hexdigest()


def _register(source: str) -> Register:
    if source not in REGISTERS:
        raise InputError(f"unknown source {source!r}; known: {', '.join(sorted(REGISTERS))}")
    return REGISTERS[source]


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        raise InputError("no file to import; name the register's published files")
    names = [file.name for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; name each file once")
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder; name the published files in it, as {file}/*")
        if not file.is_file():
            raise InputError(f"{file}: no such file; check its path")


def _check_overlap(out: Path, source: str, name: str, stems: Sequence[str]) -> None:
    """Refuse to import a file that another import shares: its companies would come twice."""
    for other in sorted((out / "imports").glob("*.json")):
        if other.stem == name:
            continue
        earlier = json.loads(other.read_text(encoding="utf-8"))
        both = sorted(set(earlier["bases"]) & set(stems))
        if earlier["source"] == source and both:
            raise InputError(
                f"{', '.join(both)} is already in {out / earlier['sortie']}, imported with"
                f" {', '.join(earlier['fichiers'])}; import those again, or delete it and {other}"
            )


def _check_kept(register: Register, files: Sequence[Path], counts: RowCounts) -> None:
    """Refuse an empty result: it would pass for a register without a company."""
    if counts.kept:
        return
    names = ", ".join(file.name for file in files)
    reasons = [
        console.reason_and_count(reason, count)
        for reason, count in {**counts.rejected, **counts.dropped}.items()
    ]
    found = f"none of {counts.read:,} is kept: {', '.join(reasons)}" if counts.read else "no row"
    raise InputError(f"{names}: {found}; is it a file of {register.source}? Download it again")


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sink(frame: pl.LazyFrame, target: Path, origin: Origin) -> None:
    partial = _partial_path(target)
    frame.sink_parquet(partial, compression="zstd", maintain_order=True, metadata=origin.metadata())
    atomic_files.appear(partial, target)


def _write(target: Path, content: bytes) -> None:
    partial = _partial_path(target)
    partial.write_bytes(content)
    atomic_files.appear(partial, target)


def _partial_path(target: Path) -> Path:
    return _make_folder(target.parent) / f"{target.name}.partial"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
