"""Builds that die or fail: the published generation stays, finished countries are not built again."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline import digests
from pipeline.errors import BuildError
from seeds import TABLES
from shards.generations import pointer
from tests.pipeline.builds import run, served
from tests.pipeline.rows import company, line, write


def test_a_build_that_is_killed_leaves_what_is_published(tmp_path: Path) -> None:
    good = write(tmp_path / "good", [company("EE", "1", "Ä")])
    many = write(tmp_path / "many", [company("EE", str(i), "Õun") for i in range(50_000)])
    data = tmp_path / "data"
    generation = run(tmp_path, good).generation

    kill(data, many, when=".building/work-*/EE-*/EE.shard.partial")

    assert pointer.current_name(data) == generation
    assert [row["nom"] for row in served(tmp_path, "EE")] == ["Ä"]
    assert (data / ".building").exists()
    run(tmp_path, good)
    assert not (data / ".building").exists()


def kill(data: Path, source: Path, when: str) -> None:
    """Start a build in a process of its own, and kill it when a file `when` appears in `data`."""
    command = ["-m", "pipeline", "build", "--input", str(source), "--out", str(data), "--jobs", "1"]
    with subprocess.Popen([sys.executable, *command], cwd=Path(__file__).parents[3]) as process:
        while process.poll() is None and not list(data.glob(when)):
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL


# -- an interrupted build ----------------------------------------------------------------


def halves(folder: Path) -> tuple[Path, Path]:
    """An input in which only Estonia can be built, and the same input corrected."""
    estonia = [company("EE", "1", "Ä"), company("EE", "2", None), company("EE", "3", "Õun")]
    good, bad = folder / "good", folder / "bad"
    for source, twice in ((good, "2"), (bad, "1")):
        write(source, estonia, [line("EE", "3", 2020)], name="ee")
        write(source, [company("UK", "1", "É"), company("UK", twice, "È")], name="uk")
    return good, bad


def interrupted(tmp_path: Path, bad: Path, **options: Any) -> None:
    with pytest.raises(BuildError, match="UK: 1 identifiers come more than once"):
        run(tmp_path, bad, max_rejected=0.5, **options)


def content(tmp_path: Path) -> dict[str, bytes]:
    folder = tmp_path / "data"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != pointer.CURRENT
    }


def test_a_build_goes_on_with_the_countries_that_are_done(tmp_path: Path) -> None:
    good, bad = halves(tmp_path)
    whole = run(tmp_path / "whole", good, max_rejected=0.5)
    interrupted(tmp_path / "parts", bad)

    resumed = run(tmp_path / "parts", good, max_rejected=0.5)

    assert (whole.resumed, resumed.resumed) == ((), ("EE",))
    assert content(tmp_path / "parts") == content(tmp_path / "whole")
    assert resumed.pays == whole.pays


@pytest.mark.slow
def test_a_build_that_was_killed_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = [
        company(iso2, str(i), f"Õun {i % 7}")
        for iso2, count in (("EE", 600), ("UK", 20_000), ("FR", 30_000))
        for i in range(count)
    ]
    source = write(tmp_path / "in", rows)
    whole = run(tmp_path / "whole", source)

    kill(tmp_path / "parts" / "data", source, when=".building/done/FR.json")
    resumed = run(tmp_path / "parts", source)

    assert "FR" in resumed.resumed
    assert resumed.generation == whole.generation
    assert content(tmp_path / "parts") == content(tmp_path / "whole")


@pytest.mark.slow
def test_what_is_done_is_not_taken_where_anything_it_depends_on_has_changed(tmp_path: Path) -> None:
    good, bad = halves(tmp_path)
    rejected = tmp_path / "data" / "rejected" / "EE.parquet"

    for spoil in (
        lambda: write(good, [company("EE", "4", "Ü")], name="autre"),
        lambda: write(good, [], [line("EE", "3", 2021)], name="ee"),
        lambda: rejected.write_bytes(b""),
        lambda: (tmp_path / "data" / ".building" / "done" / "EE.shard").write_bytes(b""),
    ):
        interrupted(tmp_path, bad)
        spoil()
        assert run(tmp_path, good, max_rejected=0.5, force=True).resumed == ()

    for options in ({"max_rejected": 0.6}, {"seeds": copied_seeds(tmp_path)}):
        interrupted(tmp_path, bad)
        assert run(tmp_path, good, **{"max_rejected": 0.5, "force": True, **options}).resumed == ()


def copied_seeds(tmp_path: Path) -> Path:
    """A copy of the tables of the project with another exchange rate."""
    folder = tmp_path / "seeds"
    shutil.copytree(TABLES, folder, ignore=shutil.ignore_patterns("raw"))
    with (folder / "taux.csv").open("a") as table:
        table.write((TABLES / "taux.csv").read_text().splitlines()[-1].replace("20", "19") + "\n")
    return folder


def test_other_code_takes_nothing_that_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = halves(tmp_path)
    interrupted(tmp_path, bad)
    monkeypatch.setattr(digests, "code_version", lambda: "autre")

    assert run(tmp_path, good, max_rejected=0.5).resumed == ()
