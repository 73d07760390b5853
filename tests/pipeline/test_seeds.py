"""The reference tables: a wrong or missing one is a clear error."""

import shutil
from pathlib import Path

import pytest

from pipeline import seeds
from pipeline.errors import SeedError
from seeds import TABLES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of the tables, which a test can damage."""
    for name in seeds.COLUMNS:
        shutil.copy(TABLES / f"{name}.csv", tmp_path)
    return tmp_path


def test_there_are_25_countries_and_84_sectors() -> None:
    tables = seeds.read()

    assert len(tables.pays) == 25
    assert len(tables.tables["secteurs"]) == 84
    assert tables.country("UK").devise == "GBP"


@pytest.mark.parametrize("name", sorted(seeds.COLUMNS))
def test_a_missing_table_is_named(folder: Path, name: str) -> None:
    (folder / f"{name}.csv").unlink()

    with pytest.raises(SeedError, match=rf"{name}\.csv is missing"):
        seeds.read(folder)


@pytest.mark.parametrize("name", sorted(seeds.COLUMNS))
def test_a_missing_column_is_named(folder: Path, name: str) -> None:
    path = folder / f"{name}.csv"
    column = seeds.COLUMNS[name][-1]
    header, data_rows = path.read_text(encoding="utf-8").split("\n", 1)
    renamed = ",".join(
        "autre" if header_name == column else header_name for header_name in header.split(",")
    )
    path.write_text(f"{renamed}\n{data_rows}", encoding="utf-8")

    with pytest.raises(SeedError, match=rf"{name}\.csv has no column {column}"):
        seeds.read(folder)


@pytest.mark.parametrize(("name", "count"), [("pays", 24), ("secteurs", 83)])
def test_a_table_that_lacks_its_last_row_is_refused(folder: Path, name: str, count: int) -> None:
    path = folder / f"{name}.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")

    with pytest.raises(SeedError, match=rf"{name}\.csv has {count} rows"):
        seeds.read(folder)


def test_a_country_twice_is_refused(folder: Path) -> None:
    path = folder / "pays.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # The first country takes the place of the last one.
    path.write_text("".join([*lines[:-1], lines[1]]), encoding="utf-8")

    with pytest.raises(SeedError, match="25 rows with 24 different iso2"):
        seeds.read(folder)


def test_a_sector_label_with_a_vertical_bar_is_refused(folder: Path) -> None:
    """Contract B11."""
    path = folder / "secteurs.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Sylviculture et", "Sylviculture | et"), encoding="utf-8")

    with pytest.raises(SeedError, match=r"Sylviculture \|"):
        seeds.read(folder)


@pytest.mark.parametrize("broken", ["", "iso2,slug\n", "iso2,slug\nFR,a,b\n", "iso2,slug\nFR\n"])
def test_a_table_without_rows_or_of_uneven_rows_is_refused(folder: Path, broken: str) -> None:
    (folder / "pays.csv").write_text(broken, encoding="utf-8")

    with pytest.raises(SeedError, match=r"pays\.csv"):
        seeds.read(folder)


def test_a_table_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "pays.csv").write_bytes("iso2,nom\nFR,Réunion\n".encode("latin-1"))

    with pytest.raises(SeedError, match="not a UTF-8 CSV"):
        seeds.read(folder)
