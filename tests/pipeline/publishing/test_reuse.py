"""Countries that have not changed since the published generation are linked, not built again."""

from pathlib import Path

import pytest

from pipeline import digests
from pipeline.publishing import receipts
from shards.generations import generation_files
from tests.pipeline.builds import published_companies, run_build
from tests.pipeline.rows import write_two_countries


def test_a_country_with_the_same_input_is_linked_and_not_built_again(
    tmp_path: Path,
) -> None:
    first = run_build(tmp_path, write_two_countries(tmp_path / "a"))
    second_input = write_two_countries(tmp_path / "b", "Œuvre")
    second = run_build(tmp_path, second_input)
    first_build_elsewhere = run_build(tmp_path / "whole", second_input)

    data = tmp_path / "data"
    assert (first.reused, second.reused) == ((), ("EE",))
    assert (data / first.generation / "EE.shard").samefile(data / second.generation / "EE.shard")
    assert second.generation == first_build_elsewhere.generation
    assert second.pays == first_build_elsewhere.pays
    assert [row["nom"] for row in published_companies(tmp_path, "UK")] == ["Œuvre", "È"]


def test_a_country_that_is_built_again_to_the_same_bytes_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_build(tmp_path, write_two_countries(tmp_path / "a"))
    monkeypatch.setattr(digests, "code_version", lambda: "autre")
    second = run_build(tmp_path, write_two_countries(tmp_path / "b", "Œuvre"))

    data = tmp_path / "data"
    assert second.reused == ()
    assert (data / first.generation / "EE.shard").samefile(data / second.generation / "EE.shard")


@pytest.mark.parametrize("damaged", ["shard", "receipt", "rejected", "CURRENT"])
def test_a_country_is_built_again_if_its_published_files_are_damaged_or_gone(
    tmp_path: Path, damaged: str
) -> None:
    data = tmp_path / "data"
    first = run_build(tmp_path, write_two_countries(tmp_path / "a"))
    if damaged == "shard":
        path = data / first.generation / "EE.shard"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif damaged == "receipt":
        receipts.receipt_path(data / receipts.RECEIPTS, "EE").write_bytes(b"{")
    elif damaged == "rejected":
        (data / "rejected").mkdir(exist_ok=True)
        (data / "rejected" / "EE.parquet").write_bytes(b"")
    else:
        (data / "CURRENT").unlink()

    second_build = run_build(tmp_path, write_two_countries(tmp_path / "a"))

    assert "EE" not in second_build.reused
    assert second_build.generation == first.generation
    generation_files.verify_digests(
        data / second_build.generation,
        generation_files.read_manifest(data / second_build.generation),
    )
