"""Published files as scans of text columns, checked against the declared columns.

Rule (after OpenSanctions): every column of a header and every key of a record is used, ignored with
a reason, or an error that names it. Columns are found by name, not by position; the names are stripped,
because Companies House publishes some with a leading space.

Memory holds one chunk of each of two files, whatever their size: the rows of a CSV are copied to the work folder
(`csv_rows`) and scanned there; records become Parquet files of BATCH rows. The kind of a file is recognised by its
first bytes and its header, not by its name, because people rename downloads.
"""

import codecs
import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
from pipeline.registers import packing, record_stream, unexpected_formats
from pipeline.registers.csv_rows import (
    BLANK,
    CHUNK,
    FIELD_END,
    LEFT_OUT,
    UNESCAPED,
    CsvForm,
    CsvRows,
    RejectedRow,
)
from pipeline.registers.packing import Member
from pipeline.registers.record_stream import RecordError, Unreadable
from pipeline.registers.register import REJECTED, row_count
from pipeline.registers.toml import json_paths
from pipeline.registers.toml.declaration import FileKind
from pipeline.registers.toml.json_paths import NO_OBJECT, PathError, ShapeError

BATCH: Final = 50_000  # records of a Parquet file
ROW: Final = "ligne"  # an added column: the number of the row in its file, from 1
_HEAD_BYTES: Final = 1 << 16  # the first bytes of a file, by which its kind is recognised
# Files that are unpacked at once. Threads help, since zlib and the disk release the lock of the interpreter.
_THREADS: Final = 2
NOT_JSON: Final = "ligne qui n'est pas du JSON"
# Separators that `_refuse_other_separator` looks for in a header.
_SEPARATORS: Final = (",", ";", "\t", "|", "^")
_LONGEST_COLUMN_LIST: Final = 120  # the most characters of a list of columns in a message
_RECORD_FORMATS: Final = ("json", "jsonl", "xml")  # formats of records; such a file has no header


@dataclass(frozen=True, slots=True)
class FilePart:
    """One published file of a known kind.

    Attributes:
        name: the published name.
        stem: the name of the given file without the suffixes of packing; see `packing.stem`.
        rows: the used columns as text, empty text as null, and ROW.
        header: all columns of the file, as published; empty for records.
        legacy_count: the number of lines of a CSV that were read in the declared legacy encoding.
        rejected: the rows that cannot be read, in the columns of REJECTED.
        records: the number of records that the head of the file states; None if the head states none.
        count: the number of rows of a CSV, by which a trailer is recognised.
        file: the given file, which can be a zip of several published files.
    """

    kind: FileKind
    name: str
    stem: str
    rows: pl.LazyFrame
    header: tuple[str, ...]
    rejected: pl.LazyFrame
    file: Path = Path()
    records: int | None = None
    count: int | None = None
    legacy_count: int = 0

    @property
    def encoding_note(self) -> dict[str, int]:
        """The note about the lines that were read in the declared legacy encoding, with their number; or no note."""
        note = f"{self.name} en {self.kind.legacy_encoding}"
        return {note: self.legacy_count} if self.legacy_count else {}


def unpack(
    files: Sequence[Path], kinds: Mapping[str, FileKind], work: Path
) -> tuple[FilePart, ...]:
    """The published files in `files`, zipped or not, in their order; copies stay in `work`.

    Files of a skipped kind are left out.

    Raises:
        InputError: a file that is empty or damaged, of no kind, or with an unknown column or key.
    """
    with ThreadPoolExecutor(_THREADS) as threads:
        unpacked = threads.map(
            partial(_unpack_file, kinds), files, (work / str(place) for place in range(len(files)))
        )
        parts = tuple(part for parts in unpacked for part in parts)
    for name in kinds:
        _refuse_missing_records([part for part in parts if part.kind.name == name])
    return parts


def _refuse_missing_records(parts: Sequence[FilePart]) -> None:
    """Compare the number of records with the number in the head, which counts one file or all files of the kind.

    Raises:
        InputError: the number in the head is neither.
    """
    if not any(part.records for part in parts):
        return
    counts = [row_count(part.rows) + row_count(part.rejected) for part in parts]
    for part, count in zip(parts, counts, strict=True):
        if part.records not in (None, count, sum(counts)):
            raise InputError(
                f"{part.name} has {count:,} records, and its head says {part.records:,}: it is incomplete or damaged;"
                " download the complete file again"
            )


