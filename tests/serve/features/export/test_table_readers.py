"""Tables of an export in programs that people use to read them: every value is equal to the API's (X7).

The data have accents, leading zeros, nulls, lists, and texts that a spreadsheet could take for formulas.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pytest
from openpyxl import load_workbook

from serve.contract import files
from tests.proof.tools import need
from tests.serve.features.export.tables import Exporter, csv_rows, expected_csv_row, make_exporter

Records = list[dict[str, Any]]

# The type in DuckDB of each type of column.
DUCKDB_TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "VARCHAR[]",
}


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Exporter:
    """Companies of the HTTP tests, and some whose descriptions look like formulas."""
    return make_exporter(tmp_path_factory.mktemp("readers"))


def read_with_pandas(path: Path) -> Records:
    """The rows of a table; the missing values of pandas become None."""
    if path.suffix == ".csv":
        frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
    elif path.suffix == ".ndjson":
        frame = pandas.read_json(path, lines=True, dtype=False)
    else:
        frame = pandas.read_parquet(path)
    columns = [
        [
            None if pandas.api.types.is_scalar(value) and pandas.isna(value) else value
            for value in frame[name].tolist()
        ]
        for name in frame
    ]
    return _records(list(frame), zip(*columns, strict=True))


def read_with_duckdb(path: Path) -> Records:
    """The rows of a table; all columns of a CSV are text."""
    if path.suffix == ".csv":
        source = f"read_csv('{path}', all_varchar = true)"
    elif path.suffix == ".ndjson":
        columns = files.company_columns().values()
        types = ", ".join(f"{column.name}: '{DUCKDB_TYPES[column.type]}'" for column in columns)
        source = f"read_json('{path}', format = 'newline_delimited', columns = {{{types}}})"
    else:
        source = f"'{path}'"
    relation = duckdb.sql(f"SELECT * FROM {source}")
    return _records(relation.columns, relation.fetchall())


def read_with_polars(path: Path) -> Records:
    """The rows of a table; all columns of a CSV are text."""
    if path.suffix == ".csv":
        frame = polars.read_csv(path, infer_schema=False)
    elif path.suffix == ".ndjson":
        frame = polars.read_ndjson(path, infer_schema_length=None)
    else:
        frame = polars.read_parquet(path)
    return _records(frame.columns, frame.rows())


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("reader", [read_with_pandas, read_with_duckdb, read_with_polars])
def test_a_table_has_the_values_of_the_api(
    exporter: Exporter, form: str, reader: Callable[[Path], Records], tmp_path: Path
) -> None:
    path = tmp_path / f"societes.{form}"
    path.write_bytes(exporter.make_table(form)[1])

    records = reader(path)

    if form == "csv":
        # A CSV is compared as the csv module reads it, which test_tables.py compares with the API.
        expected: Records = [dict(row) for row in csv_rows(path.read_bytes())]
        records = [{name: value or "" for name, value in record.items()} for record in records]
        assert [record["id"] for record in records] == [
            expected_csv_row(record)["id"] for record in exporter.companies()
        ]
    else:
        expected = exporter.companies()
    assert records == expected
    assert any(record["id"].startswith("0") for record in records)


def test_libreoffice_reads_a_csv_as_text_and_finds_no_formula(
    exporter: Exporter, tmp_path: Path
) -> None:
    path = tmp_path / "societes.csv"
    path.write_bytes(exporter.make_table("csv")[1])
    # Type 2 of LibreOffice is text, so identifiers keep their leading zeros.
    text = "/".join(f"{number}/2" for number in range(1, len(files.company_columns()) + 1))

    sheet = convert_with_libreoffice(path, f"44,34,76,1,{text}")

    cells = [[_sheet_text(cell.value) for cell in line] for line in sheet.iter_rows(min_row=2)]
    assert {cell.data_type for line in sheet.iter_rows() for cell in line} <= {"s", "n"}
    assert cells == [
        [_sheet_text(value) for value in row.values()] for row in csv_rows(path.read_bytes())
    ]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_libreoffice_finds_no_formula_if_it_splits_at_another_separator(
    exporter: Exporter, tmp_path: Path, separator: str
) -> None:
    """A program that expects semicolons or tabs splits a CSV with commas inside its texts."""
    path = tmp_path / "societes.csv"
    path.write_bytes(exporter.make_table("csv", colonnes=("id", "description"))[1])

    sheet = convert_with_libreoffice(path, f"{ord(separator)},34,76,1")

    cells = [cell for line in sheet.iter_rows() for cell in line]
    assert sheet.max_column > 1
    assert {cell.data_type for cell in cells} <= {"s", "n"}


def convert_with_libreoffice(path: Path, options: str) -> Any:
    """The sheet that LibreOffice makes from a CSV.

    Args:
        options: separator, quote, encoding (76 is UTF-8), first line, types of columns.
    """
    office = need("soffice", "libreoffice-calc")
    command = [office, "--headless", f"-env:UserInstallation=file://{path.parent}/profile",
               f"--infilter=CSV:{options}", "--convert-to", "xlsx",
               "--outdir", str(path.parent), str(path)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return load_workbook(path.with_suffix(".xlsx")).active


def _records(names: Sequence[str], lines: Any) -> Records:
    """The rows of a table as dicts by column; the arrays of pandas become lists."""
    return [
        {
            name: value.tolist() if hasattr(value, "tolist") else value
            for name, value in zip(names, line, strict=True)
        }
        for line in lines
    ]


def _sheet_text(value: Any) -> str:
    """A cell as text; CR LF becomes LF, as in a cell of a sheet."""
    return "" if value is None else str(value).replace("\r\n", "\n")
