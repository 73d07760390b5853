"""The tables of an export, read back by other programs (X7)."""

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
from serve.contract.company_answers import LigneComptesExportee
from serve.features.export import tables
from serve.features.export.workbook.export_data import ExportResult
from serve.request.values import FileOptions
from serve.surfaces.docs.document import company
from shards.codec.record import CONTACTS, FIELDS
from shards.generations import generation_files
from shards.query import Query
from tests import oracle
from tests.serve import world
from tests.serve.features.export.tables import HOSTILE, Place, as_text, published, rows, unguarded
from tests.serve.features.export.workbook.workbooks import asked
from tests.serve.world import COMPANIES, CONTACT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return published(tmp_path_factory.mktemp("tables"))


def test_the_columns_are_those_of_a_company_with_the_types_of_the_canonical_schema() -> None:
    """X7, C6"""
    types = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean,
             "texts": pl.List(pl.String)}  # fmt: skip
    columns = files.company_columns()
    statements = {one.name: types[one.type] for one in files.STATEMENT_COLUMNS}

    assert tuple(columns) == FIELDS == tuple(company("en")["properties"])
    for name, kind in canonical.COMPANIES.items():
        assert name not in columns or types[columns[name].type] == kind, name
    assert statements == dict(canonical.COMPTES)
    assert list(statements) == [one.name for one in fields(LigneComptesExportee)]


def test_ndjson_is_the_objects_of_the_api(place: Place) -> None:
    """X7"""
    made, packed = place.make("ndjson")

    expected = oracle.search(COMPANIES, Query())
    found = [orjson.loads(line) for line in packed.splitlines()]
    assert made == ExportResult(len(COMPANIES) + len(HOSTILE), len(COMPANIES) + len(HOSTILE), 0)
    assert packed.endswith(b"}\n")
    assert all(tuple(one) == FIELDS for one in found)
    known = [one for one in found if one["iso2"] != "NL"]
    assert [one["id"] for one in known] == [one["id"] for one in expected]
    assert [one["nom"] for one in known] == [one["nom"] for one in expected]


def test_csv_is_rfc_4180_with_a_mark_and_keeps_every_value(place: Place) -> None:
    _, packed = place.make("csv")

    expected = place.lines()
    assert packed.startswith("\ufeffiso2,id,nom,".encode())
    assert re.sub(rb'"[^"]*"', b"", packed).count(b"\r\n") == packed.count(b"\n") - 3
    for row, known in zip(rows(packed), expected, strict=True):
        assert tuple(row) == FIELDS
        for name, text in as_text(known).items():
            found = unguarded(row[name]) if isinstance(known[name], str | list) else row[name]
            assert found == text, name


def test_no_text_of_a_csv_begins_a_formula(place: Place) -> None:
    """OWASP, CSV Injection"""
    found = rows(place.make("csv")[1])
    texts = {row["id"]: row["description"] for row in found if row["iso2"] == "NL"}
    amounts = {row["ca_eur"] for row in found}
    # What a spreadsheet makes of the file that divides lines at semicolons or tabs, whatever the quotes say.
    divided = re.split(
        "[;\t\r\n]", place.make("csv", colonnes=("id", "description"))[1].decode("utf-8-sig")
    )

    assert not [text for text in texts.values() if text[0] in "=+-@\t\r\n＝"]
    assert not [text for text in divided if text.lstrip('"')[:1] in ("=", "+", "-", "@", "＝")]
    assert [unguarded(texts[str(number)]) for number in range(len(HOSTILE))] == HOSTILE
    assert texts[str(HOSTILE.index("'t Hooft"))] == "'t Hooft"
    assert "-1.0" in amounts  # a number is not guarded


def test_polars_reads_what_was_written(place: Place) -> None:
    expected = place.lines()

    frame = pl.read_parquet(place.make("parquet")[1])
    lines = pl.read_ndjson(place.make("ndjson")[1], schema=frame.schema)
    table = pl.read_csv(place.make("csv")[1], infer_schema=False)

    assert frame.to_dicts() == expected
    assert lines.equals(frame)
    assert (tuple(table.columns), table.height) == (FIELDS, len(expected))
    for name, kind in canonical.COMPANIES.items():
        assert name not in frame.schema or frame.schema[name] == kind