def _unpack_file(kinds: Mapping[str, FileKind], file: Path, path: Path) -> list[FilePart]:
    """The published files in one given file; their copies are in the folder of `path`, named after `path`."""
    parts: list[FilePart] = []
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    for member in packing.members(file, suffixes, path.parent):
        where = file.name if file.name.startswith(member.name) else f"{file.name}: {member.name}"
        with _damage_as_input_error(where):
            part = _copy_member(member, kinds, path.with_name(f"{path.name}-{len(parts)}"))
        if part is not None:
            parts.append(replace(part, file=file))
    return parts


@contextmanager
def _damage_as_input_error(where: str) -> Iterator[None]:
    """Turn errors about the packing and the format of a file into InputError with its name, `where`, and a remedy."""
    try:
        yield
    except (RecordError, PathError) as error:
        raise InputError(f"{where} is damaged ({error}); {record_stream.remedy(error)}") from error
    except packing.BROKEN as error:
        raise packing.damage_error(where, error) from error
    except OSError as error:
        if error.errno is not None:  # an error of the disk; an OSError of bz2 has no number
            raise
        raise packing.damage_error(where, error) from error


def count_rows(file: Path, kinds: Mapping[str, FileKind]) -> int:
    """Read a published file to its end, without copying it, and return its number of rows or records.

    Files of a skipped kind count as 0 rows.

    Raises:
        InputError: as `unpack`, but only the keys of the first BATCH records are checked.
    """
    suffixes = dict.fromkeys(suffix for kind in kinds.values() for suffix in kind.suffixes)
    with _damage_as_input_error(file.name):
        return sum(
            _count_rows_of_member(member, kinds) for member in packing.members(file, suffixes)
        )


def _count_rows_of_member(member: Member, kinds: Mapping[str, FileKind]) -> int:
    """The number of rows or records of one published file; 0 for a skipped kind."""
    with member.open() as stream:
        head = stream.read(_HEAD_BYTES)
    kind, columns = _kind_and_columns(member, kinds, head)
    if columns and not kind.skip:
        _check_header(member.name, kind, columns)
    with member.open() as stream:
        if _format_by_first_bytes(head) == "parquet":
            return int(pq.ParquetFile(stream).metadata.num_rows)
        if kind.skip:
            while stream.read(CHUNK):
                pass
            return 0
        if kind.format in _RECORD_FORMATS:
            return _count_records(member, kind, stream)
        rows = CsvRows(stream, _csv_form(kind, columns), lambda row: None)
        for _ in rows.blocks():
            pass
        return rows.count


def _count_records(member: Member, kind: FileKind, stream: IO[bytes]) -> int:
    """The number of records of a file; the keys of the first BATCH records are checked."""
    allowed = json_paths.allowed_keys(kind.paths.values(), kind.ignored)
    number = 0
    for number, record in enumerate(_records(stream, kind), start=1):
        if number <= BATCH and (unknown := json_paths.unknown_key(record, allowed)):
            raise InputError(_unknown_key_message(member.name, kind, unknown, number))
    return number


def _copy_member(member: Member, kinds: Mapping[str, FileKind], path: Path) -> FilePart | None:
    """Copy one published file to `path` with the suffix of its format, and scan the copy; None for a skipped kind."""
    with member.open() as stream:
        head = stream.read(_HEAD_BYTES)
    kind, columns = _kind_and_columns(member, kinds, head)
    if kind.skip:
        return None
    if columns:
        _check_header(member.name, kind, columns)
    if _format_by_first_bytes(head) == "parquet":
        return _parquet_part(member, kind, columns, path.with_suffix(".parquet"))
    if kind.format in _RECORD_FORMATS:
        part = _record_part(member, kind, path)
        stated_count = re.search(kind.records.encode(), head) if kind.records else None
        return replace(part, records=int(stated_count[1]) if stated_count else None)
    return _csv_part(member, kind, columns, path.with_suffix(".csv"))


