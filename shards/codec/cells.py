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
    """Rows [start, stop) of one sector and sub-sector (NACE division and group; None: without one).

    Rows [start, with_ca) have a turnover; `with_site` is the number of rows with a website.
    """

    secteur: str | None
    sous_secteur: str | None
    start: int
    with_ca: int
    stop: int
    with_site: int

    @property
    def place(self) -> str:
        """The name of the cell: `62/62.0`, with `-` for a missing code."""
        return f"{self.secteur or '-'}/{self.sous_secteur or '-'}"


class CellRange(NamedTuple):
    """The consecutive cells [first, end), either one cell or a complete sector, with their sums.

    Attributes:
        place: the name: `62` for a sector, `62/62.0` for a cell.
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
    """The cells of a shard, with the ranges of cells of each sector.

    Attributes:
        single: each cell as a range of one cell.
        sectors: the ranges of sectors, by NACE division; without the companies that have no sector.
        parts: the ranges of sectors and of the companies without a sector, in layout order.
    """

    cells: tuple[Cell, ...]
    single: tuple[CellRange, ...]
    sectors: Mapping[str, CellRange]
    parts: tuple[CellRange, ...]


def layout(cells: Sequence[Cell]) -> Layout:
    """The layout of a shard with these cells, given in layout order."""
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
        code: _cell_range(code, cells, indexes[0], indexes[-1] + 1)
        for code, indexes in bounds.items()
    }
    parts = tuple(sectors.values())
    sectors.pop("-", None)  # no query can name the companies without a sector
    return Layout(tuple(cells), single, sectors, parts)


def listed_parts(layout: Layout) -> Iterator[CellRange]:
    """The sectors, then the cells, that have TOP_LEAST rows or more: `top` lists their first rows in this order."""
    for part in (*layout.parts, *layout.single):
        if part.stop - part.start >= format.TOP_LEAST:
            yield part


def list_starts(layout: Layout) -> dict[str, int]:
    """The index in `top` of the first list of each listed part: seven lists of equal length, as in `query.ORDERS`."""
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


def _cell_range(place: str, cells: Sequence[Cell], first: int, end: int) -> CellRange:
    """The range of the cells [first, end), with their sums."""
    part = cells[first:end]
    # `Cell.with_ca` is where the rows with a turnover end, `CellRange.with_ca` is their number.
    return CellRange(
        place, first, end, part[0].start, part[-1].stop,
        sum(cell.with_ca - cell.start for cell in part), sum(cell.with_site for cell in part),
    )  # fmt: skip
