"""The files that registers publish, as values, and the checks that make a fetched file credible.

The files are the rows of seeds/sources.csv. A file whose name or address holds `{date:…}` appears in dated editions.

A server may send a page that says "maintenance", half a file with the right length, or a file with half of its rows.
Nothing of that may take the place of a good file: its bytes, its layout and its size are checked, and compared with the
edition before it. This module asks no server.
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

DAYS: Final[Mapping[str, int | None]] = {
    "quotidienne": 1,
    "hebdomadaire": 7,
    "mensuelle": 31,
    "trimestrielle": 92,
    "annuelle": 366,
    "unique": None,
}
# An edition with fewer or more than these shares of the rows or bytes of the one before is taken for a mistake.
LEAST_SHARE: Final = 0.9
MOST_SHARE: Final = 1.5

_CHUNK: Final = 1 << 20
_PAGES: Final = (b"<!doctype html", b"<html", b"<head", b"<script")
_DATE: Final = "{date"
_COLUMNS: Final = (
    "source", "fichier", "adresse", "hotes", "cadence", "editions", "compte", "entete",
    "octets_min", "octets_max", "lignes_min", "lignes_max",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A row of seeds/sources.csv.

    Attributes:
        name: under which the file is kept; empty where the source has no file at a fixed address.
        address: empty where the file can only be had by hand.
        hosts: other hosts to which the address may redirect.
        days: between two editions; None where there will be no other.
        editions: how many editions make the source whole.
        account: what it takes to be let in; empty where nothing.
        header: the HTTP header that carries the key.
        size, rows: the least and the most that is credible.
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


def _ascending(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"{list(bounds)} is no pair; write [least, most]")
    return bounds


_Bounds = Annotated[tuple[NotNegative, NotNegative], AfterValidator(_ascending)]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What an operator says of a source instead of seeds/sources.csv.

    Attributes:
        addresses: of all files of the source, by name; empty for those of the table.
        secret: the value of the header that opens the account.
        size, rows: the least and the most that is credible, for each file.
        max_rejected: the share of rejected rows that an import may have; None for that of the register.
        fetch: whether its servers are asked; not so where files are placed by hand.
        slowest, deadline: the least bytes a second, and the minutes of a fetch; None for those of all sources.
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
    """One edition of a published file: the name under which it is kept, and its address."""

    name: str
    address: str


def read(path: Path = TABLES / "sources.csv") -> dict[str, tuple[PublishedFile, ...]]:
    """The published files of each source.

    Raises:
        SeedError: the table is missing, or has a value that is no number, date or cadence.
    """
    found: dict[str, list[PublishedFile]] = {}
    for line, row in enumerate(seeds.read_table(path, _COLUMNS), start=2):
        try:
            file = PublishedFile(
                source=row["source"],
                name=row["fichier"],
                address=row["adresse"],
                hosts=tuple(row["hotes"].split()),
                days=DAYS[row["cadence"]],
                editions=int(row["editions"]),
                account=row["compte"],
                header=row["entete"],
                size=(int(row["octets_min"]), int(row["octets_max"])),
                rows=(int(row["lignes_min"]), int(row["lignes_max"])),
            )
            editions(file, date.min + timedelta(days=999))
        except (IndexError, KeyError, ValueError) as error:
            raise SeedError(f"{path} line {line}: {error!r} cannot be read; mend it") from error
        found.setdefault(file.source, []).append(file)
    return {source: tuple(files) for source, files in found.items()}


def with_settings(
    files: tuple[PublishedFile, ...], settings: SourceSettings
) -> tuple[PublishedFile, ...]:
    """The files of a source at other addresses, or with other bounds.

    Addresses are those of all its files; one that the table does not name is like the first of those.

    Raises:
        FetchError: a name that is no plain file name, or an address that is none.
    """
    for name, address in settings.addresses.items():
        if "/" in name or name.startswith(".") or not name.strip():
            raise FetchError(f"{name!r} is no name of a file; write it as the register does")
        if not address.startswith(("https://", "http://")):
            raise FetchError(f"{address!r} is no address; write https://…")
    named = {file.name: file for file in files}
    wanted = [
        replace(named.get(name, files[0]), name=name, address=address)
        for name, address in settings.addresses.items()
    ]
    return tuple(
        replace(file, size=settings.size or file.size, rows=settings.rows or file.rows)
        for file in wanted or files
    )


def editions(file: PublishedFile, today: date) -> list[Edition]:
    """The editions that may be published, the newest first; one that is not dated has one.

    >>> files = read()["uk-basic"]
    >>> [edition.name for edition in editions(files[0], date(2026, 3, 2))][:2]
    ['BasicCompanyDataAsOneFile-2026-03-01.zip', 'BasicCompanyDataAsOneFile-2026-02-01.zip']
    """
    if _DATE not in file.address:
        return [Edition(file.name, file.address)]
    # One edition is looked for through two periods: the newest may be late.
    days = (file.days or 0) * max(2, file.editions)
    dates = (today - timedelta(days=back) for back in range(days))
    found = (Edition(file.name.format(date=day), file.address.format(date=day)) for day in dates)
    return list(dict.fromkeys(found))


# -- the checks of a fetched file ----------------------------------------------------


class ImplausibleError(FetchError):
    """What came is not what its register publishes, or not all of it."""


def refuse_page(address: str, head: bytes, content_type: str = "") -> None:
    """Refuse a page for people in the place of data.

    Raises:
        ImplausibleError: `head`, the first bytes, or the media type are those of HTML.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if content_type in ("text/html", "application/xhtml+xml") or start.startswith(_PAGES):
        raise ImplausibleError(
            f"{address} sends a web page instead of data; open it in a browser:"
            " it may ask for an account, or have moved"
        )


