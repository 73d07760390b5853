"""The checks that make a fetched file credible: its bytes, its layout, its size, and the edition before it.

A server may send a page that says "maintenance", half a file with the right length, or a file with half of its rows.
Nothing of that may take the place of a good file.
"""

from pathlib import Path
from typing import Final

from pipeline.canonical import InputError
from pipeline.errors import FetchError
from pipeline.nightly.published_files import PublishedFile
from pipeline.nightly.receipt import Receipt
from pipeline.registers import REGISTERS, packing
from pipeline.registers.register import Register
from pipeline.workers import isolation
from pipeline.workers.isolation import IsolationError, Limits

# An edition with fewer or more than these shares of the rows or bytes of the one before is taken for a mistake.
LEAST_SHARE: Final = 0.9
MOST_SHARE: Final = 1.5

_CHUNK: Final = 1 << 20
_PAGES: Final = (b"<!doctype html", b"<html", b"<head", b"<script")


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
