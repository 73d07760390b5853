"""The tables of an export (X7): companies, and statement lines, as csv, ndjson or parquet; two tables are a `.zip`.

CSV follows RFC 4180: commas, CRLF, quotes where needed, names in the first line; UTF-8 with a BOM for Excel. A null is
an empty cell, a truth value is `true` or `false`, and a list is its texts with `|` between them. A text that a
spreadsheet would take for a formula is guarded (`serve/contract/files.py`). NDJSON has one JSON object per line, as the
API sends it. Parquet has typed columns and zstd.

An archive has the attributions of the data as a third file and as its comment (X9). A single Parquet file has them in
its metadata. A single csv or ndjson file has no place for attributions; the header `Link` of the response links to
them. The columns are declared in serve/contract/files.py.
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
from shards.reader.shard import CompanyRow
from shards.search.distribution import FacetCount

LICENCES: Final = "licences.json"  # the file with the attributions in an archive
_LIST_SEPARATOR: Final = "|"  # between the texts of a list in CSV
_METADATA_KEY: Final = "licences"  # the key of the attributions in the metadata of a Parquet file
_BATCH: Final = 1_024  # rows that arro3 decodes at a time for Parquet


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table to write; its rows can be read once.

    Attributes:
        name: of its file, without extension.
        rows: read while they are written; each is a JSON object with exactly the columns, in their order.
        licences: the attributions of the data, which only some formats can contain.
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Iterator[bytes]
    licences: str


def _write_csv(table: ExportTable, path: Path, _: Path) -> None:
    """Write `table` to `path` as CSV, without temporary files. Raises OSError: the disk is full."""
    functions = [_CELL_TEXTS.get(column.type) for column in table.columns]
    converters = [(col, convert) for col, convert in enumerate(functions) if convert is not None]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file, lineterminator="\r\n")
        lines.writerow([column.name for column in table.columns])
        for row in table.rows:
            values = list(record.parse(row).values())  # in the order of the columns
            for col, convert in converters:
                if values[col] is not None:
                    values[col] = convert(values[col])
            lines.writerow(values)


def _boolean_text(value: bool) -> str:
    """A truth value as a cell of CSV."""
    return "true" if value else "false"


def _list_text(values: list[str]) -> str:
    """A list of texts as a cell of CSV."""
    return guard_formula(_LIST_SEPARATOR.join(values))


# The functions that convert values to texts of CSV, by type. Values of other types are written unchanged.
_CELL_TEXTS: Final[Mapping[ColumnType, Callable[[Any], str]]] = {
    "text": guard_formula,
    "boolean": _boolean_text,
    "texts": _list_text,
}


def _write_ndjson(table: ExportTable, path: Path, _: Path) -> None:
    """Write `table` to `path` as NDJSON, without temporary files. Raises OSError: the disk is full."""
    with path.open("wb") as file:
        for row in table.rows:
            file.write(row)
            file.write(b"\n")


# The types of Parquet, by the type of a column.
_PARQUET_TYPES: Final[Mapping[ColumnType, DataType]] = {
    "text": DataType.utf8(),
    "integer": DataType.int64(),
    "number": DataType.float64(),
    "boolean": DataType.bool(),
    "texts": DataType.list(Field("element", DataType.utf8(), nullable=True)),
}


def _write_parquet(table: ExportTable, path: Path, temporary: Path) -> None:
    """Write `table` to `path` with arro3 (arrow-rs), which reads the rows as NDJSON with the types of the columns.

    The result is collected in memory, at most a few hundred bytes per company: arro3 panics when it cannot write to a
    disk. Raises OSError: the disk is full.
    """
    rows_path = temporary / f"{table.name}.rows"
    parquet = BytesIO()
    schema = Schema(
        [Field(column.name, _PARQUET_TYPES[column.type], nullable=True) for column in table.columns]
    )
    try:
        _write_ndjson(table, rows_path, temporary)
        write_parquet(
            read_json(rows_path, schema, batch_size=_BATCH),
            parquet,
            compression="zstd(3)",
            # Only one entry, because the order of several entries would change from file to file.
            key_value_metadata={_METADATA_KEY: table.licences},
        )
    finally:
        rows_path.unlink(missing_ok=True)
    path.write_bytes(parquet.getbuffer())


# A function that writes a table to a path, with a folder for temporary files.
_TableWriter = Callable[[ExportTable, Path, Path], None]

# The writer of each format, and the compression of its file in an archive. Parquet is already compressed, so it is
# only stored.
_WRITERS: Final[Mapping[str, tuple[_TableWriter, int]]] = {
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
    facets = export_data.find_rows(generation, request)
    licences = _licences_json(generation, request, facets)
    write, compression = _WRITERS[request.file.format]
    companies = _company_table(request, generation, facets.rows, licences)
    if not request.file.comptes:
        write(companies, path, temporary)
        return ExportResult(len(facets.rows), facets.total, 0)
    statements = export_data.statements(generation, request, facets.rows)
    row_statements = [(facets.rows[place], lines) for place, lines in statements]
    columns = files.STATEMENT_COLUMNS
    comptes = ExportTable("comptes", columns, _statement_rows(generation, row_statements), licences)
    with ZipFile(path, "w") as archive:
        archive.comment = _archive_comment(licences)
        for table in (companies, comptes):
            table_path = temporary / f"{table.name}.{request.file.format}"
            try:
                write(table, table_path, temporary)
                _add_file(archive, table_path, request, compression)
            finally:
                table_path.unlink(missing_ok=True)
        archive.writestr(_entry(LICENCES, request, ZIP_DEFLATED), licences)
    return ExportResult(len(facets.rows), facets.total, len(row_statements))


def _company_table(
    request: ExportRequest,
    generation: Generation,
    rows: Sequence[CompanyRow],
    licences: str,
) -> ExportTable:
    """The table of the companies, with the columns that the request names, or all columns."""
    columns_by_name, names = files.company_columns(), request.file.colonnes
    companies = export_data.company_json(
        generation.shards, rows, coordonnees=request.plan.coordonnees
    )
    if not names:
        return ExportTable("societes", tuple(columns_by_name.values()), companies, licences)
    columns = [columns_by_name[name] for name in names]
    return ExportTable("societes", columns, _select_fields(companies, names), licences)


def _select_fields(companies: Iterator[bytes], names: Sequence[str]) -> Iterator[bytes]:
    """Each company with only the fields `names`, in this order."""
    for company in companies:
        values = record.company(company)
        yield orjson.dumps({name: values[name] for name in names})


def _statement_rows(
    generation: Generation, row_statements: Sequence[tuple[CompanyRow, bytes]]
) -> Iterator[bytes]:
    """Each statement line as JSON, with the country and identifier of its company."""
    companies = export_data.company_json(
        generation.shards, (row for row, _ in row_statements), coordonnees=False
    )
    for company, (_, lines) in zip(companies, row_statements, strict=True):
        fields = record.company(company)
        company_key = {"iso2": fields["iso2"], "id": fields["id"]}
        for line in record.lines(lines):
            yield orjson.dumps(company_key | line)


def _licences_json(generation: Generation, request: ExportRequest, facets: FacetCount) -> str:
    """The attributions that the licences of the companies in the scope demand (X9), as a JSON array."""
    imports = country_sources.attributions(export_data.sources_of(generation, facets))
    licences = [
        {
            "attribution": register_import.attribution_en
            if request.lang == "en"
            else register_import.attribution,
            "licence": register_import.licence,
            "adresse": register_import.licence_adresse,
        }
        for register_import in imports
    ]
    return orjson.dumps(licences).decode()


def _add_file(archive: ZipFile, path: Path, request: ExportRequest, compression: int) -> None:
    """Add a file, dated by the publication of its data, because equal files would differ with the current time."""
    with (
        archive.open(_entry(path.name, request, compression), "w") as target,
        path.open("rb") as source,
    ):
        copyfileobj(source, target)


def _entry(name: str, request: ExportRequest, compression: int) -> ZipInfo:
    """The entry of a file in the archive, dated by the publication of the data."""
    info = ZipInfo(name, request.published.timetuple()[:6])
    info.compress_type = compression
    return info


def _archive_comment(licences: str) -> bytes:
    """The attributions in the JSON `licences`, one per line, cut at the longest comment that an archive can have."""
    lines = "\n".join(licence["attribution"] for licence in orjson.loads(licences))
    # A character that the cut splits is dropped.
    return lines.encode()[:ZIP_MAX_COMMENT].decode(errors="ignore").encode()
