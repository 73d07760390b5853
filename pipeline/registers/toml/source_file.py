"""Published files as scans of text columns, each held to the columns its declaration knows.

Rule (after OpenSanctions): every column of a header and every key of a record is used, ignored with
a reason, or an error that names it. Columns are found by name, never by position; names are
stripped, because Companies House publishes some with a leading space.

Memory holds one chunk of each of two files, whatever their size: the rows of a CSV are copied to the work folder
(`csv_rows`) and scanned there, records become Parquet files of BATCH rows. The first bytes and the header of a file
tell its kind, not its name, because people rename downloads.
"""

import codecs
import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.canonical import InputError
from pipeline.errors import excerpt
from pipeline.registers import foreign_forms, packing, record_stream
from pipeline.registers.csv_rows import (
    BLANK,
    CHUNK,
    FIELD_END,
    LEFT_OUT,
    UNESCAPED,
    CsvForm,
    CsvRows,
    RejectedRow,
    decode_line,
)
from pipeline.registers.packing import Member
from pipeline.registers.record_stream import RecordError, Unreadable
from pipeline.registers.register import REJECTED, row_count
from pipeline.registers.toml import json_paths
from pipeline.registers.toml.declaration import FileKind
from pipeline.registers.toml.json_paths import PathError

BATCH: Final = 50_000  # records
ROW: Final = "ligne"  # of the file, from 1; the column beside the published ones
_THREADS: Final = 2  # files that are unpacked at once; zlib and the disk leave the interpreter free
NOT_JSON: Final = "ligne qui n'est pas du JSON"
NO_OBJECT: Final = "valeur qui n'est pas un objet"
_SEPARATORS: Final = (",", ";", "\t", "|", "^")
_LONGEST_LIST: Final = 120  # characters of columns in a message
_RECORDS: Final = ("json", "jsonl", "xml")


@dataclass(frozen=True, slots=True)
class FilePart:
    """One published file of a known kind.

    Attributes:
        name: the published name.
        stem: the name of the file it came in, without the suffixes of packing; see `packing.stem`.
        rows: the used columns as text, empty text as null, and ROW.
        header: the columns of the copy, as published; none for records.
        is_cp1252: whether the published text was Windows-1252 without a declaration.
        rejected: its rows that cannot be read, in the columns of REJECTED.
        records: the number of records in the head of the file, if there is one.
        count: the number of rows of a CSV, which may end with a row about itself.
        file: the file that was given, which may be a zip of several.
    """

    kind: FileKind
    name: str
    stem: str
    rows: pl.LazyFrame
    header: tuple[str, ...]
    is_cp1252: bool
    rejected: pl.LazyFrame
    file: Path = Path()
    records: int | None = None
    count: int | None = None


def unpack(
    files: Sequence[Path], kinds: Mapping[str, FileKind], work: Path
) -> tuple[FilePart, ...]:
    """The published files in `files`, zipped or not, in their order; copies are left in `work`.

    Files of a kind that is skipped are left out.

    Raises:
        InputError: an empty file, a damaged one, one of no kind, or one with an unknown column or
            key.
    """
    with ThreadPoolExecutor(_THREADS) as threads:
        found = threads.map(
            partial(_unpack_file, kinds), files, (work / str(place) for place in range(len(files)))
        )
        parts = tuple(part for parts in found for part in parts)
    for name in kinds:
        _refuse_missing_records([part for part in parts if part.kind.name == name])
    return parts


def _refuse_missing_records(parts: Sequence[FilePart]) -> None:
    """Hold the files of a kind to the numbers of records in their heads: each has its own, or all have the sum."""
    if not any(part.records for part in parts):
        return
    counts = [row_count(part.rows) + row_count(part.rejected) for part in parts]
    for part, count in zip(parts, counts, strict=True):
        if part.records not in (None, count, sum(counts)):
            raise InputError(
                f"{part.name} has {count:,} records, and its head says {part.records:,}: it is a part, or damaged;"
                " download the whole again"
            )


