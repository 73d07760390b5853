"""The tables of an export, read back and compared with the API (X7)."""

import re
import tempfile
from dataclasses import fields, replace
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import orjson
import polars as pl
import pyarrow.parquet
import pytest

from pipeline import canonical
from serve.contract import files
from serve.contract.record_answers import LigneComptesExportee
from serve.features.export import tables
from serve.features.export.workbook.export_data import ExportResult
from serve.request.values import FileOptions
from serve.surfaces.docs.document import company
from shards.codec.record import CONTACTS, FIELDS
from shards.generations import generation_files
from shards.query import Query
from tests import oracle
from tests.serve import world
from tests.serve.features.export.tables import (
    FORMULA_LIKE_TEXTS,
    Exporter,
    csv_rows,
    expected_csv_row,
    make_exporter,
    remove_guards,
)
from tests.serve.features.export.workbook.workbooks import export_request
from tests.serve.world import COMPANIES, CONTACT


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Exporter:
    """Companies of the HTTP tests, and some whose descriptions look like formulas."""
    return make_exporter(tmp_path_factory.mktemp("tables"))


def test_the_columns_are_the_fields_of_a_company_with_canonical_types() -> None:
    """X7, C6"""
    types = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean,
             "texts": pl.List(pl.String)}  # fmt: skip
    columns = files.company_columns()
    statements = {column.name: types[column.type] for column in files.STATEMENT_COLUMNS}

    assert tuple(columns) == FIELDS == tuple(company("en")["properties"])
    for name, kind in canonical.COMPANIES.items():
        assert name not in columns or types[columns[name].type] == kind, name
    assert statements == dict(canonical.COMPTES)
    assert list(statements) == [column.name for column in fields(LigneComptesExportee)]


def test_ndjson_has_the_objects_of_the_api(exporter: Exporter) -> None:
    """X7"""
    result, content = exporter.make_table("ndjson")

    expected = oracle.search(COMPANIES, Query())
    records = [orjson.loads(line) for line in content.splitlines()]
    assert result == ExportResult(
        len(COMPANIES) + len(FORMULA_LIKE_TEXTS), len(COMPANIES) + len(FORMULA_LIKE_TEXTS), 0
    )
    assert content.endswith(b"}\n")
    assert all(tuple(record) == FIELDS for record in records)
    # The Dutch companies are those of FORMULA_LIKE_TEXTS.
    records_except_dutch = [record for record in records if record["iso2"] != "NL"]
    assert [record["id"] for record in records_except_dutch] == [
        record["id"] for record in expected
    ]
    assert [record["nom"] for record in records_except_dutch] == [
        record["nom"] for record in expected
    ]


def test_csv_is_rfc_4180_with_a_byte_order_mark_and_keeps_every_value(exporter: Exporter) -> None:
    _, content = exporter.make_table("csv")

    expected = exporter.companies()
    assert content.startswith("\ufeffiso2,id,nom,".encode())
    # Three descriptions have a line break, in quotes; every other line break ends a row.
    assert re.sub(rb'"[^"]*"', b"", content).count(b"\r\n") == content.count(b"\n") - 3
    for row, record in zip(csv_rows(content), expected, strict=True):
        assert tuple(row) == FIELDS
        for name, text in expected_csv_row(record).items():
            cell = remove_guards(row[name]) if isinstance(record[name], str | list) else row[name]
            assert cell == text, name


def test_no_text_of_a_csv_begins_a_formula(exporter: Exporter) -> None:
    """OWASP, CSV Injection"""
    table_rows = csv_rows(exporter.make_table("csv")[1])
    texts = {row["id"]: row["description"] for row in table_rows if row["iso2"] == "NL"}
    amounts = {row["ca_eur"] for row in table_rows}
    # The cells of a spreadsheet that splits lines at semicolons or tabs and ignores quotes.
    split_cells = re.split(
        "[;\t\r\n]",
        exporter.make_table("csv", colonnes=("id", "description"))[1].decode("utf-8-sig"),
    )

    assert not [text for text in texts.values() if text[0] in "=+-@\t\r\n＝"]
    assert not [text for text in split_cells if text.lstrip('"')[:1] in ("=", "+", "-", "@", "＝")]
    assert [
        remove_guards(texts[str(number)]) for number in range(len(FORMULA_LIKE_TEXTS))
    ] == FORMULA_LIKE_TEXTS
    assert texts[str(FORMULA_LIKE_TEXTS.index("'t Hooft"))] == "'t Hooft"
    assert "-1.0" in amounts  # a number is not guarded


def test_polars_reads_the_written_values(exporter: Exporter) -> None:
    expected = exporter.companies()

    frame = pl.read_parquet(exporter.make_table("parquet")[1])
    lines = pl.read_ndjson(exporter.make_table("ndjson")[1], schema=frame.schema)
    table = pl.read_csv(exporter.make_table("csv")[1], infer_schema=False)

    assert frame.to_dicts() == expected
    assert lines.equals(frame)
    assert (tuple(table.columns), table.height) == (FIELDS, len(expected))
    for name, kind in canonical.COMPANIES.items():
        assert name not in frame.schema or frame.schema[name] == kind


