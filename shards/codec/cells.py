"""Cells: the companies of one sub-sector of one sector, as a range of rows (FORMAT.md §5).

Rows are numbered in layout order (sector, sub-sector, turnover descending, identifier), so a cell is a range of row
numbers, a sector is a few consecutive cells, and a count is a subtraction. In each cell the companies without a
turnover come last.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgpack

from shards import format
from shards.query import ORDERS


class Cell(NamedTuple):
    """Rows [start, stop) of one sector and sub-sector (NACE division and group, None: none).

    Rows [start, with_ca) have a turnover; `with_site` of all its rows have a website.
    """

    secteur: str | None
    sous_secteur: str | None
    start: int
    with_ca: int
    stop: int
    with_site: int

    @property
    def place(self) -> str:
        """The name of the cell: `62/62.0`, with `-` for none."""
        return f"{self.secteur or '-'}/{self.sous_secteur or '-'}"


class CellRange(NamedTuple):
    """The consecutive cells [first, end), either one cell or a whole sector, with their sums.

    Attributes:
        place: the name, of a sector `62`, of a cell `62/62.0`.
        start, stop: the rows [start, stop).
        with_ca, with_site: the number of rows with a turnover, with a website.
    """

    place: str
    first: int
    end: int
    start: int
    stop: int
    with_ca: int
    with_site: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of a shard, with the ranges of sectors and sub-sectors among them.

    Attributes:
        single: each cell as a range of its own.
        sectors: by NACE division; without the range of the companies that have no sector.
        parts: the same and that range, in layout order.
    """

    cells: tuple[Cell, ...]
    single: tuple[CellRange, ...]
    sectors: Mapping[str, CellRange]
    parts: tuple[CellRange, ...]


def layout(cells: Sequence[Cell]) -> Layout:
    """The layout of a shard with these cells, which are in layout order."""
    single = tuple(
        CellRange(
            cell.place, at, at + 1, cell.start, cell.stop, cell.with_ca - cell.start, cell.with_site
        )
        for at, cell in enumerate(cells)
    )
    bounds: dict[str, list[int]] = {}
    for index, cell in enumerate(cells):
        bounds.setdefault(cell.secteur or "-", []).append(index)
    sectors = {
        code: _part(code, cells, indexes[0], indexes[-1] + 1) for code, indexes in bounds.items()
    }
    parts = tuple(sectors.values())
    sectors.pop("-", None)  # no query can name it
    return Layout(tuple(cells), single, sectors, parts)


def listed_parts(layout: Layout) -> Iterator[CellRange]:
    """The sectors, then the cells, of TOP_LEAST rows or more, as `top` lists their first rows."""
    for part in (*layout.parts, *layout.single):
        if part.stop - part.start >= format.TOP_LEAST:
            yield part


def list_starts(layout: Layout) -> dict[str, int]:
    """Where the lists of each of these parts begin in `top`: seven of equal length, in the order of `query.ORDERS`."""
    starts: dict[str, int] = {}
    start = 0
    for part in listed_parts(layout):
        starts[part.place] = start
        start += len(ORDERS) * min(format.TOP_ROWS, part.stop - part.start)
    return starts


def dump(cells: Sequence[Cell]) -> bytes:
    """The value of `cells` in `meta` (FORMAT.md §5)."""
    return bytes(msgpack.packb([tuple(cell) for cell in cells]))


def load(packed: bytes) -> tuple[Cell, ...]:
    """The cells that these bytes encode."""
    return tuple(Cell(*values) for values in msgpack.unpackb(packed))


def _part(place: str, cells: Sequence[Cell], first: int, end: int) -> CellRange:
    part = cells[first:end]
    return CellRange(
        place, first, end, part[0].start, part[-1].stop,
        sum(cell.with_ca - cell.start for cell in part), sum(cell.with_site for cell in part),
    )  # fmt: skip
