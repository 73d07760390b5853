"""Files made to fill the memory: refused by name, in a process that may take little."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.registers.annual_accounts import documents
from pipeline.registers.statements import filing
from pipeline.registers.statements.filing import FilingError
from tests.pipeline.registers.reading import RAW

# Beyond what the libraries take by themselves, when nothing is imported.
ROOM = 400 << 20
SIZE = 300 << 20  # of what a hostile file unpacks to

RUN = """
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
    with zipfile.ZipFile(next((RAW / "ee").glob("*lihtandmed*.zip"))) as archive:
        header = archive.read(archive.namelist()[0]).split(b"\n", 1)[0]
    yield header + b'\n"'
    yield from [b"Muster O\xc3\x9c;1;2\n" * (1 << 16)] * (SIZE // (15 << 16))


def _endless_line() -> Iterator[bytes]:
    yield b'{"company_number": "'
    yield from [b"x" * (1 << 20)] * (SIZE >> 20)


def _endless_object() -> Iterator[bytes]:
    yield b'[{"formality": {"a": ['
    yield from [b"1," * (1 << 19)] * (SIZE >> 20)


@pytest.mark.parametrize(
    ("source", "name", "pieces", "message"),
    [
        ("ee", "lihtandmed.csv", _unclosed_quote, "a line within quotes is longer than 16 MiB"),
        ("de-offeneregister", "de.jsonl", _endless_line, "line 1 is longer than 16 MiB"),
        ("fr-rne", "rne.json", _endless_object, "a value is longer than 16 MiB"),
    ],
)
def test_a_record_without_end_is_refused_in_little_memory(
    tmp_path: Path, source: str, name: str, pieces: object, message: str
) -> None:
    """A quotation mark that is never closed: 1.5 MB of zip took 4.8 GiB"""
    packed = tmp_path / f"{name}.zip"
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for piece in pieces():  # type: ignore[operator]
            member.write(piece)

    command = [sys.executable, "-c", RUN, source, str(packed), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    said, kilobytes = done.stdout.splitlines()
    assert message in said
    assert int(kilobytes) << 10 < ROOM


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_filing_defines_no_entities(encoding: str) -> None:
    xml = '<!DOCTYPE html [<!ENTITY a "ha">]><html>&a;</html>'

    with pytest.raises(FilingError, match="définition d'une entité"):
        filing.parse(io.BytesIO(xml.encode(encoding)))


def test_zips_in_zips_have_an_end(tmp_path: Path) -> None:
    packed = b"<xbrl/>"
    for name in ("a.xml", "1.zip", "2.zip", "3.zip", "4.zip"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(name, packed)
        packed = stream.getvalue()
    file = tmp_path / "in.zip"
    file.write_bytes(packed)

    (document,) = documents.documents(file, (".xml",))

    assert document.name == "4.zip/3.zip/2.zip"
    with pytest.raises(FilingError, match="zip number 4"):
        document.read()
