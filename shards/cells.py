"""Cells: the companies of one sub-sector of one sector, side by side in a shard.

Rows are numbered in layout order (sector, sub-sector, turnover descending, identifier), so a cell
is a range of row numbers, a sector a few neighbouring cells, and a count is a subtraction. Inside
a cell the companies without a turnover come last: `with_ca` ends those that have one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgpack

from shards.query import Query


class Cell(NamedTuple):
    """Rows [start, stop) of one sector and sub-sector (NACE division and group, None: none)."""

    secteur: str | None
    sous_secteur: str | None
    start: int
    with_ca: int
    stop: int

    @property
    def place(self) -> str:
        """The cell's name in keys of `top`: `62/62.0`; `-` stands for none."""
        return f"{self.secteur or '-'}/{self.sous_secteur or '-'}"


class Span(NamedTuple):
    """Rows [start, stop)."""

    start: int
    stop: int


def dump(cells: Sequence[Cell]) -> bytes:
    return bytes(msgpack.packb([tuple(cell) for cell in cells]))


def load(packed: bytes) -> tuple[Cell, ...]:
    return tuple(Cell(*values) for values in msgpack.unpackb(packed))


def chosen(cells: Sequence[Cell], query: Query) -> Sequence[Cell]:
    """The cells within the sectors and sub-sectors of `query`, in layout order."""
    if query.secteurs:
        cells = [cell for cell in cells if cell.secteur in query.secteurs]
    if query.sous_secteurs is not None:
        cells = [cell for cell in cells if cell.sous_secteur in query.sous_secteurs]
    return cells


def size(cells: Iterable[Cell]) -> int:
    """How many rows the cells have."""
    return sum(cell.stop - cell.start for cell in cells)


def spans(cells: Iterable[Cell]) -> list[Span]:
    """The rows of `cells` as the fewest ranges.

    >>> spans([Cell("62", "62.0", 0, 2, 5), Cell("63", "63.1", 5, 5, 9)])
    [Span(start=0, stop=9)]
    """
    found: list[Span] = []
    for cell in cells:
        if found and found[-1].stop == cell.start:
            found[-1] = Span(found[-1].start, cell.stop)
        else:
            found.append(Span(cell.start, cell.stop))
    return found
