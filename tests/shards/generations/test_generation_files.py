"""Opening a generation: complete files of the right size and count, shared between generations."""

import shutil
from pathlib import Path

import pytest

from shards.errors import CorruptError
from shards.generations import generation_files, manifest
from shards.query import Query
from shards.search.search import records, search
from tests.shards.two_publications import EARLIER, LATER
from tests.world import company, publish


def test_generations_that_share_a_file_can_be_open_together(tmp_path: Path) -> None:
    """A process cannot open a file of LMDB twice, so both generations share the open shard."""
    first, second = publish(tmp_path, EARLIER), publish(tmp_path, LATER)

    earlier, later = (generation_files.load(tmp_path, name) for name in (first, second))
    assert earlier.shards["UK"] is later.shards["UK"]
    earlier.close()

    assert later.shards["UK"].company(0)["nom"] == "'A' Rated & Co"
    later.close()


def test_the_shard_files_of_a_generation_are_in_its_folder(tmp_path: Path) -> None:
    """The path of a shared shard may be in the folder of a removed generation."""
    first, second = publish(tmp_path, EARLIER), publish(tmp_path, LATER)
    earlier, later = (generation_files.load(tmp_path, name) for name in (first, second))
    earlier.close()
    shutil.rmtree(tmp_path / first)

    assert not later.shards["UK"].path.exists()
    assert set(later.shard_files) == set((tmp_path / second).glob("*.shard"))
    assert later.shard_files[tmp_path / second / "UK.shard"] is later.shards["UK"]
    later.close()


def test_the_same_companies_give_the_same_generation(tmp_path: Path) -> None:
    first, second = publish(tmp_path / "a", EARLIER), publish(tmp_path / "b", EARLIER[::-1])

    assert first == second
    assert _bytes_by_file(tmp_path / "a" / first) == _bytes_by_file(tmp_path / "b" / second)


def test_a_file_that_is_missing_or_too_short_is_not_opened(tmp_path: Path) -> None:
    name = publish(tmp_path, EARLIER)
    path = tmp_path / name / "UK.shard"
    path.write_bytes(path.read_bytes()[:-4096])

    with pytest.raises(CorruptError, match=r"UK.shard has \d+ bytes, the manifest says"):
        generation_files.load(tmp_path, name)

    path.unlink()
    with pytest.raises(CorruptError, match=r"UK.shard is missing"):
        generation_files.load(tmp_path, name)


def test_a_file_that_the_manifest_does_not_name_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / publish(tmp_path, EARLIER)
    (folder / "notes.txt").write_text("Orléans")

    with pytest.raises(CorruptError, match=r"has notes.txt"):
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def test_a_shard_under_the_name_of_another_country_is_refused(tmp_path: Path) -> None:
    name = publish(tmp_path, EARLIER)
    folder = tmp_path / name
    original = generation_files.read_manifest(folder)
    shutil.copy(folder / "EE.shard", folder / "UK.shard")
    files = {path: manifest.digest(folder / path) for path in original.files}
    forged = manifest.make(files, (), original.counts, original.secteurs)
    (folder / "manifest.json").write_bytes(manifest.dump(forged))
    folder.rename(tmp_path / forged.generation)

    with pytest.raises(CorruptError, match=r"holds 2 companies of EE, the manifest says 1 of UK"):
        generation_files.load(tmp_path, forged.generation)


def _bytes_by_file(folder: Path) -> dict[str, bytes]:
    """The content of each file of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_closed_generation_leaves_no_file_mapped(tmp_path: Path) -> None:
    """If files stayed mapped, a server that switches every night would keep the disk space of every generation."""
    dataset = [company("EE", f"{i}", f"Nuit {i}") for i in range(50)]
    with generation_files.load(tmp_path, publish(tmp_path, dataset)) as generation:
        page = search(generation.shards, Query(q="nuit"), offset=0, limit=20)
        records(generation.shards, page.rows, coordonnees=False)
        assert page.total == 50
        assert str(tmp_path) in Path("/proc/self/maps").read_text()

    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
