"""A build beside what is published: countries that did not change, what would change, what did."""

from pathlib import Path

import polars as pl
import pytest

from pipeline import code_version
from pipeline.__main__ import main
from pipeline.build import diff, resume, reuse
from shards.changes import change_steps
from shards.changes.change_file import ChangeCounts
from shards.generations import generation_files, pointer
from tests.pipeline.inputs import company, line, run, served, write


def two(folder: Path, word: str = "É") -> Path:
    """An input of two countries, each in files of its own."""
    write(
        folder, [company("EE", "1", "Ä"), company("EE", "2", "Õun")], [line("EE", "2", 2020)], "ee"
    )
    return write(folder, [company("UK", "1", word), company("UK", "2", "È")], name="uk")


def test_a_country_that_did_not_change_is_not_built_again_and_is_the_same_file(
    tmp_path: Path,
) -> None:
    first = run(tmp_path, two(tmp_path / "a"))
    given = two(tmp_path / "b", "Œuvre")
    second = run(tmp_path, given)
    whole = run(tmp_path / "whole", given)

    data = tmp_path / "data"
    assert (first.reused, second.reused) == ((), ("EE",))
    assert (data / first.generation / "EE.shard").samefile(data / second.generation / "EE.shard")
    assert second.generation == whole.generation
    assert second.pays == whole.pays
    assert [one["nom"] for one in served(tmp_path, "UK")] == ["Œuvre", "È"]


def test_a_country_that_is_built_again_and_comes_out_the_same_is_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(tmp_path, two(tmp_path / "a"))
    monkeypatch.setattr(code_version, "code_version", lambda: "autre")
    second = run(tmp_path, two(tmp_path / "b", "Œuvre"))

    data = tmp_path / "data"
    assert second.reused == ()
    assert (data / first.generation / "EE.shard").samefile(data / second.generation / "EE.shard")


@pytest.mark.parametrize("spoiled", ["shard", "receipt", "rejected", "CURRENT"])
def test_what_cannot_be_trusted_is_built_again(tmp_path: Path, spoiled: str) -> None:
    data = tmp_path / "data"
    first = run(tmp_path, two(tmp_path / "a"))
    if spoiled == "shard":
        path = data / first.generation / "EE.shard"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif spoiled == "receipt":
        resume.file(data / reuse.FOLDER, "EE").write_bytes(b"{")
    elif spoiled == "rejected":
        (data / "rejected").mkdir(exist_ok=True)
        (data / "rejected" / "EE.parquet").write_bytes(b"")
    else:
        (data / "CURRENT").unlink()

    again = run(tmp_path, two(tmp_path / "a"))

    assert "EE" not in again.reused
    assert again.generation == first.generation
    generation_files.verify_digests(
        data / again.generation, generation_files.read_manifest(data / again.generation)
    )


def test_a_build_writes_what_changed_as_files_to_page_and_as_parquet(tmp_path: Path) -> None:
    first = run(tmp_path, two(tmp_path / "a"))
    given = two(tmp_path / "b", "Œuvre")
    write(given, [company("UK", "2", "È"), company("UK", "3", "Ü")], name="uk")
    second = run(tmp_path, given)

    folder = tmp_path / "data" / change_steps.FOLDER / f"{first.generation}-{second.generation}"
    step = change_steps.read(folder)
    assert step.counts == {"UK": ChangeCounts(1, 1, 0)}
    change_steps.verify(folder)
    assert pl.read_parquet(folder / diff.PARQUET).to_dicts() == [
        {"iso2": "UK", "id": "1", "nature": "supprimee", "champs": None},
        {"iso2": "UK", "id": "3", "nature": "creee", "champs": None},
    ]


def test_the_same_input_after_the_same_gives_the_same_bytes_of_changes(tmp_path: Path) -> None:
    for place in ("x", "y"):
        run(tmp_path / place, two(tmp_path / "a"))
        run(tmp_path / place, two(tmp_path / "b", "Œuvre"), jobs=2 if place == "y" else 1)

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


def test_a_dry_run_tells_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    given = two(tmp_path / "a")
    command = ["build", "--out", str(data), "--dry-run", "--input"]

    assert main([*command, str(given)]) == 0
    told = capsys.readouterr().out
    assert "published: nothing" in told
    assert not data.exists()

    run(tmp_path, given)
    before = _files(data)
    write(given, [company("UK", "1", "Œuvre")], name="uk")
    assert main([*command, str(given), "--minimum", "UK=5", "9"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["EE", "2", "2", "unchanged"] in lines
    assert ["UK", "2", "1", "to", "be", "built"] in lines
    assert ["total", "4", "3"] in lines
    closed = [" ".join(line) for line in lines if line[:2] == ["gate", "closed:"]]
    assert closed == [
        "gate closed: UK has 1 companies, the published generation has 2",
        "gate closed: the whole has 3 companies, 9 are the minimum",
        "gate closed: UK has 1 companies, 5 are the minimum",
    ]
    assert _files(data) == before


def _files(data: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.stat() for path in data.rglob("*")}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


def test_a_minimum_and_what_is_kept_are_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    command = ["build", "--out", str(data), "--jobs", "1", "--input"]

    assert main([*command, str(two(tmp_path / "a")), "--minimum", "GB=3"]) == 1
    assert "UK has 2 companies, 3 are the minimum" in capsys.readouterr().err
    for word in ("É", "Œ", "Ü"):
        assert main([*command, str(two(tmp_path / word, word)), "--keep", "3"]) == 0
    assert "unchanged, taken from the published generation: EE" in capsys.readouterr().out
    known = pointer.read(data)
    assert known is not None
    assert len(known.kept) == 3
    for wrong in (["--minimum", "beaucoup"], ["--keep", "1"]):
        with pytest.raises(SystemExit):
            main([*command, str(tmp_path / "É"), *wrong])
