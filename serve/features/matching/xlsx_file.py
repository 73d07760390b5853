"""Excel workbooks (.xlsx): the first visible sheet as CSV, with values as people see them.

A workbook is a ZIP file of XML, and may come from anybody. Only the needed parts are unpacked. Bounds on their bytes
and tags are checked before the parser gets them. A document type is refused, and with it all entities. Rows and
columns end at their last cell with text; a cell beyond the bounds is refused before it takes memory. Pure.
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
MOST_TAGS: Final = 2_000_000  # parsed in about a second; a cell with a value has four
MOST_RATIO: Final = 50  # unpacked bytes per byte of the file, in addition to `_FREE_BYTES`; real sheets have 5 to 15
_FREE_BYTES: Final = 1 << 20  # unpacked bytes that any file may have
SEPARATOR: Final = ";"
_SIGNATURE: Final = b"PK\x03\x04"  # the first bytes of a ZIP file
_CHUNK: Final = 1 << 16  # bytes unpacked at a time
_LONGEST_TAG: Final = (
    1 << 18
)  # bytes; expat scans an unfinished tag again with each chunk, which takes long
# The exceptions of reading a damaged workbook.
_DAMAGE_ERRORS: Final = (
    BadZipFile, EOFError, LookupError, OSError, RuntimeError, ValueError, expat.ExpatError, struct.error, zlib.error,
)  # fmt: skip
# Built-in number formats of dates and times, which have no code in the file.
_BUILT_IN_FORMATS: Final = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((*range(18, 22), *range(32, 36), *range(45, 48)), "hh:mm:ss"),
    22: "yyyy-mm-dd hh:mm",
}
# A part of a format: quoted text, a colour or language, a width, or a sign. Elapsed times such as [h] are signs.
_FORMAT_PART: Final = re.compile(
    r'"([^"]*)"|\\(.)|\[(?![hHmMsS]+\])[^\[\]]*\]|[_*].|(.)', re.DOTALL
)
_LONGEST_FORMAT: Final = 255  # characters; the limit of Excel
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")  # the code of an escaped character
_FALSE_LEAP_DAY: Final = 60  # 29 February 1900: no such day existed, but Excel counts it


class SheetText(NamedTuple):
    """A sheet as CSV in UTF-8; `label` is its name on the page, with its place if several sheets are visible."""

    content: bytes
    label: str


def is_workbook(raw: bytes) -> bool:
    """Whether a file is a ZIP file, as workbooks are."""
    return raw.startswith(_SIGNATURE)


def read(raw: bytes) -> SheetText:
    """Read the first visible sheet of a workbook.

    Raises:
        ApiError: 400: the file is not a workbook, is damaged or is too large when unpacked, or the sheet is empty;
            413: the list is too large.
    """
    try:
        package = _Package(raw)
        return _first_sheet(package)
    except _DAMAGE_ERRORS as error:
        reason = str(error)[:100] or type(error).__name__
        raise ApiError("corps_invalide", "classeur_illisible", error=reason) from error


class _Package:
    """The parts of a workbook, unpacked within common bounds on bytes and tags."""

    def __init__(self, raw: bytes) -> None:
        """Open the ZIP file `raw`; the names of its parts are compared without case."""
        self._zip = ZipFile(BytesIO(raw))
        self._parts = {entry.filename.lower().strip("/"): entry for entry in self._zip.infolist()}
        # The bytes and tags that may still be unpacked.
        self._bytes_left = min(MOST_BYTES, _FREE_BYTES + MOST_RATIO * len(raw))
        self._tags_left = MOST_TAGS

    def __contains__(self, path: str) -> bool:
        """Whether the workbook has the part, regardless of case."""
        return path.lower() in self._parts

    def parse(
        self,
        path: str,
        start: Callable[[str, Mapping[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Parse a part of the workbook. Raises ApiError 400: too large when unpacked; BadZipFile: it is damaged.

        Args:
            path: the path of the part in the ZIP file.
            start, end: called for each tag with the name of the element without its prefix.
            text: called for each text between tags.
        """
        if path not in self:
            raise BadZipFile(f"{path or 'worksheet'}: ?")
        info = self._parts[path.lower()]
        # Unpacking other kinds of compression can take gigabytes of memory.
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise BadZipFile(f"compression {info.compress_type}")
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.StartElementHandler = lambda name, values: start(name.rpartition(":")[2], values)
        if end:
            parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
        if text:
            parser.CharacterDataHandler = text
        parsed_bytes = 0
        with self._zip.open(info) as unpacked:
            while chunk := unpacked.read(_CHUNK):
                self._bytes_left -= len(chunk)
                self._tags_left -= chunk.count(b"<")
                if self._bytes_left < 0 or self._tags_left < 0:
                    raise _too_large()
                parser.Parse(chunk)
                parsed_bytes += len(chunk)
                if parsed_bytes - parser.CurrentByteIndex > _LONGEST_TAG:
                    raise BadZipFile(f"{path}: a tag or text without end")
        parser.Parse(b"", True)


