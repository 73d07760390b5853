"""Import of a register: published files become canonical Parquet, with an account of every row.

    out/companies/<source>.<stems>.parquet      or out/comptes/…, out/relations/…, by the table of the source
    out/rejected/<source>.<stems>.parquet       only if a row was rejected
    out/imports/<source>.<stems>.json           the report
    out/sources.json                            register, licence, files and their dates, by table

The names consist of the source and the stems of the published files. So the import of other files into the same folder
adds output, and the import of the same files replaces its earlier output. An output file is never incomplete
(`name.partial`, fsync, rename). The same files give the same bytes. Only sources.json contains a time: the time of the
import that first wrote the present bytes of a table.
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

# The most bytes of the name of an output, without suffix; file systems allow 255. The UK product has seven files, whose
# joined names would be longer.
MOST_NAME_BYTES: Final = 120
# With fewer free bytes, a disk counts as full: about one chunk of an import's output.
_LEAST_FREE_BYTES: Final = 1 << 20
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
    """The report of one import.

    Attributes:
        output, rejected: the paths of the written files, relative to the output folder; None without rejected rows.
        dated: the imported files with their dates.
    """

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
        """The report as lines for a terminal."""
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
            *(f"  {file.nom}: {_describe_date(file)}" for file in self.dated),
        ]

    def _section(self, title: str, counts: Mapping[str, int]) -> Iterator[str]:
        """A line for each reason with a count."""
        for reason, count in counts.items():
            examples = self.counts.examples.get(reason, ()) if title == "noted" else ()
            examples_text = f" (e.g. {', '.join(examples)})" if examples else ""
            if count:
                yield f"  {title}: {console.english_reason(reason)}: {count:,}{examples_text}"


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
        day: the date of the files (ISO 8601), if the operator knows it; None for the date in the files or their names.
        now: the time of the import; None for the current time.
        memory: the bytes that the import can use, at least LEAST_MEMORY; None for the default.

    Raises:
        InputError: an unknown source, too little memory, an unreadable file, a new or missing column, files of which an
            earlier import into `out` has some and not all, or files without a row to keep.
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
    """`run` in a separate process: a file that makes the process crash, use all memory or hang is an ordinary error.

    Raises:
        InputError: as `run`, and if the process ends without a result.
    """
    try:
        return isolation.call(limits, run, source, files, out, day, memory=memory)
    except IsolationError as error:
        _check_room(out, error)
        raise InputError(f"{', '.join(file.name for file in files)}: {error}") from error


def _check_room(out: Path, error: Exception) -> None:
    """Raise an error that names the full disk if the disk is full; the message of `error` does not name it.

    Raises:
        InputError: the disk of `out` has less than _LEAST_FREE_BYTES left.
    """
    if out.is_dir() and shutil.disk_usage(out).free < _LEAST_FREE_BYTES:
        raise InputError(
            f"the disk of {out} is full; give it space, or name another folder as --out "
            f"({_first_line(error)})"
        ) from error


def _write_output(
    register: Register, files: Sequence[Path], rows: RegisterRows, out: Path, now: datetime
) -> Report:
    """Check the rows of an import; write the rows, the rejected rows, the report and the `sources.json` to `out`.

    Returns the report. Without rejected rows, the file of an earlier import's rejected rows is deleted.
    """
    name = output_name(register.source, rows.stems)
    _check_overlap(out, register.source, name, rows.stems)
    _refuse_empty(register, files, rows.counts)
    canonical.check_columns(rows.kept.collect_schema(), *canonical.TABLES[register.table], name)
    target = out / register.table / f"{name}.parquet"
    rejected = out / "rejected" / f"{name}.parquet"
    digest_before = _file_digest(target) if target.exists() else None
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
        dated=_record_source(
            register, files, rows, target, now, is_changed=digest_before != _file_digest(target)
        ),
    )
    # `bases`, the stems of the files, is read by `_check_overlap` of later imports.
    body = report.to_dict() | {"bases": list(rows.stems)}
    text = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    _write(out / "imports" / f"{name}.json", text.encode())
    return report


def output_name(source: str, stems: Sequence[str]) -> str:
    """The name of the output of files with these `stems`, without suffix; their order does not matter.

    A name over MOST_NAME_BYTES is shortened to its first stem, the number of the others and a digest.

    >>> output_name("uk-basic", ["part2", "part1"])
    'uk-basic.part1+part2'
    """
    name = f"{source}.{'+'.join(sorted(stems))}"
    if len(name.encode()) <= MOST_NAME_BYTES:
        return name
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{source}.{min(stems)[:60]}+{len(stems) - 1}-{digest}"


# -- the dates of the files, and the sources of a folder ---------------------------------------------


# The origin of the date of a file -> its English words.
_ORIGIN_WORDS: Final[Mapping[str, str]] = {
    "contenu": "from its content",
    "nom": "from its name",
    "indiquee": "as given",
}


def _describe_date(file: RegisterFile) -> str:
    """The date of a file and its origin, in words."""
    if file.origine_date == "inconnue":
        return "of an unknown date; --date sets the date of the register"
    return f"of {file.date} ({_ORIGIN_WORDS[file.origine_date]})"


def _add_file_dates(
    register: Register, rows: RegisterRows, files: Sequence[Path], day: str | None
) -> RegisterRows:
    """Add the date of every file (`dates`), and to rows of companies the column `date_source`.

    With `day`, it is the date of all files and rows. Otherwise a row whose file has no date in its content gets the
    oldest date in the names of such files.
    """
    if day:
        dates, column = dict.fromkeys(files, FileDate(day, "indiquee")), pl.lit(day, TEXT)
    else:
        dates_of_names = {
            file: file_set.date_of_file(file) for file in files if file not in rows.dates
        }
        dates = {file: rows.dates.get(file) or dates_of_names[file] for file in files}
        oldest = pl.lit(
            min(
                (file_date.date for file_date in dates_of_names.values() if file_date.date),
                default=None,
            ),
            TEXT,
        )
        has_date_source = (
            register.table == "companies" and "date_source" in rows.kept.collect_schema()
        )
        column = pl.coalesce("date_source", oldest) if has_date_source else oldest
    kept_rows = rows.kept
    if register.table == "companies":
        kept_rows = kept_rows.with_columns(date_source=column)
    return replace(rows, kept=kept_rows, dates=dates)


def _record_source(
    register: Register,
    files: Sequence[Path],
    rows: RegisterRows,
    target: Path,
    now: datetime,
    *,
    is_changed: bool,
) -> tuple[RegisterFile, ...]:
    """Enter the import into the `sources.json` of its folder; return the files with their dates.

    Entries whose Parquet file has been deleted are removed. If nothing has changed, the entry keeps its earlier time.

    Args:
        target: the Parquet file that the import wrote.
        is_changed: whether the bytes of this Parquet file differ from those of the earlier import.
    """
    out = target.parent.parent
    register_files = tuple(
        RegisterFile(file.name, *rows.dates[file], file.stat().st_size, _file_digest(file))
        for file in sorted(files, key=lambda file: file.name)
    )
    entry = RegisterImport(
        source=register.source,
        table=register.table,
        complement=tuple(register.complement),
        fichiers=register_files,
        importe=now.astimezone(UTC).isoformat(timespec="seconds"),
        lignes=rows.counts.kept,
        **publisher(register.source),
    )
    with _folder_lock(out):
        earlier_sources = canonical.read_sources(out)
        entries = {
            path: imports for path, imports in earlier_sources.items() if (out / path).exists()
        }
        table_path = str(target.relative_to(out))
        for earlier in entries.get(table_path, ()):
            if not is_changed and replace(earlier, importe=entry.importe) == entry:
                entry = earlier
        _write(out / SOURCES, register_sources.dump({**entries, table_path: (entry,)}))
    return register_files


def publisher(source: str) -> dict[str, str]:
    """The publisher, address and licence of a source, by `seeds/sources.csv`, as fields of RegisterImport.

    If the source has several rows, their different texts are joined by semicolons.
    """
    columns = ("registre", "licence", "licence_url", "attribution_fr", "attribution_en")
    rows = seeds.read_table(TABLES / "sources.csv", ("source", "adresse", *columns))
    publishers = [row for row in rows if row["source"] == source]
    joined_texts = {
        name: " ; ".join(dict.fromkeys(row[name] for row in publishers)) for name in columns
    }
    addresses = [row["adresse"] for row in publishers if row["adresse"]]
    # An address with `{date:…}` is that of one edition, so the address of its folder is given, which always exists.
    address = addresses[0] if addresses else ""
    address = address.partition("{")[0].rpartition("/")[0] + "/" if "{" in address else address
    return {
        "registre": joined_texts["registre"],
        "adresse": address,
        "licence": joined_texts["licence"],
        "licence_adresse": joined_texts["licence_url"],
        "attribution": joined_texts["attribution_fr"],
        "attribution_en": joined_texts["attribution_en"],
    }


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, so that two imports do not write its `sources.json` at the same time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _file_digest(path: Path) -> str:
    """The BLAKE3 digest of a file."""
    return blake3(max_threads=blake3.AUTO).update_mmap(path).hexdigest()


# -- checks of the files and of the result -------------------------------------------


def _register(source: str) -> Register:
    """The importer of a source; InputError for an unknown source."""
    if source not in REGISTERS:
        raise InputError(f"unknown source {source!r}; known: {', '.join(sorted(REGISTERS))}")
    return REGISTERS[source]


def _check_files(files: Sequence[Path]) -> None:
    """Refuse an empty list, two files of one name, folders and missing files."""
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
    """Refuse a file that an earlier import with other files also has: its companies would appear twice."""
    for report_path in sorted((out / "imports").glob("*.json")):
        if report_path.stem == name:
            continue
        earlier = json.loads(report_path.read_text(encoding="utf-8"))
        shared_stems = sorted(set(earlier["bases"]) & set(stems))
        if earlier["source"] == source and shared_stems:
            raise InputError(
                f"{', '.join(shared_stems)} is already in {out / earlier['sortie']}, imported with"
                f" {', '.join(earlier['fichiers'])}; import those again, or delete it and {report_path}"
            )


def _refuse_empty(register: Register, files: Sequence[Path], counts: RowCounts) -> None:
    """Refuse an empty result, which would look like a register without companies."""
    if counts.kept:
        return
    names = ", ".join(file.name for file in files)
    reasons = [
        console.reason_and_count(reason, count)
        for reason, count in {**counts.rejected, **counts.dropped}.items()
    ]
    result = f"none of {counts.read:,} is kept: {', '.join(reasons)}" if counts.read else "no row"
    raise InputError(f"{names}: {result}; is it a file of {register.source}? Download it again")


# -- folders, and files that are never incomplete ------------------------------------


def _make_folder(folder: Path) -> Path:
    """Create a folder if it does not exist; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sink(frame: pl.LazyFrame, target: Path, origin: Origin) -> None:
    """Compute rows into a Parquet file that is never incomplete."""
    partial = _partial_path(target)
    frame.sink_parquet(partial, compression="zstd", maintain_order=True, metadata=origin.metadata())
    atomic_files.rename_synced_file(partial, target)


def _write(target: Path, content: bytes) -> None:
    """Write a file that is never incomplete."""
    partial = _partial_path(target)
    partial.write_bytes(content)
    atomic_files.rename_synced_file(partial, target)


def _partial_path(target: Path) -> Path:
    """The path at which a file is written before it is renamed to `target`; its folder is created."""
    return _make_folder(target.parent) / f"{target.name}.partial"


def _first_line(error: Exception) -> str:
    """The first line of the message of an error."""
    return str(error).split("\n", 1)[0]
