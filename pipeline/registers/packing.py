"""Published files out of their packing: plain, gzip, bzip2, xz, zstandard or zip, one stream per member.

The packing is told by the first bytes, because people rename downloads. A zip may hold packed files and zips, one level
deep. Other files that are packed twice are refused with their remedy, as are forms that no register publishes
(`foreign_forms`). Files that a desktop leaves in a zip (`__MACOSX/`, `.DS_Store`) are not looked at. Text in UTF-16 or
UTF-32 is given as UTF-8, and without the line `sep=;` that spreadsheets write above a header.

A file has a largest text, by its own size: a small one that unpacks to terabytes is made to fill a disk. Nor may the
text of any leave the disk of the work folder without room for others.

Memory holds two chunks of a member at most, whatever its size. Only a zip in a zip is copied to the disk here.
"""

import bz2
import codecs
import gzip
import io
import lzma
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, NamedTuple, cast

import zstandard

from pipeline.canonical import InputError
from pipeline.errors import excerpt
from pipeline.registers import foreign_forms

CHUNK: Final = 1 << 20  # bytes

# What reading a damaged, locked or unknown packing raises, beside errors of the disk.
BROKEN: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError,
    NotImplementedError, RuntimeError,
)  # fmt: skip

EVERY_FILE: Final = ("",)  # the suffixes where any file of a zip is wanted
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_PACKED_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")
_READABLE: Final = {
    zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA
}  # fmt: skip
_METHODS: Final = {1: "Shrink", 6: "Implode", 9: "Deflate64", 93: "Zstandard", 95: "XZ", 98: "PPMd"}
_ENCRYPTED: Final = 1  # a flag of a member of a zip; 99 is the method of those that WinZip encrypts
_DESKTOP: Final = ("thumbs.db", "desktop.ini", "icon\r")
_HEAD: Final = 1 << 10
# Deflate packs by 1 000 at most, other methods by millions; the text of a register, XML too, by 5 to 30.
MOST_RATIO: Final = 100
SMALL: Final = 1 << 30  # bytes that any file may unpack to
LEAST_FREE: Final = 1 << 28  # bytes of a disk that are left to others
_SHOWN: Final = 5  # members that a message names
_IN_MEMORY: Final = 1 << 22  # bytes of a zip in a zip; a larger one is copied to the disk
_PACKED_AGAIN: Final = 2  # packings in one another
_PARQUET: Final = b"PAR1"
_SEPARATOR_LINE: Final = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=[^\r\n]"?\r?\n', re.IGNORECASE)
_WIDE_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
_LEAST_WIDE: Final = (
    10  # bytes of a text in UTF-16 without a mark, of which a tenth or more are zeros of ASCII
)
_LOOK: Final = 1 << 26  # bytes between two looks at the disk


class Member(NamedTuple):
    """One published file: its own name, the stem of the file it came in, and how to open it."""

    name: str
    stem: str
    open: Callable[[], IO[bytes]]


class UnpackedSize:
    """The bytes that were unpacked of one published file, held to what it may have.

    Args:
        work: a folder on the disk that the text is copied to; None where it is not copied.
    """

    def __init__(self, file: Path, work: Path | None = None) -> None:
        self.file = file
        self._most = max(SMALL, MOST_RATIO * file.stat().st_size)
        self._work = work
        self._count = 0
        self._next_look = _LOOK

    def add(self, count: int) -> None:
        """Count bytes.

        Raises:
            InputError: they are too many for the size of the file, or for the disk.
        """
        self._count += count
        if self._count > self._most:
            raise InputError(
                f"{self.file} unpacks to more than {self._most:,} bytes, and has {self.file.stat().st_size:,}: no"
                " file of a register does; download it again"
            )
        if self._work and self._count >= self._next_look:
            self._next_look += _LOOK
            free = shutil.disk_usage(self._work).free
            if free < LEAST_FREE:
                raise InputError(
                    f"{self.file} does not fit on the disk of {self._work}: {free:,} bytes are free after"
                    f" {self._count:,} of its text, {LEAST_FREE:,} stay so; give it space, or name another folder"
                )