def _too_large() -> ApiError:
    """The error of a workbook that is too large when unpacked; a cell with a value has four tags."""
    return ApiError(
        "corps_invalide",
        "classeur_trop_grand",
        most=MOST_BYTES >> 20,
        cells=MOST_TAGS // 4,
        ratio=MOST_RATIO,
    )


def _refuse_document_type(name: str, *_: object) -> NoReturn:
    """Refuse a document type, which could define entities that expand to gigabytes."""
    raise ValueError(f"DOCTYPE {name[:40]}")


def _first_sheet(package: _Package) -> SheetText:
    """Read the first visible sheet: the workbook lists the sheets, and its relations have their paths."""
    paths_by_kind = {kind: path for kind, path in _related_parts(package, "").values()}
    workbook = paths_by_kind.get("officeDocument", "")
    if not workbook.startswith("xl/"):
        raise ApiError("corps_invalide", "un_classeur")
    sheets: list[tuple[str, str]] = []
    is_1904 = False

    def start(name: str, values: Mapping[str, str]) -> None:
        """Note a visible sheet with its relation id, or whether dates count from 1904."""
        nonlocal is_1904
        if name == "sheet" and values.get("state", "visible") == "visible":
            relation_id = next((value for key, value in values.items() if key.endswith(":id")), "")
            sheets.append((values.get("name", ""), relation_id))
        elif name == "workbookPr":
            is_1904 = values.get("date1904") in ("1", "true")

    package.parse(workbook, start)
    related_parts = _related_parts(package, workbook)
    paths = dict(related_parts.values())
    visible = [
        (name, related_parts[relation_id][1])
        for name, relation_id in sheets
        if relation_id in related_parts and related_parts[relation_id][0] == "worksheet"
    ]
    name, path = visible[0] if visible else ("", "")
    reader = _SheetReader(
        _shared_strings(package, paths.get("sharedStrings", "")),
        _formats_by_style(package, paths.get("styles", "")),
        is_1904=is_1904,
    )
    package.parse(path, reader.start, reader.end, reader.text)
    if not reader.rows:
        raise ApiError("corps_invalide", "feuille_vide", shown=repr(name[:50]))
    width = max(map(len, reader.rows))
    rows = [[*row, *[""] * (width - len(row))] for row in reader.rows]
    content = list_file.write((), rows, SEPARATOR).encode()
    place_of_sheet = f" (1/{len(visible)})" if len(visible) > 1 else ""
    return SheetText(content, f".xlsx · {name[:50]}{place_of_sheet}")


def _related_parts(package: _Package, path: str) -> Mapping[str, tuple[str, str]]:
    """The kind and the path of each part that a part refers to, by relation id; path "" for the package itself."""
    folder, name = posixpath.split(path)
    targets: dict[str, tuple[str, str]] = {}

    def start(name: str, values: Mapping[str, str]) -> None:
        """Note the target of a relation, with a path from the root of the package."""
        if name == "Relationship":
            target = posixpath.normpath(posixpath.join("/", folder, values["Target"])).lstrip("/")
            targets[values["Id"]] = (values.get("Type", "").rpartition("/")[2], target)

    list_of_parts = posixpath.join(folder, "_rels", f"{name}.rels")
    if list_of_parts in package:
        package.parse(list_of_parts, start)
    return targets


def _shared_strings(package: _Package, path: str) -> Sequence[str]:
    """The texts that cells refer to, without phonetic guides of Japanese texts."""
    strings: list[str] = []
    text_pieces: list[str] = []
    is_text = is_phonetic = False

    # A string is an element `si` with pieces `t`; those in an element `rPh` are a phonetic guide.
    def start(name: str, _: Mapping[str, str]) -> None:
        """Begin an element; only the text of a piece `t` outside a phonetic guide `rPh` counts."""
        nonlocal is_text, is_phonetic
        is_phonetic = is_phonetic or name == "rPh"
        is_text = name == "t" and not is_phonetic

    def end(name: str) -> None:
        """End an element; at the end of an element `si`, its pieces become a string."""
        nonlocal is_text, is_phonetic
        is_text = False
        if name == "rPh":
            is_phonetic = False
        elif name == "si":
            strings.append(_unescape("".join(text_pieces)))
            text_pieces.clear()

    if path:
        package.parse(path, start, end, lambda text: text_pieces.append(text) if is_text else None)
    return strings