def refuse_size(name: str, size: int, bounds: tuple[int, int], unit: str = "bytes") -> None:
    """Refuse a number outside `bounds`.

    Raises:
        ImplausibleError: it is.
    """
    if not bounds[0] <= size <= bounds[1]:
        raise ImplausibleError(
            f"{name} has {size:,} {unit}, {bounds[0]:,} to {bounds[1]:,} are credible (seeds/sources.csv);"
            " --accept takes it all the same"
        )


def count_rows_isolated(limits: Limits, path: Path, name: str, source: str) -> int:
    """`count_rows` in a process of its own: the file may be hostile.

    Raises:
        ImplausibleError: as `count_rows`, and where the process ends without a result.
    """
    try:
        return isolation.call(limits, _count_rows_of_source, path, name, source)
    except IsolationError as error:
        raise ImplausibleError(f"{name}: {error}") from error


def _count_rows_of_source(path: Path, name: str, source: str) -> int:
    return count_rows(path, name, REGISTERS.get(source))


def count_rows(path: Path, name: str, register: Register | None) -> int:
    """The rows of the file, which is read to its end and held to the layout of its register.

    Without `register.count_rows`, the members of a zip are counted, and the lines of another file.

    Raises:
        ImplausibleError: it is damaged, a web page, or of another layout.
    """
    try:
        if register and register.count_rows:
            return register.count_rows(path)
        return _documents_or_lines(path)
    except InputError as error:
        raise ImplausibleError(str(error)) from error
    except (OSError, *packing.BROKEN) as error:
        raise ImplausibleError(
            f"{name} is damaged ({error}), as it came incomplete; fetch it again"
        ) from error


def compare(file: PublishedFile, size: int, rows: int, before: Receipt | None) -> None:
    """Compare an edition with what is expected, and with the edition before it.

    Editions that add up, such as those of single days, are compared with what is expected alone.

    Raises:
        ImplausibleError: it is too large or too small.
    """
    refuse_size(file.name, size, file.size)
    refuse_size(file.name, rows, file.rows, "rows")
    if before is None or file.editions > 1:
        return
    for unit, found, old in (("bytes", size, before.octets), ("rows", rows, before.lignes)):
        if not LEAST_SHARE * old <= found <= MOST_SHARE * old:
            raise ImplausibleError(
                f"{file.name} has {found:,} {unit}, the edition before had {old:,};"
                " --accept takes it all the same"
            )


def _documents_or_lines(path: Path) -> int:
    """The files of a zip, or the lines of another file; each is read to its end."""
    is_zip = packing.is_zip(path)
    count = 0
    for member in packing.members(path, packing.EVERY_FILE):
        lines = 0
        with member.open() as stream:
            while chunk := stream.read(_CHUNK):
                lines += chunk.count(b"\n")
        count += 1 if is_zip else lines
    return count
