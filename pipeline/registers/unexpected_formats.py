"""Formats that no register publishes, such as workbooks, images and error pages, each with its remedy.

A format is recognised by the first bytes of the file. Another download seldom helps, so the error names the format and
the remedy.
"""

import codecs
import json
import re
from collections.abc import Collection
from typing import Final, NamedTuple

from pipeline.canonical import InputError
from pipeline.errors import excerpt


class UnexpectedFormatError(InputError):
    """A file has a format that no register publishes."""


class UnexpectedFormat(NamedTuple):
    """A format that no register publishes.

    Attributes:
        name: the end of the sentence "FILE is …", such as "a RAR archive".
        remedy: what the user should do.
    """

    name: str
    remedy: str


# The remedies.
_UNPACK: Final = "unpack it, and give the files in it"
_SAVE: Final = "save its sheet as CSV in UTF-8, and give that, or download the file of the register"
_AGAIN: Final = "download the file of the register again"
# Formats that several functions recognise.
PACKED_AGAIN: Final = UnexpectedFormat(
    "packed more than once; only a zip in a zip is read", _UNPACK
)
PAGE: Final = UnexpectedFormat(
    "a web page, such as an error or login page",
    "open its address in a browser, and download the file itself",
)
_REPORT: Final = UnexpectedFormat("an error message instead of data", "wait, and download it again")
_SHEET: Final = UnexpectedFormat("an OpenDocument spreadsheet", _SAVE)
_WORKBOOK: Final = UnexpectedFormat("an Excel workbook", _SAVE)
# The first bytes of a file -> its format.
_FORMATS_BY_START: Final = {
    b"7z\xbc\xaf\x27\x1c": UnexpectedFormat("a 7z archive", _UNPACK),
    b"Rar!\x1a\x07": UnexpectedFormat("a RAR archive", _UNPACK),
    b"MSCF": UnexpectedFormat("a cabinet archive", _UNPACK),
    b"\x1f\x9d": UnexpectedFormat("a file of compress (.Z)", _UNPACK),
    b"\x1f\xa0": UnexpectedFormat("a file of compress (.Z)", _UNPACK),
    b"\x04\x22\x4d\x18": UnexpectedFormat("an LZ4 file", _UNPACK),
    b"LZIP": UnexpectedFormat("an lzip file", _UNPACK),
    b"\xff\x06\x00\x00sNaPpY": UnexpectedFormat("a Snappy file", _UNPACK),
    b"-----BEGIN PGP": UnexpectedFormat("encrypted with PGP", "decrypt it, and give that file"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": UnexpectedFormat(
        "an old Excel workbook or Word document", _SAVE
    ),
    b"%PDF": UnexpectedFormat("a PDF document", _AGAIN),
    b"{\\rtf": UnexpectedFormat("an RTF document", _AGAIN),
    b"MIME-Version": UnexpectedFormat("a saved web page (MHTML)", PAGE.remedy),
    b"\x89PNG": UnexpectedFormat("an image", _AGAIN),
    b"\xff\xd8\xff": UnexpectedFormat("an image", _AGAIN),
    b"GIF8": UnexpectedFormat("an image", _AGAIN),
    b"SQLite format 3\0": UnexpectedFormat(
        "an SQLite database", "export its table as CSV, and give that"
    ),
    b"ARROW1\0\0": UnexpectedFormat("an Arrow file", "write it as Parquet, and give that"),
    b"Obj\x01": UnexpectedFormat("an Avro file", "write it as Parquet, and give that"),
    b"<<<<<<< ": UnexpectedFormat("a text with Git conflict markers", _AGAIN),
    b"version https://git-lfs": UnexpectedFormat(
        "a Git LFS pointer without the file itself", "run `git lfs pull`, or " + _AGAIN
    ),
}
_TAR_MARK_OFFSET: Final = 257  # the offset of the bytes `ustar` in a tar archive
# The beginning of a web page, and of an error message in XML.
_PAGE_START: Final = re.compile(rb"<!doctype html|<html|<head>|<script", re.IGNORECASE)
_XML_REPORT: Final = re.compile(rb"<(?:\w{1,20}:)?(?:Error|Fault|Envelope)[\s>]", re.IGNORECASE)
# The keys of error messages in JSON; a text with any other key counts as data.
_REPORT_KEYS: Final = frozenset({
    "error", "errors", "errorcode", "error_description", "message", "msg", "status", "statuscode", "code", "detail",
    "details", "fault", "timestamp", "path", "title", "type", "trace", "instance", "requestid", "request_id", "success",
    "ok", "reason",
})  # fmt: skip
# The end of the name of one volume of a split archive, such as `.001`, `.z01` or `.part1`.
_VOLUME: Final = re.compile(r"\.(?:\d{3}|z\d\d|part\d+)$", re.IGNORECASE)
_QUOTED_CHARACTERS: Final = 80  # characters of a server's message that the error quotes