def _formats_by_style(package: _Package, path: str) -> Sequence[str]:
    """The number format of each cell style, such as `dd/mm/yyyy`; "" if unknown. A cell names its style by position."""
    codes: dict[int, str] = dict(_BUILT_IN_FORMATS)
    styles: list[int] = []
    is_in_cell_styles = False

    # `numFmt` is a format of this file; each `xf` in `cellXfs` is the style of a cell, which names its format.
    def start(name: str, values: Mapping[str, str]) -> None:
        """Note a format of the file (`numFmt`) by its id, or the id of the format of a cell style (`xf`)."""
        nonlocal is_in_cell_styles
        if name == "numFmt":
            codes[int(values["numFmtId"])] = values.get("formatCode", "")
        elif name in ("cellXfs", "cellStyleXfs"):
            is_in_cell_styles = name == "cellXfs"
        elif name == "xf" and is_in_cell_styles:
            styles.append(int(values.get("numFmtId", "0")))

    def end(name: str) -> None:
        """Leave the list of cell styles (`cellXfs`) at its end; other lists have an `xf` too."""
        nonlocal is_in_cell_styles
        is_in_cell_styles = is_in_cell_styles and name != "cellXfs"

    if path:
        package.parse(path, start, end)
    return [codes.get(number, "") for number in styles]


