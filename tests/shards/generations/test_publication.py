"""Publication and rollback: gates, generations that are kept, remains of dead builds."""

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
from tests.shards.two_publications import FOUND, LATER
from tests.world import Company, company, publish

# Companies with counts to lose.
FOUR = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def test_a_damaged_predecessor_is_no_reason_not_to_be_replaced(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    path = tmp_path / first / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    second = publish(tmp_path, LATER, gates=Gates())

    assert pointer.current_name(tmp_path) == second
    assert change_steps.folders(tmp_path) == []


def test_what_a_dead_build_left_of_changes_is_removed_by_the_next(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)
    dead = tmp_path / f"{atomic_files.STAGED}changes"
    dead.mkdir()

    publish(tmp_path, LATER)

    assert not dead.exists()


def grown(count: int) -> list[Company]:
    return [*FOUR, *(company("FR", f"{number}", "Œuvre") for number in range(count))]


@pytest.mark.parametrize(
    ("minimums", "told"),
    [
        ({EVERYWHERE: 5}, "the whole has 4 companies, 5 are the minimum"),
        ({"EE": 4}, "EE has 3 companies, 4 are the minimum"),
        ({"FR": 1}, "FR has 0 companies, 1 are the minimum"),
    ],
)
def test_fewer_companies_than_the_minimum_are_not_published(
    tmp_path: Path, minimums: dict[str, int], told: str
) -> None:
    with pytest.raises(GenerationError, match=told):
        publish(tmp_path, FOUR, gates=Gates(minimums=minimums))

    assert pointer.read(tmp_path) is None
    forced = publish(tmp_path, FOUR, gates=Gates(force=True, minimums=minimums))
    assert generation_files.read_manifest(tmp_path / forced).forced == told
    publish(tmp_path / "b", FOUR, gates=Gates(minimums={EVERYWHERE: 4, "EE": 3, "UK": 1}))


def test_a_file_that_is_not_the_one_its_maker_saw_is_not_published(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUR)
    known = generation_files.read_manifest(tmp_path / first).files["EE.shard"]

    with pytest.raises(CorruptError, match=r"EE.shard is not the file of the manifest"):
        publish(tmp_path, FOUR, known={"EE.shard": replace(known, blake3="0" * 64)})

    assert pointer.current_name(tmp_path) == first


def test_so_many_generations_are_kept_as_is_said_and_no_fewer_than_two(tmp_path: Path) -> None:
    names = [publish(tmp_path, grown(count), keep=3) for count in range(5)]

    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept_generations == (names[4], names[3], names[2])
    assert {path.parent.name for path in tmp_path.glob("*/manifest.json")} == set(
        known.kept_generations
    )

    publish(tmp_path, grown(4))
    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept_generations == (names[4], names[3])


def test_any_generation_that_is_kept_can_be_gone_back_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [publish(tmp_path, grown(count), keep=3) for count in range(3)]

    assert main(["rollback", str(tmp_path), "--to", names[0]]) == 0
    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept_generations == (names[0], names[2], names[1])
    assert main(["rollback", str(tmp_path), "--to", "0" * 16]) == 1
    assert "there is no generation" in capsys.readouterr().err


def test_a_current_that_makes_no_sense_is_written_anew_by_saying_what_it_should_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = publish(tmp_path, FOUR)
    (tmp_path / "CURRENT").write_bytes(b"{")

    assert main(["rollback", str(tmp_path)]) == 1
    assert "rollback --to GENERATION" in capsys.readouterr().err
    assert main(["rollback", str(tmp_path), "--to", name]) == 0
    assert pointer.current_name(tmp_path) == name


def test_a_generation_that_is_read_is_not_removed_before_it_is_closed(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUR)
    with generation_files.load(tmp_path, first) as generation:
        publish(tmp_path, grown(1))
        publish(tmp_path, grown(2))
        assert generation.shards["EE"].company(0)["nom"] == "Żabka"
        generation_files.verify_digests(tmp_path / first, generation.manifest)

    publish(tmp_path, grown(3))
    assert not (tmp_path / first).exists()


def test_a_damaged_generation_is_replaced_by_building_it_again(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUR)
    path = tmp_path / name / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1])

    assert publish(tmp_path, FOUR) == name
    generation_files.verify_digests(
        tmp_path / name, generation_files.read_manifest(tmp_path / name)
    )


def test_a_generation_of_another_format_is_replaced_and_its_counts_still_held_against_the_new(
    tmp_path: Path,
) -> None:
    path = tmp_path / publish(tmp_path, FOUR) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**document, "format": format.FORMAT_VERSION - 1}))

    with pytest.raises(GenerationError, match="EE has 2 companies, the published generation has 3"):
        publish(tmp_path, FOUR[1:])
    assert publish(tmp_path, grown(1)) == pointer.current_name(tmp_path)


def test_the_least_number_that_is_kept_is_two() -> None:
    assert publication.KEPT == 2


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_what_cannot_be_compared_with_what_is_published_is_not_published(
    tmp_path: Path, damage: str
) -> None:
    """Nobody can say that nothing was lost; and what is kept is what can be gone back to."""
    whole = publish(tmp_path, grown(100))
    broken = publish(tmp_path, grown(101))
    path = tmp_path / broken / generation_files.MANIFEST
    path.write_bytes(path.read_bytes()[:100])
    if damage == "gone":
        path.unlink()

    with pytest.raises(GenerationError, match="cannot be read, and hence not be compared with"):
        publish(tmp_path, grown(2))
    assert pointer.current_name(tmp_path) == broken
    forced = publish(tmp_path, grown(2), gates=Gates(force=True))

    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept_generations == (forced, whole)
    assert publication.rollback(tmp_path).generation == whole


@pytest.mark.parametrize("command", ["list", "inspect", "rollback", "verify"])
def test_a_folder_of_nothing_is_an_error_and_stays_as_it_is(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script can tell a misspelt folder from an empty answer."""
    absent = tmp_path / "absent"

    assert main([command, str(tmp_path)]) == 1
    assert main([command, str(absent)]) == 1

    assert str(absent) in capsys.readouterr().err
    assert not absent.exists()


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

    assert pointer.current_name(tmp_path) == before
    forced = publish(tmp_path, FOUND[1:], gates=Gates(force=True))
    assert generation_files.read_manifest(tmp_path / forced).forced is not None


def test_what_a_dead_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    dead = publication.make_staging_folder(tmp_path)
    (dead / "EE.shard").write_bytes(b"half")

    publish(tmp_path, FOUND)

    assert not dead.exists()


def test_a_shard_that_counts_otherwise_than_the_lists_is_not_published(tmp_path: Path) -> None:
    staged = publication.make_staging_folder(tmp_path)
    for iso2 in world.COUNTRIES:
        world.write_shard(staged / f"{iso2}.shard", iso2, FOUND)
    lists = world.reference(FOUND[1:])
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


def test_rollback_publishes_the_previous_one_and_can_be_undone(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    second = publish(tmp_path, [*FOUND, company("FR", "9", "Œuvre")])

    assert publication.rollback(tmp_path).generation == first
    assert publication.rollback(tmp_path).generation == second


def test_rollback_without_a_previous_generation_says_so(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)

    with pytest.raises(GenerationError, match="no previous generation"):
        publication.rollback(tmp_path)


def _folders(data: Path) -> set[str]:
    return {path.parent.name for path in data.glob("*/manifest.json")}
