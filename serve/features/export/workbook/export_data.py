"""The request and the result of an export, and its data, which are read before the first cell is written.

`ExportRequest` and `ExportResult` cross the pipe of a worker process. Equal requests give equal bytes, except for the
sheet Journal, the only sheet with `now`, `request_id` and timings, and the texts that Journal adds. So in this package
only the stopwatch of `book.py` reads a clock.

The first sheets refer to the last ones, so all data are read first: the counts of the scope, the rows of the file by
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
from shards.reader.shard import CompanyRow, Shard
from shards.search.distribution import FacetCount, FacetRow, count_facets
from shards.search.search import ShardSet, records

# The number of records in one read.
_BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export whose parameters were read and are allowed.

    Attributes:
        folder: the folder of the generation, DATA/<generation>.
        published: the time when the generation was published (UTC).
        ids_inconnus: the items of `ids` that name no company; None without `ids`.
        limit: the largest number of rows, the limit of the plan included (F1).
        lang: fr or en (F11).
        missing: countries whose shards are damaged and stay closed.
        own: the customer's list; its companies are exported, in the order of the list.
        parameters: the parameters as the caller wrote them, for the Journal.
    """

    folder: Path
    published: datetime
    query: Query
    limit: int
    lang: str
    plan: Plan
    parameters: tuple[tuple[str, str], ...]
    request_id: str
    now: datetime
    ids_inconnus: tuple[str, ...] | None = None
    missing: frozenset[str] = frozenset()
    file: FileOptions = values.WORKBOOK
    own: OwnList | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The counts of a file: its rows, the companies in the scope, the companies with statements in the file."""

    lignes: int
    total: int
    comptes: int


@dataclass(frozen=True)
class ExportData:
    """The data of all sheets.

    Attributes:
        facets: the counts of the scope, and the rows of the file in its order.
        columns: the values of each field, for the companies in the file.
        places: the country and sector of each row.
        groups: the code of the NACE group (sub-sector) of each row.
        assets: the total assets of each row in euros, None if unknown.
        comptes: the statement lines as JSON, by row, of the companies that get a sheet.
        sources: the sources of each country that has companies in the scope.
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
        """The number of companies in the file."""
        return len(self.places)

    @property
    def turnovers(self) -> Sequence[float | None]:
        """The turnover of each row in euros, None if unknown."""
        return self.columns["ca_eur"]

    def left_out(self) -> Mapping[tuple[str, str], str]:
        """The chosen companies of a list that are not in the file, each with the name of a label, which says why.

        `gone`: no longer in the registers; `beyond`: beyond the limit of rows; `unanswered`: its country is damaged.
        """
        if self.request.own is None:
            return {}
        in_file = set(zip(self.columns["iso2"], self.columns["id"], strict=True))
        unknown = set(self.request.ids_inconnus or ())
        reasons = {}
        for company in {line.company for line in self.request.own.lines() if line.company}:
            if company not in in_file:
                reason = "gone" if ":".join(company) in unknown else "beyond"
                reasons[company] = "unanswered" if company[0] in self.request.missing else reason
        return reasons

    def sheets_of(self, taken: Iterable[str]) -> dict[int, str]:
        """The names of the statement sheets by row of the file, all different from the names in `taken` (F8)."""
        countries, ids = self.columns["iso2"], self.columns["id"]
        names = (f"{countries[row]} {ids[row]}" for row in self.comptes)
        return dict(zip(self.comptes, sheet_names(names, taken), strict=True))


def find_rows(generation: Generation, request: ExportRequest) -> FacetCount:
    """Count the companies of the scope and select the rows of the file; a list keeps its own order."""
    if request.own is None:
        return count_facets(generation.shards, request.query, limit=request.limit)
    shards = generation.shards
    companies = dict.fromkeys(line.company for line in request.own.lines() if line.company)
    # All companies of the list are found first and limited last, because the search has another order than the list.
    facets = count_facets(shards, request.query, limit=max(1, len(companies)))
    # The position of each company in the list.
    places = {
        CompanyRow(iso2, row): place
        for place, (iso2, identifier) in enumerate(companies)
        if iso2 in shards and (row := shards[iso2].find(identifier)) is not None
    }
    ordered = sorted(facets.rows, key=lambda row: places.get(row, len(companies)))
    return replace(facets, rows=tuple(ordered[: request.limit]))


def read_data(generation: Generation, request: ExportRequest, facets: FacetCount) -> ExportData:
    """Read the rows selected by `facets`, and their statements."""
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
    """The sources of the countries that have companies in the scope."""
    countries = {place.iso2 for place in facets.counts}
    return [
        country
        for country in country_sources.read(generation).values()
        if country.iso2 in countries
    ]


def company_json(
    shards: Mapping[str, Shard], rows: Iterable[CompanyRow], *, coordonnees: bool
) -> Iterator[bytes]:
    """The companies of `rows` as JSON; contact fields are null without the right to them (§2.1)."""
    for iso2, country_rows in groupby(rows, key=lambda row: row.iso2):
        row_numbers = [row for _, row in country_rows]
        for start in range(0, len(row_numbers), _BATCH):
            batch = row_numbers[start : start + _BATCH]
            yield from shards[iso2].records(batch, coordonnees=coordonnees)


def _columns(
    base: ShardSet, rows: Sequence[CompanyRow], *, coordonnees: bool
) -> dict[str, list[Any]]:
    """The values of each field, for all `rows`."""
    columns: dict[str, list[Any]] = {name: [] for name in FIELDS}
    for start in range(0, len(rows), _BATCH):
        joined = records(base, rows[start : start + _BATCH], coordonnees=coordonnees)
        batch_columns = zip(
            *(company.values() for company in record.companies(joined)), strict=True
        )
        for column, batch_column in zip(columns.values(), batch_columns, strict=True):
            column += batch_column
    return columns


def _assets(shards: Mapping[str, Shard], rows: Sequence[CompanyRow]) -> list[float | None]:
    """The total assets of `rows` in euros, with one read per shard."""
    # The positions in `rows` of the companies of each country.
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row.iso2, []).append(place)
    assets: list[float | None] = [None] * len(rows)
    for iso2, shard_places in places.items():
        euros = shards[iso2].actifs_eur([rows[place].row for place in shard_places])
        for place, value in zip(shard_places, euros, strict=True):
            assets[place] = value
    return assets


def statements(
    generation: Generation, request: ExportRequest, rows: Sequence[CompanyRow]
) -> Iterator[tuple[int, bytes]]:
    """The index and the statement lines (JSON) of the first rows with statements, as many as the plan allows (F7)."""
    with_statements = _rows_with_statements(generation.shards, rows)
    return islice(with_statements, rights.file_statements(request.plan))


def _rows_with_statements(
    shards: Mapping[str, Shard], rows: Sequence[CompanyRow]
) -> Iterator[tuple[int, bytes]]:
    """The index and the statement lines (JSON) of each row with statements."""
    for place, (iso2, row) in enumerate(rows):
        lines = shards[iso2].comptes(row)
        if lines is not None and lines != b"[]":
            yield place, lines
