"""Publication and rollback: gates, kept generations, remains of dead builds."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from shards import format
from shards.__main__ import main
from shards.analyses import market
from shards.changes import comparison
from shards.errors import CorruptError, GenerationError, ShardError
from shards.generations import atomic_files, change_steps, generation_files, pointer, publication
from shards.generations import reference as references
from shards.generations.publication import EVERYWHERE, Gates
from tests import world
from tests.shards.two_publications import EARLIER, LATER
from tests.world import Company, company, publish

# Enough companies of one country that their number can fall.
COMPANIES = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def test_a_damaged_generation_is_replaced_without_a_comparison(tmp_path: Path) -> None:
    first = publish(tmp_path, EARLIER)
    path = tmp_path / first / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    second = publish(tmp_path, LATER, gates=Gates())

    assert pointer.current_name(tmp_path) == second
    assert change_steps.folders(tmp_path) == []


def test_changes_that_a_dead_build_left_are_removed_by_the_next_build(tmp_path: Path) -> None:
    publish(tmp_path, EARLIER)
    remains = tmp_path / f"{atomic_files.STAGED}changes"
    remains.mkdir()

    publish(tmp_path, LATER)

    assert not remains.exists()


def more_companies(count: int) -> list[Company]:
    """COMPANIES and `count` companies of France."""
    return [*COMPANIES, *(company("FR", f"{number}", "Œuvre") for number in range(count))]


@pytest.mark.parametrize(
    ("minimums", "message"),
    [
        ({EVERYWHERE: 5}, "the whole has 4 companies, fewer than the minimum of 5"),
        ({"EE": 4}, "EE has 3 companies, fewer than the minimum of 4"),
        ({"FR": 1}, "FR has 0 companies, fewer than the minimum of 1"),
    ],
)
def test_fewer_companies_than_the_minimum_are_not_published(
    tmp_path: Path, minimums: dict[str, int], message: str
) -> None:
    with pytest.raises(GenerationError, match=message):
        publish(tmp_path, COMPANIES, gates=Gates(minimums=minimums))

    assert pointer.read(tmp_path) is None
    forced = publish(tmp_path, COMPANIES, gates=Gates(force=True, minimums=minimums))
    assert generation_files.read_manifest(tmp_path / forced).forced == message
    # Counts equal to the minimums are published.
    publish(tmp_path / "b", COMPANIES, gates=Gates(minimums={EVERYWHERE: 4, "EE": 3, "UK": 1}))


def test_a_file_with_another_digest_than_at_its_build_is_not_published(tmp_path: Path) -> None:
    first = publish(tmp_path, COMPANIES)
    file = generation_files.read_manifest(tmp_path / first).files["EE.shard"]

    with pytest.raises(CorruptError, match=r"EE.shard is not the file of the manifest"):
        publish(tmp_path, COMPANIES, digests={"EE.shard": replace(file, blake3="0" * 64)})

    assert pointer.current_name(tmp_path) == first


def test_the_requested_number_of_generations_is_kept_or_two_by_default(tmp_path: Path) -> None:
    names = [publish(tmp_path, more_companies(count), keep=3) for count in range(5)]

    current = pointer.read(tmp_path)
    assert current is not None
    assert current.generations == (names[4], names[3], names[2])
    assert {path.parent.name for path in tmp_path.glob("*/manifest.json")} == set(
        current.generations
    )

    publish(tmp_path, more_companies(4))
    current = pointer.read(tmp_path)
    assert current is not None
    assert current.generations == (names[4], names[3])


def test_rollback_can_publish_any_kept_generation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [publish(tmp_path, more_companies(count), keep=3) for count in range(3)]

    assert main(["rollback", str(tmp_path), "--to", names[0]]) == 0
    current = pointer.read(tmp_path)
    assert current is not None
    assert current.generations == (names[0], names[2], names[1])
    assert main(["rollback", str(tmp_path), "--to", "0" * 16]) == 1
    assert "there is no generation" in capsys.readouterr().err


def test_rollback_to_a_named_generation_replaces_a_malformed_current(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = publish(tmp_path, COMPANIES)
    (tmp_path / "CURRENT").write_bytes(b"{")

    assert main(["rollback", str(tmp_path)]) == 1
    assert "rollback --to GENERATION" in capsys.readouterr().err
    assert main(["rollback", str(tmp_path), "--to", name]) == 0
    assert pointer.current_name(tmp_path) == name


def test_an_open_generation_is_not_removed_before_it_is_closed(tmp_path: Path) -> None:
    first = publish(tmp_path, COMPANIES)
    with generation_files.load(tmp_path, first) as generation:
        publish(tmp_path, more_companies(1))
        publish(tmp_path, more_companies(2))
        assert generation.shards["EE"].company(0)["nom"] == "Żabka"
        generation_files.verify_digests(tmp_path / first, generation.manifest)

    publish(tmp_path, more_companies(3))
    assert not (tmp_path / first).exists()


def test_a_damaged_generation_is_replaced_if_it_is_built_again(tmp_path: Path) -> None:
    name = publish(tmp_path, COMPANIES)
    path = tmp_path / name / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1])

    assert publish(tmp_path, COMPANIES) == name
    generation_files.verify_digests(
        tmp_path / name, generation_files.read_manifest(tmp_path / name)
    )


def test_a_generation_of_another_format_is_replaced_after_a_comparison_of_counts(
    tmp_path: Path,
) -> None:
    path = tmp_path / publish(tmp_path, COMPANIES) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**document, "format": format.FORMAT_VERSION - 1}))

    with pytest.raises(GenerationError, match="EE has 2 companies, the published generation has 3"):
        publish(tmp_path, COMPANIES[1:])
    assert publish(tmp_path, more_companies(1)) == pointer.current_name(tmp_path)


def test_two_generations_are_kept_by_default() -> None:
    assert publication.KEPT == 2


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_generation_is_not_published_if_the_published_counts_cannot_be_read(
    tmp_path: Path, damage: str
) -> None:
    """The published counts may be higher. A forced publication keeps the last readable generation for a rollback."""
    readable = publish(tmp_path, more_companies(100))
    unreadable = publish(tmp_path, more_companies(101))
    path = tmp_path / unreadable / generation_files.MANIFEST
    path.write_bytes(path.read_bytes()[:100])
    if damage == "gone":
        path.unlink()

    with pytest.raises(GenerationError, match="cannot be read, so the counts cannot be compared"):
        publish(tmp_path, more_companies(2))
    assert pointer.current_name(tmp_path) == unreadable
    forced = publish(tmp_path, more_companies(2), gates=Gates(force=True))

    current = pointer.read(tmp_path)
    assert current is not None
    assert current.generations == (forced, readable)
    assert publication.rollback(tmp_path).generation == readable


@pytest.mark.parametrize("command", ["list", "inspect", "rollback", "verify"])
def test_a_folder_without_a_generation_is_an_error_and_is_not_created(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script notices a misspelt folder"""
    absent = tmp_path / "absent"

    assert main([command, str(tmp_path)]) == 1
    assert main([command, str(absent)]) == 1

    assert str(absent) in capsys.readouterr().err
    assert not absent.exists()