def _kind_and_columns(
    member: Member, kinds: Mapping[str, FileKind], head: bytes
) -> tuple[FileKind, tuple[str, ...]]:
    """The kind of a file by its first bytes and header, and its columns; records have no columns.

    Raises:
        InputError: the file is empty or of no kind.
    """
    if not head.removeprefix(codecs.BOM_UTF8).strip(BLANK):
        raise InputError(f"{member.name} is empty; download it again")
    unexpected_formats.refuse(member.name, unexpected_formats.server_message_format(head))
    file_format = _format_by_first_bytes(head)
    if file_format == "parquet":
        try:
            with member.open() as stream:
                names = tuple(pq.ParquetFile(stream).schema_arrow.names)
        except pa.ArrowException as error:
            raise InputError(
                f"{member.name} is not Parquet ({error}); download it again"
            ) from error
        columns_by_kind = {name: _fit_case(names, kind) for name, kind in kinds.items()}
        kind = _kind_by_columns(member.name, kinds, columns_by_kind)
        return kind, columns_by_kind[kind.name]
    record_kinds = [kind for kind in kinds.values() if kind.format in _RECORD_FORMATS]
    if file_format in ("json", "xml") and any(
        kind.format.startswith(file_format) for kind in record_kinds
    ):
        return next(kind for kind in record_kinds if kind.format.startswith(file_format)), ()
    csv_kinds = {name: kind for name, kind in kinds.items() if kind.format == "csv"}
    if file_format != "csv" or not csv_kinds:
        formats = sorted({kind.format for kind in kinds.values()})
        raise InputError(
            f"{member.name} begins with {excerpt(head, 20)!r}: it is not a {' or '.join(formats)}; is"
            " it a file of this register? Download it again"
        )
    first_line = _decode_first_line(member.name, head, csv_kinds)
    columns_by_kind = {
        name: _columns_of_first_line(first_line, kind) for name, kind in csv_kinds.items()
    }
    _refuse_other_separator(member.name, first_line, csv_kinds, columns_by_kind)
    kind = _kind_by_columns(member.name, csv_kinds, columns_by_kind)
    return kind, kind.header or columns_by_kind[kind.name]


def _decode_first_line(name: str, head: bytes, kinds: Mapping[str, FileKind]) -> str:
    """The text of the first line of a CSV that is of one of `kinds`.

    Raises:
        InputError: the line is not UTF-8, and no kind declares another encoding.
    """
    line = head.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").splitlines()[0]
    for encoding in ("utf-8", *(kind.encoding or kind.legacy_encoding for kind in kinds.values())):
        with suppress(UnicodeDecodeError):
            return line.decode(encoding or "utf-8")
    raise InputError(
        f"{name}: its first line is not UTF-8: another program saved it; use the file as the register publishes it"
    )


def _refuse_other_separator(
    name: str, first_line: str, kinds: Mapping[str, FileKind], headers: Mapping[str, Sequence[str]]
) -> None:
    """Refuse a header of one column if all kinds have several columns.

    Such a file is another text, or a spreadsheet has saved it with another separator.

    Raises:
        InputError: the header is refused.
    """
    if any(len(headers[kind.name]) > 1 or len(kind.used) < 2 for kind in kinds.values()):
        return
    separators = " or ".join(sorted({repr(kind.separator) for kind in kinds.values()}))
    commonest_separator = max(_SEPARATORS, key=first_line.count)
    if first_line.count(commonest_separator) > 1:
        raise InputError(
            f"{name} has {commonest_separator!r} between its columns, {separators} is that of this register: another"
            " program saved it; use the file as the register publishes it"
        )
    raise InputError(
        f"{name} begins with {excerpt(first_line, 60)!r}, not with a header of this register; is it a file of it?"
        " Download it again"
    )


