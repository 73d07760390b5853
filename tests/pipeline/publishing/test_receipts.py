"""Receipts: a finished country is taken only if the build would give the same shard now."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import digests
from pipeline.publishing import receipts
from pipeline.publishing.receipts import BuiltCountry
from pipeline.stages.quality_report import Quality
from shards.generations import manifest
from shards.generations.reference import CellCount


@pytest.fixture
def done(tmp_path: Path) -> Path:
    folder = tmp_path / "done"
    folder.mkdir()
    (folder / "EE.shard").write_bytes(b"Tallinn")
    (tmp_path / "EE.parquet").write_bytes(b"Tartu")
    return folder


def country(done: Path) -> BuiltCountry:
    return BuiltCountry(
        "EE",
        (CellCount("62", "62.0", 3), CellCount(None, None, 2)),
        Quality(lues=6, gardees=5, rejetees={"nom vide": 1}),
        manifest.digest(done / "EE.shard"),
    )


def test_a_receipt_says_what_came_of_the_country(done: Path, tmp_path: Path) -> None:
    receipts.write_receipt(done, country(done), "clé", [tmp_path / "EE.parquet"], tmp_path)

    assert receipts.find_done(done, "EE", "clé", [tmp_path / "EE.parquet"]) == country(done)


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"!")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda done: changed(done / "EE.shard"),
        lambda done: changed(done / "EE.json"),
        lambda done: (done / "EE.shard").unlink(),
        lambda done: (done / "EE.json").unlink(),
        lambda done: (done / "EE.json").write_bytes(b"{}"),
        lambda done: changed(done.parent / "EE.parquet"),
        lambda done: (done.parent / "EE.parquet").unlink(),
    ],
)
def test_what_was_changed_is_not_taken_and_not_kept(
    done: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    receipts.write_receipt(done, country(done), "clé", [tmp_path / "EE.parquet"], tmp_path)
    spoil(done)

    assert receipts.find_done(done, "EE", "clé", [tmp_path / "EE.parquet"]) is None
    assert list(done.iterdir()) == []


def test_another_key_is_another_shard(done: Path, tmp_path: Path) -> None:
    receipts.write_receipt(done, country(done), "clé", [tmp_path / "EE.parquet"], tmp_path)

    assert receipts.find_done(done, "EE", "autre", [tmp_path / "EE.parquet"]) is None


def test_a_country_without_rejected_rows_has_none_when_it_is_taken(
    done: Path, tmp_path: Path
) -> None:
    (tmp_path / "EE.parquet").unlink()
    receipts.write_receipt(done, country(done), "clé", [tmp_path / "EE.parquet"], tmp_path)

    assert receipts.find_done(done, "EE", "clé", [tmp_path / "EE.parquet"]) == country(done)


def test_a_file_of_rejected_lines_that_appears_or_changes_is_seen(
    done: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "EE.parquet", tmp_path / "EE-comptes.parquet"]
    receipts.write_receipt(done, country(done), "clé", files, tmp_path)
    assert receipts.find_done(done, "EE", "clé", files) == country(done)

    files[1].write_bytes("Pärnu".encode())

    assert receipts.find_done(done, "EE", "clé", files) is None


def test_countries_that_nobody_asks_for_are_thrown_away(done: Path) -> None:
    (done / "UK.json").touch()

    receipts.discard_others(done, {"EE"})

    assert [path.name for path in done.iterdir()] == ["EE.shard"]


def test_a_key_depends_on_each_of_its_parts() -> None:
    keys = [
        receipts.key("EE"),
        receipts.key("UK"),
        receipts.key("EE", "a", "b"),
        receipts.key("EE", "ab"),
        receipts.key("EE", "b", "a"),
    ]

    assert len(set(keys)) == len(keys)
    assert keys[0] == receipts.key("EE")


def test_a_folder_is_known_by_the_names_and_the_bytes_of_its_files(tmp_path: Path) -> None:
    def digest(**files: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.csv").write_text(text)
        (folder / "README.md").write_text(folder.name)
        return digests.folder_digest(folder, "*.csv")

    assert digest(pays="a", taux="b") == digest(pays="a", taux="b")
    assert len({digest(pays="a", taux="b"), digest(pays="ab"), digest(pays="b", taux="a")}) == 3
