"""The tables of an export (X7): companies, and statement lines, as csv, ndjson or parquet; two are a `.zip`.

CSV is that of RFC 4180: commas, CRLF, quotes where needed, names in the first line; UTF-8 with a BOM for Excel. An
absent value is an empty cell, a truth value `true` or `false`, a list its texts with `|` between them; a text that a
spreadsheet would take for a formula is guarded (`serve/contract/files.py`). NDJSON is a JSON object a line, exactly as
the API sends it. Parquet has typed columns and zstd.

An archive has the attributions of the data as a third file and as its comment (X9). A table alone has them in the
metadata of Parquet; lines of csv and ndjson have no place for them, so the header `Link` of the answer names them.
The columns are declared in serve/contract/files.py.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_MAX_COMMENT, ZIP_STORED, ZipFile, ZipInfo

import orjson
from arro3.core import DataType, Field, Schema
from arro3.io import read_json, write_parquet

from serve.contract import files
from serve.contract.files import CSV, NDJSON, PARQUET, ColumnType, ExportColumn, guard_formula
from serve.features.export.workbook import export_data
from serve.features.export.workbook.export_data import ExportRequest, ExportResult
from serve.generation import country_sources
from shards.codec import record
from shards.generations.generation_files import Generation
from shards.search.distribution import FacetCount
from shards.search.result_page import MergedRow

LICENCES: Final = "licences.json"  # in an archive
_JOIN: Final = "|"  # between the texts of a list in CSV
_METADATA_KEY: Final = "licences"  # of the attributions in a Parquet file
_BATCH: Final = 1_024  # rows of Parquet that are decoded at a time


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table that is written once.

    Attributes:
        name: of its file, without extension.
        rows: read as they are written; each a JSON object of exactly the columns, in their order.
        licences: the attributions of the data, for the formats that have a place for them.
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Iterator[bytes]
    licences: str


def _write_csv(table: ExportTable, path: Path, _: Path) -> None:
    """Write `table` to `path`. Raises OSError: the disk is full."""
    cells = [_CELLS.get(column.type) for column in table.columns]
    changed = [(place, cell) for place, cell in enumerate(cells) if cell is not None]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file, lineterminator="\r\n")
        lines.writerow([column.name for column in table.columns])
        for row in table.rows:
            values = list(record.parse(row).values())
            for place, cell in changed:
                if values[place] is not None:
                    values[place] = cell(values[place])
            lines.writerow(values)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _texts(values: list[str]) -> str:
    return guard_formula(_JOIN.join(values))


# Values of the other types are written as they are.
_CELLS: Final[Mapping[ColumnType, Callable[[Any], str]]] = {
    "text": guard_formula,
    "boolean": _truth,
    "texts": _texts,
}


def _write_ndjson(table: ExportTable, path: Path, _: Path) -> None:
    """Write `table` to `path`. Raises OSError: the disk is full."""
    with path.open("wb") as file:
        for row in table.rows:
            file.write(row)
            file.write(b"\n")


_TYPES: Final[Mapping[ColumnType, DataType]] = {
    "text": DataType.utf8(),
    "integer": DataType.int64(),
    "number": DataType.float64(),
    "boolean": DataType.bool(),
    "texts": DataType.list(Field("element", DataType.utf8(), nullable=True)),
}


def _write_parquet(table: ExportTable, path: Path, temporary: Path) -> None:
    """Write `table` to `path` by arro3 (arrow-rs), which reads the rows as NDJSON, typed by the columns.

    The result is collected in memory, a few hundred bytes a company at most: arro3 panics where it cannot write to a
    disk. Raises OSError: the disk is full.
    """
    lines = temporary / f"{table.name}.rows"
    packed = BytesIO()
    schema = Schema([Field(one.name, _TYPES[one.type], nullable=True) for one in table.columns])
    try:
        _write_ndjson(table, lines, temporary)
        write_parquet(
            read_json(lines, schema, batch_size=_BATCH),
            packed,
            compression="zstd(3)",
            # One entry: several would come in another order each time.
            key_value_metadata={_METADATA_KEY: table.licences},
        )
    finally:
        lines.unlink(missing_ok=True)
    path.write_bytes(packed.getbuffer())


_Write = Callable[[ExportTable, Path, Path], None]

# What writes a format, and how a file of it is stored in an archive: Parquet is compressed already.
_WRITERS: Final[Mapping[str, tuple[_Write, int]]] = {
    CSV: (_write_csv, ZIP_DEFLATED),
    NDJSON: (_write_ndjson, ZIP_DEFLATED),
    PARQUET: (_write_parquet, ZIP_STORED),
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
    columns = files.STATEMENT_COLUMNS
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
    known, wanted = files.company_columns(), request.file.colonnes
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
