"""The same input gives the same bytes, whatever the processes, the order of files and the folders."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.publishing import build
from shards.generations import pointer
from tests.pipeline.builds import run, served
from tests.pipeline.rows import Row, company, line, write

LABELS = ("Société Générale", "Żabka Łódź", "Ψυχή", "Õun OÜ", "Œuvre & Cie")


def world() -> tuple[list[Row], list[Row]]:
    """Companies of three countries, enough of one to train the compression; some amounts are equal."""
    draw = random.Random(2026)
    rows = [
        company(
            iso2,
            f"{number:08}",
            f"{draw.choice(LABELS)} {number}",
            nace_code=draw.choice([None, "62.01", "47.11", "84.11", "ZZ"]),
            nace_version=draw.choice([None, "2", "2.1"]),
            ca_last=draw.choice([None, 0.0, -1.0, 0.5, 1e6]),
            ca_devise=draw.choice([None, "EUR", "GBP"]),
            ca_year=draw.choice([2019, 2020]),
            effectif=draw.choice([None, -1, 0, 7, 250]),
        )
        for iso2, count in (("EE", 900), ("UK", 60), ("FR", 5))
        for number in range(count)
    ]
    lines = [
        line(row["iso2"], row["id"], year, valeur=float(year), code=code)
        for row in rows[:50]
        for year in (2020, 2021)
        for code in ("TotalAssets", "Assets", "Assets")
    ]
    return rows, lines


def files(data: Path, built: build.BuildResult) -> dict[str, bytes]:
    folder = data / "data" / built.generation
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_same_input_gives_the_same_generation_whatever_the_jobs(tmp_path: Path) -> None:
    source = write(tmp_path / "in", *world())

    one = run(tmp_path / "1", source, jobs=1, max_rejected=1.0)
    two = run(tmp_path / "2", source, jobs=2, max_rejected=1.0)

    assert one.generation == two.generation
    assert files(tmp_path / "1", one) == files(tmp_path / "2", two)
    assert one.pays == two.pays


@pytest.mark.slow
def test_the_order_of_files_and_the_names_of_folders_change_nothing(tmp_path: Path) -> None:
    rows, lines = world()
    first = write(tmp_path / "a", rows[:400], lines[:77], name="un")
    second = write(tmp_path / "b", rows[400:], lines[77:], name="deux")
    third = write(tmp_path / "c" / "d", rows[:400], lines[:77], name="un")
    write(tmp_path / "c" / "d", rows[400:], lines[77:], name="deux")

    built = [
        run(tmp_path / "1", first, second, max_rejected=1.0),
        run(tmp_path / "2", second, first, max_rejected=1.0),
        run(tmp_path / "3", third, max_rejected=1.0),
    ]

    assert len({one.generation for one in built}) == 1


def test_the_order_of_rows_changes_no_shard(tmp_path: Path) -> None:
    rows, lines = world()
    straight = write(tmp_path / "a", rows, lines)
    shuffled = write(tmp_path / "b", rows[::-1], random.Random(1).sample(lines, len(lines)))

    one = files(tmp_path / "1", run(tmp_path / "1", straight, max_rejected=1.0))
    two = files(tmp_path / "2", run(tmp_path / "2", shuffled, max_rejected=1.0))

    assert one.pop("manifest.json") != two.pop("manifest.json")  # the sources differ
    assert one == two


def test_building_again_changes_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "in", *world())

    first = run(tmp_path, source, max_rejected=1.0)
    again = run(tmp_path, source, max_rejected=1.0)

    assert first == replace(again, reused=())
    assert "UK" in again.reused
    assert pointer.current_name(tmp_path / "data") == first.generation
    assert len(served(tmp_path, "UK")) == first.pays["UK"].gardees
