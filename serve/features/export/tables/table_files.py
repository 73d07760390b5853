"""The file of an export that is no workbook: a table of companies, or a `.zip` of it and one of statement lines.

The archive has the attributions of the data as a third file and as its comment (X9). A table alone has them in the
metadata of Parquet; lines of csv and ndjson have no place for them, so the header `Link` of the answer names them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfileobj
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_MAX_COMMENT, ZIP_STORED, ZipFile, ZipInfo

import orjson

from serve.contract import export_tables
from serve.contract.export_tables import CSV, NDJSON, PARQUET
from serve.features.export.tables import csv_table, ndjson_table, parquet_table
from serve.features.export.tables.table import ExportTable
from serve.features.export.workbook import export_data
from serve.features.export.workbook.export_request import ExportRequest, ExportResult
from serve.generation import country_sources
from shards.codec import record
from shards.generations.generation_files import Generation
from shards.search.facets import FacetCount
from shards.search.result_page import MergedRow

LICENCES: Final = "licences.json"  # in an archive

_Write = Callable[[ExportTable, Path, Path], None]

# What writes a format, and how a file of it is stored in an archive: Parquet is compressed already.
_WRITERS: Final[Mapping[str, tuple[_Write, int]]] = {
    CSV: (csv_table.write, ZIP_DEFLATED),
    NDJSON: (ndjson_table.write, ZIP_DEFLATED),
    PARQUET: (parquet_table.write, ZIP_STORED),
}


def make(
    request: ExportRequest, generation: Generation, path: Path, temporary: Path
) -> ExportResult:
    """Write the tables of `request` to `path`; equal requests give equal bytes.

    Args:
        generation: the generation of the request, open.
        temporary: a folder for the parts of the file; it is empty again afterwards.

    Raises:
        OSError: the disk is full.
        ShardError: the generation is damaged.
    """
    facets = export_data.find(generation, request)
    licences = _licences(generation, request, facets)
    write, packing = _WRITERS[request.file.format]
    companies = _companies(request, generation, facets.rows, licences)
    if not request.file.comptes:
        write(companies, path, temporary)
        return ExportResult(len(facets.rows), facets.total, 0)
    statements = export_data.statements(generation, request, facets.rows)
    row_statements = [(facets.rows[place], lines) for place, lines in statements]
    columns = export_tables.STATEMENT_COLUMNS
    comptes = ExportTable("comptes", columns, _lines(generation, row_statements), licences)
    with ZipFile(path, "w") as archive:
        archive.comment = _comment(licences)
        for table in (companies, comptes):
            part = temporary / f"{table.name}.{request.file.format}"
            try:
                write(table, part, temporary)
                _add(archive, part, request, packing)
            finally:
                part.unlink(missing_ok=True)
        archive.writestr(_entry(LICENCES, request, ZIP_DEFLATED), licences)
    return ExportResult(len(facets.rows), facets.total, len(row_statements))


def _companies(
    request: ExportRequest,
    generation: Generation,
    rows: Sequence[MergedRow],
    licences: str,
) -> ExportTable:
    known, wanted = export_tables.company_columns(), request.file.colonnes
    found = export_data.company_json(generation.shards, rows, coordonnees=request.plan.coordonnees)
    if not wanted:
        return ExportTable("societes", tuple(known.values()), found, licences)
    columns = [known[name] for name in wanted]
    return ExportTable("societes", columns, _select(found, wanted), licences)


def _select(companies: Iterator[bytes], wanted: Sequence[str]) -> Iterator[bytes]:
    for company in companies:
        values = record.company(company)
        yield orjson.dumps({name: values[name] for name in wanted})


def _lines(
    generation: Generation, row_statements: Sequence[tuple[MergedRow, bytes]]
) -> Iterator[bytes]:
    companies = export_data.company_json(
        generation.shards, (row for row, _ in row_statements), coordonnees=False
    )
    for company, (_, lines) in zip(companies, row_statements, strict=True):
        known = record.company(company)
        owner = {"iso2": known["iso2"], "id": known["id"]}
        for line in record.lines(lines):
            yield orjson.dumps(owner | line)


def _licences(generation: Generation, request: ExportRequest, facets: FacetCount) -> str:
    """The attributions that the licences of the companies in the scope demand (X9), as a JSON array."""
    credited = country_sources.attributions(export_data.sources_of(generation, facets))
    licences = [
        {
            "attribution": one.attribution_en if request.lang == "en" else one.attribution,
            "licence": one.licence,
            "adresse": one.licence_adresse,
        }
        for one in credited
    ]
    return orjson.dumps(licences).decode()


def _add(archive: ZipFile, part: Path, request: ExportRequest, packing: int) -> None:
    """Add a file, dated by the publication of its data: the clock of now would make equal files differ."""
    with (
        archive.open(_entry(part.name, request, packing), "w") as target,
        part.open("rb") as source,
    ):
        copyfileobj(source, target)


def _entry(name: str, request: ExportRequest, packing: int) -> ZipInfo:
    info = ZipInfo(name, request.published.timetuple()[:6])
    info.compress_type = packing
    return info


def _comment(licences: str) -> bytes:
    """The attributions, one a line, as far as the comment of an archive goes."""
    lines = "\n".join(one["attribution"] for one in orjson.loads(licences))
    return lines.encode()[:ZIP_MAX_COMMENT].decode(errors="ignore").encode()
