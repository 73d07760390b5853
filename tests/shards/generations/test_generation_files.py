"""Generations: whole or absent, checked before they are published, kept one back."""

import shutil
from pathlib import Path

import orjson
import pytest

from shards.__main__ import main
from shards.errors import CorruptError, GenerationError, ShardError
from shards.generations import generation_files, manifest, pointer
from shards.generations import reference as references
from shards.publish import publication
from shards.publish.publication import Gates
from shards.verify import invariants
from tests import world
from tests.world import company, publish

FOUND = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, score=40),
    company("EE", "2", "Lab", division="62", score=10),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def test_the_same_companies_give_the_same_generation(tmp_path: Path) -> None:
    first, second = publish(tmp_path / "a", FOUND), publish(tmp_path / "b", FOUND[::-1])

    assert first == second
    assert _content(tmp_path / "a" / first) == _content(tmp_path / "b" / second)


def test_another_company_gives_another_generation_and_keeps_the_one_before(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    second = publish(tmp_path, [*FOUND, company("FR", "9", "Œuvre")])
    third = publish(tmp_path, [*FOUND, company("FR", "9", "Œuvre"), company("FR", "8", "Ç")])

    known = pointer.read(tmp_path)
    assert known is not None
    assert (known.generation, known.previous) == (third, second)
    assert _folders(tmp_path) == {second, third}
    assert first not in _folders(tmp_path)


def test_publishing_what_is_published_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)
    before = (tmp_path / "CURRENT").read_bytes()

    publish(tmp_path, FOUND)

    assert (tmp_path / "CURRENT").read_bytes() == before


def test_a_country_that_lost_too_many_companies_is_not_published(tmp_path: Path) -> None:
    before = publish(tmp_path, FOUND)

    with pytest.raises(GenerationError, match="EE has 1 companies, the published generation has 2"):
        publish(tmp_path, FOUND[1:])

    assert pointer.current(tmp_path) == before
    forced = publish(tmp_path, FOUND[1:], gates=Gates(force=True))
    assert generation_files.read_manifest(tmp_path / forced).forced is not None


def test_what_a_dead_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    dead = publication.staging(tmp_path)
    (dead / "EE.shard").write_bytes(b"half")

    publish(tmp_path, FOUND)

    assert not dead.exists()


def test_a_shard_that_counts_otherwise_than_the_lists_is_not_published(tmp_path: Path) -> None:
    staged = publication.staging(tmp_path)
    for iso2 in world.COUNTRIES:
        world.write_shard(staged / f"{iso2}.shard", iso2, FOUND)
    lists = world.reference(FOUND[1:])
    (staged / generation_files.REFERENCE).write_bytes(references.dump(lists))

    with pytest.raises(ShardError, match=r"EE.shard holds 2 companies"):
        publication.publish(tmp_path, staged, sources=())

    assert pointer.current(tmp_path) is None


def test_rollback_publishes_the_previous_one_and_can_be_undone(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    second = publish(tmp_path, [*FOUND, company("FR", "9", "Œuvre")])

    assert publication.rollback(tmp_path).generation == first
    assert publication.rollback(tmp_path).generation == second


def test_rollback_without_a_previous_generation_says_so(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)

    with pytest.raises(GenerationError, match="no previous generation"):
        publication.rollback(tmp_path)


@pytest.mark.parametrize("name", ["EE.shard", "reference.json", "quality.json"])
def test_one_changed_byte_in_any_file_is_found_and_named(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    assert main(["verify", str(tmp_path)]) == 1
    assert f"{path} is not the file of the manifest" in capsys.readouterr().err


def test_a_file_that_is_missing_or_too_short_is_not_opened(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUND)
    path = tmp_path / name / "UK.shard"
    path.write_bytes(path.read_bytes()[:-4096])

    with pytest.raises(CorruptError, match=r"UK.shard has \d+ bytes, the manifest says"):
        generation_files.load(tmp_path, name)

    path.unlink()
    with pytest.raises(CorruptError, match=r"UK.shard is missing"):
        generation_files.load(tmp_path, name)


def test_a_manifest_that_was_edited_no_longer_fits_its_name(tmp_path: Path) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    document["total"] += 1

    with pytest.raises(CorruptError, match="does not say what its name"):
        manifest.load(orjson.dumps(document), path)


def test_a_file_that_the_manifest_does_not_name_is_a_fault(tmp_path: Path) -> None:
    folder = tmp_path / publish(tmp_path, FOUND)
    (folder / "notes.txt").write_text("Orléans")

    with pytest.raises(CorruptError, match=r"holds notes.txt"):
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def test_every_invariant_holds_in_what_the_writer_writes(tmp_path: Path) -> None:
    with generation_files.load(tmp_path, publish(tmp_path, FOUND)) as generation:
        invariants.verify(generation)


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


def test_inspect_shows_tables_and_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = publish(tmp_path, FOUND)

    assert main(["inspect", str(tmp_path)]) == 0
    assert main(["inspect", str(tmp_path / name / "EE.shard")]) == 0
    shown = capsys.readouterr().out
    assert f"{name} published" in shown
    assert "EE, 2 companies" in shown
    assert '"nom":"Ännchen OÜ"' in shown


def test_inspecting_what_is_no_shard_fails_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(b"x" * 9_000)

    assert main(["inspect", str(tmp_path / "x")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _folders(data: Path) -> set[str]:
    return {path.parent.name for path in data.glob("*/manifest.json")}
