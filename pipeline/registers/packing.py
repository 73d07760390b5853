"""Published files out of their packing: plain, zip, gzip or bzip2, one stream per member.

Memory holds two chunks of a member at most, whatever its size. Nothing is written to disk here.
"""

import bz2
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple, cast

from pipeline.canonical import InputError

CHUNK: Final = 1 << 20  # bytes

# What reading a damaged, locked or unknown packing raises, beside errors of the disk.
BROKEN: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError, RuntimeError,
)  # fmt: skip


class Member(NamedTuple):
    """One published file: its own name, the stem of the file it came in, and how to open it."""

    name: str
    stem: str
    open: Callable[[], IO[bytes]]


def members(file: Path, suffixes: Collection[str]) -> Iterator[Member]:
    """The published files in `file`, in the order of their names; each is open only until the next.

    Of a zip, only files with one of `suffixes` are taken: registers put a note beside them.

    Raises:
        InputError: a .zip that is no zip, or a zip without such a file.
    """
    if file.suffix != ".zip":
        yield Member(_unpacked_name(file.name), stem(file), lambda: _open(file))
        return
    with open_zip(file) as archive:
        names = sorted(
            name for name in archive.namelist() if name.lower().endswith(tuple(suffixes))
        )
        if not names:
            raise nothing_of(file, suffixes)
        for name in names:
            yield Member(
                PurePosixPath(name).name,
                stem(file),
                lambda name=name: archive.open(name),  # type: ignore[misc]
            )


def open_zip(file: Path) -> zipfile.ZipFile:
    """Open a published zip.

    Raises:
        InputError: it is no zip.
    """
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise InputError(f"{file} is no zip ({error}); download it again") from error


def nothing_of(file: Path, suffixes: Collection[str]) -> InputError:
    """The error about a zip without any file that has one of `suffixes`."""
    return InputError(f"{file} holds no {' or '.join(suffixes)}; give a file of this register")


def stem(file: Path) -> str:
    """The name of a published file without the suffixes of its packing.

    >>> stem(Path("in/ee_emtak.csv.zip")), stem(Path("enheter_alle.json.gz"))
    ('ee_emtak', 'enheter_alle')
    """
    name = _unpacked_name(file.name.removesuffix(".zip"))
    for suffix in (".csv", ".txt", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return name


def _unpacked_name(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".bz2")


def _open(file: Path) -> IO[bytes]:
    if file.suffix == ".gz":
        return io.BufferedReader(_ReadAhead(cast(IO[bytes], gzip.open(file, "rb"))), CHUNK)
    if file.suffix == ".bz2":
        return io.BufferedReader(_ReadAhead(bz2.open(file, "rb")), CHUNK)
    return file.open("rb")


class _ReadAhead(io.RawIOBase):
    """A packed stream of which a thread unpacks the next chunk while the last one is used.

    Unpacking bzip2 takes as long as reading the records in it, and leaves the interpreter free.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(1)
        self._next = self._thread.submit(source.read, CHUNK)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(self._next.result())
            self._next = self._thread.submit(self._source.read, CHUNK)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._thread.shutdown()
            self._source.close()
        super().close()