def test_parquet_has_its_licences_in_its_metadata(place: Place) -> None:
    """X7, X9"""
    read = pyarrow.parquet.ParquetFile(BytesIO(place.make("parquet", lang="en")[1]))

    licences = orjson.loads(read.metadata.metadata[b"licences"])
    assert licences
    assert all(list(one) == ["attribution", "licence", "adresse"] for one in licences)
    assert read.read().to_pylist() == place.lines()


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_the_columns_are_the_same_whatever_the_plan_and_contacts_are_empty(
    place: Place, form: str
) -> None:
    """X7, §2.1"""
    packed = place.make(form, "free", comptes=True)[1]

    with ZipFile(BytesIO(packed)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    frame = read(form, parts[f"societes.{form}"])
    assert tuple(frame.columns) == FIELDS
    assert frame.select(CONTACTS).null_count().sum_horizontal().item() == 4 * frame.height
    assert CONTACT.encode() not in b"".join(parts.values())
    assert CONTACT.encode() in place.make("ndjson")[1]


def read(form: str, packed: bytes) -> pl.DataFrame:
    """A table by Polars; of CSV all columns are text."""
    if form == "csv":
        return pl.read_csv(packed, infer_schema=False)
    if form == "ndjson":
        return pl.from_dicts(
            [orjson.loads(line) for line in packed.splitlines()], infer_schema_length=None
        )
    return pl.read_parquet(packed)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_comptes_is_a_second_table_of_the_companies_that_the_plan_allows(
    place: Place, form: str
) -> None:
    """X7, E5, F7"""
    made, packed = place.make(form, comptes=True, colonnes=("nom", "id"))

    with ZipFile(BytesIO(packed)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"societes.{form}", f"comptes.{form}", "licences.json"]
        companies, lines = (read(form, archive.read(name)) for name in archive.namelist()[:2])
        licences = orjson.loads(archive.read("licences.json"))
        comment = archive.comment.decode()
    # X9: the attributions of the countries in the file, as Parquet has them
    metadata = pyarrow.parquet.ParquetFile(BytesIO(place.make("parquet")[1])).metadata.metadata
    assert licences == orjson.loads(metadata[b"licences"])
    assert comment.splitlines() == [one["attribution"] for one in licences]
    assert len(licences) > 1
    assert made.comptes == 2
    assert companies.columns == ["nom", "id"]
    assert lines.columns == [one.name for one in files.STATEMENT_COLUMNS]
    assert lines["iso2"].to_list() == ["FR", "UK", "UK"]
    assert lines["id"].to_list() == ["552100554", "08209948", "08209948"]
    assert [float(value) for value in lines["valeur"]] == [12.5] * 3


def test_a_plan_of_one_statement_gets_one(place: Place) -> None:
    """F7"""
    made, packed = place.make("ndjson", comptes=True, most=1)

    assert made.comptes == 1
    with ZipFile(BytesIO(packed)) as archive:
        assert archive.read("comptes.ndjson").count(b"\n") == 1


def test_chosen_columns_come_in_the_order_wanted(place: Place) -> None:
    wanted = ("score", "nom", "noms_anterieurs")

    packed = place.make("ndjson", colonnes=wanted)[1]
    frame = pl.read_parquet(place.make("parquet", colonnes=wanted)[1])

    found = [orjson.loads(line) for line in packed.splitlines()]
    assert found == [{name: one[name] for name in wanted} for one in place.lines()]
    assert frame.to_dicts() == found
    assert tuple(frame.columns) == wanted == tuple(found[0])
    assert place.make("csv", colonnes=wanted)[1].startswith("\ufeffscore,nom,noms_".encode())


def test_the_same_request_gives_the_same_bytes(place: Place) -> None:
    for form in ("csv", "ndjson", "parquet"):
        assert place.make(form, comptes=True) == place.make(form, comptes=True)


def test_a_table_of_nothing_has_its_columns(tmp_path: Path) -> None:
    """F5"""
    empty = Place(tmp_path / "data", world.publish(tmp_path / "data", []), tmp_path)

    made, packed = empty.make("parquet")

    assert made == ExportResult(0, 0, 0)
    assert tuple(pl.read_parquet(packed).columns) == FIELDS
    assert empty.make("csv")[1].decode("utf-8-sig") == ",".join(FIELDS) + "\r\n"
    assert empty.make("ndjson")[1] == b""


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_disk_that_takes_nothing_is_an_error_of_the_system(place: Place, form: str) -> None:
    """The worker reports it and goes on (serve/features/export/worker.py)."""
    wanted = asked(place.data, place.generation)
    wanted = replace(wanted, file=FileOptions(form))
    with (
        tempfile.TemporaryDirectory(dir=place.folder) as folder,
        generation_files.load(place.data, place.generation) as generation,
        pytest.raises(OSError, match="No space left"),
    ):
        tables.make(wanted, generation, Path("/dev/full"), Path(folder))
