"""Records of JSON, JSON lines and XML files, one at a time.

Memory holds one chunk of the file and one record, whatever the size of the file: registers publish
arrays of several gigabytes. Each record consists of plain values (dict, list, text, numbers). XML records have the
layout of GLEIF's JSON: text under `$`, attributes under `@name`, repeated elements as a list.
"""

import codecs
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, Final, NamedTuple, NoReturn
from xml.parsers import expat

import orjson

CHUNK: Final = 1 << 20  # bytes read at once
# The most bytes of a line or record, since memory holds several copies of it. The longest in registers have 3 MB.
LONGEST: Final = 16 << 20
_LONGEST_BLANK: Final = 1 << 20  # the most bytes of blank lines before a record
# The most bytes of an XML file between two records, since memory holds the elements between them, too.
_LONGEST_XML: Final = 16 * LONGEST
# The most levels of nested XML elements or JSON values; files of registers have at most twelve.
_DEEPEST: Final = 100
_BLANK: Final = re.compile(r"[ \t\r\n]*")  # characters between two values of JSON
# The ends of error messages.
_TOO_DEEP: Final = "values are nested too deeply: no file of this register"
_TOO_LONG: Final = f"longer than {LONGEST >> 20} MiB: no file of this register"


class RecordError(Exception):
    """A file cannot be read as the declared JSON, XML or CSV; the message says where."""


class LayoutError(RecordError):
    """A file has an undeclared key, column or element: its layout has changed."""


def remedy(error: Exception) -> str:
    """The remedy for a file that cannot be read: another download, unless the layout of the file has changed."""
    if isinstance(error, LayoutError):
        return "its layout has changed: use what is new, or list it as ignored, with the reason"
    return "download it again"


class Unreadable(NamedTuple):
    """A line that is not JSON. It is returned in the place of a record, and the lines after it are read."""

    line: bytes


