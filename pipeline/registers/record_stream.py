"""Records of JSON, JSON lines and XML files, one at a time.

Memory holds one chunk of the file and one record, whatever the size of the file: registers publish
arrays of several gigabytes. Every record is plain values (dict, list, text, numbers), those of XML
in the form that GLEIF gives its own JSON: text under `$`, attributes under `@name`, elements that
repeat as a list.
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

CHUNK: Final = 1 << 20  # bytes
# A line or a record is in memory whole, several times over. The longest of the registers have 3 MB.
LONGEST: Final = 16 << 20
_LONGEST_BLANK: Final = 1 << 20  # bytes of blank lines after one another
# Bytes of an XML file that may go by without a record: those of other elements are in memory, too.
_LONGEST_XML: Final = 16 * LONGEST
# Elements in elements, or values in values: those of the registers are twelve deep.
_DEEPEST: Final = 100
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_TOO_DEEP: Final = "values are nested too deeply: no file of this register"
_TOO_LONG: Final = f"longer than {LONGEST >> 20} MiB: no file of this register"


class RecordError(Exception):
    """A file is no JSON or XML of the declared form; the message says where."""


class LayoutError(RecordError):
    """A file has more than is known of its form: its layout has changed."""


def remedy(error: Exception) -> str:
    """What to do about a file that cannot be read: another copy does not help where the layout has changed."""
    if isinstance(error, LayoutError):
        return "its layout has changed: use what is new, or list it as ignored, with the reason"
    return "download it again"


class Unreadable(NamedTuple):
    """Stands for a line that is no JSON; the lines after it are read."""

    line: bytes


def json_lines(stream: IO[bytes]) -> Iterator[Any]:
    """The value on each line that is not blank; Unreadable where it is none.

    Raises:
        RecordError: a line is longer than LONGEST, or the last is no JSON: the file is cut there.
    """
    unread: tuple[Unreadable, str] | None = None
    blank = 0
    for number, line in enumerate(iter(partial(stream.readline, LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise RecordError(f"line {number} is {_TOO_LONG}")
        line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            blank += len(line)
            if blank > _LONGEST_BLANK:
                raise RecordError(f"over {_LONGEST_BLANK:,} bytes before line {number} are blank")
            continue
        blank = 0
        if unread:
            yield unread[0]
            unread = None
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            unread = Unreadable(line), f"line {number} is no JSON, and the last ({error})"
            continue
        if _is_too_deep(value, line.count(b"[") + line.count(b"{")):
            raise RecordError(f"line {number}: {_TOO_DEEP}")
        yield value
    if unread:
        raise RecordError(unread[1])


def json_items(stream: IO[bytes], at: Sequence[str], envelope: Mapping[str, str]) -> Iterator[Any]:
    """The elements of the array, or the one object, that the keys `at` lead to.

    Args:
        envelope: keys beside those of `at`, with the reasons why they are ignored.

    Raises:
        RecordError: the file is no JSON, ends early, lacks a key of `at`, or has a key beside it
            that is not in `envelope`.
    """
    scanner = _Scanner(stream)
    yield from _items(scanner, at, envelope)
    if scanner.peek():
        raise RecordError(f"text after the end of the JSON value: {scanner.position()}")


def _items(scanner: "_Scanner", at: Sequence[str], envelope: Mapping[str, str]) -> Iterator[Any]:
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
                yield from _items(scanner, at[1:], envelope)
            elif key in envelope:
                scanner.value()
            else:
                raise LayoutError(f"unknown key {key!r} beside {at[0]!r}")
        if not has_key:
            raise RecordError(f"no key {at[0]!r}")
    else:
        raise RecordError(f"no object with the key {at[0]!r}: {scanner.position()}")


def _records_inside(value: Any, at: Sequence[str], envelope: Mapping[str, str]) -> Iterator[Any]:
    """The records in an element of an array: a register may publish answers or bare records."""
    if not at or not isinstance(value, dict) or at[0] not in value:
        yield value
        return
    if unknown := [key for key in value if key != at[0] and key not in envelope]:
        raise LayoutError(f"unknown key {unknown[0]!r} beside {at[0]!r}")
    found = value[at[0]]
    for item in found if isinstance(found, list) else [found]:
        yield from _records_inside(item, at[1:], envelope)


def _after_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None  # an empty blank matches
    return match.end()


def _check_value(value: Any, text: str, start: int, end: int) -> None:
    """Refuse a value that is nested too deeply, or has half of a character; `text` tells most that are neither.

    Raises:
        RecordError: the value is one of the two.
    """
    if _is_too_deep(value, text.count("[", start, end) + text.count("{", start, end)):
        raise RecordError(_TOO_DEEP)
    if text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise RecordError(
                f"no Unicode: {error.object[error.start]!r} is half of a character"
            ) from error


def _is_too_deep(value: Any, brackets: int) -> bool:
    """Whether values are nested too deeply; `brackets` are those of the text, which may be too few for it."""
    level = [value] if brackets > _DEEPEST else []
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inner_values(outer)]
    return bool(level)


def _inner_values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _Scanner:
    """A JSON text read by chunks; `value` decodes one value, however long."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        blank = 0
        while True:
            before, self._at = self._at, _after_blank(self._text, self._at)
            blank += self._at - before
            if blank > LONGEST:
                raise RecordError(f"a blank is {_TOO_LONG}")
            if self._at < len(self._text) or not self._read(CHUNK):
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """The next value.

        Raises:
            RecordError: it is no JSON, too long or too deep, or has half of a character.
        """
        self.peek()
        more = CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                # A number at the end of a chunk may go on in the next.
                if end < len(self._text) or not self._read(more):
                    _check_value(value, self._text, self._at, end)
                    self._at = end
                    return value
            except RecursionError as error:
                raise RecordError(_TOO_DEEP) from error
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > LONGEST:
                    raise RecordError(f"a value is {_TOO_LONG}: {self.position()}") from error
                if not self._read(more):
                    raise RecordError(f"no JSON: {error.msg} at {self.position()}") from error
            except ValueError as error:  # a number of more digits than Python reads
                raise RecordError(f"a number is too long: {self.position()}") from error
            more *= 2

    def key(self) -> str:
        key = self.value()
        self._take(":")
        return str(key)

    def elements(self, opened: str, closed: str) -> Iterator[None]:
        """Stand before each element in turn; the caller reads it."""
        self._take(opened)
        if self.peek() == closed:
            self._take(closed)
            return
        while True:
            yield
            if self.peek() == closed:
                self._take(closed)
                return
            self._take(",")

    def position(self) -> str:
        return repr(self._text[self._at : self._at + 40]) if self.peek() else "the end of the file"

    def _take(self, character: str) -> None:
        if self.peek() != character:
            raise RecordError(f"expected {character!r}, found {self.position()}")
        self._at += 1

    def _read(self, size: int) -> bool:
        if self._ended:
            return False
        chunk = self._stream.read(size)
        self._ended = not chunk
        try:
            more = self._utf8.decode(chunk, final=self._ended)
        except UnicodeDecodeError as error:
            raise RecordError(f"no UTF-8: {error}") from error
        self._text = self._text[self._at :] + more
        self._at = 0
        return bool(more) or (not self._ended and self._read(size))