class _SheetReader:
    """The rows of a sheet, each up to its last cell with text; a row that is not in the file is blank."""

    def __init__(self, strings: Sequence[str], formats: Sequence[str], *, is_1904: bool) -> None:
        """Begin without rows.

        Args:
            strings: the texts that cells refer to by number.
            formats: the number format of each cell style.
            is_1904: whether dates count from 1904.
        """
        self.rows: list[list[str]] = []
        self._strings, self._formats, self._is_1904 = strings, formats, is_1904
        # The row and the column of the current cell, from 1, and the characters of all texts.
        self._row = self._column = self._size = 0
        # The attributes of the open element `c`, which is a cell; None between cells.
        self._cell: Mapping[str, str] | None = None
        self._pieces: list[str] = []
        self._is_value = self._is_phonetic = False

    def start(self, name: str, values: Mapping[str, str]) -> None:
        """Begin an XML element of the sheet: `row`, the cell `c`, its value `v` or text `t`, or phonetic text `rPh`."""
        if name == "c":
            reference = values.get("r")
            self._column = (
                _column_number(reference.rstrip("0123456789")) if reference else self._column + 1
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
        """Keep a text of the open element if it belongs to the value of a cell."""
        if self._is_value:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        """End an XML element of the sheet; at the end of a cell, its text is added to the row."""
        self._is_value = False
        if name == "rPh":
            self._is_phonetic = False
        elif name == "c" and self._cell is not None:
            if (
                self._pieces
                and (text := self._cell_text("".join(self._pieces), self._cell)).strip()
            ):
                self._add_text(text)
            self._cell = None

    def _add_text(self, text: str) -> None:
        """Add the text of the current cell to its row. Raises ApiError 400 or 413 beyond the limits of a list."""
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
        # Rows and cells that are not in the file are blank.
        self.rows.extend([] for _ in range(self._row - len(self.rows)))
        row = self.rows[-1]
        if self._column <= len(row):
            raise ValueError(f"column {self._column} of row {self._row} comes late")
        row.extend([""] * (self._column - 1 - len(row)))
        row.append(text)

    def _cell_text(self, value: str, cell: Mapping[str, str]) -> str:
        """The text that a cell shows."""
        kind = cell.get("t", "n")
        if kind == "s":  # the number of a shared string
            return self._strings[int(value)] if value.isdecimal() else ""
        if kind == "b":  # a truth value
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        if kind == "d":  # a date in ISO 8601
            return value.removesuffix("T00:00:00").replace("T", " ")
        if kind != "n":  # a text or an error; "n" is a number
            return _unescape(value)
        style = int(cell.get("s", "0"))
        return display_number(
            value, self._formats[style] if style < len(self._formats) else "", is_1904=self._is_1904
        )


def display_number(value: str, code: str, *, is_1904: bool = False) -> str:
    """A number as people read it: ISO 8601 dates, integers without a decimal point, leading zeros of the format.

    >>> display_number("542065479.0", ""), display_number("1.5E-1", "0%"), display_number("0.30000000000000004", "")
    ('542065479', '0.15', '0.3')
    >>> display_number("1000", "00000"), display_number("5420654", r"000\\ 000\\ 000"), display_number("1000", "#,##0")
    ('01000', '005 420 654', '1000')
    >>> display_number("43831", "dd/mm/yyyy;@"), display_number("43831.5", "d/m/yy h:mm"), display_number("0.5", "h:mm")
    ('2020-01-01', '2020-01-01 12:00:00', '12:00:00')
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    is_date, is_time, parts = _read_format(code)
    if (is_date or is_time) and number >= 0:
        try:
            return _display_date(number, is_1904=is_1904, is_date=is_date, is_time=is_time)
        except OverflowError:
            pass  # after the year 9999, where Excel has no date either
    if number.is_integer():
        digits = value if value.isdecimal() else str(int(number))
        return _fill_placeholders(digits, parts) if parts and number >= 0 else digits
    return f"{number:.15g}"


@lru_cache(256)
def _read_format(code: str) -> tuple[bool, bool, Sequence[str]]:
    """Whether a format has a date and a time, and its parts if it pads digits: `0`, `#`, or a text after `'`.

    Returns (has a date, has a time, parts). A format that pads digits shows 1234 as `01234`, for example; other
    formats have no parts.
    """
    parts: list[str] = []
    signs = ""
    for quoted, escaped, sign in _FORMAT_PART.findall(code[:_LONGEST_FORMAT]):
        if sign == ";":  # the format of negative numbers follows
            break
        signs += sign.lower()
        if sign in ("0", "#"):
            parts.append(sign)
        elif text := quoted or escaped or sign:
            parts.append(f"'{text}")
    if signs == "general":
        return False, False, ()
    is_time = "h" in signs or "s" in signs
    # `m` is a month, or minutes next to hours or seconds and in an elapsed time such as [m].
    is_date = "y" in signs or "d" in signs or ("m" in signs and not (is_time or "[" in signs))
    # Digits are padded only in a format of placeholders and of signs as in telephone numbers.
    is_padded = "0" in signs and not signs.strip("0# ()/-")
    return is_date, is_time, tuple(parts) if is_padded else ()


def _fill_placeholders(digits: str, parts: Sequence[str]) -> str:
    """Fill the placeholders `0` and `#` of a format with digits from the right; surplus digits go before the first.

    `parts` are those of `_read_format`: placeholders, and texts that begin with `'`.
    """
    digits_left, text = list(digits), ""
    first_placeholder = next(place for place, part in enumerate(parts) if part in "0#")
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        if part not in "0#":
            text = part[1:] + text  # without the `'`
        elif digits_left or part == "0":
            text = (digits_left.pop() if digits_left else "0") + text
        if place == first_placeholder:
            text = "".join(digits_left) + text
    return text.strip()


def _display_date(number: float, *, is_1904: bool, is_date: bool, is_time: bool) -> str:
    """A number of days as a date, a time or both. Raises OverflowError."""
    # After the day that did not exist, Excel's numbers are one too high, so they count from the day before.
    day = (1904, 1, 1) if is_1904 else (1899, 12, 30 if number > _FALSE_LEAP_DAY else 31)
    epoch = datetime(*day)  # noqa: DTZ001 - a spreadsheet has no time zone
    moment = epoch + timedelta(seconds=round(number * 86_400))
    if not is_date:
        return f"{moment:%H:%M:%S}"
    has_time = is_time and not number.is_integer()
    return moment.isoformat(" ") if has_time else moment.date().isoformat()


@lru_cache(1_024)
def _column_number(letters: str) -> int:
    """The place of a column, from 1.

    >>> _column_number("A"), _column_number("AA"), _column_number("XFD")
    (1, 27, 16384)
    """
    if not (0 < len(letters) <= 3 and letters.isascii() and letters.isalpha()):
        raise ValueError(f"column {letters[:20]!r}")
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - ord("A") + 1
    return place


def _unescape(text: str) -> str:
    """Replace the escapes of characters that XML cannot hold.

    >>> _unescape("a_x000D_b"), _unescape("_xD800_")
    ('a\\rb', '_xD800_')
    """
    if "_x" not in text:
        return text
    # Codes from D000 to DFFF stay escaped, because most are surrogates, which are not characters alone.
    return _ESCAPE.sub(lambda code: code[0] if code[1][0] in "dD" else chr(int(code[1], 16)), text)
