"""The files of changes between two generations, which a build writes."""

from pathlib import Path

import polars as pl

from pipeline.publishing import build
from shards.generations import change_steps
from shards.generations.change_steps import ChangeCounts
from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, write_input, write_two_countries


def test_a_build_writes_the_changes_as_change_files_and_as_parquet(tmp_path: Path) -> None:
    first = run_build(tmp_path, write_two_countries(tmp_path / "a"))
    second_input = write_two_countries(tmp_path / "b", "Œuvre")
    write_input(second_input, [company("UK", "2", "È"), company("UK", "3", "Ü")], name="uk")
    second = run_build(tmp_path, second_input)

    folder = tmp_path / "data" / change_steps.FOLDER / f"{first.generation}-{second.generation}"
    step = change_steps.read(folder)
    assert step.counts == {"UK": ChangeCounts(1, 1, 0)}
    change_steps.verify(folder)
    assert pl.read_parquet(folder / build.CHANGES).to_dicts() == [
        {"iso2": "UK", "id": "1", "nature": "supprimee", "champs": None},
        {"iso2": "UK", "id": "3", "nature": "creee", "champs": None},
    ]


def test_the_same_two_inputs_give_the_same_bytes_of_changes_with_any_number_of_processes(
    tmp_path: Path,
) -> None:
    for place in ("x", "y"):
        run_build(tmp_path / place, write_two_countries(tmp_path / "a"))
        run_build(
            tmp_path / place,
            write_two_countries(tmp_path / "b", "Œuvre"),
            jobs=2 if place == "y" else 1,
        )

    change_files = [
        {
            str(path.relative_to(tmp_path / place)): path.read_bytes()
            for path in (tmp_path / place / "data" / change_steps.FOLDER).rglob("*")
            if path.is_file()
        }
        for place in ("x", "y")
    ]
    assert change_files[0] == change_files[1]
    assert len(change_files[0]) == 3  # changes.json, UK.changes and changes.parquet
