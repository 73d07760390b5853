"""Published files, unpacked: plain, gzip, bzip2, xz, zstandard or zip, one stream per member.

The packing is recognised by the first bytes, because people rename downloads. A zip can contain compressed files and
zips; `members` does not look into the zips of an inner zip. A stream that is compressed more than _MOST_LAYERS times is
refused with a remedy, as are formats that no register publishes (`unexpected_formats`). Files that a desktop adds to a
zip (`__MACOSX/`, `.DS_Store`) are skipped. Text in UTF-16 or UTF-32 becomes UTF-8. The line `sep=;` that spreadsheets
write above a header is removed.

The unpacked text is limited in proportion to the size of the file, because a small file can be made to unpack to
terabytes and fill the disk. The text must also leave free space on the disk of the work folder.

Memory holds at most two chunks of a member, whatever the size of the member. This module copies only a zip in a zip to
the disk.
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
from pipeline.registers import unexpected_formats

CHUNK: Final = 1 << 20  # bytes read at once

# The errors that Python's modules raise for a file that is damaged, encrypted or packed by an unknown method; OSError,
# which they also raise, can be an error of the disk, so it is handled separately.
BROKEN: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError,
    NotImplementedError, RuntimeError,
)  # fmt: skip

EVERY_FILE: Final = ("",)  # selects every member of a zip: each name ends with the empty suffix
# The first bytes of a zip, of an empty zip, and of a zip in several volumes.
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
# The suffixes of compressed files that are not archives.
_PACKED_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")
# The compression methods of a zip that Python reads.
_SUPPORTED_METHODS: Final = {
    zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA
}  # fmt: skip
# Names of compression methods that Python cannot read, by their numbers in a zip.
_UNSUPPORTED_METHODS: Final = {
    1: "Shrink",
    6: "Implode",
    9: "Deflate64",
    93: "Zstandard",
    95: "XZ",
    98: "PPMd",
}
_ENCRYPTED: Final = 1  # the flag bit of an encrypted member of a zip; WinZip writes method 99
# Names, in small letters, of files that Windows and macOS add to a folder.
_DESKTOP_FILES: Final = ("thumbs.db", "desktop.ini", "icon\r")
# The first bytes of a file, by which its packing and format are recognised.
_HEAD_BYTES: Final = 1 << 10
# The most bytes of text for each byte of a file. Text of registers, XML too, has 5 to 30; a file made to fill a disk
# has up to 1 000 with deflate, and millions with other methods.
MOST_RATIO: Final = 100
# Bytes that a small file can unpack to, although MOST_RATIO would allow fewer.
LEAST_LIMIT: Final = 1 << 30
LEAST_FREE: Final = 1 << 28  # bytes that must stay free on the disk of the work folder
_MEMBERS_NAMED: Final = 5  # members that a message names
_MOST_BYTES_IN_MEMORY: Final = 1 << 22  # bytes; a larger zip in a zip is copied to the disk
_MOST_LAYERS: Final = 2  # the most layers of compression that are removed, as of a gzip in a gzip
_PARQUET: Final = b"PAR1"  # the first bytes of a Parquet file
# The line `sep=;` that spreadsheets write above a header.
_SEPARATOR_LINE: Final = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=[^\r\n]"?\r?\n', re.IGNORECASE)
# Byte order mark -> encoding. UTF-32 is first: its little-endian mark begins with the mark of UTF-16.
_WIDE_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
# A text without a byte order mark is UTF-16 if it has at least 10 bytes and more than a tenth of its bytes are zero,
# because each ASCII letter in UTF-16 has one zero byte.
_LEAST_WIDE: Final = 10
# Unpacked bytes between two checks of the free space on the disk.
_BYTES_BETWEEN_DISK_CHECKS: Final = 1 << 26


class Member(NamedTuple):
    """A published file: its name, the stem of the given file that contains it, and a function that opens it."""

    name: str
    stem: str
    open: Callable[[], IO[bytes]]


class UnpackedSize:
    """The count of bytes unpacked from one published file, and its limits.

    Args:
        work: a folder on the disk that the text is copied to; None if the text is not copied.
    """

    def __init__(self, file: Path, work: Path | None = None) -> None:
        self.file = file
        self._most_bytes = max(LEAST_LIMIT, MOST_RATIO * file.stat().st_size)
        self._work = work
        self._count = 0
        self._next_disk_check = _BYTES_BETWEEN_DISK_CHECKS

    def add(self, count: int) -> None:
        """Count `count` more bytes of text.

        Raises:
            InputError: the text is too long for the size of the file, or for the free space on the disk.
        """
        self._count += count
        if self._count > self._most_bytes:
            raise InputError(
                f"{self.file} unpacks to more than {self._most_bytes:,} bytes, and has {self.file.stat().st_size:,}: no"
                " file of a register does; download it again"
            )
        if self._work and self._count >= self._next_disk_check:
            self._next_disk_check += _BYTES_BETWEEN_DISK_CHECKS
            free_bytes = shutil.disk_usage(self._work).free
            if free_bytes < LEAST_FREE:
                raise InputError(
                    f"{self.file} does not fit on the disk of {self._work}: {free_bytes:,} bytes are free after"
                    f" {self._count:,} of its text, {LEAST_FREE:,} stay so; give it space, or name another folder"
                )


def members(file: Path, suffixes: Collection[str], work: Path | None = None) -> Iterator[Member]:
    """The published files in `file`, in the order of their names; read each before asking for the next.

    Of a zip, only members with one of `suffixes` are returned, because registers add notes. If no member has such a
    suffix, the members of the zips in the zip are searched.

    Args:
        work: a folder on the disk that the files are copied to; None if the files are not copied.

    Raises:
        InputError: a file that is not packed as its name says, a zip without such a member, or a member that
            is encrypted or compressed by a method that Python does not read.
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
        matching = list(_members_of(archive, file, suffixes, size))
        if not matching:
            matching = [
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
        if not matching:
            raise no_member_error(file, archive, suffixes)
        yield from sorted(matching, key=lambda member: member.name)


def is_zip(file: Path) -> bool:
    """Whether a published file is a zip, by its first bytes.

    Raises:
        InputError: the name of the file says that it is packed, but its first bytes do not.
    """
    with file.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    has_packed_suffix = file.suffix.lower() in (".zip", *_PACKED_SUFFIXES)
    if has_packed_suffix and not head.startswith(_ZIP) and _packing_of(head) is None:
        unexpected_formats.refuse(
            file.name,
            unexpected_formats.unexpected_format(head)
            or unexpected_formats.server_message_format(head),
        )
        raise InputError(
            f"{file} is not a {file.suffix[1:]}: {_describe_head(head)}; download it again"
        )
    return head.startswith(_ZIP)


def _members_of(
    archive: zipfile.ZipFile, file: Path, suffixes: Collection[str], size: UnpackedSize
) -> Iterator[Member]:
    """The members of one zip whose names end in one of `suffixes`, apart from a suffix of compression."""
    for info in entries(archive):
        name = PurePosixPath(info.filename).name
        if unpacked_name(name.lower()).endswith(tuple(suffixes)):
            refuse_unreadable(info, file)
            yield Member(unpacked_name(name), stem(file), partial(open_entry, archive, info, size))


def open_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: UnpackedSize) -> IO[bytes]:
    """Open a member of a zip as a stream of unpacked text, whose bytes are counted in `size`."""
    return unpack(archive.open(info), size, PurePosixPath(info.filename).name)


