"""The changes between two generations that a build writes."""

from pathlib import Path

import polars as pl

from pipeline.publishing import build
from shards.generations import change_steps
from shards.generations.change_steps import ChangeCounts
from tests.pipeline.builds import run
from tests.pipeline.rows import company, two_countries, write


def test_a_build_writes_what_changed_as_files_to_page_and_as_parquet(tmp_path: Path) -> None:
    first = run(tmp_path, two_countries(tmp_path / "a"))
    given = two_countries(tmp_path / "b", "Œuvre")
    write(given, [company("UK", "2", "È"), company("UK", "3", "Ü")], name="uk")
    second = run(tmp_path, given)

    folder = tmp_path / "data" / change_steps.FOLDER / f"{first.generation}-{second.generation}"
    step = change_steps.read(folder)
    assert step.counts == {"UK": ChangeCounts(1, 1, 0)}
    change_steps.verify(folder)
    assert pl.read_parquet(folder / build.CHANGES).to_dicts() == [
        {"iso2": "UK", "id": "1", "nature": "supprimee", "champs": None},
        {"iso2": "UK", "id": "3", "nature": "creee", "champs": None},
    ]


def test_the_same_input_after_the_same_gives_the_same_bytes_of_changes(tmp_path: Path) -> None:
    for place in ("x", "y"):
        run(tmp_path / place, two_countries(tmp_path / "a"))
        run(tmp_path / place, two_countries(tmp_path / "b", "Œuvre"), jobs=2 if place == "y" else 1)

    found = [
        {
            str(path.relative_to(tmp_path / place)): path.read_bytes()
            for path in (tmp_path / place / "data" / change_steps.FOLDER).rglob("*")
            if path.is_file()
        }
        for place in ("x", "y")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 3