def _format_by_first_bytes(head: bytes) -> str:
    """The format of a file by its first bytes: `parquet`, `json`, `xml`, or `csv` for any other text."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    return {b"{": "json", b"[": "json", b"<": "xml"}.get(text[:1], "csv")


# -- tables --------------------------------------------------------------------------


def _csv_part(member: Member, kind: FileKind, header: tuple[str, ...], path: Path) -> FilePart:
    """Copy the checked rows of a CSV to `path`; the result scans the copy without the rejected rows.

    The rejected rows are written to a file beside `path`.

    Raises:
        InputError: the file has no row.
    """
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
    is_unescaped = kind.quote == UNESCAPED
    frame = pl.scan_csv(
        path,
        separator=FIELD_END if is_unescaped else kind.separator,
        quote_char=None if is_unescaped else kind.quote or None,
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
        _scan_rejected(rejected, member.name),
        count=rows.count,
        legacy_count=rows.legacy_count,
    )


def _csv_form(kind: FileKind, header: tuple[str, ...]) -> CsvForm:
    """How `CsvRows` must read a CSV of a kind whose columns are `header`."""
    return CsvForm(
        kind.separator,
        kind.quote,
        len(header),
        has_header=not kind.header,
        is_last_used=header[-1] in kind.used,
        encoding=kind.encoding,
        legacy_encoding=kind.legacy_encoding,
    )


@contextmanager
def _rejected_rows(path: Path) -> Iterator[Callable[[RejectedRow], None]]:
    """A function that writes rejected rows to `path`, because memory could not hold all rows of a file."""
    with path.open("w", encoding="utf-8") as file:
        yield lambda row: print(*row, sep=FIELD_END, file=file)


def _scan_rejected(path: Path, name: str) -> pl.LazyFrame:
    """The rejected rows that were written to `path`, in the columns of REJECTED."""
    schema = {column: REJECTED[column] for column in ("ligne", "motif", "detail")}
    rows = (
        pl.scan_csv(path, separator=FIELD_END, quote_char=None, has_header=False, schema=schema)
        if path.stat().st_size
        else pl.LazyFrame(schema=schema)
    )
    constants = {"fichier": name, "id": None, "nom": None}
    columns = {column: pl.lit(value, pl.String) for column, value in constants.items()}
    return rows.with_columns(**columns).select(list(REJECTED))


def _parquet_part(member: Member, kind: FileKind, header: tuple[str, ...], path: Path) -> FilePart:
    """Copy a Parquet file to `path`, and scan its used columns as text.

    Args:
        header: the names of the columns in the case that `kind` declares.
    """
    with member.open() as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    published = pl.scan_parquet(path)
    names = published.collect_schema().names()
    frame = published.rename(dict(zip(names, header, strict=True)))
    schema = frame.collect_schema()
    text_columns = [
        pl.col(name).dt.to_string("iso") if dtype.is_temporal() else pl.col(name).cast(pl.String)
        for name, dtype in schema.items()
        if name in kind.used
    ]
    numbered_rows = frame.select(text_columns).with_row_index(ROW, offset=1)
    return FilePart(
        kind,
        member.name,
        member.stem,
        _used_columns(numbered_rows, kind, header),
        header,
        rejected=pl.LazyFrame(schema=dict(REJECTED)),
    )


def _columns_of_first_line(first_line: str, kind: FileKind) -> tuple[str, ...]:
    """The names of columns in the first line of a CSV, read as a header of `kind`."""
    row = next(csv.reader([first_line], delimiter=kind.separator), [])
    return _fit_case([name.strip() for name in row], kind)


def _fit_case(names: Sequence[str], kind: FileKind) -> tuple[str, ...]:
    """The names of columns, in lower case if `kind` declares `lowercase`."""
    return tuple(name.lower() if kind.lowercase else name for name in names)


def _kind_by_columns(
    name: str, kinds: Mapping[str, FileKind], headers: Mapping[str, Sequence[str]]
) -> FileKind:
    """The kind whose key columns are in the header; the only kind, if there is only one.

    Args:
        headers: the columns of the file by the name of the kind, because each kind reads the header in its own way.
    """
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    for kind in kinds.values():
        if set(kind.key) <= set(headers[kind.name]):
            return kind
    kind_names = " nor ".join(
        f"{kind.name} (column {', '.join(kind.key)})" for kind in kinds.values()
    )
    longest = max(headers.values(), key=len)
    raise InputError(
        f"{name}: neither {kind_names}; its columns are {excerpt(', '.join(longest), _LONGEST_COLUMN_LIST)}; give a"
        " file of this register"
    )


def _used_columns(frame: pl.LazyFrame, kind: FileKind, header: Sequence[str]) -> pl.LazyFrame:
    """ROW and the used columns, stripped, with null for an empty text and for an absent column."""
    columns = [name for name in header if name in kind.used]
    text = pl.col(columns).str.strip_chars()
    # Polars 2.1 does not stream `replace`, and would hold the complete table in memory.
    filled = pl.when(text != "").then(text).name.keep()
    missing = [pl.lit(None, pl.String).alias(name) for name in kind.used if name not in set(header)]
    return frame.select(pl.col(ROW).cast(pl.Int64), filled, *missing)


def _check_header(name: str, kind: FileKind, header: Sequence[str]) -> None:
    """Raise InputError if a header has an undeclared or repeated column, or lacks a declared column."""
    ignored_names = {column for column in kind.ignored if not column.endswith("*")}
    ignored_patterns = [column for column in kind.ignored if column.endswith("*")]
    declared = {*kind.used, *ignored_names}
    unknown = [
        column
        for column in header
        if column not in declared and not any(fnmatchcase(column, p) for p in ignored_patterns)
    ]
    missing = sorted(declared - {*header, *kind.optional})
    repeated_columns = sorted({column for column in header if header.count(column) > 1})
    where = f"{name} as {kind.name}"
    if unknown:
        raise InputError(
            f"{where}: unknown column {_join_names(unknown)}; the register's layout has"
            " changed: use the column or list it as ignored, with the reason"
        )
    if missing:
        raise InputError(
            f"{where}: expected column {_join_names(missing)} is missing; the register's"
            " layout has changed, or this is another file: give the file of the register, or list the"
            " column as optional"
        )
    if repeated_columns:
        raise InputError(
            f"{where}: column {_join_names(repeated_columns)} is there twice; keep one of them"
        )


def _join_names(names: Sequence[str]) -> str:
    """The names in quotes for a message, cut if they are too long."""
    return excerpt(", ".join(map(repr, names)), _LONGEST_COLUMN_LIST)


# -- records -------------------------------------------------------------------------


def _record_part(member: Member, kind: FileKind, path: Path) -> FilePart:
    """Write the records of a JSON or XML file to Parquet files in the folder `path`, and scan these."""
    path.mkdir()
    rejected = path.with_suffix(".rejected")
    try:
        with member.open() as stream, _rejected_rows(rejected) as reject:
            written = _write_records(_records(stream, kind), kind, path, reject)
    except (RecordError, PathError, EOFError) as error:
        remedy = record_stream.remedy(error)
        raise InputError(f"{member.name} as {kind.name}: {error}; {remedy}") from error
    except _UnknownKeyError as error:
        raise InputError(_unknown_key_message(member.name, kind, *error.args)) from None
    rows = pl.concat([pl.LazyFrame(schema=_record_schema(kind)), *map(pl.scan_parquet, written)])
    return FilePart(
        kind,
        member.name,
        member.stem,
        rows,
        header=(),
        rejected=_scan_rejected(rejected, member.name),
    )


def _unknown_key_message(name: str, kind: FileKind, key: str, number: int) -> str:
    """The message about an undeclared key in record `number`."""
    return (
        f"{name} as {kind.name}: unknown key {key!r} in record {number}; the register's layout has"
        " changed: use the key or list it as ignored, with the reason"
    )


class _UnknownKeyError(Exception):
    """A record has a key that is neither used nor ignored; the arguments are its path and the record's number."""