def _unpack_file(kinds: Mapping[str, FileKind], file: Path, path: Path) -> list[FilePart]:
    """The published files in one file; copies are left beside `path`."""
    parts: list[FilePart] = []
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    for member in packing.members(file, suffixes, path.parent):
        shown = file.name if file.name.startswith(member.name) else f"{file.name}: {member.name}"
        with _damage(shown):
            part = _part(member, kinds, path.with_name(f"{path.name}-{len(parts)}"))
        if part is not None:
            parts.append(replace(part, file=file))
    return parts


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Name the file `where` in the errors about its packing and its form."""
    try:
        yield
    except (RecordError, PathError) as error:
        raise InputError(f"{where} is damaged ({error}); {record_stream.remedy(error)}") from error
    except packing.BROKEN as error:
        raise packing.damage(where, error) from error
    except OSError as error:
        if error.errno is not None:  # of the disk; bz2 raises one without a number
            raise
        raise packing.damage(where, error) from error


def count_rows(file: Path, kinds: Mapping[str, FileKind]) -> int:
    """The rows of a published file, which is read to its end; nothing is copied.

    The lines of a CSV are counted (a line break inside quotes counts too), and the records of the
    other formats. A file of a kind that is skipped counts none.

    Raises:
        InputError: as `unpack`, but the keys of records are checked for the first batch alone.
    """
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    with _damage(file.name):
        return sum(_count(member, kinds) for member in packing.members(file, suffixes))


def _count(member: Member, kinds: Mapping[str, FileKind]) -> int:
    with member.open() as stream:
        head = stream.read(1 << 16)
    kind, header = _kind(member, kinds, head)
    if header and not kind.skip:
        _check_header(member.name, kind, header)
    with member.open() as stream:
        if _form(head) == "parquet":
            return int(pq.ParquetFile(stream).metadata.num_rows)
        if kind.skip:
            while stream.read(CHUNK):
                pass
            return 0
        if kind.format in _RECORDS:
            return _count_records(member, kind, stream)
        rows = CsvRows(stream, _csv_form(kind, header), lambda row: None)
        for _ in rows.blocks():
            pass
        return rows.count


def _count_records(member: Member, kind: FileKind, stream: IO[bytes]) -> int:
    known = json_paths.tree(kind.paths.values(), kind.ignored)
    number = 0
    for number, record in enumerate(_records(stream, kind), start=1):
        if number <= BATCH and (unknown := json_paths.unknown_key(record, known)):
            raise InputError(_unknown_key(member.name, kind, unknown, number))
    return number


def _part(member: Member, kinds: Mapping[str, FileKind], path: Path) -> FilePart | None:
    with member.open() as stream:
        head = stream.read(1 << 16)
    kind, header = _kind(member, kinds, head)
    if kind.skip:
        return None
    if header:
        _check_header(member.name, kind, header)
    if _form(head) == "parquet":
        return _parquet_part(member, kind, header, path.with_suffix(".parquet"))
    if kind.format in _RECORDS:
        part = _record_part(member, kind, path)
        stated = re.search(kind.records.encode(), head) if kind.records else None
        return replace(part, records=int(stated[1]) if stated else None)
    return _csv_part(member, kind, header, path.with_suffix(".csv"))


def _kind(
    member: Member, kinds: Mapping[str, FileKind], head: bytes
) -> tuple[FileKind, tuple[str, ...]]:
    """The kind of a file by its first bytes, and its columns; none for records."""
    if not head.removeprefix(codecs.BOM_UTF8).strip(BLANK):
        raise InputError(f"{member.name} is empty; download it again")
    foreign_forms.refuse(member.name, foreign_forms.of_text(head))
    form = _form(head)
    if form == "parquet":
        try:
            with member.open() as stream:
                names = tuple(pq.ParquetFile(stream).schema_arrow.names)
        except pa.ArrowException as error:
            raise InputError(f"{member.name} is no Parquet ({error}); download it again") from error
        headers = {name: _fit_case(names, kind) for name, kind in kinds.items()}
        kind = _kind_of(member.name, kinds, headers)
        return kind, headers[kind.name]
    records = [kind for kind in kinds.values() if kind.format in _RECORDS]
    if form in ("json", "xml") and any(kind.format.startswith(form) for kind in records):
        return next(kind for kind in records if kind.format.startswith(form)), ()
    tables = {name: kind for name, kind in kinds.items() if kind.format == "csv"}
    if form != "csv" or not tables:
        known = sorted({kind.format for kind in kinds.values()})
        raise InputError(
            f"{member.name} begins with {excerpt(head, 20)!r}: it is no {' or '.join(known)}; is"
            " it a file of this register? Download it again"
        )
    first = decode_line(head.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").splitlines()[0])
    headers = {name: _header(first, kind) for name, kind in tables.items()}
    _refuse_other_separator(member.name, first, tables, headers)
    kind = _kind_of(member.name, tables, headers)
    return kind, kind.header or headers[kind.name]


def _refuse_other_separator(
    name: str, first: str, kinds: Mapping[str, FileKind], headers: Mapping[str, Sequence[str]]
) -> None:
    """Refuse a header of one column where all kinds have several: it is another text, or was saved by a spreadsheet.

    Raises:
        InputError: it is.
    """
    if any(len(headers[kind.name]) > 1 or len(kind.used) < 2 for kind in kinds.values()):
        return
    wanted = " or ".join(sorted({repr(kind.separator) for kind in kinds.values()}))
    other = max(_SEPARATORS, key=first.count)
    if first.count(other) > 1:
        raise InputError(
            f"{name} has {other!r} between its columns, {wanted} is that of this register: another program saved it;"
            " give the file as the register publishes it"
        )
    raise InputError(
        f"{name} begins with {excerpt(first, 60)!r}, which is no header of this register; is it a file of it? Download"
        " it again"
    )


def _form(head: bytes) -> str:
    """The format of a file by its first bytes."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    return {b"{": "json", b"[": "json", b"<": "xml"}.get(text[:1], "csv")


# -- tables --------------------------------------------------------------------------


def _csv_part(member: Member, kind: FileKind, header: tuple[str, ...], path: Path) -> FilePart:
    rejected = path.with_suffix(".rejected")
    with (
        member.open() as source,
        path.open("wb") as target,
        _rejected_rows(rejected) as reject,
    ):
        rows = CsvRows(source, _csv_form(kind, header), reject)
        target.writelines(rows.blocks())
    if not rows.count:
        raise InputError(f"{member.name} has no row; download it again")
    is_marked = kind.quote == UNESCAPED
    frame = pl.scan_csv(
        path,
        separator=FIELD_END if is_marked else kind.separator,
        quote_char=None if is_marked else kind.quote or None,
        has_header=not kind.header,
        infer_schema=False,
        new_columns=list(header),
        row_index_name=ROW,
        row_index_offset=1,
    )
    if rejected.stat().st_size:
        frame = frame.filter(pl.col(header[0]).ne_missing(pl.lit(LEFT_OUT)))
    return FilePart(
        kind,
        member.name,
        member.stem,
        _used_columns(frame, kind, header),
        header,
        rows.is_cp1252,
        _scan_rejected(rejected, member.name),
        count=rows.count,
    )


def _csv_form(kind: FileKind, header: tuple[str, ...]) -> CsvForm:
    return CsvForm(
        kind.separator,
        kind.quote,
        len(header),
        has_header=not kind.header,
        is_last_used=header[-1] in kind.used,
        encoding=kind.encoding,
    )


@contextmanager
def _rejected_rows(path: Path) -> Iterator[Callable[[RejectedRow], None]]:
    """A function that writes rejected rows to `path`: they may be as many as the file has."""
    with path.open("w", encoding="utf-8") as file:
        yield lambda row: print(*row, sep=FIELD_END, file=file)


def _scan_rejected(path: Path, name: str) -> pl.LazyFrame:
    schema = {column: REJECTED[column] for column in ("ligne", "motif", "detail")}
    rows = (
        pl.scan_csv(path, separator=FIELD_END, quote_char=None, has_header=False, schema=schema)
        if path.stat().st_size
        else pl.LazyFrame(schema=schema)
    )
    beside = {"fichier": name, "id": None, "nom": None}
    columns = {column: pl.lit(value, pl.String) for column, value in beside.items()}
    return rows.with_columns(**columns).select(list(REJECTED))


def _parquet_part(member: Member, kind: FileKind, header: tuple[str, ...], path: Path) -> FilePart:
    with member.open() as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    published = pl.scan_parquet(path)
    names = published.collect_schema().names()
    frame = published.rename(dict(zip(names, header, strict=True)))
    schema = frame.collect_schema()
    text = [
        pl.col(name).dt.to_string("iso") if dtype.is_temporal() else pl.col(name).cast(pl.String)
        for name, dtype in schema.items()
        if name in kind.used
    ]
    counted = frame.select(text).with_row_index(ROW, offset=1)
    return FilePart(
        kind,
        member.name,
        member.stem,
        _used_columns(counted, kind, header),
        header,
        False,
        pl.LazyFrame(schema=dict(REJECTED)),
    )


def _header(first: str, kind: FileKind) -> tuple[str, ...]:
    row = next(csv.reader([first], delimiter=kind.separator), [])
    return _fit_case([name.strip() for name in row], kind)


def _fit_case(names: Sequence[str], kind: FileKind) -> tuple[str, ...]:
    return tuple(name.lower() if kind.lowercase else name for name in names)


def _kind_of(
    name: str, kinds: Mapping[str, FileKind], headers: Mapping[str, Sequence[str]]
) -> FileKind:
    """The kind whose key columns are in the header; the only kind, if there is one."""
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    for kind in kinds.values():
        if set(kind.key) <= set(headers[kind.name]):
            return kind
    known = " nor ".join(f"{kind.name} (column {', '.join(kind.key)})" for kind in kinds.values())
    longest = max(headers.values(), key=len)
    raise InputError(
        f"{name}: neither {known}; its columns are {excerpt(', '.join(longest), _LONGEST_LIST)}; give a file of this "
        "register"
    )


def _used_columns(frame: pl.LazyFrame, kind: FileKind, header: Sequence[str]) -> pl.LazyFrame:
    columns = [name for name in header if name in kind.used]
    text = pl.col(columns).str.strip_chars()
    # Not `replace`: Polars 2.1 does not stream it and would hold the whole table.
    filled = pl.when(text != "").then(text).name.keep()
    lacking = [pl.lit(None, pl.String).alias(name) for name in kind.used if name not in set(header)]
    return frame.select(pl.col(ROW).cast(pl.Int64), filled, *lacking)


def _check_header(name: str, kind: FileKind, header: Sequence[str]) -> None:
    exact = {column for column in kind.ignored if not column.endswith("*")}
    patterns = [column for column in kind.ignored if column.endswith("*")]
    known = {*kind.used, *exact}
    unknown = [
        column
        for column in header
        if column not in known and not any(fnmatchcase(column, p) for p in patterns)
    ]
    missing = sorted(known - {*header, *kind.optional})
    twice = sorted({column for column in header if header.count(column) > 1})
    where = f"{name} as {kind.name}"
    if unknown:
        raise InputError(
            f"{where}: unknown column {_listed(unknown)}; the register's layout has"
            " changed: use the column or list it as ignored, with the reason"
        )
    if missing:
        raise InputError(
            f"{where}: expected column {_listed(missing)} is missing; the register's"
            " layout has changed, or this is another file: give that of the register, or list the"
            " column as optional"
        )
    if twice:
        raise InputError(f"{where}: column {_listed(twice)} is there twice; keep one of them")


def _listed(names: Sequence[str]) -> str:
    return excerpt(", ".join(map(repr, names)), _LONGEST_LIST)


# -- records -------------------------------------------------------------------------


def _record_part(member: Member, kind: FileKind, path: Path) -> FilePart:
    path.mkdir()
    rejected = path.with_suffix(".rejected")
    try:
        with member.open() as stream, _rejected_rows(rejected) as reject:
            written = _write_records(_records(stream, kind), kind, path, reject)
    except (RecordError, PathError, EOFError) as error:
        remedy = record_stream.remedy(error)
        raise InputError(f"{member.name} as {kind.name}: {error}; {remedy}") from error
    except _UnknownKeyError as error:
        raise InputError(_unknown_key(member.name, kind, *error.args)) from None
    rows = pl.concat([pl.LazyFrame(schema=_record_schema(kind)), *map(pl.scan_parquet, written)])
    return FilePart(
        kind, member.name, member.stem, rows, (), False, _scan_rejected(rejected, member.name)
    )


def _unknown_key(name: str, kind: FileKind, key: str, number: int) -> str:
    return (
        f"{name} as {kind.name}: unknown key {key!r} in record {number}; the register's layout has"
        " changed: use the key or list it as ignored, with the reason"
    )


class _UnknownKeyError(Exception):
    """A record has a key that is neither used nor ignored: its path, and the record's number."""


def _records(stream: IO[bytes], kind: FileKind) -> Iterator[Any]:
    if kind.format == "jsonl":
        return record_stream.json_lines(stream)
    if kind.format == "xml":
        return record_stream.xml_elements(stream, kind.at[-1])
    return record_stream.json_items(stream, kind.at, kind.envelope)


def _record_schema(kind: FileKind) -> dict[str, pl.DataType]:
    columns = {
        name: pl.List(pl.String()) if path.is_list else pl.String()
        for name, path in kind.paths.items()
    }
    return {ROW: pl.Int64(), **columns}


def _write_records(
    records: Iterable[Any],
    kind: FileKind,
    folder: Path,
    reject: Callable[[RejectedRow], None],
) -> list[Path]:
    """Write the values under the paths of every record, BATCH records a file; `reject` those that are no object."""
    known = json_paths.tree(kind.paths.values(), kind.ignored)
    readers = {name: path.reader() for name, path in kind.paths.items()}
    left, written = enumerate(records, start=1), list[Path]()
    while batch := list(islice(left, BATCH)):
        good: list[tuple[int, Any]] = []
        for number, record in batch:
            if not isinstance(record, dict):
                reject(_rejected_record(number, record))
            elif unknown := json_paths.unknown_key(record, known):
                raise _UnknownKeyError(unknown, number)
            else:
                good.append((number, record))
        columns: dict[str, Any] = {ROW: [number for number, _ in good]}
        columns |= {name: [read(record) for _, record in good] for name, read in readers.items()}
        written.append(folder / f"{len(written):05}.parquet")
        frame = pl.DataFrame(columns, schema=_record_schema(kind))
        frame.write_parquet(written[-1], compression="lz4")
    return written


def _rejected_record(number: int, record: Any) -> RejectedRow:
    if isinstance(record, Unreadable):
        return RejectedRow(number, NOT_JSON, excerpt(record.line))
    return RejectedRow(number, NO_OBJECT, excerpt(repr(record)))
