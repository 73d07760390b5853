"""Documents of filed accounts out of their packing, and the accounts that a reader finds in one.

A document is plain, gzip, in a zip or in a zip of a zip. Virk gives gzip without a suffix that says so, Bolagsverket a
zip for each report in a weekly zip. A document is open only while it is read. A damaged zip given to the command is an
InputError, a damaged one inside it a FilingError: the other filings are good.

Every reader of this folder turns a document into values of `FiledAccount`, the accounts of one company for one fiscal
year as published; `account_import` brings them to the chart. A reader yields `RefusedAccounts` for accounts that give
nothing, and goes on with the next.
"""

import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import partial
from math import inf, isfinite
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple

from pipeline.registers import packing
from pipeline.registers.accounts import filing
from pipeline.registers.accounts.filing import MALFORMED, UNREADABLE, Fact, FilingError
from pipeline.registers.packing import UnpackedSize

_DEEPEST: Final = 3  # zips in zips; Bolagsverket has two, and one that holds itself has no end
BROKEN: Final = (*packing.BROKEN, OSError)
NO_NUMBER: Final = "numéro de société absent"
NO_CLOSING: Final = "date de clôture absente"


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


def documents(
    file: Path, suffixes: Collection[str], work: Path, *, is_alone: bool = False
) -> Iterator[Document]:
    """The documents in `file`, in the order of their names; each can be read until the next.

    Of a zip, only files with one of `suffixes` and further zips are taken: registers put notes
    beside them. A zip in the zip that cannot be opened is a document, which cannot be read either.

    Args:
        work: a folder for zips in the zip.
        is_alone: whether it is the only file of an import; of several, a single document is rejected alone.

    Raises:
        InputError: a file alone of a form that no register publishes, a .zip that is no zip, one without any such
            file, or one whose members cannot be read here.
    """
    size = UnpackedSize(file, work)
    if not packing.is_zip(file):
        if is_alone:
            packing.unpack(file.open("rb", buffering=0), size).close()  # to refuse a foreign form
        name = packing.unpacked_name(file.name.removesuffix(".zip"))
        yield Document(name, lambda: packing.unpack(file.open("rb", buffering=0), size))
        return
    opened = _Zips(suffixes, work, size)
    with packing.open_zip(file) as archive:
        for info in packing.entries(archive):
            packing.refuse_unreadable(info, file)
        found = False
        for document in opened.documents(archive, 1):
            found = True
            yield document
        if not found:
            raise packing.nothing_of(file, archive, suffixes)


class _Zips:
    """The documents of a zip, and of the zips in it."""

    def __init__(self, suffixes: Collection[str], work: Path, size: UnpackedSize) -> None:
        self._suffixes = tuple(suffixes)
        self._work = work
        self._size = size

    def documents(self, archive: zipfile.ZipFile, depth: int) -> Iterator[Document]:
        for info in packing.entries(archive):
            name = packing.unpacked_name(PurePosixPath(info.filename).name)
            document = Document(name, partial(packing.open_entry, archive, info, self._size))
            if name.lower().endswith(".zip"):
                yield from self._inner_documents(document, depth + 1)
            elif name.lower().endswith(self._suffixes):
                yield document

    def _inner_documents(self, packed: Document, depth: int) -> Iterator[Document]:
        if depth > _DEEPEST:
            yield packed._replace(open=lambda: _refuse(packed.name))
            return
        with ExitStack() as opened:
            try:
                archive = opened.enter_context(packing.copied_zip(packed.open(), self._work))
            except BROKEN as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # of the disk; bz2 raises one without a number
                yield packed
                return
            for document in self.documents(archive, depth):
                yield document._replace(name=f"{packed.name}/{document.name}")


def _refuse(name: str) -> IO[bytes]:
    raise zipfile.BadZipFile(f"{name} is the zip number {_DEEPEST + 1} in one another")


@dataclass(frozen=True, slots=True)
class FiledAccount:
    """Accounts as filed.

    Attributes:
        id: the company, in the register's form.
        closing: the last day of the fiscal year; facts may be of earlier years too.
        filed: sorts the accounts of a company from old to new: a date or number of deposit.
        group: whether they are those of the group that the company heads.
        unreadable: how many facts of the filing could not be read.
        start: the first day of the fiscal year, where the facts have no periods.
    """

    id: str
    closing: date
    facts: Sequence[Fact]
    filed: str
    group: bool = False
    unreadable: int = 0
    start: date | None = None


@dataclass(frozen=True, slots=True)
class RefusedAccounts:
    """Accounts that give nothing; `on_purpose` where they are good and none of ours."""

    id: str | None
    reason: str
    detail: str
    on_purpose: bool = False


AccountsResult = FiledAccount | RefusedAccounts
Reader = Callable[[Document], Iterator[AccountsResult]]


def read_or_refuse(identifier: str | None, read: Callable[[], AccountsResult]) -> AccountsResult:
    """What `read` gives; accounts that it cannot read are refused, so that the next can be."""
    try:
        return read()
    except FilingError as error:
        return RefusedAccounts(identifier, error.reason, error.detail)
    except UNREADABLE as error:
        return RefusedAccounts(identifier, MALFORMED, f"{type(error).__name__}: {error}")


def amount(element: str, day: date, value: float, currency: str | None) -> Fact:
    """The fact of a register that publishes exact amounts, without periods."""
    return Fact(element, day, None, value, currency, inf)


def number(text: str | None) -> float | None:
    """A published number; None for an empty one.

    >>> number(" -1 250.50 "), number("")
    (-1250.5, None)

    Raises:
        FilingError: a text that is no finite number.
    """
    bare = (text or "").replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
    if not bare:
        return None
    try:
        value = float(bare)
    except ValueError as error:
        raise FilingError("nombre illisible", repr(text)) from error
    if not isfinite(value):
        raise FilingError("nombre illisible", repr(text))
    return value


def day(text: str | None) -> date:
    """A date as `2024-12-31` or `20241231`; a time behind it is left out.

    Raises:
        FilingError: a text that is no date.
    """
    try:
        return date.fromisoformat((text or "").strip()[: 10 if "-" in (text or "") else 8])
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(text)) from error


def as_list(value: Any) -> list[Any]:
    """The elements of one name in a record of XML: none, one or several."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """The text of an element in a record of XML, empty where it has none."""
    return str(value.get("$", "")).strip() if isinstance(value, dict) else ""
