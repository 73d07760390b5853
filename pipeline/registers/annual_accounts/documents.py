"""Documents of filed accounts out of their packing: plain, gzip, zip, zips in a zip.

Virk gives gzip without a suffix that says so, Bolagsverket a zip for each report in a weekly zip.
A document is open only while it is read. A damaged zip given to the command is an InputError, a
damaged one inside it a FilingError: the other filings are good.
"""

import io
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final, NamedTuple

from pipeline.registers import packing
from pipeline.registers.statements import filing
from pipeline.registers.statements.filing import FilingError

_DEEPEST: Final = 3  # zips in zips; Bolagsverket has two, and one that holds itself has no end
BROKEN: Final = (*packing.BROKEN, OSError)


class Document(NamedTuple):
    """A published file: its name without folders, and a way to open it, unpacked."""

    name: str
    open: Callable[[], IO[bytes]]

    def read(self) -> bytes:
        """Read a document that is one filing.

        Raises:
            FilingError: a damaged file, or one of more than LARGEST bytes.
        """
        return filing.content(self.open)


def documents(file: Path, suffixes: Collection[str]) -> Iterator[Document]:
    """The documents in `file`, in the order of their names; each can be read until the next.

    Of a zip, only files with one of `suffixes` and further zips are taken: registers put notes
    beside them. A zip in the zip that cannot be opened is a document, which cannot be read either.

    Raises:
        InputError: a .zip that is no zip, or one without any such file.
    """
    if not packing.is_zip(file):
        yield Document(
            file.name.removesuffix(".gz"), lambda: packing.unpack(file.open("rb", buffering=0))
        )
        return
    with packing.open_zip(file) as archive:
        found = False
        for document in _members(archive, suffixes, 1):
            found = True
            yield document
        if not found:
            raise packing.nothing_of(file, suffixes)


def _members(archive: zipfile.ZipFile, suffixes: Collection[str], depth: int) -> Iterator[Document]:
    for info in packing.entries(archive):
        document = Document(
            PurePosixPath(info.filename).name,
            lambda info=info: packing.unpack(archive.open(info)),  # type: ignore[misc]
        )
        plain = info.filename.lower().removesuffix(".gz")
        if plain.endswith(".zip"):
            yield from _inner_documents(document, suffixes, depth + 1)
        elif plain.endswith(tuple(suffixes)):
            yield document


def _inner_documents(packed: Document, suffixes: Collection[str], depth: int) -> Iterator[Document]:
    if depth > _DEEPEST:
        yield packed._replace(open=lambda: _refuse(packed.name))
        return
    try:
        archive = zipfile.ZipFile(io.BytesIO(packed.read()))
    except (FilingError, zipfile.BadZipFile):
        yield packed
        return
    with archive:
        for document in _members(archive, suffixes, depth):
            yield document._replace(name=f"{packed.name}/{document.name}")


def _refuse(name: str) -> IO[bytes]:
    raise zipfile.BadZipFile(f"{name} is the zip number {_DEEPEST + 1} in one another")
