"""Files that no register publishes: each error has the form of the file and the remedy, in one line."""

import gzip
import io
import re
import tarfile
from pathlib import Path

import pytest

from pipeline import importing
from pipeline.canonical import InputError
from tests.pipeline.registers import layouts, published

LAYOUTS = layouts.layouts_by_source()
SOURCES = ["ee", "uk-basic", "no-enheter", "gleif-rr", "lt-comptes", "lu-comptes", "be-nbb"]
LONGEST_MESSAGE = 300  # characters of a message


def _tar_archive() -> bytes:
    """A tar archive with one CSV."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        info = tarfile.TarInfo("a.csv")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"a;b\n"))
    return stream.getvalue()


XLSX = published.zip_of({"[Content_Types].xml": b"<a/>", "xl/workbook.xml": b"<a/>"})
ODS = published.zip_of(
    {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<a/>"}
)
WEB_PAGE = b"<!DOCTYPE html>\n<html><head><title>503</title></head><body>later</body></html>"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
# Name of a format -> a file in that format, and the pattern of the error.
FORMATS = {
    "tar": (_tar_archive(), "is a tar archive; unpack it"),
    "tar.gz": (gzip.compress(_tar_archive()), "is a tar archive; unpack it"),
    "zip in gzip": (
        gzip.compress(published.zip_of({"a.csv": b"a;b\n"})),
        "is packed more than once",
    ),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\x04" + bytes(90), "is a 7z archive; unpack it"),
    "rar": (b"Rar!\x1a\x07\x01\0" + bytes(90), "is a RAR archive; unpack it"),
    "compress": (b"\x1f\x9d\x90" + bytes(90), "is a file of compress .* unpack it"),
    "xls": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "old Excel workbook .* as CSV"),
    "xlsx": (XLSX, "is an Excel workbook; save its sheet as CSV"),
    "xlsx in zip": (
        published.zip_of({"a.xlsx": XLSX}),
        "a.xlsx is an Excel workbook; save its sheet as CSV",
    ),
    "ods": (ODS, "is an OpenDocument spreadsheet; save its sheet as CSV"),
    "pointer": (LFS_POINTER, "is a Git LFS pointer .*git lfs pull"),
    "pointer in zip": (
        published.zip_of({"a.lfs": LFS_POINTER}),
        "a.lfs is a Git LFS pointer .*git lfs pull",
    ),
    "zeros": (bytes(5_000), "is full of zero bytes, .* again"),
    "PDF": (b"%PDF-1.7\n", "is a PDF document; download"),
    "database": (b"SQLite format 3\0" + bytes(90), "is an SQLite database; export its table"),
    "PGP": (b"-----BEGIN PGP MESSAGE-----\n", "is encrypted with PGP; decrypt it"),
}
# Name of a format -> a message of a server in place of a file, and the pattern of the error.
SERVER_MESSAGES = {
    "page": (WEB_PAGE, "is a web page, .* open its address"),
    "JSON": (
        b'{"error": {"code": 429, "message": "Too many"}}',
        "is an error message .*429",
    ),
    "XML": (
        b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
        "error .*AccessDenied",
    ),
}


def _refusal_message(source: str, folder: Path, name: str, content: bytes) -> str:
    """The error of an import of one file with this name and content."""
    file = folder / name
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        importing.run(source, [file], folder / "out")
    return str(error.value)


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_file_in_a_format_of_no_register_is_refused_with_the_remedy(
    tmp_path: Path, source: str, format_name: str
) -> None:
    content, pattern = FORMATS[format_name]
    name = next(iter(LAYOUTS[source].files))

    message = _refusal_message(source, tmp_path, name, content)

    assert message.startswith(name)
    assert len(message) <= LONGEST_MESSAGE
    assert "\n" not in message
    assert re.search(pattern, message), message


@pytest.mark.parametrize("suffix", [".csv", ".json", ".zip", ".csv.gz"])
@pytest.mark.parametrize("message", SERVER_MESSAGES)
def test_a_message_of_a_server_is_refused_whatever_the_suffix_of_the_file(
    tmp_path: Path, suffix: str, message: str
) -> None:
    content, expected = SERVER_MESSAGES[message]
    for source in ("ee", "no-enheter"):
        refusal = _refusal_message(source, tmp_path, f"{source}{suffix}", content)

        assert re.search(expected, refusal), refusal


def test_a_7z_archive_among_the_filings_of_a_zip_is_rejected_alone(tmp_path: Path) -> None:
    name, filing = next(iter(LAYOUTS["be-nbb"].files.items()))
    file = tmp_path / "a.zip"
    file.write_bytes(published.zip_of({name: filing, "bad.xbrl": FORMATS["7z"][0]}))

    report = importing.run("be-nbb", [file], tmp_path / "out")

    assert report.counts.kept
    assert sum(report.counts.rejected.values()) == 1


@pytest.mark.parametrize("line", [b"sep=%b\r\n", b"\xef\xbb\xbfsep=%b\n", b'"sep=%b"\n'])
@pytest.mark.parametrize(
    "table", layouts.csv_tables(LAYOUTS["ee"]), ids=lambda csv_table: csv_table.name
)
def test_the_line_sep_that_spreadsheets_write_above_a_header_is_skipped(
    tmp_path: Path, table: layouts.Table, line: bytes
) -> None:
    text = table.layout.files[table.name].removeprefix(b"\xef\xbb\xbf")
    outputs = []
    (tmp_path / "in").mkdir()

    for number, content in enumerate((text, line % table.separator + text)):
        for name, published_text in {**table.layout.files, table.name: content}.items():
            (tmp_path / "in" / name).write_bytes(published_text)
        report = importing.run("ee", sorted((tmp_path / "in").iterdir()), tmp_path / str(number))
        outputs.append((tmp_path / str(number) / report.output).read_bytes())

    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_without_a_byte_order_mark_and_utf_32_are_read(
    tmp_path: Path, encoding: str
) -> None:
    text = LAYOUTS["uk-basic"].files["BasicCompanyData-southyorkshire.csv"].decode()
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))

    report = importing.run("uk-basic", [tmp_path / "a.csv"], tmp_path / "out")

    assert report.counts.kept == len(text.splitlines()) - 1


@pytest.mark.parametrize("separator", [b",", b"\t", b"|"])
def test_a_table_with_another_separator_is_refused_with_the_expected_one(
    tmp_path: Path, separator: bytes
) -> None:
    name, text = next(iter(LAYOUTS["ee"].files.items()))

    message = _refusal_message("ee", tmp_path, name, text.replace(b";", separator))

    assert "between its columns, ';' is that of this register" in message
    assert len(message) <= LONGEST_MESSAGE
