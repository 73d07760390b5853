"""Folders of changes: written at publication, read in both directions, removed if they are many steps away."""

from itertools import pairwise
from pathlib import Path

import pytest

from shards.errors import CorruptError
from shards.generations import change_steps
from shards.generations.change_steps import ChangeCounts
from tests.shards.two_publications import EARLIER, LATER
from tests.world import company, publish


def test_publication_writes_the_changes_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    names = [publish(tmp_path / "a", dataset) for dataset in (EARLIER, LATER)]
    repeated = [publish(tmp_path / "b", dataset) for dataset in (EARLIER, LATER)]

    folder = change_steps.FOLDER + "/" + "-".join(names)
    assert names == repeated
    files = {path.name for path in (tmp_path / "a" / folder).iterdir()}
    assert files == {"changes.json", "EE.changes"}  # the United Kingdom has no changes
    for name in files:
        bytes_of_a, bytes_of_b = (
            (tmp_path / data / folder / name).read_bytes() for data in ("a", "b")
        )
        assert bytes_of_a == bytes_of_b
    assert change_steps.read(tmp_path / "a" / folder).counts == {"EE": ChangeCounts(1, 1, 1)}


def test_the_name_of_a_generation_does_not_depend_on_earlier_publications(
    tmp_path: Path,
) -> None:
    publish(tmp_path / "a", EARLIER)

    assert publish(tmp_path / "a", LATER) == publish(tmp_path / "b", LATER)


def test_the_shard_of_a_country_without_changes_is_the_same_file(tmp_path: Path) -> None:
    first, second = publish(tmp_path, EARLIER), publish(tmp_path, LATER)

    assert (tmp_path / first / "UK.shard").samefile(tmp_path / second / "UK.shard")
    assert not (tmp_path / first / "EE.shard").samefile(tmp_path / second / "EE.shard")


def test_steps_in_either_direction_lead_to_any_published_generation(tmp_path: Path) -> None:
    """A step is the stored changes between two successive generations, which can also be read backwards."""
    third_dataset = [*LATER, company("FR", "9", "Œuvre")]
    first, second, third = (
        publish(tmp_path, dataset) for dataset in (EARLIER, LATER, third_dataset)
    )
    steps_by_start = change_steps.steps(tmp_path)

    for generations in (
        [first, second, third],
        [third, second, first],
        [second, third],
        [second, first],
        [second],
    ):
        steps = change_steps.find_way(steps_by_start, generations[0], generations[-1])
        assert steps is not None
        assert [(step.before, step.after) for step in steps] == list(pairwise(generations))
    assert change_steps.find_way(steps_by_start, "0" * 16, first) is None


def test_steps_that_are_far_from_the_published_generation_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_steps, "MOST_STEPS", 2)
    dataset = [*EARLIER]
    names = [publish(tmp_path, dataset)]
    for number in range(4):
        dataset.append(company("FR", f"{number}", "Ç"))
        names.append(publish(tmp_path, dataset))

    remaining = {path.name for path in (tmp_path / change_steps.FOLDER).iterdir()}
    assert remaining == {f"{names[2]}-{names[3]}", f"{names[3]}-{names[4]}"}


def test_an_altered_folder_of_changes_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, EARLIER)
    publish(tmp_path, LATER)
    (folder,) = change_steps.folders(tmp_path)
    change_steps.verify(folder)

    for name in ("EE.changes", change_steps.DOCUMENT):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-3] + b"9" + content[-2:])
        with pytest.raises(CorruptError):
            change_steps.verify(folder)
        (folder / name).write_bytes(content)
    (folder / "notes").touch()
    with pytest.raises(CorruptError, match="has notes"):
        change_steps.verify(folder)