class _BoundedStream:
    """A stream of XML without a document type, of which not too many bytes may be read before `restart`.

    Entities, which make gigabytes of a kilobyte, are defined in a document type, which stands before the root.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _LONGEST_XML
        self._in_prolog = True
        self._prolog = expat.ParserCreate()
        self._prolog.StartDoctypeDeclHandler = _refuse_document_type
        self._prolog.StartElementHandler = self._begin

    def restart(self) -> None:
        self._left = _LONGEST_XML

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        if self._in_prolog:
            try:
                self._prolog.Parse(chunk)
            except expat.ExpatError:
                self._in_prolog = False  # the reader of the stream says what is wrong
        self._left -= len(chunk)
        if self._left < 0:
            raise RecordError(
                f"{_LONGEST_XML >> 20} MiB without a record: no file of this register"
            )
        return chunk

    def _begin(self, *_: object) -> None:
        self._in_prolog = False
        self._prolog.StartElementHandler = None


def _refuse_document_type(name: str, *_: object) -> NoReturn:
    raise RecordError(f"a document type {name!r}, which no file of a register has")


def xml_elements(stream: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """Every element called `name`, in any namespace, as plain values.

    Raises:
        RecordError: the file is no XML, has a document type, or ends early.
    """
    prefixes = {"http://www.w3.org/XML/1998/namespace": "xml"}
    outer: list[ET.Element] = []
    bounded = _BoundedStream(stream)
    for event, found in _xml_events(bounded):
        if event == "start-ns":
            prefix, namespace = found
            prefixes[namespace] = prefix
        elif event == "start":
            outer.append(found)
            if len(outer) > _DEEPEST:
                raise RecordError(_TOO_DEEP)
        else:
            outer.pop()
            namespace, local = _names(found.tag)
            if local == name:
                yield _plain_values(found, namespace, prefixes)
                if outer:  # What was read is let go, or the whole file would be held.
                    outer[-1].clear()
                bounded.restart()


def _xml_events(stream: _BoundedStream) -> Iterator[tuple[Any, ...]]:
    """The events of the parser. A tag without end is refused: expat reads it again from its start with each chunk.

    Raises:
        RecordError: the file is no XML, or has a tag or a text that is longer than LONGEST.
    """
    parser: ET.XMLPullParser[ET.Element] = ET.XMLPullParser(("start", "end", "start-ns"))
    silent = 0
    try:
        while chunk := stream.read(CHUNK):
            parser.feed(chunk)
            silent += len(chunk)
            for event in parser.read_events():
                silent = 0
                yield event
            if silent > LONGEST:
                raise RecordError(f"a tag or a text is {_TOO_LONG}")
        parser.close()
        yield from parser.read_events()
    except (ET.ParseError, LookupError, ValueError) as error:  # of the XML, or of its encoding
        raise RecordError(f"no XML: {error}") from error


def _names(tag: str) -> tuple[str, str]:
    """The namespace and the local name of a tag as ElementTree writes it."""
    namespace, _, local = tag.rpartition("}")
    return namespace.removeprefix("{"), local


def _plain_values(element: ET.Element, own: str, prefixes: Mapping[str, str]) -> dict[str, Any]:
    """An element as plain values; names of another namespace than `own` keep their prefix."""

    def key(tag: str) -> str:
        namespace, local = _names(tag)
        return local if namespace in ("", own) else f"{prefixes[namespace]}:{local}"

    found: dict[str, Any] = {f"@{key(name)}": value for name, value in element.attrib.items()}
    if element.text and element.text.strip():
        found["$"] = element.text
    for child in element:
        name, value = key(child.tag), _plain_values(child, own, prefixes)
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found
