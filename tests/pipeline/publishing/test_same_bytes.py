"""An input gives the same bytes with any number of processes, order of files and names of folders."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.publishing import build
from shards.generations import pointer
from tests.pipeline.builds import published_companies, run_build
from tests.pipeline.rows import Row, company, statement_line, write_input

COMPANY_NAMES = ("Société Générale", "Żabka Łódź", "Ψυχή", "Õun OÜ", "Œuvre & Cie")


def three_countries() -> tuple[list[Row], list[Row]]:
    """Companies and statement lines of three countries, always the same.

    The 900 companies of Estonia suffice to train a dictionary of compression; some amounts are equal.
    """
    draw = random.Random(2026)
    rows = [
        company(
            iso2,
            f"{number:08}",
            f"{draw.choice(COMPANY_NAMES)} {number}",
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
        statement_line(row["iso2"], row["id"], year, valeur=float(year), code=code)
        for row in rows[:50]
        for year in (2020, 2021)
        for code in ("TotalAssets", "Assets", "Assets")
    ]
    return rows, lines


def generation_bytes(build_folder: Path, built: build.BuildResult) -> dict[str, bytes]:
    """The files of a built generation by name."""
    folder = build_folder / "data" / built.generation
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_same_input_gives_the_same_generation_whatever_the_jobs(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", *three_countries())

    one_job = run_build(tmp_path / "1", source, jobs=1, max_rejected=1.0)
    two_jobs = run_build(tmp_path / "2", source, jobs=2, max_rejected=1.0)

    assert one_job.generation == two_jobs.generation
    assert generation_bytes(tmp_path / "1", one_job) == generation_bytes(tmp_path / "2", two_jobs)
    assert one_job.pays == two_jobs.pays


@pytest.mark.slow
def test_the_order_of_files_and_the_names_of_folders_change_nothing(tmp_path: Path) -> None:
    rows, lines = three_countries()
    first = write_input(tmp_path / "a", rows[:400], lines[:77], name="un")
    second = write_input(tmp_path / "b", rows[400:], lines[77:], name="deux")
    third = write_input(tmp_path / "c" / "d", rows[:400], lines[:77], name="un")
    write_input(tmp_path / "c" / "d", rows[400:], lines[77:], name="deux")

    built = [
        run_build(tmp_path / "1", first, second, max_rejected=1.0),
        run_build(tmp_path / "2", second, first, max_rejected=1.0),
        run_build(tmp_path / "3", third, max_rejected=1.0),
    ]

    assert len({result.generation for result in built}) == 1


def test_the_order_of_rows_changes_no_shard(tmp_path: Path) -> None:
    rows, lines = three_countries()
    straight = write_input(tmp_path / "a", rows, lines)
    shuffled = write_input(tmp_path / "b", rows[::-1], random.Random(1).sample(lines, len(lines)))

    straight_files = generation_bytes(
        tmp_path / "1", run_build(tmp_path / "1", straight, max_rejected=1.0)
    )
    shuffled_files = generation_bytes(
        tmp_path / "2", run_build(tmp_path / "2", shuffled, max_rejected=1.0)
    )

    # The manifests have the digests of the input files, which differ.
    assert straight_files.pop("manifest.json") != shuffled_files.pop("manifest.json")
    assert straight_files == shuffled_files


def test_building_again_changes_nothing(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", *three_countries())

    first_build = run_build(tmp_path, source, max_rejected=1.0)
    second_build = run_build(tmp_path, source, max_rejected=1.0)

    assert first_build == replace(second_build, reused=())
    assert "UK" in second_build.reused
    assert pointer.current_name(tmp_path / "data") == first_build.generation
    assert len(published_companies(tmp_path, "UK")) == first_build.pays["UK"].gardees