def json_lines(stream: IO[bytes]) -> Iterator[Any]:
    """The value of each line that is not blank; Unreadable if the line is not JSON.

    Raises:
        RecordError: a line is longer than LONGEST or nested too deeply, or the last line is not JSON, because such a
            file was cut.
    """
    # A line that is not JSON: it is reported when another line follows; at the end of the file it is a fault.
    unreported_line: tuple[Unreadable, str] | None = None
    blank_bytes = 0
    for number, line in enumerate(iter(partial(stream.readline, LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise RecordError(f"line {number} is {_TOO_LONG}")
        line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            blank_bytes += len(line)
            if blank_bytes > _LONGEST_BLANK:
                raise RecordError(f"over {_LONGEST_BLANK:,} bytes before line {number} are blank")
            continue
        blank_bytes = 0
        if unreported_line:
            yield unreported_line[0]
            unreported_line = None
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            unreported_line = (
                Unreadable(line),
                f"line {number} is not JSON, and is the last line ({error})",
            )
            continue
        if _is_too_deep(value, line.count(b"[") + line.count(b"{")):
            raise RecordError(f"line {number}: {_TOO_DEEP}")
        yield value
    if unreported_line:
        raise RecordError(unreported_line[1])


def json_items(stream: IO[bytes], at: Sequence[str], envelope: Mapping[str, str]) -> Iterator[Any]:
    """The elements of the array, or the one object, that the keys `at` lead to.

    Args:
        envelope: other keys of the objects that contain the keys `at`, with the reasons to ignore these keys.

    Raises:
        RecordError: the file is not JSON, ends early, lacks a key of `at`, or has a key next to a key of `at`
            that is not in `envelope`.
    """
    scanner = _Scanner(stream)
    yield from _records_at(scanner, at, envelope)
    if scanner.peek():
        raise RecordError(f"text after the end of the JSON value: {scanner.next_text()}")


def _records_at(
    scanner: "_Scanner", at: Sequence[str], envelope: Mapping[str, str]
) -> Iterator[Any]:
    """The records under the keys `at` of the scanner's next value; arrays on the way are gone through.

    Keys of `envelope` beside those of `at` are skipped.

    Raises:
        LayoutError: a key is neither in `at` nor in `envelope`.
        RecordError: a key of `at` is missing.
    """
    if scanner.peek() == "[":
        for _ in scanner.elements("[", "]"):
            yield from _records_inside(scanner.value(), at, envelope)
    elif not at:
        yield scanner.value()
    elif scanner.peek() == "{":
        has_key = False
        for _ in scanner.elements("{", "}"):
            key = scanner.key()
            if key == at[0]:
                has_key = True
                yield from _records_at(scanner, at[1:], envelope)
            elif key in envelope:
                scanner.value()
            else:
                raise LayoutError(f"unknown key {key!r} beside {at[0]!r}")
        if not has_key:
            raise RecordError(f"no key {at[0]!r}")
    else:
        raise RecordError(f"no object with the key {at[0]!r}: {scanner.next_text()}")


def _records_inside(value: Any, at: Sequence[str], envelope: Mapping[str, str]) -> Iterator[Any]:
    """The records in an element of an array: bare records, or complete answers of an API with the keys `at`."""
    if not at or not isinstance(value, dict) or at[0] not in value:
        yield value
        return
    if unknown := [key for key in value if key != at[0] and key not in envelope]:
        raise LayoutError(f"unknown key {unknown[0]!r} beside {at[0]!r}")
    values_below = value[at[0]]
    for item in values_below if isinstance(values_below, list) else [values_below]:
        yield from _records_inside(item, at[1:], envelope)


def _skip_blanks(text: str, at: int) -> int:
    """The position of the first character from `at` that is not blank."""
    match = _BLANK.match(text, at)
    assert match is not None  # the pattern also matches an empty text
    return match.end()


def _check_value(value: Any, text: str, start: int, end: int) -> None:
    """Refuse a value that is nested too deeply, or contains half of a surrogate pair.

    `text` from `start` to `end` is the value as JSON. It is searched first, because that search is fast and rules out
    both errors for most values.

    Raises:
        RecordError: the value is nested too deeply, or contains half of a surrogate pair.
    """
    if _is_too_deep(value, text.count("[", start, end) + text.count("{", start, end)):
        raise RecordError(_TOO_DEEP)
    if text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise RecordError(
                f"not Unicode: {error.object[error.start]!r} is half of a character"
            ) from error


def _is_too_deep(value: Any, brackets: int) -> bool:
    """Whether a value is nested too deeply.

    Args:
        brackets: the number of opening brackets in its text. The depth is at most this number, so a value with few
            brackets is not searched.
    """
    values_at_depth = [value] if brackets > _DEEPEST else []
    for _ in range(_DEEPEST):
        values_at_depth = [inner for outer in values_at_depth for inner in _inner_values(outer)]
    return bool(values_at_depth)


def _inner_values(value: Any) -> Iterable[Any]:
    """The values directly inside a dict or list; none for a text or a number."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _Scanner:
    """A JSON text that is read in chunks; `value` decodes the next value."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._utf8_decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._decoder = json.JSONDecoder()
        self._text = ""  # the decoded text that is in memory
        self._at = 0  # the position in `_text` of the next character to read
        self._has_ended = False

    def peek(self) -> str:
        """The next character that is not blank, without reading past it; empty at the end of the stream."""
        blank_length = 0
        while True:
            previous, self._at = self._at, _skip_blanks(self._text, self._at)
            blank_length += self._at - previous
            if blank_length > LONGEST:
                raise RecordError(f"a blank is {_TOO_LONG}")
            if self._at < len(self._text) or not self._read_more(CHUNK):
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """The next value.

        Raises:
            RecordError: the value is not JSON, too long or too deep, or has half of a character.
        """
        self.peek()
        bytes_to_read = CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                # A number at the end of the text can go on in the next chunk, so more text is read first.
                if end < len(self._text) or not self._read_more(bytes_to_read):
                    _check_value(value, self._text, self._at, end)
                    self._at = end
                    return value
            except RecursionError as error:
                raise RecordError(_TOO_DEEP) from error
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > LONGEST:
                    raise RecordError(f"a value is {_TOO_LONG}: {self.next_text()}") from error
                if not self._read_more(bytes_to_read):
                    raise RecordError(f"not JSON: {error.msg} at {self.next_text()}") from error
            except ValueError as error:  # a number with more digits than Python reads
                raise RecordError(f"a number is too long: {self.next_text()}") from error
            # A value is decoded from its start each time, so a long value must need few reads.
            bytes_to_read *= 2

    def key(self) -> str:
        """The next key of an object; the scanner is then before the value of the key."""
        key = self.value()
        self._expect(":")
        return str(key)

    def elements(self, opened: str, closed: str) -> Iterator[None]:
        """Yield None before each element between the brackets `opened` and `closed`; the caller must then read it."""
        self._expect(opened)
        if self.peek() == closed:
            self._expect(closed)
            return
        while True:
            yield
            if self.peek() == closed:
                self._expect(closed)
                return
            self._expect(",")

    def next_text(self) -> str:
        """The next characters in quotes, or the words for the end of the file; for messages."""
        return repr(self._text[self._at : self._at + 40]) if self.peek() else "the end of the file"

    def _expect(self, character: str) -> None:
        """Read `character`; RecordError if another character comes next."""
        if self.peek() != character:
            raise RecordError(f"expected {character!r}, found {self.next_text()}")
        self._at += 1

    def _read_more(self, size: int) -> bool:
        """Drop the text before `_at`, and add up to `size` bytes of the stream; return False at its end."""
        if self._has_ended:
            return False
        chunk = self._stream.read(size)
        self._has_ended = not chunk
        try:
            decoded_text = self._utf8_decoder.decode(chunk, final=self._has_ended)
        except UnicodeDecodeError as error:
            raise RecordError(f"no UTF-8: {error}") from error
        self._text = self._text[self._at :] + decoded_text
        self._at = 0
        return bool(decoded_text) or (not self._has_ended and self._read_more(size))


class _BoundedStream:
    """A stream of XML that refuses a document type, and limits the bytes between two calls of `restart`.

    A document type can define entities, which can expand a kilobyte to gigabytes. It comes before the root element, so
    only the text before the first element is searched.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._bytes_left = _LONGEST_XML
        self._in_prolog = True  # before the first element
        self._prolog_parser = expat.ParserCreate()
        self._prolog_parser.StartDoctypeDeclHandler = _refuse_document_type
        self._prolog_parser.StartElementHandler = self._end_prolog

    def restart(self) -> None:
        """Allow _LONGEST_XML bytes again; called after a record, because the limit is for the bytes between records."""
        self._bytes_left = _LONGEST_XML

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; RecordError for a document type, or for too many bytes without a record."""
        chunk = self._stream.read(size)
        if self._in_prolog:
            try:
                self._prolog_parser.Parse(chunk)
            except expat.ExpatError:
                self._in_prolog = False  # the main parser will meet and report the error
        self._bytes_left -= len(chunk)
        if self._bytes_left < 0:
            raise RecordError(
                f"{_LONGEST_XML >> 20} MiB without a record: no file of this register"
            )
        return chunk

    def _end_prolog(self, *_: object) -> None:
        """The handler of expat for the first element: no document type can follow."""
        self._in_prolog = False
        self._prolog_parser.StartElementHandler = None


def _refuse_document_type(name: str, *_: object) -> NoReturn:
    """The handler of expat for a document type: raise RecordError."""
    raise RecordError(f"a document type {name!r}, which no file of a register has")


def xml_elements(stream: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """Every element called `name`, in any namespace, as a dict (`_plain_values`).

    Raises:
        RecordError: the file is not XML, has a document type, is nested too deeply, or ends early.
    """
    prefixes = {"http://www.w3.org/XML/1998/namespace": "xml"}
    open_elements: list[ET.Element] = []
    bounded = _BoundedStream(stream)
    for event, item in _xml_events(bounded):
        if event == "start-ns":
            prefix, namespace = item
            prefixes[namespace] = prefix
        elif event == "start":
            open_elements.append(item)
            if len(open_elements) > _DEEPEST:
                raise RecordError(_TOO_DEEP)
        else:
            open_elements.pop()
            namespace, local = _namespace_and_name(item.tag)
            if local == name:
                yield _plain_values(item, namespace, prefixes)
                # Release the record; otherwise memory would hold the complete file.
                if open_elements:
                    open_elements[-1].clear()
                bounded.restart()


def _xml_events(stream: _BoundedStream) -> Iterator[tuple[Any, ...]]:
    """The events of the XML parser.

    A very long tag or text is refused, because expat reads an unfinished tag again from its start with each chunk.

    Raises:
        RecordError: the file is not XML, or has a tag or a text longer than LONGEST.
    """
    parser: ET.XMLPullParser[ET.Element] = ET.XMLPullParser(("start", "end", "start-ns"))
    bytes_since_event = 0
    try:
        while chunk := stream.read(CHUNK):
            parser.feed(chunk)
            bytes_since_event += len(chunk)
            for event in parser.read_events():
                bytes_since_event = 0
                yield event
            if bytes_since_event > LONGEST:
                raise RecordError(f"a tag or a text is {_TOO_LONG}")
        parser.close()
        yield from parser.read_events()
    except (ET.ParseError, LookupError, ValueError) as error:  # of the XML, or of its encoding
        raise RecordError(f"no XML: {error}") from error


def _namespace_and_name(tag: str) -> tuple[str, str]:
    """The namespace and the local name of a tag, which ElementTree writes as `{namespace}name`."""
    namespace, _, local = tag.rpartition("}")
    return namespace.removeprefix("{"), local


def _plain_values(
    element: ET.Element, own_namespace: str, prefixes: Mapping[str, str]
) -> dict[str, Any]:
    """An element as a dict: text under `$`, attributes under `@name`, children under their names.

    A name in another namespace than `own_namespace` keeps its prefix; `prefixes` has the prefix of each namespace.
    """

    def key(tag: str) -> str:
        """The name of a tag or attribute, with its prefix if its namespace is another."""
        namespace, local = _namespace_and_name(tag)
        return local if namespace in ("", own_namespace) else f"{prefixes[namespace]}:{local}"

    values: dict[str, Any] = {f"@{key(name)}": value for name, value in element.attrib.items()}
    if element.text and element.text.strip():
        values["$"] = element.text
    for child in element:
        name, value = key(child.tag), _plain_values(child, own_namespace, prefixes)
        if name not in values:
            values[name] = value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values