def unexpected_format(head: bytes) -> UnexpectedFormat | None:
    """Recognise a format that no register publishes by the first bytes of a file; None for other formats.

    Text, Parquet, zip and compressed files return None: `packing` and `source_file` read them.
    """
    if head[_TAR_MARK_OFFSET : _TAR_MARK_OFFSET + 5] == b"ustar":
        return UnexpectedFormat("a tar archive", _UNPACK)
    if head and not head.strip(b"\0"):
        return UnexpectedFormat(
            "full of zero bytes, as after an interrupted download or on a bad disk", _AGAIN
        )
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return next((form for first, form in _FORMATS_BY_START.items() if text.startswith(first)), None)


def server_message_format(head: bytes) -> UnexpectedFormat | None:
    """Recognise a web page or an error message that a server sent instead of data; None for other texts."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:1] == b"<" and _PAGE_START.search(text, 0, 1 << 10):
        return PAGE
    is_xml_report = text[:1] == b"<" and _XML_REPORT.search(text, 0, 1 << 10)
    if is_xml_report or _is_json_report(text):
        return _REPORT._replace(name=f"{_REPORT.name} ({excerpt(text, _QUOTED_CHARACTERS)})")
    return None


def _is_json_report(text: bytes) -> bool:
    """Whether a text is one JSON object whose keys are all usual in error messages."""
    if text[:1] != b"{":
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or only the beginning of a longer text
        return False
    return bool(value) and {str(key).lower() for key in value} <= _REPORT_KEYS


def office_format(names: Collection[str]) -> UnexpectedFormat | None:
    """Recognise an office document, which is stored as a zip, by the names of its members; None for other zips."""
    if "[Content_Types].xml" in names:
        is_book = any(name.startswith("xl/") for name in names)
        return _WORKBOOK if is_book else UnexpectedFormat("an Office document", _AGAIN)
    if "mimetype" in names and "content.xml" in names:
        return _SHEET
    if "Index/Document.iwa" in names:
        return UnexpectedFormat("a Numbers document", _SAVE)
    return None


def zip_member_format(name: str, head: bytes) -> UnexpectedFormat | None:
    """Recognise the format of a member of a zip; None if the member can be a file of a register."""
    suffix = name.rpartition(".")[2].lower()
    if head.startswith(b"PK"):
        return {"xlsx": _WORKBOOK, "xlsm": _WORKBOOK, "xlsb": _WORKBOOK, "ods": _SHEET}.get(suffix)
    return unexpected_format(head)


def split_archive_format(name: str) -> UnexpectedFormat | None:
    """Recognise one volume of a split archive, such as `a.zip.001`, by the name of the file; None for other names."""
    if _VOLUME.search(name):
        return UnexpectedFormat(
            "one volume of a split archive", "join the volumes, unpack them, and give that file"
        )
    return None


def refuse(where: str, unexpected: UnexpectedFormat | None) -> None:
    """Raise the error about the file `where` if one of the functions above recognised its format.

    Raises:
        UnexpectedFormatError: `unexpected` is not None.
    """
    if unexpected:
        raise UnexpectedFormatError(f"{where} is {unexpected.name}; {unexpected.remedy}")
