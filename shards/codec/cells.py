"""Cells: the companies of one sub-sector of one sector, side by side in a shard.

Rows are numbered in layout order (sector, sub-sector, turnover descending, identifier), so a cell
is a range of row numbers, a sector a few neighbouring cells, and a count is a subtraction. Inside
a cell the companies without a turnover come last: `with_ca` ends those that have one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray


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
        """The cell's name in keys of `top`: `62/62.0`; `-` stands for none."""
        return f"{self.secteur or '-'}/{self.sous_secteur or '-'}"


class Span(NamedTuple):
    """Rows [start, stop)."""

    start: int
    stop: int


class Spans(NamedTuple):
    """Ranges of rows, ascending: of each, where it starts and where it stops."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Rows in all of them."""
        return int((self.stops - self.starts).sum())

    def each(self) -> list[Span]:
        return list(map(Span, self.starts.tolist(), self.stops.tolist()))


class CellRange(NamedTuple):
    """Neighbouring cells [first, end): one cell or a whole sector, with its sums."""

    place: str  # its name in keys of `top`
    first: int
    end: int
    start: int
    stop: int
    with_ca: int
    with_site: int


@dataclass(frozen=True, slots=True)
class CellScope:
    """The parts that some sectors and sub-sectors choose, in layout order."""

    parts: Sequence[CellRange]
    size: int
    cell_count: int
    with_ca: int
    with_site: int

    def spans(self) -> list[Span]:
        """The rows as the fewest ranges."""
        found: list[Span] = []
        for part in self.parts:
            if found and found[-1].stop == part.start:
                found[-1] = Span(found[-1].start, part.stop)
            else:
                found.append(Span(part.start, part.stop))
        return found

    def cells(self) -> list[int]:
        """The cells, by their place in the layout."""
        return [index for part in self.parts for index in range(part.first, part.end)]

    def mask(self, count: int) -> NDArray[np.bool_]:
        """Which of the `count` cells of the layout are chosen."""
        chosen = np.zeros(count, dtype=bool)
        for part in self.parts:
            chosen[part.first : part.end] = True
        return chosen


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of a shard, and where each sector and sub-sector is among them."""

    cells: tuple[Cell, ...]
    starts: NDArray[np.int64]  # of each cell
    ends: NDArray[np.int64]  # of its rows with a turnover
    single: tuple[CellRange, ...]  # each cell by itself
    sectors: Mapping[str, CellRange]  # those that have a sector
    groups: Mapping[str, Sequence[int]]  # sub-sector -> cells
    whole: CellScope

    def scope(self, secteurs: Sequence[str], sous_secteurs: Sequence[str] | None) -> CellScope:
        """What these sectors (none given: all; else ascending) and sub-sectors choose."""
        if sous_secteurs is None:
            if not secteurs:
                return self.whole
            return _scope([self.sectors[code] for code in secteurs if code in self.sectors])
        chosen = {index for group in sous_secteurs for index in self.groups.get(group, ())}
        if secteurs:
            chosen = {index for index in chosen if self.cells[index].secteur in secteurs}
        return _scope([self.single[index] for index in sorted(chosen)])


def layout(cells: Sequence[Cell]) -> Layout:
    """Find the sectors and sub-sectors of `cells`."""
    single = tuple(_part(cell.place, cells, at, at + 1) for at, cell in enumerate(cells))
    bounds: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    for index, cell in enumerate(cells):
        bounds.setdefault(cell.secteur or "-", []).append(index)
        if cell.sous_secteur is not None:
            groups.setdefault(cell.sous_secteur, []).append(index)
    sectors = {
        code: _part(code, cells, held[0], held[-1] + 1) for code, held in bounds.items()
    }  # fmt: skip
    whole = _scope(list(sectors.values()))
    sectors.pop("-", None)  # no sector that can be asked for
    return Layout(
        tuple(cells),
        np.array([cell.start for cell in cells], dtype=np.int64),
        np.array([cell.with_ca for cell in cells], dtype=np.int64),
        single,
        sectors,
        groups,
        whole,
    )


def dump(cells: Sequence[Cell]) -> bytes:
    return bytes(msgpack.packb([tuple(cell) for cell in cells]))


def load(packed: bytes) -> tuple[Cell, ...]:
    return tuple(Cell(*values) for values in msgpack.unpackb(packed))


def _part(place: str, cells: Sequence[Cell], first: int, end: int) -> CellRange:
    held = cells[first:end]
    return CellRange(
        place, first, end, held[0].start, held[-1].stop,
        sum(cell.with_ca - cell.start for cell in held), sum(cell.with_site for cell in held),
    )  # fmt: skip


def _scope(parts: Sequence[CellRange]) -> CellScope:
    return CellScope(
        parts,
        sum(part.stop - part.start for part in parts),
        sum(part.end - part.first for part in parts),
        sum(part.with_ca for part in parts),
        sum(part.with_site for part in parts),
    )
