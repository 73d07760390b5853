"""A published file, plain or zipped, as a scan of text columns whose header was held to the letter.

OpenSanctions' rule lives here: every column of the header is used, ignored with a reason, or an
error that names it. Columns are found by name, never by position; names are stripped (Companies
House publishes some with a leading space).

Whatever the size of the file, memory holds one chunk of it: a member of a zip is copied to the work
folder and scanned there. Text that is no UTF-8 is taken for Windows-1252, as the UK files of the
2010s were, and the part says so.
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

CHUNK: Final = 1 << 20
OLD_ENCODING: Final = "cp1252"


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The published columns of one kind of file: those we use, and those we leave and why."""

    nom: str
    separator: str
    used: frozenset[str]
    ignored: Mapping[str, str]  # column: reason


@dataclass(frozen=True, slots=True)
class FilePart:
    """One CSV, unpacked: `nom` is the published name, `header` the column names, stripped."""

    nom: str
    stem: str
    path: Path
    header: tuple[str, ...]
    ancien_encodage: bool


def unpack(files: Sequence[Path], work: Path) -> tuple[FilePart, ...]:
    """The CSV files in `files` (zipped or not), copied as UTF-8 into `work`, in the order given.

    Raises:
        InputError: a file that is empty, called .zip and none, or a zip without CSV.
    """
    parts: list[FilePart] = []
    for file in files:
        for nom, open_member in _members(file):
            path = work / f"{len(parts)}.csv"
            old = _copy_as_utf8(open_member, path)
            parts.append(FilePart(nom, stem(file), path, _header(path, nom), old))
    return tuple(parts)


def stem(file: Path) -> str:
    """The name of a published file without what only says how it is packed.

    >>> stem(Path("in/ee_emtak.csv.zip"))
    'ee_emtak'
    """
    return file.name.removesuffix(".zip").removesuffix(".csv")


def scan(part: FilePart, layout: FileLayout) -> pl.LazyFrame:
    """The used columns of `part` as text, blanks stripped and made null, with `ligne` (from 1).

    Raises:
        InputError: a column that `layout` does not know, or one it expects and does not find.
    """
    _check(part, layout)
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
    """Copy to `path`; True if the text was no UTF-8 and had to be transcoded."""
    with open_member() as source, path.open("wb") as target:
        if _copy_if_utf8(source, target):
            return False
    with open_member() as source, path.open("w", encoding="utf-8", newline="") as text:
        reader = codecs.getreader(OLD_ENCODING)(source, "replace")
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


def _header(path: Path, nom: str) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    if not first.strip():
        raise InputError(f"{nom} is empty; download it again")
    # The separator of both kinds of file this reads; no published column name contains either.
    separator = ";" if first.count(";") > first.count(",") else ","
    return tuple(name.strip() for name in next(csv.reader([first], delimiter=separator)))


def _check(part: FilePart, layout: FileLayout) -> None:
    known = layout.used | layout.ignored.keys()
    unknown = [name for name in part.header if name not in known]
    missing = sorted(known - set(part.header))
    twice = sorted({name for name in part.header if part.header.count(name) > 1})
    where = f"{part.nom} as {layout.nom}"
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