@contextmanager
def _inner_zip(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    file: Path,
    size: UnpackedSize,
    work: Path | None,
) -> Iterator[zipfile.ZipFile]:
    """Open the zip `info` that is a member of the zip `archive`.

    Raises:
        InputError: the member cannot be read, or is not a zip.
    """
    refuse_unreadable(info, file)
    with ExitStack() as open_files:
        try:
            inner_archive = open_files.enter_context(
                copied_zip(open_entry(archive, info, size), work)
            )
        except zipfile.BadZipFile as error:
            raise InputError(
                f"{file}: {info.filename} is not a zip ({error}); download it again"
            ) from error
        yield inner_archive


@contextmanager
def copied_zip(zip_stream: IO[bytes], work: Path | None) -> Iterator[zipfile.ZipFile]:
    """Open the zip that a stream contains. Its list of members is at the end, so the zip is first copied.

    The copy is in memory up to _MOST_BYTES_IN_MEMORY bytes, else in the folder `work`.

    Raises:
        zipfile.BadZipFile: the stream is not a zip.
    """
    with SpooledTemporaryFile(_MOST_BYTES_IN_MEMORY, dir=str(work) if work else None) as copy:
        with zip_stream:
            shutil.copyfileobj(zip_stream, copy, CHUNK)
        with zipfile.ZipFile(copy) as archive:
            unexpected_formats.refuse(
                "a zip in the zip", unexpected_formats.office_format(archive.namelist())
            )
            yield archive


def entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members of a zip in the order of their names, without folders and files that a desktop adds."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    return sorted(
        (info for info in infos if not _is_of_desktop(info.filename)),
        key=lambda info: info.filename,
    )


def _is_of_desktop(name: str) -> bool:
    """Whether a desktop added the member `name` to a zip, as with `__MACOSX/` and `.DS_Store`."""
    path = PurePosixPath(name)
    base_name = path.name.lower()
    return (
        "__MACOSX" in path.parts or base_name.startswith((".", "~$")) or base_name in _DESKTOP_FILES
    )


def refuse_unreadable(info: zipfile.ZipInfo, file: Path) -> None:
    """Refuse a member of a zip that is encrypted, or packed by a method that Python does not read.

    Raises:
        InputError: the member is refused.
    """
    where = f"{file.name}: {info.filename}"
    if info.flag_bits & _ENCRYPTED or info.compress_type == 99:
        raise InputError(f"{where} is encrypted; unpack it with its password, and give that file")
    if info.compress_type not in _SUPPORTED_METHODS:
        method = _UNSUPPORTED_METHODS.get(info.compress_type, f"method {info.compress_type}")
        raise InputError(
            f"{where} is compressed with {method}, which is not supported; unpack it (7-Zip and most file"
            " managers can), and give the unpacked file"
        )


def open_zip(file: Path) -> zipfile.ZipFile:
    """Open a published zip.

    Raises:
        InputError: the file is not a zip, is only the beginning of one, or is an office document stored as a zip.
    """
    try:
        archive = zipfile.ZipFile(file)
        unexpected_formats.refuse(file.name, unexpected_formats.office_format(archive.namelist()))
        return archive
    except (zipfile.BadZipFile, NotImplementedError) as error:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        unexpected_formats.refuse(file.name, unexpected_formats.split_archive_format(file.name))
        reason = "it is cut" if head.startswith(_ZIP) else _describe_head(head)
        raise InputError(f"{file} is not a zip: {reason} ({error}); download it again") from error


def _describe_head(head: bytes) -> str:
    """How a file begins, as the end of an error message about a file that is not of the format in its name."""
    return "it is empty" if not head.strip() else f"it begins with {excerpt(head, 20)!r}"


def no_member_error(file: Path, archive: zipfile.ZipFile, suffixes: Collection[str]) -> InputError:
    """The error about a zip in which no file has one of `suffixes`; it names some of the files."""
    missing = f"no {' or '.join(filter(None, suffixes)) or 'file'}"
    names = [PurePosixPath(info.filename).name for info in entries(archive)]
    for info in entries(archive)[:_MEMBERS_NAMED]:
        refuse_unreadable(info, file)
        with archive.open(info) as stream:
            unexpected = unexpected_formats.zip_member_format(
                info.filename, stream.read(_HEAD_BYTES)
            )
        if unexpected:
            return InputError(
                f"{file.name}: {excerpt(info.filename)} is {unexpected.name}; {unexpected.remedy}"
            )
    other_names = f", but {excerpt(', '.join(names[:_MEMBERS_NAMED]))}" if names else ""
    return InputError(f"{file.name} holds {missing}{other_names}; give a file of this register")


def damage_error(where: str, error: BaseException) -> InputError:
    """The error about a file, `where`, that cannot be unpacked to its end."""
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
    """The name of a file without the suffix of gzip, bzip2, xz or zstandard."""
    for suffix in _PACKED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


# -- streams -------------------------------------------------------------------------


