"""Excel workbooks (.xlsx): the first visible sheet as CSV, with values as people see them.

A workbook is a ZIP file of XML from anybody. Only the parts that are needed are unpacked, within bounds on bytes and
tags that are checked before the parser sees them. A document type is refused, and therefore every entity. Rows and
columns are bounded by their last cell with text, so a cell far away costs nothing before it is refused. Pure.
"""

import math
import posixpath
import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from io import BytesIO
from typing import Final, NamedTuple, NoReturn
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from serve.contract.errors import ApiError
from serve.features.matching import list_file

MOST_BYTES: Final = 20 * list_file.LARGEST  # of the parts that are unpacked
MOST_TAGS: Final = 2_000_000  # in a second; a cell with a value has four
MOST_RATIO: Final = (
    50  # unpacked bytes for one of a file of over a few kilobytes; sheets of people have 5 to 15
)
_FREE_BYTES: Final = 1 << 20
SEPARATOR: Final = ";"
_SIGNATURE: Final = b"PK\x03\x04"
_CHUNK: Final = 1 << 16
_LONGEST_TAG: Final = 1 << 18  # bytes; expat reads a tag without end again with each chunk
_ERRORS: Final = (
    BadZipFile, EOFError, LookupError, OSError, RuntimeError, ValueError, expat.ExpatError, struct.error, zlib.error,
)  # fmt: skip
# Number formats that have no code in the file: dates, times, and both.
_BUILT_IN: Final = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((*range(18, 22), *range(32, 36), *range(45, 48)), "hh:mm:ss"),
    22: "yyyy-mm-dd hh:mm",
}
# A part of a format: a text, a colour or language, a width, or a sign. Elapsed times, [h], are signs.
_PART: Final = re.compile(r'"([^"]*)"|\\(.)|\[(?![hHmMsS]+\])[^\[\]]*\]|[_*].|(.)', re.DOTALL)
_LONGEST_FORMAT: Final = 255  # as Excel has it
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LAST_LEAP: Final = 60  # 29 February 1900, which the calendar of Excel has


class SheetText(NamedTuple):
    """A sheet as CSV in UTF-8; `shown` names it, with its place among the visible ones."""

    content: bytes
    shown: str


def is_workbook(raw: bytes) -> bool:
    """Whether a file may be a workbook: it is a ZIP file."""
    return raw.startswith(_SIGNATURE)


def read(raw: bytes) -> SheetText:
    """The first visible sheet of a workbook.

    Raises:
        ApiError: 400: it is no workbook, is damaged, or its sheet is empty; 413: it is too large.
    """
    try:
        package = _Package(raw)
        return _first_sheet(package)
    except _ERRORS as error:
        shown = str(error)[:100] or type(error).__name__
        raise ApiError("corps_invalide", "classeur_illisible", error=shown) from error