def test_parquet_has_its_licences_in_its_metadata(exporter: Exporter) -> None:
    """X7, X9"""
    parquet_file = pyarrow.parquet.ParquetFile(
        BytesIO(exporter.make_table("parquet", lang="en")[1])
    )

    licences = orjson.loads(parquet_file.metadata.metadata[b"licences"])
    assert licences
    assert all(list(licence) == ["attribution", "licence", "adresse"] for licence in licences)
    assert parquet_file.read().to_pylist() == exporter.companies()


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_plan_without_the_right_has_the_same_columns_with_empty_contacts(
    exporter: Exporter, form: str
) -> None:
    """X7, §2.1"""
    content = exporter.make_table(form, "free", comptes=True)[1]

    with ZipFile(BytesIO(content)) as archive:
        files_of_archive = {name: archive.read(name) for name in archive.namelist()}
    frame = read_table(form, files_of_archive[f"societes.{form}"])
    assert tuple(frame.columns) == FIELDS
    # There are four contact fields.
    assert frame.select(CONTACTS).null_count().sum_horizontal().item() == 4 * frame.height
    assert CONTACT.encode() not in b"".join(files_of_archive.values())
    assert CONTACT.encode() in exporter.make_table("ndjson")[1]


def read_table(form: str, content: bytes) -> pl.DataFrame:
    """A table, read by Polars; all columns of a CSV are text."""
    if form == "csv":
        return pl.read_csv(content, infer_schema=False)
    if form == "ndjson":
        return pl.from_dicts(
            [orjson.loads(line) for line in content.splitlines()], infer_schema_length=None
        )
    return pl.read_parquet(content)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_comptes_is_a_second_table_of_the_companies_that_the_plan_allows(
    exporter: Exporter, form: str
) -> None:
    """X7, E5, F7"""
    result, content = exporter.make_table(form, comptes=True, colonnes=("nom", "id"))

    with ZipFile(BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"societes.{form}", f"comptes.{form}", "licences.json"]
        companies, lines = (read_table(form, archive.read(name)) for name in archive.namelist()[:2])
        licences = orjson.loads(archive.read("licences.json"))
        comment = archive.comment.decode()
    # X9: the attributions of the countries in the file, as Parquet has them
    metadata = pyarrow.parquet.ParquetFile(
        BytesIO(exporter.make_table("parquet")[1])
    ).metadata.metadata
    assert licences == orjson.loads(metadata[b"licences"])
    assert comment.splitlines() == [licence["attribution"] for licence in licences]
    assert len(licences) > 1
    assert result.comptes == 2
    assert companies.columns == ["nom", "id"]
    assert lines.columns == [column.name for column in files.STATEMENT_COLUMNS]
    assert lines["iso2"].to_list() == ["FR", "UK", "UK"]
    assert lines["id"].to_list() == ["552100554", "08209948", "08209948"]
    assert [float(value) for value in lines["valeur"]] == [12.5] * 3


def test_the_plan_limits_the_companies_with_statements(exporter: Exporter) -> None:
    """F7"""
    result, content = exporter.make_table("ndjson", comptes=True, most_with_accounts=1)

    assert result.comptes == 1
    with ZipFile(BytesIO(content)) as archive:
        assert archive.read("comptes.ndjson").count(b"\n") == 1


def test_chosen_columns_have_the_requested_order(exporter: Exporter) -> None:
    columns = ("score", "nom", "noms_anterieurs")

    content = exporter.make_table("ndjson", colonnes=columns)[1]
    frame = pl.read_parquet(exporter.make_table("parquet", colonnes=columns)[1])

    records = [orjson.loads(line) for line in content.splitlines()]
    assert records == [{name: record[name] for name in columns} for record in exporter.companies()]
    assert frame.to_dicts() == records
    assert tuple(frame.columns) == columns == tuple(records[0])
    assert exporter.make_table("csv", colonnes=columns)[1].startswith(
        "\ufeffscore,nom,noms_".encode()
    )


def test_the_same_request_gives_the_same_bytes(exporter: Exporter) -> None:
    for form in ("csv", "ndjson", "parquet"):
        assert exporter.make_table(form, comptes=True) == exporter.make_table(form, comptes=True)


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    """F5"""
    empty = Exporter(tmp_path / "data", world.publish(tmp_path / "data", []), tmp_path)

    result, content = empty.make_table("parquet")

    assert result == ExportResult(0, 0, 0)
    assert tuple(pl.read_parquet(content).columns) == FIELDS
    assert empty.make_table("csv")[1].decode("utf-8-sig") == ",".join(FIELDS) + "\r\n"
    assert empty.make_table("ndjson")[1] == b""


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_full_disk_raises_an_os_error(exporter: Exporter, form: str) -> None:
    """The worker reports the error and goes on with its next job (serve/features/export/worker.py)."""
    request = export_request(exporter.data, exporter.generation)
    request = replace(request, file=FileOptions(form))
    with (
        tempfile.TemporaryDirectory(dir=exporter.folder) as folder,
        generation_files.load(exporter.data, exporter.generation) as generation,
        pytest.raises(OSError, match="No space left"),
    ):
        tables.make(request, generation, Path("/dev/full"), Path(folder))
