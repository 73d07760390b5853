"""Folders of changes: written at publication, read in both directions, removed when they are far away."""

from itertools import pairwise
from pathlib import Path

import pytest

from shards.errors import CorruptError
from shards.generations import change_steps
from shards.generations.change_steps import ChangeCounts
from tests.shards.two_publications import FOUND, LATER
from tests.world import company, publish


def test_publishing_writes_what_changed_since_and_again_the_same_bytes(tmp_path: Path) -> None:
    names = [publish(tmp_path / "a", found) for found in (FOUND, LATER)]
    again = [publish(tmp_path / "b", found) for found in (FOUND, LATER)]

    folder = change_steps.FOLDER + "/" + "-".join(names)
    assert names == again
    files = {path.name for path in (tmp_path / "a" / folder).iterdir()}
    assert files == {"changes.json", "EE.changes"}  # of the United Kingdom nothing is different
    for name in files:
        one, other = ((tmp_path / data / folder / name).read_bytes() for data in ("a", "b"))
        assert one == other
    assert change_steps.read(tmp_path / "a" / folder).counts == {"EE": ChangeCounts(1, 1, 1)}


def test_the_name_of_a_generation_does_not_depend_on_what_was_published_before(
    tmp_path: Path,
) -> None:
    publish(tmp_path / "a", FOUND)

    assert publish(tmp_path / "a", LATER) == publish(tmp_path / "b", LATER)


def test_a_country_that_did_not_change_is_the_same_file(tmp_path: Path) -> None:
    first, second = publish(tmp_path, FOUND), publish(tmp_path, LATER)

    assert (tmp_path / first / "UK.shard").samefile(tmp_path / second / "UK.shard")
    assert not (tmp_path / first / "EE.shard").samefile(tmp_path / second / "EE.shard")


def test_the_way_leads_over_several_steps_and_back(tmp_path: Path) -> None:
    third = [*LATER, company("FR", "9", "Œuvre")]
    a, b, c = (publish(tmp_path, found) for found in (FOUND, LATER, third))
    known = change_steps.steps(tmp_path)

    for passed in ([a, b, c], [c, b, a], [b, c], [b, a], [b]):
        way = change_steps.way(known, passed[0], passed[-1])
        assert way is not None
        assert [(one.before, one.after) for one in way] == list(pairwise(passed))
    assert change_steps.way(known, "0" * 16, a) is None


def test_steps_that_are_far_away_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_steps, "KEPT", 2)
    found = [*FOUND]
    names = [publish(tmp_path, found)]
    for number in range(4):
        found.append(company("FR", f"{number}", "Ç"))
        names.append(publish(tmp_path, found))

    kept = {path.name for path in (tmp_path / change_steps.FOLDER).iterdir()}
    assert kept == {f"{names[2]}-{names[3]}", f"{names[3]}-{names[4]}"}


def test_a_folder_of_changes_that_was_touched_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)
    publish(tmp_path, LATER)
    (folder,) = change_steps.folders(tmp_path)
    change_steps.verify(folder)

    for name in ("EE.changes", change_steps.DOCUMENT):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-3] + b"9" + whole[-2:])
        with pytest.raises(CorruptError):
            change_steps.verify(folder)
        (folder / name).write_bytes(whole)
    (folder / "notes").touch()
    with pytest.raises(CorruptError, match="holds notes"):
        change_steps.verify(folder)
