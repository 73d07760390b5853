"""Published CSV files, plain or zipped, as scans of text columns with a checked header.

Rule (after OpenSanctions): every column of the header is used, ignored with a reason, or an error
that names it. Columns are found by name, never by position; names are stripped, because Companies
House publishes some with a leading space.

Memory holds one chunk of a file, whatever its size: a member of a zip is copied to the work folder
and scanned there. Text that is not UTF-8 is read as Windows-1252, the encoding of the UK files of
the 2010s, and its `FilePart` says so.
"""

import codecs
import csv
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

import polars as pl

from pipeline.canonical import InputError

CHUNK: Final = 1 << 20  # bytes
FALLBACK_ENCODING: Final = "cp1252"


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The published columns of one kind of file: the used ones, and the ignored ones by reason."""

    name: str
    separator: str
    used: frozenset[str]
    ignored: Mapping[str, str]  # column -> reason


@dataclass(frozen=True, slots=True)
class FilePart:
    """One unpacked CSV file.

    Attributes:
        name: the published name.
        stem: the published name without the suffixes of its packing; see `stem`.
        path: the UTF-8 copy in the work folder.
        header: the column names, stripped.
        is_cp1252: whether the published text was Windows-1252.
    """

    name: str
    stem: str
    path: Path
    header: tuple[str, ...]
    is_cp1252: bool


def unpack(files: Sequence[Path], work: Path) -> tuple[FilePart, ...]:
    """Copy the CSV files in `files`, zipped or not, as UTF-8 into `work`; keep their order.

    Raises:
        InputError: an empty file, a .zip that is no zip, or a zip without CSV.
    """
    parts: list[FilePart] = []
    for file in files:
        for name, open_member in _members(file):
            path = work / f"{len(parts)}.csv"
            is_cp1252 = _copy_as_utf8(open_member, path)
            parts.append(FilePart(name, stem(file), path, _header(path, name), is_cp1252))
    return tuple(parts)


def stem(file: Path) -> str:
    """The name of a published file without the suffixes of its packing.

    >>> stem(Path("in/ee_emtak.csv.zip"))
    'ee_emtak'
    """
    return file.name.removesuffix(".zip").removesuffix(".csv")


def scan(part: FilePart, layout: FileLayout) -> pl.LazyFrame:
    """The used columns of `part` as stripped text, empty text as null, with `ligne` (from 1).

    Raises:
        InputError: a column that is not in `layout`, or one of `layout` that is missing.
    """
    _check_header(part, layout)
    frame = pl.scan_csv(
        part.path,
        separator=layout.separator,
        infer_schema=False,
        new_columns=list(part.header),
        row_index_name="ligne",
        row_index_offset=1,
    )
    columns = [name for name in part.header if name in layout.used]
    text = pl.col(columns).str.strip_chars()
    # Not `replace`: Polars 2.1 does not stream it and would hold the whole table.
    filled = pl.when(text != "").then(text).name.keep()
    return frame.select(pl.col("ligne").cast(pl.Int64), filled)


def _members(file: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    if file.suffix != ".zip":
        yield file.name, lambda: file.open("rb")
        return
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise InputError(f"{file} is no zip ({error}); download it again") from error
    with archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".csv"))
        if not names:
            raise InputError(f"{file} holds no .csv; is it a file of this register?")
        for name in names:
            yield PurePosixPath(name).name, lambda name=name: archive.open(name)  # type: ignore[misc]


def _copy_as_utf8(open_member: Callable[[], IO[bytes]], path: Path) -> bool:
    """Copy a member to `path`; return whether it was transcoded from Windows-1252."""
    with open_member() as source, path.open("wb") as target:
        if _copy_if_utf8(source, target):
            return False
    with open_member() as source, path.open("w", encoding="utf-8", newline="") as text:
        reader = codecs.getreader(FALLBACK_ENCODING)(source, "replace")
        shutil.copyfileobj(reader, text, CHUNK)
    return True


def _copy_if_utf8(source: IO[bytes], target: IO[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := source.read(CHUNK):
            decoder.decode(chunk)
            target.write(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _header(path: Path, name: str) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    if not first.strip():
        raise InputError(f"{name} is empty; download it again")
    # Registers publish with `;` or `,`; no published column name contains either.
    separator = ";" if first.count(";") > first.count(",") else ","
    return tuple(name.strip() for name in next(csv.reader([first], delimiter=separator)))


def _check_header(part: FilePart, layout: FileLayout) -> None:
    known = layout.used | layout.ignored.keys()
    unknown = [name for name in part.header if name not in known]
    missing = sorted(known - set(part.header))
    twice = sorted({name for name in part.header if part.header.count(name) > 1})
    where = f"{part.name} as {layout.name}"
    if unknown:
        raise InputError(
            f"{where}: unknown column {', '.join(map(repr, unknown))}; the register's layout has"
            " changed: use the column or list it as ignored, with the reason"
        )
    if missing:
        raise InputError(
            f"{where}: expected column {', '.join(map(repr, missing))} is missing; the register's"
            " layout has changed, or this is another file"
        )
    if twice:
        raise InputError(f"{where}: column {', '.join(map(repr, twice))} is there twice")
