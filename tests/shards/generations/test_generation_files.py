"""Opening a generation: complete files of the right size and count, shared between generations."""

import shutil
from pathlib import Path

import pytest

from shards.errors import CorruptError
from shards.generations import generation_files, manifest
from shards.query import Query
from shards.search.search import records, search
from tests.shards.two_publications import FOUND, LATER
from tests.world import company, publish


def test_generations_that_share_a_file_are_open_side_by_side(tmp_path: Path) -> None:
    """LMDB opens no file twice in one process."""
    first, second = publish(tmp_path, FOUND), publish(tmp_path, LATER)

    one, other = (generation_files.load(tmp_path, name) for name in (first, second))
    assert one.shards["UK"] is other.shards["UK"]
    one.close()

    assert other.shards["UK"].company(0)["nom"] == "'A' Rated & Co"
    other.close()


def test_the_files_of_its_shards_are_in_its_own_folder(tmp_path: Path) -> None:
    """The path of a shared shard is in the folder of a generation that may be gone."""
    first, second = publish(tmp_path, FOUND), publish(tmp_path, LATER)
    one, other = (generation_files.load(tmp_path, name) for name in (first, second))
    one.close()
    shutil.rmtree(tmp_path / first)

    assert not other.shards["UK"].path.exists()
    assert set(other.shard_files) == set((tmp_path / second).glob("*.shard"))
    assert other.shard_files[tmp_path / second / "UK.shard"] is other.shards["UK"]
    other.close()


def test_the_same_companies_give_the_same_generation(tmp_path: Path) -> None:
    first, second = publish(tmp_path / "a", FOUND), publish(tmp_path / "b", FOUND[::-1])

    assert first == second
    assert _content(tmp_path / "a" / first) == _content(tmp_path / "b" / second)


def test_a_file_that_is_missing_or_too_short_is_not_opened(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUND)
    path = tmp_path / name / "UK.shard"
    path.write_bytes(path.read_bytes()[:-4096])

    with pytest.raises(CorruptError, match=r"UK.shard has \d+ bytes, the manifest says"):
        generation_files.load(tmp_path, name)

    path.unlink()
    with pytest.raises(CorruptError, match=r"UK.shard is missing"):
        generation_files.load(tmp_path, name)


def test_a_file_that_the_manifest_does_not_name_is_a_fault(tmp_path: Path) -> None:
    folder = tmp_path / publish(tmp_path, FOUND)
    (folder / "notes.txt").write_text("Orléans")

    with pytest.raises(CorruptError, match=r"holds notes.txt"):
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def test_a_shard_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUND)
    folder = tmp_path / name
    known = generation_files.read_manifest(folder)
    shutil.copy(folder / "EE.shard", folder / "UK.shard")
    files = {path: manifest.digest(folder / path) for path in known.files}
    forged = manifest.make(files, (), known.counts, known.secteurs)
    (folder / "manifest.json").write_bytes(manifest.dump(forged))
    folder.rename(tmp_path / forged.generation)

    with pytest.raises(CorruptError, match=r"holds 2 companies of EE, the manifest says 1 of UK"):
        generation_files.load(tmp_path, forged.generation)


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_closed_generation_leaves_no_file_mapped(tmp_path: Path) -> None:
    """A server that switches every night would keep the disk space of every generation otherwise."""
    found = [company("EE", f"{i}", f"Nuit {i}") for i in range(50)]
    with generation_files.load(tmp_path, publish(tmp_path, found)) as generation:
        page = search(generation.shards, Query(q="nuit"), offset=0, limit=20)
        records(generation.shards, page.rows, coordonnees=False)
        assert page.total == 50
        assert str(tmp_path) in Path("/proc/self/maps").read_text()

    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
