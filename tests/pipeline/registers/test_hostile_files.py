"""Files made to fill the memory or the disk are refused by name."""

import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.errors import FetchError
from pipeline.nightly import published_files
from pipeline.registers import REGISTERS, packing
from pipeline.registers.accounts import account_import, filing
from pipeline.registers.accounts.filing import FilingError
from tests.pipeline.registers.reading import RAW

# Bytes that an import of a hostile file can take, in addition to the memory of the libraries.
MOST_IMPORT_BYTES = 400 << 20
UNPACKED_BYTES = 300 << 20  # of the text of a hostile file

# Imports a file, and prints the error and the growth of its memory in KiB; arguments: source, file, output folder.
IMPORT_PROGRAM = """
import resource, sys
from pathlib import Path
from pipeline import importing
from pipeline.canonical import InputError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    importing.run(sys.argv[1], [Path(sys.argv[2])], Path(sys.argv[3]))
    print("imported")
except InputError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _unclosed_quote() -> Iterator[bytes]:
    """An Estonian table in pieces; the quotation mark of its first row is never closed."""
    with zipfile.ZipFile(next((RAW / "ee").glob("*lihtandmed*.zip"))) as archive:
        header = archive.read(archive.namelist()[0]).split(b"\n", 1)[0]
    yield header + b'\n"'
    # A piece has 65 536 rows of 15 bytes.
    yield from [b"Muster O\xc3\x9c;1;2\n" * (1 << 16)] * (UNPACKED_BYTES // (15 << 16))


def _endless_line() -> Iterator[bytes]:
    """A line of JSON in pieces, which does not end."""
    yield b'{"company_number": "'
    yield from [b"x" * (1 << 20)] * (UNPACKED_BYTES >> 20)


def _endless_object() -> Iterator[bytes]:
    """An array of JSON in pieces, whose first element does not end."""
    yield b'[{"formality": {"a": ['
    yield from [b"1," * (1 << 19)] * (UNPACKED_BYTES >> 20)


@pytest.mark.long  # each unpacks to 300 MiB
@pytest.mark.parametrize(
    ("source", "name", "make_pieces", "message"),
    [
        ("ee", "lihtandmed.csv", _unclosed_quote, "a line within quotes is longer than 16 MiB"),
        ("de-offeneregister", "de.jsonl", _endless_line, "line 1 is longer than 16 MiB"),
        ("fr-rne", "rne.json", _endless_object, "a value is longer than 16 MiB"),
    ],
)
def test_a_record_without_end_is_refused_in_little_memory(
    tmp_path: Path, source: str, name: str, make_pieces: object, message: str
) -> None:
    """Fixed: an unclosed quotation mark in a zip of 1.5 MB took 4.8 GiB."""
    packed = tmp_path / f"{name}.zip"
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for piece in make_pieces():  # type: ignore[operator]
            member.write(piece)

    command = [sys.executable, "-c", IMPORT_PROGRAM, source, str(packed), str(tmp_path / "out")]
    process = subprocess.run(command, capture_output=True, text=True, check=True)

    message_line, kilobytes = process.stdout.splitlines()
    assert message in message_line
    assert int(kilobytes) << 10 < MOST_IMPORT_BYTES


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_filing_that_defines_an_entity_is_refused(encoding: str) -> None:
    xml = '<!DOCTYPE html [<!ENTITY a "ha">]><html>&a;</html>'

    with pytest.raises(FilingError, match="définition d'une entité"):
        filing.parse(io.BytesIO(xml.encode(encoding)))


def test_a_zip_inside_three_other_zips_is_refused(tmp_path: Path) -> None:
    packed = b"<xbrl/>"
    for name in ("a.xml", "1.zip", "2.zip", "3.zip", "4.zip"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(name, packed)
        packed = stream.getvalue()
    file = tmp_path / "in.zip"
    file.write_bytes(packed)

    (document,) = account_import.documents(file, (".xml",), tmp_path)

    assert document.name == "4.zip/3.zip/2.zip"
    with pytest.raises(FilingError, match="zip number 4"):
        document.read()


FILING = "Prod223_2125_09734389_20231231.html"
# Source -> the name of its file, the beginning of its text, and a piece that is repeated. The text of `ee` is read from
# the excerpt.
BOMBS: dict[str, tuple[str, bytes, bytes]] = {
    "ee": ("a.csv", b"", b""),
    "de-offeneregister": ("a.jsonl", b"", b'{"name": "A"}\n'),
    "no-enheter": ("a.json", b"[{}", b', {"navn": "A"}'),
    "gleif": ("a.xml", b"<a>", b"<LEIRecord><LEI>A</LEI></LEIRecord>"),
    "gleif-rr": ("a.xml", b"<a>", b"<RelationshipRecord></RelationshipRecord>"),
    "fr-comptes": ("a.json", b"[{}", b', {"siren": "1"}'),
    "lu-comptes": ("a.xml", b"<a>", b"<Declarer></Declarer>"),
    "be-nbb": ("a.xbrl", b"", b"<a>"),
    "uk-accounts": (FILING, b"", b"<a>"),
}


@pytest.mark.parametrize("source", BOMBS)
@pytest.mark.parametrize("packing_of", ["zip", "zip in zip", "gzip", "xz"])
def test_a_small_file_that_unpacks_to_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, packing_of: str
) -> None:
    """Both limits of unpacked bytes are lowered under the 1 MiB of the text; an import and a fetch refuse the file."""
    monkeypatch.setattr(packing, "LEAST_LIMIT", 1 << 18)  # the text below has 1 MiB
    monkeypatch.setattr(filing, "LARGEST", 3 << 18)
    name, beginning, piece = BOMBS[source]
    if source == "ee":
        with zipfile.ZipFile(next((RAW / "ee").glob("*lihtandmed*.zip"))) as archive:
            rows = archive.read(archive.namelist()[0])
        beginning, piece = rows.splitlines(keepends=True)[:2]
    content = beginning + piece * ((1 << 20) // len(piece))
    file = tmp_path / f"{name}.zip"
    if "zip" in packing_of.split():
        file.write_bytes(
            _deflated_zip(
                {name: content}
                if packing_of == "zip"
                else {"in.zip": _deflated_zip({name: content})}
            )
        )
    else:
        file.write_bytes((gzip if packing_of == "gzip" else lzma).compress(content))

    with pytest.raises(InputError, match=r"unpacks to more than .* download it again"):
        REGISTERS[source].read([file], tmp_path)
    # Of some sources, a fetch only counts the files in the outer zip.
    if packing_of != "zip in zip":
        with pytest.raises(FetchError, match="unpacks to more than"):
            published_files.count_rows(file, name, REGISTERS[source])


@pytest.mark.parametrize("source", ["ee", "fr-comptes"])
def test_a_file_whose_text_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(packing, "_BYTES_BETWEEN_DISK_CHECKS", 1)
    monkeypatch.setattr(packing, "LEAST_FREE", 1 << 60)  # more than any disk has free
    file = tmp_path / "a.csv"
    file.write_bytes(b"a;b\n1;2\n")

    with pytest.raises(InputError, match=r"does not fit on the disk of .* name another folder"):
        REGISTERS[source].read([file], tmp_path)


def _deflated_zip(members: dict[str, bytes]) -> bytes:
    """A zip of these members, compressed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()