class _Package:
    """The parts of a workbook, which may be unpacked within its bounds."""

    def __init__(self, raw: bytes) -> None:
        self._zip = ZipFile(BytesIO(raw))
        self._parts = {one.filename.lower().strip("/"): one for one in self._zip.infolist()}
        self._bytes = min(MOST_BYTES, _FREE_BYTES + MOST_RATIO * len(raw))
        self._tags = MOST_TAGS

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._parts

    def parse(
        self,
        path: str,
        start: Callable[[str, Mapping[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Give the elements of a part to `start` and `end`, which get local names."""
        if path not in self:
            raise BadZipFile(f"{path or 'worksheet'}: ?")
        info = self._parts[path.lower()]
        if info.compress_type not in (
            ZIP_STORED,
            ZIP_DEFLATED,
        ):  # others may take gigabytes of memory
            raise BadZipFile(f"compression {info.compress_type}")
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.StartElementHandler = lambda name, values: start(name.rpartition(":")[2], values)
        if end:
            parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
        if text:
            parser.CharacterDataHandler = text
        fed = 0
        with self._zip.open(info) as part:
            while chunk := part.read(_CHUNK):
                self._bytes -= len(chunk)
                self._tags -= chunk.count(b"<")
                if self._bytes < 0 or self._tags < 0:
                    raise _too_large()
                parser.Parse(chunk)
                fed += len(chunk)
                if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                    raise BadZipFile(f"{path}: a tag or text without end")
        parser.Parse(b"", True)


def _too_large() -> ApiError:
    return ApiError(
        "corps_invalide",
        "classeur_trop_grand",
        most=MOST_BYTES >> 20,
        cells=MOST_TAGS // 4,
        ratio=MOST_RATIO,
    )


def _refuse_document_type(name: str, *_: object) -> NoReturn:
    raise ValueError(f"DOCTYPE {name[:40]}")


def _first_sheet(package: _Package) -> SheetText:
    root = {kind: path for kind, path in _relations(package, "").values()}
    workbook = root.get("officeDocument", "")
    if not workbook.startswith("xl/"):
        raise ApiError("corps_invalide", "un_classeur")
    sheets: list[tuple[str, str]] = []
    is_1904 = False

    def start(name: str, values: Mapping[str, str]) -> None:
        nonlocal is_1904
        if name == "sheet" and values.get("state", "visible") == "visible":
            link = next((value for key, value in values.items() if key.endswith(":id")), "")
            sheets.append((values.get("name", ""), link))
        elif name == "workbookPr":
            is_1904 = values.get("date1904") in ("1", "true")

    package.parse(workbook, start)
    targets = _relations(package, workbook)
    paths = dict(targets.values())
    visible = [
        (name, targets[link][1])
        for name, link in sheets
        if link in targets and targets[link][0] == "worksheet"
    ]
    name, path = visible[0] if visible else ("", "")
    reader = _SheetReader(
        _shared_strings(package, paths.get("sharedStrings", "")),
        _formats(package, paths.get("styles", "")),
        is_1904=is_1904,
    )
    package.parse(path, reader.start, reader.end, reader.text)
    if not reader.rows:
        raise ApiError("corps_invalide", "feuille_vide", shown=repr(name[:50]))
    width = max(map(len, reader.rows))
    rows = [[*row, *[""] * (width - len(row))] for row in reader.rows]
    content = list_file.write((), rows, SEPARATOR).encode()
    place = f" (1/{len(visible)})" if len(visible) > 1 else ""
    return SheetText(content, f".xlsx · {name[:50]}{place}")


def _relations(package: _Package, path: str) -> Mapping[str, tuple[str, str]]:
    """The kind and the path of the parts that a part refers to, by their names in it; "" for the package."""
    folder, name = posixpath.split(path)
    targets: dict[str, tuple[str, str]] = {}

    def start(name: str, values: Mapping[str, str]) -> None:
        if name == "Relationship":
            target = posixpath.normpath(posixpath.join("/", folder, values["Target"])).lstrip("/")
            targets[values["Id"]] = (values.get("Type", "").rpartition("/")[2], target)

    list_of_parts = posixpath.join(folder, "_rels", f"{name}.rels")
    if list_of_parts in package:
        package.parse(list_of_parts, start)
    return targets


def _shared_strings(package: _Package, path: str) -> Sequence[str]:
    """The texts that cells refer to, without the pronunciation of Japanese ones."""
    strings: list[str] = []
    pieces: list[str] = []
    is_text = is_phonetic = False

    def start(name: str, _: Mapping[str, str]) -> None:
        nonlocal is_text, is_phonetic
        is_phonetic = is_phonetic or name == "rPh"
        is_text = name == "t" and not is_phonetic

    def end(name: str) -> None:
        nonlocal is_text, is_phonetic
        is_text = False
        if name == "rPh":
            is_phonetic = False
        elif name == "si":
            strings.append(_unescape("".join(pieces)))
            pieces.clear()

    if path:
        package.parse(path, start, end, lambda text: pieces.append(text) if is_text else None)
    return strings


def _formats(package: _Package, path: str) -> Sequence[str]:
    """The number format of each style of a cell."""
    codes: dict[int, str] = dict(_BUILT_IN)
    styles: list[int] = []
    is_cell = False

    def start(name: str, values: Mapping[str, str]) -> None:
        nonlocal is_cell
        if name == "numFmt":
            codes[int(values["numFmtId"])] = values.get("formatCode", "")
        elif name in ("cellXfs", "cellStyleXfs"):
            is_cell = name == "cellXfs"
        elif name == "xf" and is_cell:
            styles.append(int(values.get("numFmtId", "0")))

    def end(name: str) -> None:
        nonlocal is_cell
        is_cell = is_cell and name != "cellXfs"

    if path:
        package.parse(path, start, end)
    return [codes.get(number, "") for number in styles]


class _SheetReader:
    """The rows of a sheet, as far as their last cell with text; rows that are not in the file are blank."""

    def __init__(self, strings: Sequence[str], formats: Sequence[str], *, is_1904: bool) -> None:
        self.rows: list[list[str]] = []
        self._strings, self._formats, self._is_1904 = strings, formats, is_1904
        self._row = self._column = self._size = 0
        self._cell: Mapping[str, str] | None = None
        self._pieces: list[str] = []
        self._is_value = self._is_phonetic = False

    def start(self, name: str, values: Mapping[str, str]) -> None:
        """Begin an element."""
        if name == "c":
            reference = values.get("r")
            self._column = (
                _column(reference.rstrip("0123456789")) if reference else self._column + 1
            )
            self._cell = values
            self._pieces.clear()
        elif name == "row":
            row = int(values.get("r") or self._row + 1)
            if row <= self._row:
                raise ValueError(f"row {row} after row {self._row}")
            self._row, self._column = row, 0
        elif name == "rPh":
            self._is_phonetic = True
        self._is_value = name in ("v", "t") and not self._is_phonetic and self._cell is not None

    def text(self, text: str) -> None:
        """Add a text of the element."""
        if self._is_value:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        """End an element."""
        self._is_value = False
        if name == "rPh":
            self._is_phonetic = False
        elif name == "c" and self._cell is not None:
            if self._pieces and (text := self._shown("".join(self._pieces), self._cell)).strip():
                self._place(text)
            self._cell = None

    def _place(self, text: str) -> None:
        """Put a text into its row. Raises ApiError 400 or 413 beyond the limits of a list."""
        if self._column > list_file.MOST_COLUMNS:
            raise ApiError(
                "corps_invalide",
                "trop_de_colonnes",
                number=self._row,
                count=self._column,
                most=list_file.MOST_COLUMNS,
            )
        if self._row > 2 * list_file.MOST_ROWS:
            raise ApiError("trop_de_lignes", count=self._row, most=list_file.MOST_ROWS)
        self._size += len(text) + 1
        if self._size > list_file.LARGEST:
            raise ApiError("corps_trop_grand", limit=list_file.LARGEST)
        self.rows.extend([] for _ in range(self._row - len(self.rows)))
        row = self.rows[-1]
        if self._column <= len(row):
            raise ValueError(f"column {self._column} of row {self._row} comes late")
        row.extend([""] * (self._column - 1 - len(row)))
        row.append(text)

    def _shown(self, value: str, cell: Mapping[str, str]) -> str:
        """The text that a cell shows."""
        kind = cell.get("t", "n")
        if kind == "s":
            return self._strings[int(value)] if value.isdecimal() else ""
        if kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        if kind == "d":
            return value.removesuffix("T00:00:00").replace("T", " ")
        if kind != "n":
            return _unescape(value)
        style = int(cell.get("s", "0"))
        return number_shown(
            value, self._formats[style] if style < len(self._formats) else "", is_1904=self._is_1904
        )


def number_shown(value: str, code: str, *, is_1904: bool = False) -> str:
    """A number as people read it: dates as ISO 8601, integers without a decimal point, zeros in front as formatted.

    >>> number_shown("542065479.0", ""), number_shown("1.5E-1", "0%"), number_shown("0.30000000000000004", "")
    ('542065479', '0.15', '0.3')
    >>> number_shown("1000", "00000"), number_shown("5420654", r"000\\ 000\\ 000"), number_shown("1000", "#,##0")
    ('01000', '005 420 654', '1000')
    >>> number_shown("43831", "dd/mm/yyyy;@"), number_shown("43831.5", "d/m/yy h:mm"), number_shown("0.5", "h:mm")
    ('2020-01-01', '2020-01-01 12:00:00', '12:00:00')
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    is_date, is_time, parts = _kind(code)
    if (is_date or is_time) and number >= 0:
        try:
            return _date(number, is_1904=is_1904, is_date=is_date, is_time=is_time)
        except OverflowError:
            pass  # after the year 9999: Excel shows no date either
    if number.is_integer():
        digits = value if value.isdecimal() else str(int(number))
        return _pad(digits, parts) if parts and number >= 0 else digits
    return f"{number:.15g}"


@lru_cache(256)
def _kind(code: str) -> tuple[bool, bool, Sequence[str]]:
    """Whether a format shows a date and a time; for one of digits alone its placeholders, 0 and #, and 'texts."""
    parts: list[str] = []
    signs = ""
    for quoted, escaped, sign in _PART.findall(code[:_LONGEST_FORMAT]):
        if sign == ";":  # the format of negative numbers
            break
        signs += sign.lower()
        if sign in ("0", "#"):
            parts.append(sign)
        elif text := quoted or escaped or sign:
            parts.append(f"'{text}")
    if signs == "general":
        return False, False, ()
    is_time = "h" in signs or "s" in signs
    is_date = "y" in signs or "d" in signs or ("m" in signs and not (is_time or "[" in signs))
    is_padded = "0" in signs and not signs.strip("0# ()/-")
    return is_date, is_time, tuple(parts) if is_padded else ()


def _pad(digits: str, parts: Sequence[str]) -> str:
    """Digits in the placeholders of a format, from the last one on."""
    left, shown = list(digits), ""
    first = next(place for place, part in enumerate(parts) if part in "0#")
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        if part not in "0#":
            shown = part[1:] + shown
        elif left or part == "0":
            shown = (left.pop() if left else "0") + shown
        if place == first:
            shown = "".join(left) + shown
    return shown.strip()


def _date(number: float, *, is_1904: bool, is_date: bool, is_time: bool) -> str:
    """The date of a number of days. Raises OverflowError."""
    day = (1904, 1, 1) if is_1904 else (1899, 12, 30 if number > _LAST_LEAP else 31)
    epoch = datetime(*day)  # noqa: DTZ001 - a spreadsheet has no time zone
    moment = epoch + timedelta(seconds=round(number * 86_400))
    if not is_date:
        return f"{moment:%H:%M:%S}"
    has_time = is_time and not number.is_integer()
    return moment.isoformat(" ") if has_time else moment.date().isoformat()


@lru_cache(1_024)
def _column(letters: str) -> int:
    """The place of a column, from 1 on.

    >>> _column("A"), _column("AA"), _column("XFD")
    (1, 27, 16384)
    """
    if not (0 < len(letters) <= 3 and letters.isascii() and letters.isalpha()):
        raise ValueError(f"column {letters[:20]!r}")
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - ord("A") + 1
    return place


def _unescape(text: str) -> str:
    """A text without the escapes of characters that XML cannot hold.

    >>> _unescape("a_x000D_b"), _unescape("_xD800_")
    ('a\\rb', '_xD800_')
    """
    if "_x" not in text:
        return text
    return _ESCAPE.sub(lambda code: code[0] if code[1][0] in "dD" else chr(int(code[1], 16)), text)
