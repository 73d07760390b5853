"""Copies of published text as UTF-8, one chunk in memory at a time.

Text that is not UTF-8 is read in the declared encoding, else as Windows-1252, the encoding of the UK
files of the 2010s.
"""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from pipeline.registers import record_stream
from pipeline.registers.record_stream import RecordError

CHUNK: Final = 1 << 20  # bytes
FIELD_END: Final = "\x1f"  # stands between the fields of a copy; no register publishes it
_FALLBACK_ENCODING: Final = "cp1252"


def copy_as_utf8(
    open_member: Callable[[], IO[bytes]], path: Path, encoding: str | None, quote: str
) -> bool:
    """Copy a member to `path`; return whether it was transcoded without a declared encoding."""
    if encoding is None:
        with open_member() as source, path.open("wb") as target:
            if _copy_if_utf8(source, target, quote):
                return False
    with open_member() as source, path.open("w", encoding="utf-8", newline="") as text:
        reader = codecs.getreader(encoding or _FALLBACK_ENCODING)(source, "replace")
        record = RecordLength(quote)
        while characters := reader.read(CHUNK):
            record.add(characters.encode())
            text.write(characters)
    return encoding is None


def _copy_if_utf8(source: IO[bytes], target: IO[bytes], quote: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    record = RecordLength(quote)
    try:
        while chunk := source.read(CHUNK):
            decoder.decode(chunk)
            record.add(chunk)
            target.write(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


class RecordLength:
    """The length of the record that is being copied: Polars would hold one of gigabytes, and end the process.

    A record ends at a line end outside quotes, as Polars sees it: every quote opens or closes. One that is never closed
    makes a record of the rest of the file.
    """

    def __init__(self, quote: str) -> None:
        self._quote = quote.encode()
        self._length = 0
        self._quoted = False

    def add(self, chunk: bytes) -> None:
        """Count a piece of the text.

        Raises:
            RecordError: the record is longer than any of a register, or the piece is blank: each line of it
                would be a row without values.
        """
        if len(chunk) == CHUNK and not chunk.strip():
            raise RecordError(f"{CHUNK >> 20} MiB of the file are blank")
        end = self._end(chunk)
        self._length = len(chunk) - end - 1 if end >= 0 else self._length + len(chunk)
        if self._length > record_stream.LONGEST:
            within = " within quotes" if self._quoted else ""
            raise RecordError(f"a line{within} is longer than {record_stream.LONGEST >> 20} MiB")

    def _end(self, chunk: bytes) -> int:
        """The place of the last line end outside quotes; -1 means that there is none."""
        if not self._quote:
            return chunk.rfind(b"\n")
        quotes = self._quoted + chunk.count(self._quote)
        self._quoted = bool(quotes & 1)
        after = len(chunk)
        while (end := chunk.rfind(b"\n", 0, after)) >= 0:
            quotes -= chunk.count(self._quote, end, after)  # leaves those before this line end
            if not quotes & 1:
                return end
            after = end
        return -1


def mark_fields(path: Path, separator: str) -> None:
    """Replace the separators of a file that quotes its fields and does not escape quotes inside.

    Such a field ends only where a quote, the separator and a quote follow each other.
    """
    marked = path.with_suffix(".marked")
    with (
        path.open(encoding="utf-8-sig", newline="") as source,
        marked.open("w", encoding="utf-8", newline="") as target,
    ):
        header = next(source).rstrip("\r\n").replace('"', "")
        target.write(header.replace(separator, FIELD_END) + "\n")
        for line in source:
            fields = line.rstrip("\r\n").removeprefix('"').removesuffix('"')
            target.write(fields.replace(f'"{separator}"', FIELD_END) + "\n")
    marked.replace(path)