# First bytes -> a function that makes a decompressor, and the bytes given to the decompressor at once. These are so few
# that even a file made to fill the memory unpacks to at most 32 MiB at once.
_PACKINGS: Final[dict[bytes, tuple[Callable[[], Any], int]]] = {
    b"\x1f\x8b": (lambda: zlib.decompressobj(wbits=31), 1 << 14),
    b"BZh": (bz2.BZ2Decompressor, 1 << 10),
    b"\xfd7zXZ\x00": (lzma.LZMADecompressor, 1 << 12),
    b"\x28\xb5\x2f\xfd": (lambda: zstandard.ZstdDecompressor().decompressobj(), 1 << 9),
}


def _packing_of(head: bytes) -> tuple[Callable[[], Any], int] | None:
    """The decompressor and piece size of _PACKINGS for a file that begins with `head`; None if it is not compressed."""
    return next((packing for magic, packing in _PACKINGS.items() if head.startswith(magic)), None)


def unpack(stream: IO[bytes], size: UnpackedSize, member: str = "") -> IO[bytes]:
    """The stream, decompressed if its first bytes say that it is compressed; text becomes UTF-8.

    Args:
        member: the name of the member, if the stream is in a zip.

    Raises:
        UnexpectedFormatError: the stream has a format that no register publishes, or is packed too many times.
    """
    text_stream: IO[bytes] = io.BufferedReader(cast(io.RawIOBase, stream), CHUNK)
    try:
        for _ in range(_MOST_LAYERS):
            if packing := _packing_of(_peek(text_stream)):
                unpacked = io.BufferedReader(_Unpacked(text_stream, *packing), CHUNK)
                text_stream = io.BufferedReader(_ReadAhead(unpacked), CHUNK)
        _refuse_unexpected(
            _peek(text_stream), f"{size.file.name}: {member}" if member else size.file.name
        )
        if encoding := _wide_encoding(_peek(text_stream)):
            text_stream = io.BufferedReader(_Utf8(text_stream, encoding), CHUNK)
        if line := _SEPARATOR_LINE.match(_peek(text_stream)):
            text_stream.read(line.end())
        text_stream = io.BufferedReader(_Counted(text_stream, size), CHUNK)
    except BaseException:
        text_stream.close()
        raise
    return text_stream


def _refuse_unexpected(head: bytes, where: str) -> None:
    """Refuse an unpacked stream that is packed again, or has a format that no register publishes."""
    is_packed_again = _packing_of(head) or (
        head.startswith(_ZIP) and not where.lower().endswith(".zip")
    )
    unexpected_formats.refuse(
        where,
        unexpected_formats.PACKED_AGAIN
        if is_packed_again
        else unexpected_formats.unexpected_format(head),
    )


def _peek(stream: IO[bytes]) -> bytes:
    """The next bytes of the stream, up to _HEAD_BYTES, which stay unread."""
    return cast(io.BufferedReader, stream).peek(_HEAD_BYTES)[:_HEAD_BYTES]


def _wide_encoding(head: bytes) -> str | None:
    """The encoding of a text that begins as UTF-16 or UTF-32; None for other texts, and for XML, which declares it."""
    for mark, encoding in _WIDE_MARKS.items():
        if head.startswith(mark):
            return None if head[len(mark) :].lstrip(b"\0")[:1] == b"<" else encoding
    if len(head) < _LEAST_WIDE or head.startswith(_PARQUET):
        return None
    # The zero bytes are all at odd places in little-endian UTF-16, all at even places in big-endian UTF-16.
    zeros_at_even_and_odd = [head[first::2].count(0) for first in (0, 1)]
    if min(zeros_at_even_and_odd) == 0 and max(zeros_at_even_and_odd) > len(head) // _LEAST_WIDE:
        return (
            None if b"<" in head[:2] else ("utf-16-le", "utf-16-be")[zeros_at_even_and_odd[1] == 0]
        )
    return None