def members(file: Path, suffixes: Collection[str], work: Path | None = None) -> Iterator[Member]:
    """The published files in `file`, in the order of their names; each is open only until the next.

    Of a zip, only files with one of `suffixes` are taken: registers put a note beside them.

    Args:
        work: a folder on the disk that they are copied to; None where they are not.

    Raises:
        InputError: a file that its name calls packed and that is not, a zip without such a file, or one whose
            members cannot be read here.
    """
    size = UnpackedSize(file, work)
    if not is_zip(file):
        yield Member(
            unpacked_name(file.name.removesuffix(".zip")),
            stem(file),
            lambda: unpack(file.open("rb", buffering=0), size),
        )
        return
    with open_zip(file) as archive, ExitStack() as zips:
        found = list(_members_of(archive, file, suffixes, size))
        if not found:
            found = [
                member
                for info in entries(archive)
                if info.filename.lower().endswith(".zip")
                for member in _members_of(
                    zips.enter_context(_inner_zip(archive, info, file, size, work)),
                    file,
                    suffixes,
                    size,
                )
            ]
        if not found:
            raise nothing_of(file, archive, suffixes)
        yield from sorted(found, key=lambda member: member.name)


def is_zip(file: Path) -> bool:
    """Whether a published file is a zip, by its first bytes.

    Raises:
        InputError: its name says that it is packed, and it is not.
    """
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
    is_named_so = file.suffix.lower() in (".zip", *_PACKED_SUFFIXES)
    if is_named_so and not head.startswith(_ZIP) and _packing(head) is None:
        foreign_forms.refuse(file.name, foreign_forms.of_bytes(head) or foreign_forms.of_text(head))
        raise InputError(f"{file} is no {file.suffix[1:]}: {_description(head)}; download it again")
    return head.startswith(_ZIP)


def _members_of(
    archive: zipfile.ZipFile, file: Path, suffixes: Collection[str], size: UnpackedSize
) -> Iterator[Member]:
    for info in entries(archive):
        name = PurePosixPath(info.filename).name
        if unpacked_name(name.lower()).endswith(tuple(suffixes)):
            refuse_unreadable(info, file)
            yield Member(unpacked_name(name), stem(file), partial(open_entry, archive, info, size))


def open_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: UnpackedSize) -> IO[bytes]:
    """Open a member of a zip, unpacked."""
    return unpack(archive.open(info), size, PurePosixPath(info.filename).name)


@contextmanager
def _inner_zip(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    file: Path,
    size: UnpackedSize,
    work: Path | None,
) -> Iterator[zipfile.ZipFile]:
    """A zip in the zip."""
    refuse_unreadable(info, file)
    with ExitStack() as opened:
        try:
            inner = opened.enter_context(copied_zip(open_entry(archive, info, size), work))
        except zipfile.BadZipFile as error:
            raise InputError(
                f"{file}: {info.filename} is no zip ({error}); download it again"
            ) from error
        yield inner


@contextmanager
def copied_zip(packed: IO[bytes], work: Path | None) -> Iterator[zipfile.ZipFile]:
    """A zip out of a stream: its list of members is at its end, so it is copied to `work`, or to memory if it is small.

    Raises:
        zipfile.BadZipFile: it is none.
    """
    with SpooledTemporaryFile(_IN_MEMORY, dir=str(work) if work else None) as copy:
        with packed:
            shutil.copyfileobj(packed, copy, CHUNK)
        with zipfile.ZipFile(copy) as archive:
            foreign_forms.refuse("a zip in the zip", foreign_forms.of_zip(archive.namelist()))
            yield archive


def entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members of a zip in the order of their names, without folders and what a desktop adds."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    return sorted(
        (info for info in infos if not _is_of_desktop(info.filename)),
        key=lambda info: info.filename,
    )


def _is_of_desktop(name: str) -> bool:
    path = PurePosixPath(name)
    last = path.name.lower()
    return "__MACOSX" in path.parts or last.startswith((".", "~$")) or last in _DESKTOP


def refuse_unreadable(info: zipfile.ZipInfo, file: Path) -> None:
    """Refuse a member of a zip that is encrypted, or packed by a method that Python does not read.

    Raises:
        InputError: it is.
    """
    where = f"{file.name}: {info.filename}"
    if info.flag_bits & _ENCRYPTED or info.compress_type == 99:
        raise InputError(f"{where} is encrypted; unpack it with its password, and give that file")
    if info.compress_type not in _READABLE:
        method = _METHODS.get(info.compress_type, f"method {info.compress_type}")
        raise InputError(
            f"{where} is compressed with {method}, which is not read here; unpack it (7-Zip and most file"
            " managers can), and give the unpacked file"
        )


