"""CSV rows with a checked number of fields, as UTF-8 text that every CSV reader parses in the same way.

A row with too few or too many fields is rejected, because its values are in the wrong columns. It is replaced by a row
that begins with LEFT_OUT, so that later rows keep their numbers. A repeated header, a row with NUL bytes, a row with an
unclosed quote and a row that is not UTF-8 are rejected in the same way. A file that ends within its last row raises
RecordError, because later rows are missing, too.

A quote that is never closed can be paired with a quote of a later row. Such a text has the right number of fields, too,
but its lines have the separators of complete rows, so only its first row is rejected.

Registers quote in three ways: as RFC 4180 says; without doubling the quotes inside a quoted field; and not at all,
although a name can begin with a quote. A row is read in the first of these ways that gives the right number of fields,
and is written as RFC 4180 says. Most rows need no change: a block of lines is checked by counting its separators and
quotes, and is passed on.

A file with a declared encoding is decoded with that encoding. Older files of some registers are in another encoding
than UTF-8 (`legacy_encoding`): a line that is not UTF-8 is read in it, unless a part of the line is valid UTF-8, which
then is damaged UTF-8. Memory holds one block of lines, or one record.
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

CHUNK: Final = 1 << 20  # bytes read at once
UNESCAPED: Final = "unescaped"  # all fields are quoted, and quotes inside a field are not escaped
# The separator of the written fields of an UNESCAPED file, and the first field of a row that replaces a rejected row. A
# published text can contain these two control characters by mistake: a blank takes their place.
FIELD_END: Final = "\x1f"
LEFT_OUT: Final = "\x1e"

# Reasons to reject a row.
TOO_FEW: Final = "champs manquants"
TOO_MANY: Final = "champs en trop"
NEVER_CLOSED: Final = "guillemet jamais fermé"
HEADER_AGAIN: Final = "en-tête répété"
NUL: Final = "octets nuls"
NOT_UTF8: Final = "texte qui n'est pas de l'UTF-8"

# Bytes of earlier rows that are kept, because they show whether the last row is complete.
_TAIL: Final = 1 << 14
_SAMPLE: Final = 50  # the number of rows with which the last row, or the header, is compared
BLANK: Final = b" \t\r\n\x1a"  # characters of a blank line; DOS ends a text with 0x1A


class RejectedRow(NamedTuple):
    """A rejected row: its number (1 is the first row after the header), the reason, and the values that show it."""

    row: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class CsvForm:
    """The form of a CSV.

    Attributes:
        quote: `"`, or UNESCAPED, or empty for none.
        fields: the number of fields of each row.
        has_header: whether the first row is the header.
        is_last_used: whether the import uses the last field; if so, a last row that may be cut is refused.
        encoding: the encoding of the text; None for UTF-8.
        legacy_encoding: the encoding of lines that are not UTF-8; without it, their rows are rejected.
    """

    separator: str
    quote: str
    fields: int
    has_header: bool = True
    is_last_used: bool = True
    encoding: str | None = None
    legacy_encoding: str | None = None


class CsvRows:
    """The rows of a stream of `form`, which is read once; `reject` is called with each rejected row.

    Attributes:
        count: the number of rows read so far, including rejected rows, without the header.
        legacy_count: the number of lines read in the legacy encoding.
    """

    def __init__(
        self, stream: IO[bytes], form: CsvForm, reject: Callable[[RejectedRow], None]
    ) -> None:
        self.count = 0
        self.legacy_count = 0
        self._stream = stream
        self._form = form
        self._reject = reject
        self._separator = form.separator.encode()
        self._header = b"" if form.has_header else None
        self._has_begun = False  # whether a row was read
        self._previous_rows = b""  # the last rows of the previous block
        self._lines_read = 0  # the number of lines read so far, with the header
        self._empty_fields_at_end = 0  # 1 if each row ends with a separator that the header lacks
        # The bytes between two quoted fields: a quote, the separator and a quote.
        self._quoted_separator = b'"' + self._separator + b'"'
        self._written_separator = FIELD_END.encode() if form.quote == UNESCAPED else self._separator
        self._compile()

    def _compile(self) -> None:
        """Compile the patterns of a record and of its fields.

        A record is one line, or several lines if line ends are inside quotes. The patterns:

        - `_complete_record_pattern`: a record with the right number of fields;
        - `_unclosed_record`: a record that ends, with the text, inside quotes; group 1 is the text in these quotes;
        - `_quoted_field`: a field that is quoted as RFC 4180 says;
        - `_closing_quote`: a quote before a separator or the end of the record.

        Possessive quantifiers (`*+`) do not go back, so a text that does not match takes linear time.
        """
        separator = re.escape(self._separator)
        if self._form.quote == UNESCAPED:
            # All fields are quoted. A quote belongs to the text unless a separator and a quote, a line end or the end
            # follow. `%b` takes further bytes that the text must not contain.
            quoted_text = rb'(?:[^"%b]|"(?!' + separator + rb'"|\r?\n|\Z))*+'
            # The first field must not contain a line end: such a match would join a cut row and the next row.
            first_field, field = (b'"' + quoted_text % b + b'"' for b in (rb"\n", b""))
        else:
            # A field is quoted, with quotes doubled in its text, or has no quotes, line ends and separators.
            first_field = field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\n%b]*+)' % separator
            quoted_text = rb'[^"]*+(?:""[^"]*+)*+'
        fields_after_first = self._separators_per_row()
        self._complete_record_pattern = re.compile(
            first_field + rb"(?:%b%b){%d}\r?(?:\n|\Z)" % (separator, field, fields_after_first)
        )
        unclosed_text = quoted_text % b"" if self._form.quote == UNESCAPED else quoted_text
        self._unclosed_record = re.compile(
            rb'(?:%b%b)*+"(%b)\Z' % (field, separator, unclosed_text)
        )
        before_separator = rb"(?=" + separator + rb"|\Z)"
        self._quoted_field = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"' + before_separator)
        self._closing_quote = re.compile(rb'"' + before_separator)

    def blocks(self) -> Iterator[bytes]:
        """The text of the rows, with the header if there is one.

        Raises:
            RecordError: the text ends within a row, or a row is longer than the rows of registers.
        """
        unfinished_record = b""
        for lines, is_end in self._complete_lines():
            if len(lines) > CHUNK >> 1 and not lines.strip():
                raise RecordError(f"{len(lines):,} bytes of the file are blank")
            text = unfinished_record + lines
            # The header is empty until the first line that is not blank is read; without a header it is None.
            if self._header == b"" and (text_from_header := text.lstrip(b"\r\n")):
                self._lines_read += text.count(b"\n", 0, len(text) - len(text_from_header))
                text = text_from_header
                header_end = text.find(b"\n") + 1 or len(text)
                self._header, text = text[:header_end].rstrip(b"\r\n"), text[header_end:]
                self._lines_read += 1
                yield self._header_text() + b"\n"
            # The first rows show whether rows end with a separator that the header lacks.
            if not self._has_begun and text.strip():
                self._has_begun = True
                if self._has_separators_at_ends(text):
                    self._empty_fields_at_end = 1
                    self._compile()
            checked, unfinished_record = self._check_lines(text, is_end)
            self._previous_rows = checked[-_TAIL:]
            yield checked
            _refuse_if_too_long(unfinished_record, "a line within quotes")

    def _complete_lines(self) -> Iterator[tuple[bytes, bool]]:
        """Blocks of complete lines, and whether a block is the last; the last line of the file can lack its end."""
        partial_line, is_first, is_old_mac = b"", True, False
        for chunk in self._chunks():
            if is_first:  # old Macs end a line with a carriage return only
                is_first, is_old_mac = False, b"\n" not in chunk and b"\r" in chunk
            text = partial_line + (chunk.replace(b"\r", b"\n") if is_old_mac else chunk)
            lines_end = text.rfind(b"\n") + 1
            partial_line = text[lines_end:]
            if lines_end:
                yield self._clean(text[:lines_end]), False
            _refuse_if_too_long(partial_line, "a line")
        yield self._clean(partial_line), True

    def _chunks(self) -> Iterator[bytes]:
        """The chunks of the stream, decoded with the declared encoding if there is one."""
        if self._form.encoding is None:
            yield from iter(lambda: self._stream.read(CHUNK), b"")
            return
        reader = codecs.getreader(self._form.encoding)(self._stream, "replace")
        for characters in iter(lambda: reader.read(CHUNK), ""):
            yield characters.encode()

    def _clean(self, text: bytes) -> bytes:
        """The text in UTF-8, with a blank for each FIELD_END and LEFT_OUT of the published text."""
        utf8_text = self._to_utf8(text)
        return utf8_text.replace(FIELD_END.encode(), b" ").replace(LEFT_OUT.encode(), b" ")

    def _to_utf8(self, text: bytes) -> bytes:
        """The text without byte order marks, in UTF-8 except for lines whose rows are rejected later.

        Each line is decoded on its own, because a file can be made of files in several encodings.
        """
        if self._form.legacy_encoding and not _is_utf8(text):
            text = b"".join(map(self._legacy_line_to_utf8, text.splitlines(keepends=True)))
        return text.replace(codecs.BOM_UTF8, b"") if codecs.BOM_UTF8 in text else text

    def _legacy_line_to_utf8(self, line: bytes) -> bytes:
        """A line in the legacy encoding as UTF-8; any other line as it is."""
        # A valid character of several bytes shows UTF-8, so the line is not in the legacy encoding.
        if self._form.legacy_encoding is None or not line.decode(errors="ignore").isascii():
            return line
        try:
            utf8_line = line.decode(self._form.legacy_encoding).encode()
        except UnicodeDecodeError:  # Windows-1252 does not define all bytes
            return line
        self.legacy_count += not line.isascii()
        return utf8_line

    def _check_lines(self, text: bytes, is_end: bool) -> tuple[bytes, bytes]:
        """Check complete lines; return the text of their rows, and the lines of an unfinished record at their end.

        Args:
            is_end: whether the lines are the last of the file.
        """
        if not is_end and self._is_plain_block(text):
            self.count += text.count(b"\n")
            self._lines_read += text.count(b"\n")
            return text, b""
        is_suspect = self._is_special_block(text)
        written: list[bytes] = []  # the text up to `unchanged`, with its changes
        offset = unchanged = 0  # the text from `unchanged` to `offset` needs no change
        # The end of the last unquoted lines that were counted together and were not all complete rows: up to here each
        # line is checked alone.
        checked_to = 0
        while offset < len(text):
            if offset >= checked_to and not is_suspect:
                unquoted_end = self._unquoted_lines(text, offset)
                if unquoted_end > offset and self._are_unquoted_rows(text[offset:unquoted_end]):
                    self.count += text.count(b"\n", offset, unquoted_end)
                    self._lines_read += text.count(b"\n", offset, unquoted_end)
                    offset = unquoted_end
                    continue
                checked_to = unquoted_end
            line_end = text.find(b"\n", offset) + 1
            line = text[offset:line_end]
            if not is_suspect and (self._are_unquoted_rows(line) or self._is_quoted_row(line)):
                self.count += 1
                self._lines_read += 1
            elif not is_end and self._is_inside_quotes(text, offset):
                # The record goes on in a later block, so it is written then.
                written.append(text[unchanged:offset])
                return b"".join(written), text[offset:]
            else:  # counts prove nothing: the row is parsed, and rewritten or rejected
                line_end, row = self._parse_row(text, offset, line_end or len(text))
                self._lines_read += text.count(b"\n", offset, line_end)
                written += text[unchanged:offset], row
                unchanged = line_end
            offset = line_end
        written.append(text[unchanged:])
        return b"".join(written), b""

    def _is_special_block(self, text: bytes) -> bool:
        """Whether each line must be parsed, because counts of separators and quotes do not prove that it is a row."""
        return bool(
            self._empty_fields_at_end
            or self._form.fields == 1
            or self._form.quote == UNESCAPED
            or b"\0" in text
            or not _is_utf8(text)
            or (self._header and self._header in text)
        )

    def _is_plain_block(self, text: bytes) -> bool:
        """Whether counts of separators and quotes prove that each line is a row that needs no change."""
        if self._is_special_block(text):
            return False
        if self._unquoted_lines(text, 0) == len(text):
            return self._are_unquoted_rows(text)
        return text.startswith(b'"') and all(map(self._is_quoted_row, text.splitlines(True)))

    def _unquoted_lines(self, text: bytes, offset: int) -> int:
        """The end of the complete lines between `offset` and the next quote."""
        next_quote = text.find(b'"', offset) if self._form.quote else -1
        return text.rfind(b"\n", offset, next_quote if next_quote >= 0 else len(text)) + 1

    def _are_unquoted_rows(self, text: bytes) -> bool:
        """Whether each line of `text` is a complete row without quotes."""
        if not text.endswith(b"\n") or (self._form.quote and b'"' in text):
            return False
        counts = map(methodcaller("count", self._separator), text.split(b"\n")[:-1])
        return set(counts) == {self._form.fields - 1}

    def _is_quoted_row(self, line: bytes) -> bool:
        """Whether a line is a row of quoted fields without inner quotes, as its counts of quotes prove."""
        return (
            line.startswith(b'"')
            and line.endswith((b'"\n', b'"\r\n'))
            and line.count(self._quoted_separator) == self._form.fields - 1
            and line.count(b'"') == 2 * self._form.fields
            and bool(self._form.quote)
        )

    def _parse_row(self, text: bytes, offset: int, end: int) -> tuple[int, bytes]:
        """Parse the row at `offset`, whose first line ends at `end`; return its end and the text to write.

        The text is empty for a blank line; for a rejected row it is a row that begins with LEFT_OUT.
        """
        complete_record = self._complete_record(text, offset)
        end = complete_record.end() if complete_record else end
        line = text[offset:end]
        bare_line = line.rstrip(b"\r\n")
        if not line.strip(BLANK):
            return end, b""
        self.count += 1
        row, fault = self._read_row(bare_line, is_complete=bool(complete_record))
        if end == len(text) and not line.endswith(b"\n"):
            self._refuse_cut_last_row(text, offset, bare_line, fault)
        if fault:
            detail = f"ligne {self._lines_read + 1} du fichier : {fault[1]}{excerpt(bare_line)}"
            self._reject(RejectedRow(self.count, fault[0], detail))
            row = LEFT_OUT.encode() + self._written_separator * (self._form.fields - 1)
        return end, row + b"\n"

    def _read_row(
        self, bare_line: bytes, *, is_complete: bool
    ) -> tuple[bytes, tuple[str, str] | None]:
        """The text of a row to write, and its fault: the reason to reject it and a text with its number of fields.

        The text is empty if there is a fault; the fault is None for a good row.
        """
        if self._header and bare_line.strip() == self._header.strip():
            return b"", (HEADER_AGAIN, "")
        if b"\0" in bare_line:
            return b"", (NUL, "")
        if not _is_utf8(bare_line):
            return b"", (NOT_UTF8, "")
        if is_complete and self._form.quote != UNESCAPED and not self._empty_fields_at_end:
            return bare_line, None
        fields, is_closed = self._read_fields(bare_line)
        if not is_closed:
            return b"", (NEVER_CLOSED, "")
        expected_count = self._separators_per_row() + 1
        if len(fields) != expected_count or any(fields[self._form.fields :]):
            reason = TOO_FEW if len(fields) < expected_count else TOO_MANY
            return b"", (reason, f"{len(fields)} au lieu de {expected_count}, ")
        return self._write_fields(fields[: self._form.fields]), None

    def _refuse_cut_last_row(
        self, text: bytes, offset: int, bare_line: bytes, fault: tuple[str, str] | None
    ) -> None:
        """Refuse a last row without a line end unless the row is certainly complete.

        Raises:
            RecordError: the row is incomplete, or nothing proves that it is complete.
        """
        where = f"line {self._lines_read + 1} is the last and has no line end"
        if fault:
            raise RecordError(f"{where} and not all of its fields: {excerpt(bare_line)}")
        if not self._is_last_row_complete(text, offset, bare_line):
            raise RecordError(
                f"{where}, so it may be cut (if it is complete, add a line end): {excerpt(bare_line)}"
            )

    def _is_inside_quotes(self, text: bytes, offset: int) -> bool:
        """Whether `text` ends inside quotes that the record at `offset` opened; later lines can close them."""
        if not self._form.quote or self._complete_record(text, offset):
            return False
        unclosed_record = self._unclosed_record.match(text, offset)
        return unclosed_record is not None and not self._has_row_inside(unclosed_record[1])

    def _complete_record(self, text: bytes, offset: int) -> re.Match[bytes] | None:
        """The record with the right number of fields at `offset`; None if there is none, or if it joins two rows."""
        if not self._form.quote:
            return None
        record = self._complete_record_pattern.match(text, offset)
        if record is None or self._form.quote == UNESCAPED:
            return record
        if text.find(b"\n", offset, record.end() - 1) < 0:  # one line
            return record
        fields, _ = self._read_fields(record[0].rstrip(b"\r\n"))
        return None if any(map(self._joins_rows, range(len(fields)), fields)) else record

    def _joins_rows(self, place: int, quoted_text: bytes) -> bool:
        """Whether field `place` of a record is the end of one row and the beginning of another, or has a row inside.

        The quote that opens the field is then the stray quote of the first row, and a later row has the quote that
        closes it, so the record has the right number of fields.
        """
        if b"\n" not in quoted_text or self._form.fields == 1:
            return False
        first_line, *_, last_line = quoted_text.split(b"\n")
        separators_after = self._separators_per_row() - place
        return self._has_row_inside(quoted_text) or (
            first_line.count(self._separator) == separators_after
            and last_line.count(self._separator) == place
        )

    def _has_row_inside(self, quoted_text: bytes) -> bool:
        """Whether a line between two line ends of a quoted text has the separators of a row."""
        if self._form.quote == UNESCAPED or self._form.fields == 1:
            return False
        inner_lines = quoted_text.split(b"\n")[1:-1]
        return any(
            line.count(self._separator) == self._separators_per_row() for line in inner_lines
        )

    def _separators_per_row(self) -> int:
        """The number of separators of a row, with the separator at its end if rows end with one."""
        return self._form.fields + self._empty_fields_at_end - 1

    def _is_last_row_complete(self, text: bytes, offset: int, bare_line: bytes) -> bool:
        """Whether the last field of a last row without a line end is complete, or not used.

        The field is complete if a quote closes it, or if the field has the same length in the rows before, as dates
        and codes have.
        """
        if not self._form.is_last_used or (self._form.quote and bare_line.endswith(b'"')):
            return True
        lines = (self._previous_rows + text[:offset]).splitlines()[-_SAMPLE:]
        lengths = {len(line.rpartition(self._separator)[2]) for line in lines}
        return lengths - {0} == {len(bare_line.rpartition(self._separator)[2])}

    def _has_separators_at_ends(self, text: bytes) -> bool:
        """Whether most of the first rows end with a separator, so they have one more field (empty) than the header.

        The other rows lack a field: it is not known which, so these rows are rejected.
        """
        rows = [line.rstrip(b"\r") for line in text.split(b"\n", _SAMPLE)[:_SAMPLE]]
        fields_of_rows = [self._read_fields(row)[0] for row in rows if row.strip()]
        ending_count = sum(
            len(fields) == self._form.fields + 1 and not fields[-1] for fields in fields_of_rows
        )
        return ending_count > max(1, len(fields_of_rows) // 2)

    def _read_fields(self, line: bytes) -> tuple[list[bytes], bool]:
        """The fields of a row without its line end, and whether each opening quote has a closing quote."""
        if not self._form.quote:
            return line.split(self._separator), True
        if self._form.quote == UNESCAPED:
            between_quotes = line[1:-1] if len(line) > 1 and line[:1] == line[-1:] == b'"' else line
            return between_quotes.split(self._quoted_separator), between_quotes is not line
        fields, offset, is_closed = [], 0, True
        while True:
            end, field = self._read_field(line, offset)
            is_closed &= end >= 0
            end = abs(end)
            fields.append(field)
            if end >= len(line):
                return fields, is_closed
            offset = end + 1

    def _read_field(self, line: bytes, offset: int) -> tuple[int, bytes]:
        """The end of the field that begins at `offset`, and its value; the end is negative if a quote is not closed."""
        end = line.find(self._separator, offset)
        end = len(line) if end < 0 else end
        plain_field = line[offset:end]
        if not plain_field.startswith(b'"'):
            return end, plain_field
        if quoted_field := self._quoted_field.match(line, offset):
            return quoted_field.end(), quoted_field[1].replace(b'""', b'"')
        # The quotes are in pairs, as in `"ACME "X" LTD"`, or in a name such as `"X" klubas`.
        if plain_field.count(b'"') % 2 == 0:
            return end, plain_field[1:-1] if plain_field.endswith(b'"') else plain_field
        closing = self._closing_quote.search(line, offset + 1)
        if closing is None:
            return -end, plain_field
        return closing.end(), line[offset + 1 : closing.start()]

    def _write_fields(self, fields: list[bytes]) -> bytes:
        """The text of a row as Polars will read it, by the form of the file.

        UNESCAPED files have quotes that are plain characters: FIELD_END separates the fields, and a blank replaces each
        line break. Files without quotes keep their separator. Fields of other files are quoted as RFC 4180 says.
        """
        if self._form.quote == UNESCAPED:
            return self._written_separator.join(fields).replace(b"\r", b" ").replace(b"\n", b" ")
        if not self._form.quote:
            return self._separator.join(fields)
        quoted = (b'"' + field.replace(b'"', b'""') + b'"' if field else b"" for field in fields)
        return self._separator.join(quoted)

    def _header_text(self) -> bytes:
        """The header to write: without quotes and with FIELD_END in an UNESCAPED file, else as it was read."""
        header = self._header or b""
        if self._form.quote != UNESCAPED:
            return header
        return header.replace(b'"', b"").replace(self._separator, self._written_separator)


def _is_utf8(text: bytes) -> bool:
    """Whether `text` is valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse_if_too_long(text: bytes, kind: str) -> None:
    """Raise RecordError if `text` is longer than `record_stream.LONGEST`; `kind`, as "a line", begins the message."""
    if len(text) > record_stream.LONGEST:
        raise RecordError(f"{kind} is longer than {record_stream.LONGEST >> 20} MiB")
