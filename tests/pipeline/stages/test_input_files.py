"""The input of a build: countries per file, and the rows of a country piece by piece."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.stages import input_files
from pipeline.stages.input_files import InputPart
from tests.pipeline.rows import company, line, write

ROWS = [company("GB", "1", "Ł"), company("EE", "1", "Ä"), company(None, "2", "Ö")]


def test_the_rows_of_each_country_are_counted_file_by_file(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [*ROWS, company("UK", "2", "Ü")], [line("EE", "1", 2020)])
    second = write(tmp_path / "b", [company("UK", "3", "É")], name="z")

    found = input_files.survey([first, second], "companies")

    one, two = input_files.files([first, second], "companies")
    assert found == {one: {"UK": 2, "EE": 1, "": 1}, two: {"UK": 1}}
    assert input_files.rows_per_country(found) == {"": 1, "EE": 1, "UK": 3}
    assert input_files.parts_of_country(found, "UK") == (InputPart(one, 2), InputPart(two, 1))
    assert input_files.parts_of_country(found, "FR") == ()
    assert input_files.survey([first, second], "comptes") == {
        first / "comptes" / "part.parquet": {"EE": 1}
    }


@pytest.mark.parametrize("most", [1, 2, 100])
def test_pieces_are_all_rows_of_the_country_in_order_and_of_no_other(
    tmp_path: Path, most: int
) -> None:
    rows = [company(("GB", "UK", "FR")[n % 3], str(n), "Łódź") for n in range(7)]
    folder = write(tmp_path, rows)
    held = input_files.parts_of_country(input_files.survey([folder], "companies"), "UK")

    pieces = [piece.collect() for piece in input_files.scan_pieces(held, "companies", "UK", most)]

    assert max(piece.height for piece in pieces) <= most
    assert pl.concat(pieces)["id"].to_list() == ["0", "1", "3", "4", "6"]
    assert set(pl.concat(pieces)["iso2"]) == {"UK"}
    assert input_files.scan_country(held, "companies", "UK").collect().equals(pl.concat(pieces))


def test_a_country_without_a_file_is_one_empty_piece() -> None:
    (piece,) = input_files.scan_pieces((), "companies", "EE", 10)

    assert piece.collect().height == 0


def test_the_digest_of_a_file_does_not_depend_on_its_folder(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, ROWS) for name in ("a", "b")]

    (one, two) = input_files.digests(folders).values()

    assert one == two
    assert one.size == (folders[0] / "companies" / "part.parquet").stat().st_size


def test_a_folder_that_is_called_as_a_file_is_looked_into(tmp_path: Path) -> None:
    """As Spark, Dask and DuckDB write them."""
    folder = write(tmp_path, ROWS, name="t")
    part = folder / "companies" / "t.parquet" / "part-0.parquet"
    (folder / "companies" / "t.parquet").rename(tmp_path / "part")
    part.parent.mkdir()
    (tmp_path / "part").rename(part)

    assert input_files.files([folder], "companies") == [part]
    assert input_files.rows_per_country(input_files.survey([folder], "companies")) == {
        "": 1,
        "EE": 1,
        "UK": 1,
    }
