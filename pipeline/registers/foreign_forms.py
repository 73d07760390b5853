"""Files that no register publishes, told by their first bytes, each with its remedy: archives, workbooks, error pages.

Another download helps against few of them, so the error says what the file is and what to do with it.
"""

import codecs
import json
import re
from collections.abc import Collection
from typing import Final, NamedTuple

from pipeline.canonical import InputError
from pipeline.errors import excerpt


class ForeignFormError(InputError):
    """A file has a form that no register publishes."""


class Form(NamedTuple):
    """A form of files: a noun with its article, and the remedy."""

    name: str
    remedy: str


_UNPACK: Final = "unpack it, and give the files in it"
_SAVE: Final = "save its sheet as CSV in UTF-8, and give that, or download the file of the register"
_AGAIN: Final = "download the file of the register again"
ARCHIVE: Final = Form("packed more than once, of which a zip in a zip alone is read", _UNPACK)
PAGE: Final = Form(
    "a web page, as servers send about an error or a login",
    "open its address in a browser, and download the file itself",
)
_REPORT: Final = Form(
    "a message about an error in the place of data", "wait, and download it again"
)
_SHEET: Final = Form("an OpenDocument spreadsheet", _SAVE)
_WORKBOOK: Final = Form("an Excel workbook", _SAVE)
_FORMS: Final = {
    b"7z\xbc\xaf\x27\x1c": Form("a 7z archive", _UNPACK),
    b"Rar!\x1a\x07": Form("a RAR archive", _UNPACK),
    b"MSCF": Form("a cabinet archive", _UNPACK),
    b"\x1f\x9d": Form("a file of compress (.Z)", _UNPACK),
    b"\x1f\xa0": Form("a file of compress (.Z)", _UNPACK),
    b"\x04\x22\x4d\x18": Form("an LZ4 file", _UNPACK),
    b"LZIP": Form("an lzip file", _UNPACK),
    b"\xff\x06\x00\x00sNaPpY": Form("a Snappy file", _UNPACK),
    b"-----BEGIN PGP": Form("encrypted with PGP", "decrypt it, and give that file"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Form("an old Excel workbook or Word document", _SAVE),
    b"%PDF": Form("a PDF document", _AGAIN),
    b"{\\rtf": Form("an RTF document", _AGAIN),
    b"MIME-Version": Form("a saved web page (MHTML)", PAGE.remedy),
    b"\x89PNG": Form("an image", _AGAIN),
    b"\xff\xd8\xff": Form("an image", _AGAIN),
    b"GIF8": Form("an image", _AGAIN),
    b"SQLite format 3\0": Form("an SQLite database", "export its table as CSV, and give that"),
    b"ARROW1\0\0": Form("an Arrow file", "write it as Parquet, and give that"),
    b"Obj\x01": Form("an Avro file", "write it as Parquet, and give that"),
    b"<<<<<<< ": Form("a text with marks of a conflict of Git", _AGAIN),
    b"version https://git-lfs": Form(
        "a pointer of Git LFS, without the file itself", "run `git lfs pull`, or " + _AGAIN
    ),
}
_TAR: Final = 257  # the place of its mark
_PAGE: Final = re.compile(rb"<!doctype html|<html|<head>|<script", re.IGNORECASE)
_XML_REPORT: Final = re.compile(rb"<(?:\w{1,20}:)?(?:Error|Fault|Envelope)[\s>]", re.IGNORECASE)
_REPORT_KEYS: Final = frozenset({
    "error", "errors", "errorcode", "error_description", "message", "msg", "status", "statuscode", "code", "detail",
    "details", "fault", "timestamp", "path", "title", "type", "trace", "instance", "requestid", "request_id", "success",
    "ok", "reason",
})  # fmt: skip
_VOLUME: Final = re.compile(r"\.(?:\d{3}|z\d\d|part\d+)$", re.IGNORECASE)
_SHOWN: Final = 80  # characters of a message of a server


def of_bytes(head: bytes) -> Form | None:
    """The form of a file that is neither text of a register nor Parquet, by its first bytes; None for the others."""
    if head[_TAR : _TAR + 5] == b"ustar":
        return Form("a tar archive", _UNPACK)
    if head and not head.strip(b"\0"):
        return Form(
            "full of zero bytes, as a download that was interrupted or a bad disk leaves it", _AGAIN
        )
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return next((form for mark, form in _FORMS.items() if text.startswith(mark)), None)


def of_text(head: bytes) -> Form | None:
    """The form of a text that a server sends in the place of data: a page, or a message about an error."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:1] == b"<" and _PAGE.search(text, 0, 1 << 10):
        return PAGE
    is_report = text[:1] == b"<" and _XML_REPORT.search(text, 0, 1 << 10)
    if is_report or _is_json_report(text):
        return _REPORT._replace(name=f"{_REPORT.name} ({excerpt(text, _SHOWN)})")
    return None


def _is_json_report(text: bytes) -> bool:
    if text[:1] != b"{":
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or longer than a message
        return False
    return bool(value) and {str(key).lower() for key in value} <= _REPORT_KEYS


def of_zip(names: Collection[str]) -> Form | None:
    """The form of a document that is a zip of parts, by the names of these; None for a zip of files."""
    if "[Content_Types].xml" in names:
        is_book = any(name.startswith("xl/") for name in names)
        return _WORKBOOK if is_book else Form("an Office document", _AGAIN)
    if "mimetype" in names and "content.xml" in names:
        return _SHEET
    if "Index/Document.iwa" in names:
        return Form("a Numbers document", _SAVE)
    return None


def of_member(name: str, head: bytes) -> Form | None:
    """The form of a member of a zip that is no file of a register."""
    suffix = name.rpartition(".")[2].lower()
    if head.startswith(b"PK"):
        return {"xlsx": _WORKBOOK, "xlsm": _WORKBOOK, "xlsb": _WORKBOOK, "ods": _SHEET}.get(suffix)
    return of_bytes(head)


def of_name(name: str) -> Form | None:
    """The form of a file that is no whole by its name."""
    if _VOLUME.search(name):
        return Form(
            "one volume of a split archive", "join the volumes, unpack them, and give that file"
        )
    return None


def refuse(where: str, form: Form | None) -> None:
    """Refuse a file of a foreign form.

    Raises:
        ForeignFormError: there is a form.
    """
    if form:
        raise ForeignFormError(f"{where} is {form.name}; {form.remedy}")