class _ChunkStream(io.RawIOBase):
    """A stream over `source`, whose bytes are the chunks that `_next_chunk` of a subclass returns."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._unread = memoryview(b"")  # the bytes of the chunk that the caller has not read yet

    def _next_chunk(self) -> bytes:
        """The next bytes of the stream; empty at its end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Always true, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes into `buffer`; return their number, which is 0 at the end of the stream."""
        if not self._unread:
            self._unread = memoryview(self._next_chunk())
        size = min(len(buffer), len(self._unread))
        buffer[:size] = self._unread[:size]
        self._unread = self._unread[size:]
        return size

    def close(self) -> None:
        """Close the stream and its source."""
        if not self.closed:
            self._source.close()
        super().close()


class _Unpacked(_ChunkStream):
    """The text of a compressed stream. Several compressed streams can follow each other, with zero bytes after each.

    Other bytes after the end are an error: libraries ignore such bytes, but they can be the damaged rest of the file.

    Args:
        make_decompressor: returns a new decompressor, one for each compressed stream.
        piece_bytes: the number of bytes given to the decompressor at once.
    """

    def __init__(
        self, source: IO[bytes], make_decompressor: Callable[[], Any], piece_bytes: int
    ) -> None:
        super().__init__(source)
        self._make_decompressor = make_decompressor
        self._piece_bytes = piece_bytes
        self._decompressor: Any = None  # None before and between two compressed streams
        self._unused_bytes = b""  # the bytes after the end of a compressed stream

    def _next_chunk(self) -> bytes:
        """The next decompressed bytes, empty at the end; EOFError if a compressed stream is cut.

        A file can consist of several compressed streams, with zero bytes between them.
        """
        while True:
            packed = self._unused_bytes or self._source.read(self._piece_bytes)
            self._unused_bytes = b""
            is_between = self._decompressor is None
            if not packed:
                if is_between:
                    return b""
                raise EOFError("its compressed data end too early")
            if is_between and not (packed := packed.lstrip(b"\0")):
                continue
            decompressor = self._decompressor = (
                self._make_decompressor() if is_between else self._decompressor
            )
            unpacked = bytes(decompressor.decompress(packed))
            if decompressor.eof:
                self._unused_bytes, self._decompressor = decompressor.unused_data, None
            if unpacked:
                return unpacked


class _ReadAhead(_ChunkStream):
    """A stream that is read one chunk ahead: a thread decompresses a chunk while the caller uses the chunk before.

    Decompressing bzip2 takes as long as reading the records, and releases the lock of the interpreter.
    """

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__(source)
        self._thread = ThreadPoolExecutor(1)
        self._chunk_read_ahead = self._thread.submit(source.read, CHUNK)

    def _next_chunk(self) -> bytes:
        """The chunk that was read ahead; the thread begins the chunk after it."""
        chunk = self._chunk_read_ahead.result()
        self._chunk_read_ahead = self._thread.submit(self._source.read, CHUNK)
        return chunk

    def close(self) -> None:
        """Wait for the chunk that is being read, then close the stream and its source."""
        if not self.closed:
            self._thread.shutdown()
        super().close()


class _Counted(_ChunkStream):
    """A stream that counts its bytes in `size`. It can seek, as readers of Parquet do."""

    def __init__(self, source: IO[bytes], size: UnpackedSize) -> None:
        super().__init__(source)
        self._size = size

    def _next_chunk(self) -> bytes:
        """The next bytes of the source; InputError if the source is too long."""
        chunk = self._source.read(CHUNK)
        self._size.add(len(chunk))
        return chunk

    def seekable(self) -> bool:
        """Whether the source can seek."""
        return self._source.seekable()

    def tell(self) -> int:
        """The place of the next byte that the caller reads; `source` is ahead by the unread bytes."""
        return self._source.tell() - len(self._unread)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the source; the unread bytes of the chunk are dropped."""
        if whence == io.SEEK_CUR:
            offset -= len(self._unread)
        self._unread = memoryview(b"")
        return self._source.seek(offset, whence)


class _Utf8(_ChunkStream):
    """A stream that reads `source`, a text in `encoding`, as UTF-8; bytes that are not such text become U+FFFD."""

    def __init__(self, source: IO[bytes], encoding: str) -> None:
        super().__init__(source)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def _next_chunk(self) -> bytes:
        """The next characters in UTF-8. A chunk can end within a character, whose end is then in the next chunk."""
        while chunk := self._source.read(CHUNK):
            if text := self._decoder.decode(chunk):
                return text.encode()
        return self._decoder.decode(b"", final=True).encode()
