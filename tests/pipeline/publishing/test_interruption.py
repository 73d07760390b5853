"""Builds that die or fail: the published generation stays, finished countries are not built again."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline import digests
from pipeline.errors import BuildError
from seeds import TABLES
from shards.generations import pointer
from tests import ROOT
from tests.pipeline.builds import published_companies, run_build
from tests.pipeline.rows import company, statement_line, write_input


def test_a_killed_build_leaves_the_published_generation(tmp_path: Path) -> None:
    good = write_input(tmp_path / "good", [company("EE", "1", "Ä")])
    large = write_input(
        tmp_path / "many", [company("EE", str(number), "Õun") for number in range(50_000)]
    )
    data = tmp_path / "data"
    generation = run_build(tmp_path, good).generation

    kill_build_at(data, large, "before")

    assert list(data.glob(".building/done/EE.*")) == [data / ".building/done/EE.shard"]
    assert pointer.current_name(data) == generation
    assert [row["nom"] for row in published_companies(tmp_path, "EE")] == ["Ä"]
    assert (data / ".building").exists()
    run_build(tmp_path, good)
    assert not (data / ".building").exists()


def kill_build_at(data: Path, source: Path, moment: str) -> None:
    """Run a build in another process, killed `before` or `after` it writes the receipt of its first country."""
    kill = ["-m", "tests.pipeline.kill_at", "pipeline.publishing.receipts", "write_receipt", moment]
    command = ["build", "--input", str(source), "--out", str(data), "--jobs", "1"]
    build = subprocess.run([sys.executable, *kill, *command], cwd=ROOT, check=False)
    assert build.returncode == -signal.SIGKILL


# -- an interrupted build ----------------------------------------------------------------


def good_and_bad_input(folder: Path) -> tuple[Path, Path]:
    """A correct input of Estonia and the UK, and one in which a British company is there twice."""
    estonia = [company("EE", "1", "Ä"), company("EE", "2", None), company("EE", "3", "Õun")]
    good, bad = folder / "good", folder / "bad"
    for source, second_id in ((good, "2"), (bad, "1")):
        write_input(source, estonia, [statement_line("EE", "3", 2020)], name="ee")
        write_input(source, [company("UK", "1", "É"), company("UK", second_id, "È")], name="uk")
    return good, bad


def run_bad_build(tmp_path: Path, bad: Path, **options: Any) -> None:
    """Run a build that finishes Estonia and then fails at the UK."""
    with pytest.raises(BuildError, match="UK: 1 identifiers come more than once"):
        run_build(tmp_path, bad, max_rejected=0.5, **options)


def published_files(tmp_path: Path) -> dict[str, bytes]:
    """The files of `data` by path, without the pointer to the generation, which has its own time."""
    folder = tmp_path / "data"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != pointer.CURRENT
    }


def test_a_build_after_a_failed_one_takes_the_finished_countries(tmp_path: Path) -> None:
    good, bad = good_and_bad_input(tmp_path)
    undisturbed = run_build(tmp_path / "whole", good, max_rejected=0.5)
    run_bad_build(tmp_path / "parts", bad)

    resumed = run_build(tmp_path / "parts", good, max_rejected=0.5)

    assert (undisturbed.resumed, resumed.resumed) == ((), ("EE",))
    assert published_files(tmp_path / "parts") == published_files(tmp_path / "whole")
    assert resumed.pays == undisturbed.pays


@pytest.mark.slow
def test_a_build_after_a_killed_one_gives_the_same_bytes_as_an_undisturbed_build(
    tmp_path: Path,
) -> None:
    """The first build is killed when it has finished France, which the second build takes over."""
    rows = [
        company(iso2, str(number), f"Õun {number % 7}")
        for iso2, count in (("EE", 600), ("UK", 20_000), ("FR", 30_000))
        for number in range(count)
    ]
    source = write_input(tmp_path / "in", rows)
    undisturbed = run_build(tmp_path / "whole", source)

    kill_build_at(tmp_path / "parts" / "data", source, "after")
    resumed = run_build(tmp_path / "parts", source)

    assert resumed.resumed == ("FR",)
    assert resumed.generation == undisturbed.generation
    assert published_files(tmp_path / "parts") == published_files(tmp_path / "whole")


@pytest.mark.slow
def test_a_finished_country_is_built_again_if_its_input_files_or_options_changed(
    tmp_path: Path,
) -> None:
    """A build that fails leaves Estonia finished; the next build takes it over (`resumed`) only if nothing changed.

    Changed are an input file, a file of statement lines, the stored rejected rows, the finished shard, or an option.
    """
    good, bad = good_and_bad_input(tmp_path)
    rejected = tmp_path / "data" / "rejected" / "EE.parquet"

    for spoil in (
        lambda: write_input(good, [company("EE", "4", "Ü")], name="autre"),
        lambda: write_input(good, [], [statement_line("EE", "3", 2021)], name="ee"),
        lambda: rejected.write_bytes(b""),
        lambda: (tmp_path / "data" / ".building" / "done" / "EE.shard").write_bytes(b""),
    ):
        run_bad_build(tmp_path, bad)
        spoil()
        assert run_build(tmp_path, good, max_rejected=0.5, force=True).resumed == ()

    for options in ({"max_rejected": 0.6}, {"seeds": copy_seeds_with_another_rate(tmp_path)}):
        run_bad_build(tmp_path, bad)
        assert (
            run_build(tmp_path, good, **{"max_rejected": 0.5, "force": True, **options}).resumed
            == ()
        )


def copy_seeds_with_another_rate(tmp_path: Path) -> Path:
    """A copy of the tables of the project, in which the last exchange rate is also that of a year a century earlier."""
    folder = tmp_path / "seeds"
    shutil.copytree(TABLES, folder, ignore=shutil.ignore_patterns("raw"))
    with (folder / "taux.csv").open("a") as table:
        table.write((TABLES / "taux.csv").read_text().splitlines()[-1].replace("20", "19") + "\n")
    return folder


def test_a_finished_country_is_built_again_if_the_code_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = good_and_bad_input(tmp_path)
    run_bad_build(tmp_path, bad)
    monkeypatch.setattr(digests, "code_version", lambda: "autre")

    assert run_build(tmp_path, good, max_rejected=0.5).resumed == ()
