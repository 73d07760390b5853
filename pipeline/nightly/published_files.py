"""The files that registers publish, by seeds/sources.csv, and the checks of a fetched file.

A row of the table with `{date:…}` in its name or address is a file that is published in dated editions.

A server can send a "maintenance" page, a damaged file of the right length, or a file with half of its rows. Such a file
must not replace a good file, so the bytes, the layout and the size are checked, and compared with the previous edition.
This module sends no request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator

from pipeline import seeds
from pipeline.canonical import InputError
from pipeline.errors import FetchError, SeedError
from pipeline.nightly.receipt import Receipt
from pipeline.registers import REGISTERS, packing
from pipeline.registers.register import Register
from pipeline.toml_file import NotNegative, Positive, Share, Text, Truth
from pipeline.workers import isolation
from pipeline.workers.isolation import IsolationError, Limits
from seeds import TABLES

# Cadence -> the days between two editions; None for a file that is published only once.
DAYS_BY_CADENCE: Final[Mapping[str, int | None]] = {
    "quotidienne": 1,
    "hebdomadaire": 7,
    "mensuelle": 31,
    "trimestrielle": 92,
    "annuelle": 366,
    "unique": None,
}
# An edition with fewer or more rows or bytes than these multiples of the previous edition is refused as a mistake. The
# rows that an import keeps have a closer limit (`publication.LEAST_SHARE`).
_LEAST_SHARE: Final = 0.9
_MOST_SHARE: Final = 1.5

_CHUNK_BYTES: Final = 1 << 20  # read at once while the rows of a file are counted
# Beginnings of a web page, in lower case.
_PAGE_STARTS: Final = (b"<!doctype html", b"<html", b"<head", b"<script")
# The beginning of the date of an edition in a name or address.
_DATE_FIELD: Final = "{date"
# The columns of seeds/sources.csv that a fetch reads.
_COLUMNS: Final = (
    "source", "fichier", "adresse", "hotes", "cadence", "editions", "compte", "entete",
    "octets_min", "octets_max", "lignes_min", "lignes_max",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A row of seeds/sources.csv.

    Attributes:
        name: the name of the stored file; empty if the source has no file at a fixed address.
        address: empty if the file must be fetched by hand.
        hosts: other hosts to which the address is allowed to redirect.
        days: the days between two editions; None if there will be no other edition.
        editions: the number of editions that together are the complete source; over 1, the editions add up.
        account: the requirements for access; empty if access is free.
        header: the HTTP header with the key; empty if no key is needed.
        size, rows: the least and the most credible number of bytes, and of rows.
    """

    source: str
    name: str
    address: str
    hosts: tuple[str, ...]
    days: int | None
    editions: int
    account: str
    header: str
    size: tuple[int, int]
    rows: tuple[int, int]


def _check_ascending(bounds: tuple[int, int]) -> tuple[int, int]:
    """Return `bounds`, [least, most]; refuse them if the lower bound is above the upper bound."""
    if bounds[0] > bounds[1]:
        raise ValueError(f"{list(bounds)} is not a pair; write [least, most]")
    return bounds


# The settings `size` and `rows`: [least, most].
_Bounds = Annotated[tuple[NotNegative, NotNegative], AfterValidator(_check_ascending)]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The operator's settings of a source, which override seeds/sources.csv.

    Attributes:
        addresses: the addresses of all files of the source, by name; empty for the addresses of the table.
        secret: the value of the HTTP header with the key.
        size, rows: the least and the most credible number of bytes and of rows of each file; None for the table's.
        max_rejected: the largest credible share of rejected rows; None for the share that the register declares.
        fetch: whether to send requests; False if an operator puts the files into the folder.
        slowest, deadline: the least bytes per second, and the most minutes of a fetch; None for the general settings.
    """

    addresses: Mapping[str, Text] = field(default_factory=dict)
    secret: Text = ""
    size: _Bounds | None = None
    rows: _Bounds | None = None
    max_rejected: Share | None = None
    fetch: Truth = True
    slowest: NotNegative | None = None
    deadline: Positive | None = None


class Edition(NamedTuple):
    """One edition of a published file: the name of the stored file, and its address."""

    name: str
    address: str


def read(path: Path = TABLES / "sources.csv") -> dict[str, tuple[PublishedFile, ...]]:
    """The published files of each source.

    Raises:
        SeedError: the table is missing, or has an invalid number, date or cadence.
    """
    by_source: dict[str, list[PublishedFile]] = {}
    for line, row in enumerate(seeds.read_table(path, _COLUMNS), start=2):
        try:
            file = PublishedFile(
                source=row["source"],
                name=row["fichier"],
                address=row["adresse"],
                hosts=tuple(row["hotes"].split()),
                days=DAYS_BY_CADENCE[row["cadence"]],
                editions=int(row["editions"]),
                account=row["compte"],
                header=row["entete"],
                size=(int(row["octets_min"]), int(row["octets_max"])),
                rows=(int(row["lignes_min"]), int(row["lignes_max"])),
            )
            # A trial: a malformed `{date:…}` is an error now. Any day works that has enough days before it.
            editions(file, date.min + timedelta(days=999))
        except (IndexError, KeyError, ValueError) as error:
            raise SeedError(f"{path} line {line}: {error!r} cannot be read; mend it") from error
        by_source.setdefault(file.source, []).append(file)
    return {source: tuple(files) for source, files in by_source.items()}


def apply_settings(
    files: tuple[PublishedFile, ...], settings: SourceSettings
) -> tuple[PublishedFile, ...]:
    """The files of a source with the addresses and bounds of the operator's settings.

    If the settings have addresses, they are the complete list of files of the source. A file that the table does not
    name takes its other values from the first file of the table.

    Raises:
        FetchError: a name that is not a plain file name, or an invalid address.
    """
    for name, address in settings.addresses.items():
        if "/" in name or name.startswith(".") or not name.strip():
            raise FetchError(f"{name!r} is not a file name; write it as the register does")
        if not address.startswith(("https://", "http://")):
            raise FetchError(f"{address!r} is not an address; write https://…")
    by_name = {file.name: file for file in files}
    configured = [
        replace(by_name.get(name, files[0]), name=name, address=address)
        for name, address in settings.addresses.items()
    ]
    return tuple(
        replace(file, size=settings.size or file.size, rows=settings.rows or file.rows)
        for file in configured or files
    )


def editions(file: PublishedFile, today: date) -> list[Edition]:
    """The editions that can be published on `today`, the newest first; a file without dates has one edition.

    >>> files = read()["uk-basic"]
    >>> [edition.name for edition in editions(files[0], date(2026, 3, 2))][:2]
    ['BasicCompanyDataAsOneFile-2026-03-01.zip', 'BasicCompanyDataAsOneFile-2026-02-01.zip']
    """
    if _DATE_FIELD not in file.address:
        return [Edition(file.name, file.address)]
    # For a file of one edition, the days of the last two periods are tried, because the newest edition can be late.
    days = (file.days or 0) * max(2, file.editions)
    dates = (today - timedelta(days=back) for back in range(days))
    dated = (Edition(file.name.format(date=day), file.address.format(date=day)) for day in dates)
    # A monthly file has the same name on every day of a month, so repeated editions are removed.
    return list(dict.fromkeys(dated))


# -- the checks of a fetched file ----------------------------------------------------


class ImplausibleError(FetchError):
    """The fetched file is not the file that its register publishes, or is incomplete."""


def refuse_page(address: str, head: bytes, content_type: str = "") -> None:
    """Refuse a web page in the place of data.

    Raises:
        ImplausibleError: the media type, or the first bytes (`head`), are HTML.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if content_type in ("text/html", "application/xhtml+xml") or start.startswith(_PAGE_STARTS):
        raise ImplausibleError(
            f"{address} sends a web page instead of data; open it in a browser:"
            " it may ask for an account, or have moved"
        )