def _records(stream: IO[bytes], kind: FileKind) -> Iterator[Any]:
    """The records of a stream in the format of the kind."""
    if kind.format == "jsonl":
        return record_stream.json_lines(stream)
    if kind.format == "xml":
        return record_stream.xml_elements(stream, kind.at[-1])
    return record_stream.json_items(stream, kind.at, kind.envelope)


def _record_schema(kind: FileKind) -> dict[str, pl.DataType]:
    """The columns of records: ROW and the declared paths, each a text or a list of texts."""
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
    """Write the declared values of each record to Parquet files of BATCH records.

    Records that are not objects, or have another shape than declared, are passed to `reject`.
    """
    allowed = json_paths.allowed_keys(kind.paths.values(), kind.ignored)
    readers = [(path.text, path.reader()) for path in kind.paths.values()]
    numbered_records, written = enumerate(records, start=1), list[Path]()
    while batch := list(islice(numbered_records, BATCH)):
        rows: list[tuple[Any, ...]] = []
        for number, record in batch:
            if not isinstance(record, dict):
                reject(_rejected_record(number, record))
            elif unknown := json_paths.unknown_key(record, allowed):
                raise _UnknownKeyError(unknown, number)
            elif values := _read_values(number, record, readers, reject):
                rows.append((number, *values))
        schema = _record_schema(kind)
        columns = dict(zip(schema, zip(*rows, strict=True), strict=True)) if rows else {}
        written.append(folder / f"{len(written):05}.parquet")
        frame = pl.DataFrame(columns, schema=schema)
        frame.write_parquet(written[-1], compression="lz4")
    return written


def _read_values(
    number: int,
    record: Mapping[str, Any],
    readers: Sequence[tuple[str, Callable[[Any], Any]]],
    reject: Callable[[RejectedRow], None],
) -> list[Any] | None:
    """The values that `readers` (path, reader) return; None for a record of another shape, which is rejected."""
    values: list[Any] = []
    for path, read in readers:
        try:
            values.append(read(record))
        except ShapeError as error:
            reject(RejectedRow(number, error.reason, f"{path} : {excerpt(repr(error.value))}"))
            return None
    return values


def _rejected_record(number: int, record: Any) -> RejectedRow:
    """The rejected row for a line that is not JSON, or a value that is not an object."""
    if isinstance(record, Unreadable):
        return RejectedRow(number, NOT_JSON, excerpt(record.line))
    return RejectedRow(number, NO_OBJECT, excerpt(repr(record)))
