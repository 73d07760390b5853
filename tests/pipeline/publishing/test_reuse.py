"""Countries that have not changed since the published generation are linked, not built again."""

from pathlib import Path

import pytest

from pipeline import digests
from pipeline.publishing import receipts
from shards.generations import generation_files
from tests.pipeline.builds import run, served
from tests.pipeline.rows import two_countries


def test_a_country_that_did_not_change_is_not_built_again_and_is_the_same_file(
    tmp_path: Path,
) -> None:
    first = run(tmp_path, two_countries(tmp_path / "a"))
    given = two_countries(tmp_path / "b", "Œuvre")
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
    first = run(tmp_path, two_countries(tmp_path / "a"))
    monkeypatch.setattr(digests, "code_version", lambda: "autre")
    second = run(tmp_path, two_countries(tmp_path / "b", "Œuvre"))

    data = tmp_path / "data"
    assert second.reused == ()
    assert (data / first.generation / "EE.shard").samefile(data / second.generation / "EE.shard")


@pytest.mark.parametrize("spoiled", ["shard", "receipt", "rejected", "CURRENT"])
def test_what_cannot_be_trusted_is_built_again(tmp_path: Path, spoiled: str) -> None:
    data = tmp_path / "data"
    first = run(tmp_path, two_countries(tmp_path / "a"))
    if spoiled == "shard":
        path = data / first.generation / "EE.shard"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif spoiled == "receipt":
        receipts.receipt_path(data / receipts.FOLDER, "EE").write_bytes(b"{")
    elif spoiled == "rejected":
        (data / "rejected").mkdir(exist_ok=True)
        (data / "rejected" / "EE.parquet").write_bytes(b"")
    else:
        (data / "CURRENT").unlink()

    again = run(tmp_path, two_countries(tmp_path / "a"))

    assert "EE" not in again.reused
    assert again.generation == first.generation
    generation_files.verify_digests(
        data / again.generation, generation_files.read_manifest(data / again.generation)
    )
