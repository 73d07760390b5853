"""The request and the result of an export, and its data, read from a generation before a cell is written.

`ExportRequest` and `ExportResult` cross the pipe of a worker process. Equal requests give equal bytes except for the
sheet Journal and its texts: it alone has `now`, `request_id` and timings. So only the stopwatch of `book.py` reads a
clock in this package.

The first sheets refer to the last ones, so everything is read first: the counts of the scope, the rows of the file by
column, and the packed statements of the companies that get a sheet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

from quota.plans import Plan
from serve.access import rights
from serve.contract.files import OwnList
from serve.features.export.workbook.sheet import sheet_names
from serve.generation import country_sources
from serve.generation.country_sources import CountrySources
from serve.request import values
from serve.request.values import FileOptions
from shards.codec import record
from shards.codec.record import FIELDS
from shards.generations.generation_files import Generation
from shards.generations.reference import Reference
from shards.query import Query
from shards.reader.shard import Shard
from shards.search.distribution import FacetCount, FacetRow, count_facets
from shards.search.result_page import MergedRow
from shards.search.search import ShardSet, records

# Records per read.
_BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export whose parameters were read and allowed.

    Attributes:
        folder: the folder of the generation, DATA/<generation>.
        published: when the generation was published (UTC).
        ids_inconnus: the items of `ids` that name no company, None where it was not sent.
        limit: rows at most, the plan's cap applied (F1).
        lang: fr or en (F11).
        missing: countries whose shards are damaged and stay closed.
        own: the list whose companies these are, in whose order they come.
        given: the parameters as the caller wrote them, for the Journal.
    """

    folder: Path
    published: datetime
    query: Query
    limit: int
    lang: str
    plan: Plan
    given: tuple[tuple[str, str], ...]
    request_id: str
    now: datetime
    ids_inconnus: tuple[str, ...] | None = None
    missing: frozenset[str] = frozenset()
    file: FileOptions = values.WORKBOOK
    own: OwnList | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The counts of a file: rows, companies in the whole scope, companies with their statements."""

    lignes: int
    total: int
    comptes: int


@dataclass(frozen=True)
class ExportData:
    """The data of all sheets.

    Attributes:
        facets: the counts of the scope, and the rows of the file in its order.
        columns: the values of each field of the companies in the file.
        places: the country and sector of each row.
        groups: the sub-sector of each row, a NACE group.
        assets: the total assets of each row in euros, None if unknown.
        comptes: the statement lines as JSON, by row, of the rows that get a sheet.
        sources: where the companies come from, of each country of the scope that has some.
    """

    request: ExportRequest
    reference: Reference
    facets: FacetCount
    columns: Mapping[str, Sequence[Any]]
    places: Sequence[FacetRow]
    groups: Sequence[str | None]
    assets: Sequence[float | None]
    comptes: Mapping[int, bytes]
    sources: Sequence[CountrySources]

    @property
    def count(self) -> int:
        """The companies in the file."""
        return len(self.places)

    @property
    def turnovers(self) -> Sequence[float | None]:
        """The turnover of each row in euros, None if unknown."""
        return self.columns["ca_eur"]

    def left_out(self) -> Mapping[tuple[str, str], str]:
        """The chosen companies of a list that the file does not describe, each with the label of the reason."""
        if self.request.own is None:
            return {}
        described = set(zip(self.columns["iso2"], self.columns["id"], strict=True))
        unknown = set(self.request.ids_inconnus or ())
        reasons = {}
        for company in {line.company for line in self.request.own.lines() if line.company}:
            if company not in described:
                label = "gone" if ":".join(company) in unknown else "beyond"
                reasons[company] = "unanswered" if company[0] in self.request.missing else label
        return reasons

    def sheets_of(self, taken: Iterable[str]) -> dict[int, str]:
        """The names of the statement sheets by row; none of them is in `taken` (F8)."""
        countries, ids = self.columns["iso2"], self.columns["id"]
        wanted = (f"{countries[row]} {ids[row]}" for row in self.comptes)
        return dict(zip(self.comptes, sheet_names(wanted, taken), strict=True))


def find(generation: Generation, request: ExportRequest) -> FacetCount:
    """Count the companies of the scope, and select the rows of the file; those of a list are in its order."""
    if request.own is None:
        return count_facets(generation.shards, request.query, limit=request.limit)
    shards = generation.shards
    companies = dict.fromkeys(line.company for line in request.own.lines() if line.company)
    facets = count_facets(shards, request.query, limit=max(1, len(companies)))
    places = {
        MergedRow(iso2, row): place
        for place, (iso2, identifier) in enumerate(companies)
        if iso2 in shards and (row := shards[iso2].find(identifier)) is not None
    }
    ordered = sorted(facets.rows, key=lambda row: places.get(row, len(companies)))
    return replace(facets, rows=tuple(ordered[: request.limit]))


def read(generation: Generation, request: ExportRequest, facets: FacetCount) -> ExportData:
    """Read the rows that `facets` selected, and their statements."""
    shards = generation.shards
    cells = [shards[iso2].cell_at(row) for iso2, row in facets.rows]
    return ExportData(
        request,
        generation.reference,
        facets,
        _columns(shards, facets.rows, coordonnees=request.plan.coordonnees),
        [FacetRow(row.iso2, cell.secteur) for row, cell in zip(facets.rows, cells, strict=True)],
        [cell.sous_secteur for cell in cells],
        _assets(shards, facets.rows),
        dict(statements(generation, request, facets.rows)),
        sources_of(generation, facets),
    )


def sources_of(generation: Generation, facets: FacetCount) -> Sequence[CountrySources]:
    """The sources of the countries of the scope that have companies there."""
    found = {place.iso2 for place in facets.counts}
    return [one for one in country_sources.read(generation).values() if one.iso2 in found]


def company_json(
    shards: Mapping[str, Shard], rows: Iterable[MergedRow], *, coordonnees: bool
) -> Iterator[bytes]:
    """The companies of `rows` as JSON; contact fields are null without the right to them (§2.1)."""
    for iso2, run in groupby(rows, key=lambda row: row.iso2):
        wanted = [row for _, row in run]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            yield from shards[iso2].records(batch, coordonnees=coordonnees)


def _columns(
    base: ShardSet, rows: Sequence[MergedRow], *, coordonnees: bool
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in FIELDS}
    for start in range(0, len(rows), _BATCH):
        joined = records(base, rows[start : start + _BATCH], coordonnees=coordonnees)
        parts = zip(*(known.values() for known in record.companies(joined)), strict=True)
        for column, part in zip(found.values(), parts, strict=True):
            column += part
    return found


def _assets(shards: Mapping[str, Shard], rows: Sequence[MergedRow]) -> list[float | None]:
    """The total assets of `rows` in euros; one look into each shard."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row.iso2, []).append(place)
    found: list[float | None] = [None] * len(rows)
    for iso2, own in places.items():
        euros = shards[iso2].actifs_eur([rows[place].row for place in own])
        for place, value in zip(own, euros, strict=True):
            found[place] = value
    return found


def statements(
    generation: Generation, request: ExportRequest, rows: Sequence[MergedRow]
) -> Iterator[tuple[int, bytes]]:
    """The first rows with statements, as many as the plan allows (F7): the index in the file, and the lines as JSON."""
    found = _with_statements(generation.shards, rows)
    return islice(found, rights.file_statements(request.plan))


def _with_statements(
    shards: Mapping[str, Shard], rows: Sequence[MergedRow]
) -> Iterator[tuple[int, bytes]]:
    for place, (iso2, row) in enumerate(rows):
        lines = shards[iso2].comptes(row)
        if lines is not None and lines != b"[]":
            yield place, lines
