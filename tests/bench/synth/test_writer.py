"""`synth` writes the requested number of companies, and the same bytes with any number of processes."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import COMPANIES
from pipeline.errors import BuildError
from tests.bench.synth import writer
from tests.bench.synth.__main__ import main
from tests.bench.synth.synthetic import SEEDS, contents, rows
from tests.bench.synth.writer import SynthOptions
from tests.pipeline.builds import run_build as build


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_jobs(tmp_path: Path) -> None:
    def write_with(jobs: int) -> dict[str, bytes]:
        out = tmp_path / str(jobs)
        writer.run(SynthOptions(companies=400, seed=3, out=out, comptes=0.5, jobs=jobs))
        return contents(out)

    assert write_with(1) == write_with(2)


def test_another_seed_gives_other_companies(tmp_path: Path) -> None:
    for seed in (1, 2):
        writer.run(SynthOptions(companies=400, seed=seed, out=tmp_path / str(seed), jobs=1))

    companies_1, companies_2 = (rows(tmp_path / seed, "companies") for seed in "12")
    assert set(companies_1["id"]) != set(companies_2["id"])
    assert set(companies_1["nom"]) != set(companies_2["nom"])


def test_chunks_draw_different_names_and_share_no_identifier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk is the companies that one task draws; 50 here, so that a small run has several chunks."""
    monkeypatch.setattr(writer, "ROWS", 50)
    monkeypatch.setattr(writer, "PART", 20)
    options = SynthOptions(companies=2_000, seed=1, out=tmp_path, comptes=1.0, jobs=1)

    written = writer.run(options)

    companies = rows(tmp_path, "companies")
    lines = rows(tmp_path, "comptes")
    assert (
        companies.select("iso2", "id").n_unique() == companies.height == written.companies == 2_000
    )
    assert lines.select("iso2", "id").n_unique() == 2_000
    assert lines.height == written.lines
    french = companies.filter(pl.col("iso2") == "FR")["nom"]
    assert set(french[:50]) != set(french[50:100])  # the first two chunks


def test_chunks_are_dealt_to_batches_in_their_order() -> None:
    chunks = list(writer.plan(SynthOptions(companies=9_000_000, seed=1, out=Path())))

    batches = writer.batches(chunks, 2)

    assert [chunk for batch in batches for chunk in batch.chunks] == chunks
    assert sum(batch.rows for batch in batches) == 9_000_000
    assert max(batch.rows for batch in batches) <= writer.BATCH
    assert len(batches) >= 2 * writer.LEAST_BATCHES
    assert batches[0].iso2 == "FR"
    assert batches[0].memory == writer.MEMORY


def test_a_second_run_replaces_the_files_of_the_first(tmp_path: Path) -> None:
    writer.run(SynthOptions(companies=100, seed=1, out=tmp_path, comptes=1.0, jobs=1))
    (tmp_path / "companies" / "FR-00007.parquet.partial").touch()
    writer.run(SynthOptions(companies=3, seed=1, out=tmp_path, jobs=1))

    assert rows(tmp_path, "companies").height == 3
    assert not [name for name in contents(tmp_path) if "comptes" in name or "partial" in name]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "companies").mkdir()
    (tmp_path / "companies" / "ee.lihtandmed.parquet").touch()

    with pytest.raises(BuildError, match=r"ee\.lihtandmed\.parquet, .* empty or new folder"):
        writer.run(SynthOptions(companies=100, seed=1, out=tmp_path, jobs=1))

    assert list(contents(tmp_path)) == ["companies/ee.lihtandmed.parquet"]


@pytest.mark.parametrize("count", [0, 1, 24, 25, 1_000, 123_457])
def test_the_shares_of_the_countries_add_up(count: int) -> None:
    assert sum(writer.companies_per_country(count).values()) == count


def test_the_full_size_has_exactly_the_numbers_of_the_table() -> None:
    table = {row["iso2"]: int(row["synthetic_n"]) for row in SEEDS.tables["pays"]}

    assert writer.companies_per_country(18_700_000) == table


@pytest.mark.parametrize("count", [0, 1, 30])
def test_any_number_of_companies_is_an_input(tmp_path: Path, count: int) -> None:
    written = writer.run(SynthOptions(companies=count, seed=1, out=tmp_path, comptes=1.0, jobs=1))

    assert rows(tmp_path, "companies").height == count == written.companies


def test_more_companies_than_identifiers_stop_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"companies of \w\w are more than the \d+ identifiers"):
        writer.run(SynthOptions(companies=10**9, seed=1, out=tmp_path / "out", jobs=1))

    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_build_takes_every_row(tmp_path: Path) -> None:
    source = tmp_path / "in"
    writer.run(SynthOptions(companies=5_000, seed=1, out=source, comptes=0.1, jobs=1))

    built = build(tmp_path, source, jobs=1)

    assert sum(quality.gardees for quality in built.pays.values()) == 5_000
    assert not list((tmp_path / "data" / "rejected").glob("*.parquet"))


def test_the_command_prints_the_numbers_of_written_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--companies", "30", "--seed", "1", "--out", str(tmp_path / "in")])

    assert capsys.readouterr().out == f"30 companies, 0 statement lines in {tmp_path / 'in'}\n"


def test_every_drawn_column_is_canonical(companies: pl.DataFrame) -> None:
    assert dict(companies.schema) == dict(COMPANIES)
    empty = [name for name in COMPANIES if companies[name].null_count() == companies.height]
    # The build adds `url_registre`; only registers have the other three.
    assert empty == ["url_registre", "date_source", "noms_anterieurs", "nace_secondaires"]