def test_a_publication_keeps_the_generation_before_it_and_no_older_one(tmp_path: Path) -> None:
    first = publish(tmp_path, EARLIER)
    second = publish(tmp_path, [*EARLIER, company("FR", "9", "Œuvre")])
    third = publish(tmp_path, [*EARLIER, company("FR", "9", "Œuvre"), company("FR", "8", "Ç")])

    current = pointer.read(tmp_path)
    assert current is not None
    assert (current.generation, current.previous) == (third, second)
    assert _generation_names(tmp_path) == {second, third}
    assert first not in _generation_names(tmp_path)


def test_publishing_the_same_companies_again_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, EARLIER)
    before = (tmp_path / "CURRENT").read_bytes()

    publish(tmp_path, EARLIER)

    assert (tmp_path / "CURRENT").read_bytes() == before


def test_a_country_that_lost_too_many_companies_is_not_published(tmp_path: Path) -> None:
    before = publish(tmp_path, EARLIER)

    with pytest.raises(GenerationError, match="EE has 1 companies, the published generation has 2"):
        publish(tmp_path, EARLIER[1:])

    assert pointer.current_name(tmp_path) == before
    forced = publish(tmp_path, EARLIER[1:], gates=Gates(force=True))
    assert generation_files.read_manifest(tmp_path / forced).forced is not None


def test_files_that_a_dead_build_left_are_removed_by_the_next_build(tmp_path: Path) -> None:
    remains = publication.make_staging_folder(tmp_path)
    (remains / "EE.shard").write_bytes(b"half")

    publish(tmp_path, EARLIER)

    assert not remains.exists()


def test_a_shard_with_other_counts_than_the_lists_is_not_published(tmp_path: Path) -> None:
    """The reference lists count the companies of each country and sector; here they lack the first company."""
    staged = publication.make_staging_folder(tmp_path)
    for iso2 in world.COUNTRIES:
        world.write_shard(staged / f"{iso2}.shard", iso2, EARLIER)
    lists = world.reference(EARLIER[1:])
    (staged / generation_files.REFERENCE).write_bytes(references.dump(lists))

    with pytest.raises(ShardError, match=r"EE.shard holds 2 companies"):
        publication.publish(
            tmp_path,
            staged,
            sources=(),
            compare=comparison.compare_all,
            derive=market.files,
        )

    assert pointer.current_name(tmp_path) is None


def test_rollback_publishes_the_previous_generation_and_can_be_undone(tmp_path: Path) -> None:
    first = publish(tmp_path, EARLIER)
    second = publish(tmp_path, [*EARLIER, company("FR", "9", "Œuvre")])

    assert publication.rollback(tmp_path).generation == first
    assert publication.rollback(tmp_path).generation == second


def test_rollback_without_a_previous_generation_is_an_error(tmp_path: Path) -> None:
    publish(tmp_path, EARLIER)

    with pytest.raises(GenerationError, match="no previous generation"):
        publication.rollback(tmp_path)


def _generation_names(data: Path) -> set[str]:
    """The names of the generations in the folder."""
    return {path.parent.name for path in data.glob("*/manifest.json")}
