"""Receipts: a build takes a finished country only if it would make the same shard again."""

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
def done_folder(tmp_path: Path) -> Path:
    """The folder of finished countries with a shard of Estonia; its rejected rows are one folder above."""
    folder = tmp_path / "done"
    folder.mkdir()
    (folder / "EE.shard").write_bytes(b"Tallinn")
    (tmp_path / "EE.parquet").write_bytes(b"Tartu")
    return folder


def built_estonia(done_folder: Path) -> BuiltCountry:
    """The result of building Estonia: counts by cell, quality report, and the digest of the shard in `done_folder`."""
    return BuiltCountry(
        "EE",
        (CellCount("62", "62.0", 3), CellCount(None, None, 2)),
        Quality(lues=6, gardees=5, rejetees={"nom vide": 1}),
        manifest.digest(done_folder / "EE.shard"),
    )


def test_a_finished_country_is_read_back_from_its_receipt(
    done_folder: Path, tmp_path: Path
) -> None:
    receipts.write_receipt(
        done_folder, built_estonia(done_folder), "clé", [tmp_path / "EE.parquet"], tmp_path
    )

    assert receipts.find_done(done_folder, "EE", "clé", [tmp_path / "EE.parquet"]) == built_estonia(
        done_folder
    )


def change_last_byte(path: Path) -> None:
    """Replace the last byte of a file."""
    path.write_bytes(path.read_bytes()[:-1] + b"!")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda done_folder: change_last_byte(done_folder / "EE.shard"),
        lambda done_folder: change_last_byte(done_folder / "EE.json"),
        lambda done_folder: (done_folder / "EE.shard").unlink(),
        lambda done_folder: (done_folder / "EE.json").unlink(),
        lambda done_folder: (done_folder / "EE.json").write_bytes(b"{}"),
        lambda done_folder: change_last_byte(done_folder.parent / "EE.parquet"),
        lambda done_folder: (done_folder.parent / "EE.parquet").unlink(),
    ],
)
def test_a_finished_country_with_a_changed_file_is_not_taken_and_is_deleted(
    done_folder: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    receipts.write_receipt(
        done_folder, built_estonia(done_folder), "clé", [tmp_path / "EE.parquet"], tmp_path
    )
    spoil(done_folder)

    assert receipts.find_done(done_folder, "EE", "clé", [tmp_path / "EE.parquet"]) is None
    assert list(done_folder.iterdir()) == []


def test_a_finished_country_with_another_key_is_not_taken(
    done_folder: Path, tmp_path: Path
) -> None:
    receipts.write_receipt(
        done_folder, built_estonia(done_folder), "clé", [tmp_path / "EE.parquet"], tmp_path
    )

    assert receipts.find_done(done_folder, "EE", "autre", [tmp_path / "EE.parquet"]) is None


def test_a_finished_country_without_a_file_of_rejected_rows_is_taken(
    done_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "EE.parquet").unlink()
    receipts.write_receipt(
        done_folder, built_estonia(done_folder), "clé", [tmp_path / "EE.parquet"], tmp_path
    )

    assert receipts.find_done(done_folder, "EE", "clé", [tmp_path / "EE.parquet"]) == built_estonia(
        done_folder
    )


def test_a_finished_country_is_not_taken_after_a_file_of_rejected_lines_appeared(
    done_folder: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "EE.parquet", tmp_path / "EE-comptes.parquet"]
    receipts.write_receipt(done_folder, built_estonia(done_folder), "clé", files, tmp_path)
    assert receipts.find_done(done_folder, "EE", "clé", files) == built_estonia(done_folder)

    files[1].write_bytes("Pärnu".encode())

    assert receipts.find_done(done_folder, "EE", "clé", files) is None


def test_finished_countries_that_the_build_does_not_need_are_deleted(done_folder: Path) -> None:
    (done_folder / "UK.json").touch()

    receipts.discard_other_countries(done_folder, {"EE"})

    assert [path.name for path in done_folder.iterdir()] == ["EE.shard"]


def test_a_key_depends_on_each_of_its_parts_and_on_their_order() -> None:
    keys = [
        receipts.receipt_key("EE"),
        receipts.receipt_key("UK"),
        receipts.receipt_key("EE", "a", "b"),
        receipts.receipt_key("EE", "ab"),
        receipts.receipt_key("EE", "b", "a"),
    ]

    assert len(set(keys)) == len(keys)
    assert keys[0] == receipts.receipt_key("EE")


def test_the_digest_of_a_folder_depends_on_names_and_bytes_of_the_matching_files(
    tmp_path: Path,
) -> None:
    def digest(**files: str) -> str:
        """The digest of a new folder with these CSV files, and with a README.md that differs in each folder."""
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.csv").write_text(text)
        (folder / "README.md").write_text(folder.name)
        return digests.folder_digest(folder, "*.csv")

    assert digest(pays="a", taux="b") == digest(pays="a", taux="b")
    assert len({digest(pays="a", taux="b"), digest(pays="ab"), digest(pays="b", taux="a")}) == 3
