"""What a workbook says, read from a generation before a cell is written.

A cell cannot be changed once its row is written, and the first sheets tell of the last ones; so all
of it is here first: the census of the scope, the rows of the file as tuples, and the packed
statements of those that get a sheet. At 10 000 rows this is the most memory that an export takes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import Any, Final

import orjson

from serve.export.workbook.cell_values import sheet_names
from serve.export.workbook.export_request import ExportRequest
from shards.codec.record import FIELDS
from shards.generations.generation_files import Generation
from shards.generations.reference import Reference
from shards.search.facets import FacetCount, FacetRow, count_facets
from shards.search.reader import Shard
from shards.search.result_page import MergedRow

Values = tuple[Any, ...]  # of a company, in the order of FIELDS

AT: Final = {field: place for place, field in enumerate(FIELDS)}

# Records that are read at once.
_BATCH: Final = 256


@dataclass(frozen=True)
class Content:
    """Everything that the sheets of a workbook say.

    Attributes:
        places: of each row, the sector it is in.
        comptes: JSON of the statement lines of those rows that have a sheet, by row.
    """

    asked: ExportRequest
    reference: Reference
    census: FacetCount
    rows: Sequence[Values]
    places: Sequence[FacetRow]
    comptes: Mapping[int, bytes]

    @cached_property
    def turnovers(self) -> Sequence[float | None]:
        """In euros, of each row."""
        return [values[AT["ca_eur"]] for values in self.rows]

    def sheets_of(self, taken: Iterable[str]) -> dict[int, str]:
        """The names of the statements sheets, by row; none is one of `taken` (F8)."""
        wanted = (f"{self.rows[row][0]} {self.rows[row][1]}" for row in self.comptes)
        return dict(zip(self.comptes, sheet_names(wanted, taken), strict=True))

    def filled(self, champ: str) -> bool:
        """Has any row a value of this field?"""
        place = AT[champ]
        return any(values[place] is not None for values in self.rows)


def find(generation: Generation, asked: ExportRequest) -> FacetCount:
    """The companies of the scope: how many there are where, and which are in the file."""
    return count_facets(generation.shards, asked.query, limit=asked.limit)


def read(generation: Generation, asked: ExportRequest, found: FacetCount) -> Content:
    """The rows of `found` and their statements."""
    shards = generation.shards
    plan = asked.plan
    with_comptes = _comptes(shards, found.rows) if plan.etats_financiers else iter(())
    return Content(
        asked,
        generation.reference,
        found,
        list(_records(shards, found.rows, coordonnees=plan.coordonnees)),
        [_place(shards[iso2], row) for iso2, row in found.rows],
        dict(islice(with_comptes, plan.societes_avec_comptes_par_export)),
    )


def _records(
    shards: Mapping[str, Shard], rows: Sequence[MergedRow], *, coordonnees: bool
) -> Iterator[Values]:
    """The companies of `rows`; the contact fields are null without the right (§2.1)."""
    for iso2, run in groupby(rows, key=lambda row: row.iso2):
        wanted = [row for _, row in run]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            for known in shards[iso2].records(batch, coordonnees=coordonnees):
                yield tuple(orjson.loads(known).values())


def _place(shard: Shard, row: int) -> FacetRow:
    cell = shard.layout.cells[int(shard.cell_of[row])]
    return FacetRow(shard.iso2, cell.secteur)


def _comptes(shards: Mapping[str, Shard], rows: Sequence[MergedRow]) -> Iterator[tuple[int, bytes]]:
    """The rows with statements, in order (F7): their place in the file, and the lines."""
    for place, (iso2, row) in enumerate(rows):
        lines = shards[iso2].comptes(row)
        if lines is not None and lines != b"[]":
            yield place, lines