def open_zip(file: Path) -> zipfile.ZipFile:
    """Open a published zip.

    Raises:
        InputError: it is no zip, or only the beginning of one.
    """
    try:
        archive = zipfile.ZipFile(file)
        foreign_forms.refuse(file.name, foreign_forms.of_zip(archive.namelist()))
        return archive
    except (zipfile.BadZipFile, NotImplementedError) as error:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        foreign_forms.refuse(file.name, foreign_forms.of_name(file.name))
        why = "it is cut" if head.startswith(_ZIP) else _description(head)
        raise InputError(f"{file} is no zip: {why} ({error}); download it again") from error


def _description(head: bytes) -> str:
    """A few words on a file of another form."""
    return "it is empty" if not head.strip() else f"it begins with {excerpt(head, 20)!r}"


def nothing_of(file: Path, archive: zipfile.ZipFile, suffixes: Collection[str]) -> InputError:
    """The error about a zip without any file that has one of `suffixes`: it names those that it has."""
    wanted = f"no {' or '.join(filter(None, suffixes)) or 'file'}"
    names = [PurePosixPath(info.filename).name for info in entries(archive)]
    for info in entries(archive)[:_SHOWN]:
        refuse_unreadable(info, file)
        with archive.open(info) as stream:
            form = foreign_forms.of_member(info.filename, stream.read(_HEAD))
        if form:
            return InputError(
                f"{file.name}: {excerpt(info.filename)} is {form.name}; {form.remedy}"
            )
    shown = f", but {excerpt(', '.join(names[:_SHOWN]))}" if names else ""
    return InputError(f"{file.name} holds {wanted}{shown}; give a file of this register")


def damage(where: str, error: BaseException) -> InputError:
    """The error about a file of which the packing cannot be read to its end."""
    return InputError(
        f"{where} is damaged ({str(error) or type(error).__name__}); download it again"
    )


