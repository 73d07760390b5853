"""The input of a build: the countries in each file, and the rows of a country in pieces."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.stages import input_files
from pipeline.stages.input_files import InputPart
from tests.pipeline.rows import company, statement_line, write_input

ROWS = [company("GB", "1", "Ł"), company("EE", "1", "Ä"), company(None, "2", "Ö")]


def test_the_rows_of_each_country_are_counted_file_by_file(tmp_path: Path) -> None:
    first = write_input(
        tmp_path / "a", [*ROWS, company("UK", "2", "Ü")], [statement_line("EE", "1", 2020)]
    )
    second = write_input(tmp_path / "b", [company("UK", "3", "É")], name="z")

    result = input_files.survey([first, second], "companies")

    first_file, second_file = input_files.files([first, second], "companies")
    assert result == {first_file: {"UK": 2, "EE": 1, "": 1}, second_file: {"UK": 1}}
    assert input_files.rows_per_country(result) == {"": 1, "EE": 1, "UK": 3}
    assert input_files.parts_of_country(result, "UK") == (
        InputPart(first_file, 2),
        InputPart(second_file, 1),
    )
    assert input_files.parts_of_country(result, "FR") == ()
    assert input_files.survey([first, second], "comptes") == {
        first / "comptes" / "part.parquet": {"EE": 1}
    }


@pytest.mark.parametrize("most_rows", [1, 2, 100])
def test_the_pieces_of_a_country_are_exactly_its_rows_in_order(
    tmp_path: Path, most_rows: int
) -> None:
    rows = [company(("GB", "UK", "FR")[number % 3], str(number), "Łódź") for number in range(7)]
    folder = write_input(tmp_path, rows)
    parts = input_files.parts_of_country(input_files.survey([folder], "companies"), "UK")

    pieces = [
        piece.collect() for piece in input_files.scan_pieces(parts, "companies", "UK", most_rows)
    ]

    assert max(piece.height for piece in pieces) <= most_rows
    assert pl.concat(pieces)["id"].to_list() == ["0", "1", "3", "4", "6"]
    assert set(pl.concat(pieces)["iso2"]) == {"UK"}
    assert input_files.scan_country(parts, "companies", "UK").collect().equals(pl.concat(pieces))


def test_a_country_without_a_file_gives_one_empty_piece() -> None:
    (piece,) = input_files.scan_pieces((), "companies", "EE", 10)

    assert piece.collect().height == 0


def test_the_digest_of_a_file_does_not_depend_on_its_folder(tmp_path: Path) -> None:
    folders = [write_input(tmp_path / name, ROWS) for name in ("a", "b")]

    (first_digest, second_digest) = input_files.digests(folders).values()

    assert first_digest == second_digest
    assert first_digest.size == (folders[0] / "companies" / "part.parquet").stat().st_size


def test_files_in_a_folder_named_like_a_parquet_file_are_read(tmp_path: Path) -> None:
    """Spark, Dask and DuckDB write such folders."""
    folder = write_input(tmp_path, ROWS, name="t")
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
