"""Tables of an export in the programs that people load them with: every value is that of the API (X7).

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
from tests.serve.features.export.tables import Place, as_text, published, rows

Records = list[dict[str, Any]]

DUCKDB = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "VARCHAR[]",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return published(tmp_path_factory.mktemp("readers"))


def by_pandas(path: Path) -> Records:
    if path.suffix == ".csv":
        frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
    elif path.suffix == ".ndjson":
        frame = pandas.read_json(path, lines=True, dtype=False)
    else:
        frame = pandas.read_parquet(path)
    columns = [
        [
            None if pandas.api.types.is_scalar(one) and pandas.isna(one) else one
            for one in frame[name].tolist()
        ]
        for name in frame
    ]
    return _records(list(frame), zip(*columns, strict=True))


def by_duckdb(path: Path) -> Records:
    if path.suffix == ".csv":
        read = f"read_csv('{path}', all_varchar = true)"
    elif path.suffix == ".ndjson":
        known = files.company_columns().values()
        types = ", ".join(f"{one.name}: '{DUCKDB[one.type]}'" for one in known)
        read = f"read_json('{path}', format = 'newline_delimited', columns = {{{types}}})"
    else:
        read = f"'{path}'"
    found = duckdb.sql(f"SELECT * FROM {read}")
    return _records(found.columns, found.fetchall())


def by_polars(path: Path) -> Records:
    if path.suffix == ".csv":
        frame = polars.read_csv(path, infer_schema=False)
    elif path.suffix == ".ndjson":
        frame = polars.read_ndjson(path, infer_schema_length=None)
    else:
        frame = polars.read_parquet(path)
    return _records(frame.columns, frame.rows())


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("reader", [by_pandas, by_duckdb, by_polars])
def test_a_table_is_read_as_the_api_says_it(
    place: Place, form: str, reader: Callable[[Path], Records], tmp_path: Path
) -> None:
    path = tmp_path / f"societes.{form}"
    path.write_bytes(place.make(form)[1])

    found = reader(path)

    if form == "csv":
        # Python's own reader says what the file has; test_tables.py holds that to the API.
        expected: Records = [dict(row) for row in rows(path.read_bytes())]
        found = [{name: value or "" for name, value in one.items()} for one in found]
        assert [one["id"] for one in found] == [as_text(one)["id"] for one in place.lines()]
    else:
        expected = place.lines()
    assert found == expected
    assert any(one["id"].startswith("0") for one in found)


def test_libreoffice_reads_a_csv_as_text_and_finds_no_formula(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "societes.csv"
    path.write_bytes(place.make("csv")[1])
    # Every column is text (2), as for identifiers with leading zeros.
    text = "/".join(f"{number}/2" for number in range(1, len(files.company_columns()) + 1))

    sheet = by_libreoffice(path, f"44,34,76,1,{text}")

    found = [[_cell(cell.value) for cell in line] for line in sheet.iter_rows(min_row=2)]
    assert {cell.data_type for line in sheet.iter_rows() for cell in line} <= {"s", "n"}
    assert found == [[_cell(value) for value in row.values()] for row in rows(path.read_bytes())]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_libreoffice_finds_no_formula_where_it_divides_at_another_separator(
    place: Place, tmp_path: Path, separator: str
) -> None:
    """A comma CSV in a country of semicolons"""
    path = tmp_path / "societes.csv"
    path.write_bytes(place.make("csv", colonnes=("id", "description"))[1])

    sheet = by_libreoffice(path, f"{ord(separator)},34,76,1")

    cells = [cell for line in sheet.iter_rows() for cell in line]
    assert sheet.max_column > 1
    assert {cell.data_type for cell in cells} <= {"s", "n"}


def by_libreoffice(path: Path, options: str) -> Any:
    """The sheet that LibreOffice makes of a CSV: separator, quotes, UTF-8, from line 1, types of columns."""
    office = need("soffice", "libreoffice-calc")
    command = [office, "--headless", f"-env:UserInstallation=file://{path.parent}/profile",
               f"--infilter=CSV:{options}", "--convert-to", "xlsx",
               "--outdir", str(path.parent), str(path)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return load_workbook(path.with_suffix(".xlsx")).active


def _records(names: Sequence[str], lines: Any) -> Records:
    """Rows as dicts; an array of pandas is a list."""
    return [
        {
            name: one.tolist() if hasattr(one, "tolist") else one
            for name, one in zip(names, line, strict=True)
        }
        for line in lines
    ]


def _cell(value: Any) -> str:
    """A cell as text; a carriage return of a cell is a line feed."""
    return "" if value is None else str(value).replace("\r\n", "\n")