def stem(file: Path) -> str:
    """The name of a published file without the suffixes of its packing.

    >>> stem(Path("in/ee_emtak.csv.zip")), stem(Path("enheter_alle.json.gz"))
    ('ee_emtak', 'enheter_alle')
    """
    name = unpacked_name(file.name.removesuffix(".zip"))
    for suffix in (".csv", ".txt", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return name


def unpacked_name(name: str) -> str:
    """The name of a file without the suffix of a packing that has one file."""
    for suffix in _PACKED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


# -- streams -------------------------------------------------------------------------


# First bytes -> a decompressor, and the bytes that it is given at once: hostile ones become 32 MiB at most.
_PACKINGS: Final[dict[bytes, tuple[Callable[[], Any], int]]] = {
    b"\x1f\x8b": (lambda: zlib.decompressobj(wbits=31), 1 << 14),
    b"BZh": (bz2.BZ2Decompressor, 1 << 10),
    b"\xfd7zXZ\x00": (lzma.LZMADecompressor, 1 << 12),
    b"\x28\xb5\x2f\xfd": (lambda: zstandard.ZstdDecompressor().decompressobj(), 1 << 9),
}


def _packing(head: bytes) -> tuple[Callable[[], Any], int] | None:
    return next((found for magic, found in _PACKINGS.items() if head.startswith(magic)), None)


def unpack(stream: IO[bytes], size: UnpackedSize, member: str = "") -> IO[bytes]:
    """The stream itself or the file that is packed in it, by its first bytes; other text as UTF-8.

    Args:
        member: the name, of a member of a zip.

    Raises:
        ForeignFormError: it is of a form that no register publishes.
    """
    outer: IO[bytes] = io.BufferedReader(cast(io.RawIOBase, stream), CHUNK)
    try:
        for _ in range(_PACKED_AGAIN):
            if packing := _packing(_peek(outer)):
                unpacked = io.BufferedReader(_Unpacked(outer, *packing), CHUNK)
                outer = io.BufferedReader(_ReadAhead(unpacked), CHUNK)
        _refuse_foreign(_peek(outer), f"{size.file.name}: {member}" if member else size.file.name)
        if encoding := _wide_encoding(_peek(outer)):
            outer = io.BufferedReader(_Utf8(outer, encoding), CHUNK)
        if line := _SEPARATOR_LINE.match(_peek(outer)):
            outer.read(line.end())
        outer = io.BufferedReader(_Counted(outer, size), CHUNK)
    except BaseException:
        outer.close()
        raise
    return outer


def _refuse_foreign(head: bytes, where: str) -> None:
    is_packed_again = _packing(head) or (
        head.startswith(_ZIP) and not where.lower().endswith(".zip")
    )
    foreign_forms.refuse(
        where, foreign_forms.ARCHIVE if is_packed_again else foreign_forms.of_bytes(head)
    )


def _peek(stream: IO[bytes]) -> bytes:
    return cast(io.BufferedReader, stream).peek(_HEAD)[:_HEAD]


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16, if the text begins as such; XML names its encoding itself."""
    for mark, encoding in _WIDE_MARKS.items():
        if head.startswith(mark):
            return None if head[len(mark) :].lstrip(b"\0")[:1] == b"<" else encoding
    if len(head) < _LEAST_WIDE or head.startswith(_PARQUET):
        return None
    halves = [head[first::2].count(0) for first in (0, 1)]
    if min(halves) == 0 and max(halves) > len(head) // _LEAST_WIDE:
        return None if b"<" in head[:2] else ("utf-16-le", "utf-16-be")[halves[1] == 0]
    return None


class _Readable(io.RawIOBase):
    """A stream of the chunks that `_more` gives, until an empty one."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._left = memoryview(b"")

    def _more(self) -> bytes:
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(self._more())
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


class _Unpacked(_Readable):
    """A packed stream, which may be several after each other; zeros after the last are in order.

    Anything else after the end is an error: the libraries ignore it, and it may be the rest of the file, damaged.
    """

    def __init__(self, source: IO[bytes], new: Callable[[], Any], piece: int) -> None:
        super().__init__(source)
        self._new = new
        self._piece = piece
        self._running: Any = None
        self._packed = b""

    def _more(self) -> bytes:
        while True:
            packed = self._packed or self._source.read(self._piece)
            self._packed = b""
            is_between = self._running is None
            if not packed:
                if is_between:
                    return b""
                raise EOFError("it ends before its end")
            if is_between and not (packed := packed.lstrip(b"\0")):
                continue
            running = self._running = self._new() if is_between else self._running
            unpacked = bytes(running.decompress(packed))
            if running.eof:
                self._packed, self._running = running.unused_data, None
            if unpacked:
                return unpacked


class _ReadAhead(_Readable):
    """A packed stream of which a thread unpacks the next chunk while the last one is used.

    Unpacking bzip2 takes as long as reading the records in it, and leaves the interpreter free.
    """

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__(source)
        self._thread = ThreadPoolExecutor(1)
        self._next = self._thread.submit(source.read, CHUNK)

    def _more(self) -> bytes:
        chunk = self._next.result()
        self._next = self._thread.submit(self._source.read, CHUNK)
        return chunk

    def close(self) -> None:
        if not self.closed:
            self._thread.shutdown()
        super().close()


class _Counted(_Readable):
    """A stream whose bytes are counted; Parquet is read by places."""

    def __init__(self, source: IO[bytes], size: UnpackedSize) -> None:
        super().__init__(source)
        self._size = size

    def _more(self) -> bytes:
        chunk = self._source.read(CHUNK)
        self._size.add(len(chunk))
        return chunk

    def seekable(self) -> bool:
        return self._source.seekable()

    def tell(self) -> int:
        return self._source.tell() - len(self._left)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset -= len(self._left)
        self._left = memoryview(b"")
        return self._source.seek(offset, whence)


class _Utf8(_Readable):
    """Text of another encoding as UTF-8."""

    def __init__(self, source: IO[bytes], encoding: str) -> None:
        super().__init__(source)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def _more(self) -> bytes:
        while chunk := self._source.read(CHUNK):
            if text := self._decoder.decode(chunk):
                return text.encode()
        return self._decoder.decode(b"", final=True).encode()