def refuse_size(name: str, size: int, bounds: tuple[int, int], unit: str = "bytes") -> None:
    """Refuse a number of bytes or rows (`unit`) outside `bounds`.

    Raises:
        ImplausibleError: the number is outside; the message names the file as `name`.
    """
    if not bounds[0] <= size <= bounds[1]:
        raise ImplausibleError(
            f"{name} has {size:,} {unit}, {bounds[0]:,} to {bounds[1]:,} are credible (seeds/sources.csv);"
            " --accept accepts it anyway"
        )


def count_rows_isolated(limits: Limits, path: Path, name: str, source: str) -> int:
    """`count_rows` in a separate process, because the file can be hostile.

    Raises:
        ImplausibleError: as `count_rows`, or the process ends without a result.
    """
    try:
        return isolation.call(limits, _count_rows_of_source, path, name, source)
    except IsolationError as error:
        raise ImplausibleError(f"{name}: {error}") from error


def _count_rows_of_source(path: Path, name: str, source: str) -> int:
    """`count_rows` with the register of a source; its arguments can be sent to another process."""
    return count_rows(path, name, REGISTERS.get(source))


def count_rows(path: Path, name: str, register: Register | None) -> int:
    """The number of rows of the file, which is read to its end and checked against the layout of its register.

    If the register has no `count_rows`, the files in a zip are counted, or the lines of a file that is not a zip.

    Raises:
        ImplausibleError: the file is damaged, a web page, or of another layout.
    """
    try:
        if register and register.count_rows:
            return register.count_rows(path)
        return _count_documents_or_lines(path)
    except InputError as error:
        raise ImplausibleError(str(error)) from error
    except (OSError, *packing.BROKEN) as error:
        raise ImplausibleError(
            f"{name} is damaged ({error}), or incomplete; fetch it again"
        ) from error


def compare(file: PublishedFile, size: int, rows: int, before: Receipt | None) -> None:
    """Compare the size and rows of an edition with the bounds of its file, and with the previous edition.

    Editions that add up, such as editions of single days, are compared only with the bounds.

    Args:
        before: the receipt of the previous edition; None if there is none.

    Raises:
        ImplausibleError: the edition is too large or too small.
    """
    refuse_size(file.name, size, file.size)
    refuse_size(file.name, rows, file.rows, "rows")
    if before is None or file.editions > 1:
        return
    for unit, count, count_before in (
        ("bytes", size, before.octets),
        ("rows", rows, before.lignes),
    ):
        if not _LEAST_SHARE * count_before <= count <= _MOST_SHARE * count_before:
            raise ImplausibleError(
                f"{file.name} has {count:,} {unit}, the edition before had {count_before:,};"
                " --accept accepts it anyway"
            )


def _count_documents_or_lines(path: Path) -> int:
    """The number of files in a zip, or of lines in another file; everything is read to its end."""
    is_zip = packing.is_zip(path)
    count = 0
    for member in packing.members(path, packing.EVERY_FILE):
        lines = 0
        with member.open() as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                lines += chunk.count(b"\n")
        count += 1 if is_zip else lines
    return count
