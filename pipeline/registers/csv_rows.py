"""Rows of a published CSV, each held to the number of its fields, as UTF-8 text that any reader of CSV takes alike.

A row with another number of fields than the header has its values in the wrong columns: it is rejected by itself. In
its place the text has a row of LEFT_OUT, so that the numbers of the later rows stay. So is a repeated header, a row
with NUL bytes, and a quoted field that nothing closes. A file that ends within its last row raises RecordError: rows
after it are missing, too.

Registers quote in three ways: as RFC 4180 says, without the doubling of quotes inside a quoted field, and not at all
although a name begins with a quote. A row is read in the first of these ways that gives all its fields, and is written
as RFC 4180 says. Most rows need no change: blocks of them are checked by counting and passed on.

A line that is not UTF-8 is read in the declared encoding, else as Windows-1252, the encoding of the UK files of the
2010s. Memory holds one block of lines, or one record.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import methodcaller
from typing import IO, Final, NamedTuple

from pipeline.errors import excerpt
from pipeline.registers import record_stream
from pipeline.registers.record_stream import RecordError

CHUNK: Final = 1 << 20  # bytes
UNESCAPED: Final = "unescaped"  # all fields are quoted, and quotes inside are not escaped
FIELD_END: Final = (
    "\x1f"  # between the fields of a file that is UNESCAPED; no register publishes it
)
LEFT_OUT: Final = "\x1e"  # the first field of a row in the place of a rejected one; nor this

TOO_FEW: Final = "champs manquants"
TOO_MANY: Final = "champs en trop"
NEVER_CLOSED: Final = "guillemet jamais fermé"
HEADER_AGAIN: Final = "en-tête répété"
NUL: Final = "octets nuls"

_FALLBACK_ENCODING: Final = "cp1252"
_TAIL: Final = 1 << 14  # bytes of the rows before the last
_SAMPLE: Final = 50  # rows that tell whether each ends with a separator
BLANK: Final = b" \t\r\n\x1a"  # of a line without a row; DOS ends a text with 0x1A


class RejectedRow(NamedTuple):
    """A row that is left out: its number, 1 being the first after the header, and why."""

    row: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class CsvForm:
    """The form of a CSV.

    Attributes:
        quote: `"`, or UNESCAPED, or empty for none.
        fields: the fields of each row.
        has_header: whether the first row is the header.
        is_last_used: whether a part of the last field would be published.
        encoding: that of the text; None for UTF-8, else Windows-1252.
    """

    separator: str
    quote: str
    fields: int
    has_header: bool = True
    is_last_used: bool = True
    encoding: str | None = None


class CsvRows:
    """The rows of one stream, read once.

    Attributes:
        count: the rows so far, with the rejected ones and without the header.
        is_cp1252: whether a line was read as Windows-1252 without a declaration.
    """

    def __init__(
        self, stream: IO[bytes], form: CsvForm, reject: Callable[[RejectedRow], None]
    ) -> None:
        self.count = 0
        self.is_cp1252 = False
        self._stream = stream
        self._form = form
        self._reject = reject
        self._separator = form.separator.encode()
        self._header = b"" if form.has_header else None
        self._has_begun = False
        self._before = b""  # the last rows of the block before
        self._line = 0
        self._extra = 0  # 1 where each row ends with a separator that the header has not
        self._between = b'"' + self._separator + b'"'  # two quoted fields
        self._mark = FIELD_END.encode() if form.quote == UNESCAPED else self._separator
        self._compile()

    def _compile(self) -> None:
        """Make the patterns of a record, which begins at a line and ends at another."""
        separator = re.escape(self._separator)
        if self._form.quote == UNESCAPED:
            inside = rb'(?:[^"%b]|"(?!' + separator + rb'"|\r?\n|\Z))*+'
            # A first field of two lines would be a row without its end, and the next row.
            first, field = (b'"' + inside % b + b'"' for b in (rb"\n", b""))
        else:
            first = field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\n%b]*+)' % separator
            inside = rb'[^"]*+(?:""[^"]*+)*+'
        others = self._form.fields + self._extra - 1
        self._record = re.compile(first + rb"(?:%b%b){%d}\r?(?:\n|\Z)" % (separator, field, others))
        opened = inside % b"" if self._form.quote == UNESCAPED else inside
        self._open_record = re.compile(rb'(?:%b%b)*+"%b\Z' % (field, separator, opened))
        end = rb"(?=" + separator + rb"|\Z)"
        self._quoted = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"' + end)
        self._closing = re.compile(rb'"' + end)

    def blocks(self) -> Iterator[bytes]:
        """The text of the rows, with the header if there is one.

        Raises:
            RecordError: the text ends within a row, or a row is longer than any of a register.
        """
        held = b""
        for lines, is_end in self._whole_lines():
            if len(lines) > CHUNK >> 1 and not lines.strip():
                raise RecordError(f"{len(lines):,} bytes of the file are blank")
            text = held + lines
            if self._header == b"" and (bare := text.lstrip(b"\r\n")):
                self._line += text.count(b"\n", 0, len(text) - len(bare))
                text = bare
                end = text.find(b"\n") + 1 or len(text)
                self._header, text = text[:end].rstrip(b"\r\n"), text[end:]
                self._line += 1
                yield self._header_text() + b"\n"
            if not self._has_begun and text.strip():
                self._has_begun = True
                if self._has_separators_at_ends(text):
                    self._extra = 1
                    self._compile()
            checked, held = self._check(text, is_end)
            self._before = checked[-_TAIL:]
            yield checked
            _refuse_longer(held, "a line within quotes")

    def _whole_lines(self) -> Iterator[tuple[bytes, bool]]:
        """The text in blocks of whole lines, the last of which may lack its end; whether it is the last."""
        left, is_first, has_returns = b"", True, False
        for chunk in self._chunks():
            if is_first:  # the line ends of old Macs
                is_first, has_returns = False, b"\n" not in chunk and b"\r" in chunk
            text = left + (chunk.replace(b"\r", b"\n") if has_returns else chunk)
            end = text.rfind(b"\n") + 1
            left = text[end:]
            if end:
                yield self._utf8(text[:end]), False
            _refuse_longer(left, "a line")
        yield self._utf8(left), True

    def _chunks(self) -> Iterator[bytes]:
        if self._form.encoding is None:
            yield from iter(lambda: self._stream.read(CHUNK), b"")
            return
        reader = codecs.getreader(self._form.encoding)(self._stream, "replace")
        for characters in iter(lambda: reader.read(CHUNK), ""):
            yield characters.encode()

    def _utf8(self, text: bytes) -> bytes:
        """The text in UTF-8; files that were joined may differ in their encodings, and each begins with a mark."""
        try:
            text.decode()
        except UnicodeDecodeError:
            self.is_cp1252 = True
            lines = text.splitlines(keepends=True)
            text = b"".join(decode_line(line).encode() for line in lines)
        return text.replace(codecs.BOM_UTF8, b"") if codecs.BOM_UTF8 in text else text

    def _check(self, text: bytes, is_end: bool) -> tuple[bytes, bytes]:
        """The rows of whole lines, and a record at their end of which more lines are to come."""
        if not is_end and self._is_plain_block(text):
            self.count += text.count(b"\n")
            self._line += text.count(b"\n")
            return text, b""
        is_suspect = self._is_special_block(text)
        written: list[bytes] = []
        place = unchanged = 0  # the text from `unchanged` to `place` is written as it is
        refused = 0  # the end of a run of lines that has another row
        while place < len(text):
            if place >= refused and not is_suspect:
                run = self._unquoted_lines(text, place)
                if run > place and self._are_unquoted_rows(text[place:run]):
                    self.count += text.count(b"\n", place, run)
                    self._line += text.count(b"\n", place, run)
                    place = run
                    continue
                refused = run
            end = text.find(b"\n", place) + 1
            line = text[place:end]
            if not is_suspect and (self._are_unquoted_rows(line) or self._is_quoted_row(line)):
                self.count += 1
                self._line += 1
            elif not is_end and self._is_open(text, place):
                written.append(text[unchanged:place])
                return b"".join(written), text[place:]
            else:
                end, row = self._special_row(text, place, end or len(text))
                self._line += text.count(b"\n", place, end)
                written += text[unchanged:place], row
                unchanged = end
            place = end
        written.append(text[unchanged:])
        return b"".join(written), b""

    def _is_special_block(self, text: bytes) -> bool:
        """Whether no line of the block may be passed on by its counts."""
        return bool(
            self._extra
            or self._form.fields == 1
            or self._form.quote == UNESCAPED
            or b"\0" in text
            or (self._header and self._header in text)
        )

    def _is_plain_block(self, text: bytes) -> bool:
        """Whether each line is a row that needs no change, by counts alone."""
        if self._is_special_block(text):
            return False
        if self._unquoted_lines(text, 0) == len(text):
            return self._are_unquoted_rows(text)
        return text.startswith(b'"') and all(map(self._is_quoted_row, text.splitlines(True)))

    def _unquoted_lines(self, text: bytes, place: int) -> int:
        """The end of the whole lines from `place` before the next quote."""
        quote = text.find(b'"', place) if self._form.quote else -1
        return text.rfind(b"\n", place, quote if quote >= 0 else len(text)) + 1

    def _are_unquoted_rows(self, text: bytes) -> bool:
        """Whether whole lines are rows of all their fields without any quote."""
        if not text.endswith(b"\n") or (self._form.quote and b'"' in text):
            return False
        counts = map(methodcaller("count", self._separator), text.split(b"\n")[:-1])
        return set(counts) == {self._form.fields - 1}

    def _is_quoted_row(self, line: bytes) -> bool:
        """Whether a line is a row of quoted fields without a quote inside: no other has as many quotes and `","`."""
        return (
            line.startswith(b'"')
            and line.endswith((b'"\n', b'"\r\n'))
            and line.count(self._between) == self._form.fields - 1
            and line.count(b'"') == 2 * self._form.fields
            and bool(self._form.quote)
        )

    def _special_row(self, text: bytes, place: int, end: int) -> tuple[int, bytes]:
        """The end of the row that begins at `place`, whose first line ends at `end`, and its text."""
        whole = self._record.match(text, place) if self._form.quote else None
        end = whole.end() if whole else end
        line = text[place:end]
        bare = line.rstrip(b"\r\n")
        if not line.strip(BLANK):
            return end, b""
        self.count += 1
        row, reason = self._read_row(bare, is_whole=bool(whole))
        if end == len(text) and not line.endswith(b"\n"):
            self._refuse_cut(text, place, bare, reason)
        if reason:
            detail = f"ligne {self._line + 1} du fichier : {reason[1]}{excerpt(bare)}"
            self._reject(RejectedRow(self.count, reason[0], detail))
            row = LEFT_OUT.encode() + self._mark * (self._form.fields - 1)
        return end, row + b"\n"

    def _read_row(self, bare: bytes, *, is_whole: bool) -> tuple[bytes, tuple[str, str] | None]:
        """The text of a row, or the reason to reject it with its counts."""
        if self._header and bare.strip() == self._header.strip():
            return b"", (HEADER_AGAIN, "")
        if b"\0" in bare:
            return b"", (NUL, "")
        if is_whole and self._form.quote != UNESCAPED and not self._extra:
            return bare, None
        fields, is_closed = self._read_fields(bare)
        if self._extra and len(fields) == self._form.fields + 1 and not fields[-1]:
            fields.pop()
        if not is_closed:
            return b"", (NEVER_CLOSED, "")
        if len(fields) != self._form.fields:
            why = TOO_FEW if len(fields) < self._form.fields else TOO_MANY
            return b"", (why, f"{len(fields)} au lieu de {self._form.fields}, ")
        return self._write_fields(fields), None

    def _refuse_cut(
        self, text: bytes, place: int, bare: bytes, reason: tuple[str, str] | None
    ) -> None:
        """Refuse a last row without a line end that lacks a part, or may lack one.

        Raises:
            RecordError: it does.
        """
        where = f"line {self._line + 1} is the last and has no line end"
        if reason:
            raise RecordError(f"{where} and not all of its fields: {excerpt(bare)}")
        if not self._is_whole(text, place, bare):
            raise RecordError(
                f"{where}, so it may be cut (if it is whole, add a line end): {excerpt(bare)}"
            )

    def _is_open(self, text: bytes, place: int) -> bool:
        """Whether a quoted field of the record at `place` may be closed by lines that are to come."""
        if not self._form.quote or self._record.match(text, place):
            return False
        return bool(self._open_record.match(text, place))

    def _is_whole(self, text: bytes, place: int, bare: bytes) -> bool:
        """Whether a last row without a line end has its last field whole, as far as it counts.

        That of other rows is as long, as dates and codes are, or a quote closes it.
        """
        if not self._form.is_last_used or (self._form.quote and bare.endswith(b'"')):
            return True
        lines = (self._before + text[:place]).splitlines()[-_SAMPLE:]
        lengths = {len(line.rpartition(self._separator)[2]) for line in lines}
        return lengths - {0} == {len(bare.rpartition(self._separator)[2])}

    def _has_separators_at_ends(self, text: bytes) -> bool:
        """Whether the first rows all have one more field than the header, an empty one."""
        rows = [line.rstrip(b"\r") for line in text.split(b"\n", _SAMPLE)[:_SAMPLE]]
        several = [self._read_fields(row)[0] for row in rows if row.strip()]
        return len(several) > 1 and all(
            len(fields) == self._form.fields + 1 and not fields[-1] for fields in several
        )

    def _read_fields(self, line: bytes) -> tuple[list[bytes], bool]:
        """The fields of a line, and whether each quoted one is closed."""
        if not self._form.quote:
            return line.split(self._separator), True
        if self._form.quote == UNESCAPED:
            inner = line[1:-1] if len(line) > 1 and line[:1] == line[-1:] == b'"' else line
            return inner.split(self._between), inner is not line
        fields, place, is_closed = [], 0, True
        while True:
            end, field = self._read_field(line, place)
            is_closed &= end >= 0
            end = abs(end)
            fields.append(field)
            if end >= len(line):
                return fields, is_closed
            place = end + 1

    def _read_field(self, line: bytes, place: int) -> tuple[int, bytes]:
        """The end of the field that begins at `place`, and its value; the end is negative if a quote is not closed."""
        end = line.find(self._separator, place)
        end = len(line) if end < 0 else end
        plain = line[place:end]
        if not plain.startswith(b'"'):
            return end, plain
        if strict := self._quoted.match(line, place):
            return strict.end(), strict[1].replace(b'""', b'"')
        if plain.count(b'"') % 2 == 0:  # `"ACME "X" LTD"`, or a name such as `"X" klubas`
            return end, plain[1:-1] if plain.endswith(b'"') else plain
        closing = self._closing.search(line, place + 1)
        if closing is None:
            return -end, plain
        return closing.end(), line[place + 1 : closing.start()]

    def _write_fields(self, fields: list[bytes]) -> bytes:
        if self._form.quote == UNESCAPED:  # Polars reads no quotes there, and each line as a row
            return self._mark.join(fields).replace(b"\r", b" ").replace(b"\n", b" ")
        if not self._form.quote:
            return self._separator.join(fields)
        quoted = (b'"' + field.replace(b'"', b'""') + b'"' if field else b"" for field in fields)
        return self._separator.join(quoted)

    def _header_text(self) -> bytes:
        header = self._header or b""
        if self._form.quote != UNESCAPED:
            return header
        return header.replace(b'"', b"").replace(self._separator, self._mark)


def decode_line(line: bytes) -> str:
    """The text of a line without a declared encoding."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode(_FALLBACK_ENCODING, "replace")


def _refuse_longer(text: bytes, name: str) -> None:
    if len(text) > record_stream.LONGEST:
        raise RecordError(f"{name} is longer than {record_stream.LONGEST >> 20} MiB")
