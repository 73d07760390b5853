"""What is different between two generations: found by comparing, kept in files, read both ways."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.__main__ import main
from shards.changes import change_steps, comparison
from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
    NATURES,
    STATEMENTS,
    ChangeCounts,
    ChangeFile,
    ChangeWriter,
)
from shards.codec.record import FIELDS
from shards.errors import CorruptError, WrongFormatError
from shards.generations import atomic_files, generation_files, pointer
from shards.publish.publication import Gates
from tests.world import Company, companies, company, publish, write_shard

FOUND = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, score=40),
    company("EE", "2", "Lab", division="62", score=10),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]
LATER = [
    company("EE", "1", "Ännchen AS", division="62", groupe="62.0", ca_eur=2e6, score=40),
    company("EE", "3", "Żabka"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]

Told = dict[str, list[tuple[str, ...]]]


def compared(folder: Path, old: Sequence[Company], new: Sequence[Company]) -> Told:
    """What `difference` says of two shards of EE."""
    for name, found in (("old", old), ("new", new)):
        write_shard(folder / name, "EE", found)
    counts = comparison.compare(folder / "old", folder / "new", "EE", folder / "EE.changes")
    told = read(folder / "EE.changes") if any(counts) else {nature: [] for nature in NATURES}
    assert counts == ChangeCounts(*(len(told[nature]) for nature in NATURES))
    return told


def read(path: Path, *, backwards: bool = False) -> Told:
    with closing(ChangeFile(path, backwards=backwards)) as changes:
        return {
            nature: [
                (entry["id"], *entry.get("champs", ()))
                for entry in map(orjson.loads, changes.entries(nature, 0, count))
            ]
            for nature, count in zip(NATURES, changes.counts, strict=True)
        }


def expected(old: Sequence[Company], new: Sequence[Company]) -> Told:
    """The same, the slow way: by two dicts."""
    before, after = ({one["id"]: one for one in found} for found in (old, new))
    changed = {
        name: tuple(field for field in FIELDS if before[name][field] != after[name][field])
        for name in before.keys() & after.keys()
    }
    return {
        DELETED: [(name,) for name in before.keys() - after.keys()],
        CREATED: [(name,) for name in after.keys() - before.keys()],
        CHANGED: [(name, *champs) for name, champs in changed.items() if champs],
    }


@given(companies(), companies(), st.sampled_from([1, 2, 4_096]))
def test_what_is_found_is_what_two_dicts_say(
    old: list[Company], new: list[Company], batch: int
) -> None:
    ours = [[one for one in found if one["iso2"] == "EE"] for found in (old, new)]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_BATCH", batch)

        told = compared(Path(name), *ours)

    slow = expected(*ours)
    assert {nature: sorted(found) for nature, found in told.items()} == {
        nature: sorted(found) for nature, found in slow.items()
    }


def test_statements_that_changed_are_a_change_of_comptes(tmp_path: Path) -> None:
    lines = {"1": [{"valeur": 1.0}]}
    write_shard(tmp_path / "old", "EE", FOUND, lines)
    write_shard(tmp_path / "new", "EE", FOUND, {"1": [{"valeur": 2.0}]})

    counts = comparison.compare(tmp_path / "old", tmp_path / "new", "EE", tmp_path / "EE.changes")

    assert counts == ChangeCounts(modifiees=1)
    assert read(tmp_path / "EE.changes")[CHANGED] == [("1", STATEMENTS)]


def test_identifiers_that_fold_to_the_same_are_told_apart(tmp_path: Path) -> None:
    old = [company("EE", "A-1", "Ä"), company("EE", "A.1", "É"), company("EE", "-", "Ö")]
    new = [company("EE", "A1", "Ä"), company("EE", "A.1", "È"), company("EE", ".", "Ö")]

    told = compared(tmp_path, old, new)

    assert sorted(told[DELETED]) == [("-",), ("A-1",)]
    assert sorted(told[CREATED]) == [(".",), ("A1",)]
    assert told[CHANGED] == [("A.1", "nom")]


def test_a_country_that_came_or_went_is_all_companies_of_it(tmp_path: Path) -> None:
    write_shard(tmp_path / "one", "EE", FOUND)

    came = comparison.compare(None, tmp_path / "one", "EE", tmp_path / "came")
    went = comparison.compare(tmp_path / "one", None, "EE", tmp_path / "went")

    assert (came, went) == (ChangeCounts(creees=2), ChangeCounts(supprimees=2))


def test_backwards_who_came_went(tmp_path: Path) -> None:
    compared(tmp_path, FOUND[:2], LATER[:2])

    there = read(tmp_path / "EE.changes")
    back = read(tmp_path / "EE.changes", backwards=True)

    assert there == {DELETED: [("2",)], CREATED: [("3",)], CHANGED: [("1", "nom", "ca_eur")]}
    assert back == {DELETED: [("3",)], CREATED: [("2",)], CHANGED: [("1", "nom", "ca_eur")]}


def test_entries_are_read_from_anywhere_to_anywhere(tmp_path: Path) -> None:
    writer = ChangeWriter(tmp_path / "EE.changes", "EE")
    for number in range(5):
        writer.add(CREATED, f"{number}")
    writer.add(DELETED, "9")
    writer.close()

    with closing(ChangeFile(tmp_path / "EE.changes")) as changes:
        assert changes.entries(CREATED, 3, 9) == [
            b'{"iso2":"EE","id":"3"}',
            b'{"iso2":"EE","id":"4"}',
        ]
        assert changes.entries(DELETED, 0, 9) == [b'{"iso2":"EE","id":"9"}']
        assert changes.entries(CHANGED, 0, 9) == []


def test_a_file_that_is_cut_or_of_another_version_is_refused(tmp_path: Path) -> None:
    compared(tmp_path, FOUND[:2], LATER[:2])
    path = tmp_path / "EE.changes"
    whole = path.read_bytes()

    for broken, error in (
        (whole[:-1], CorruptError),
        (whole[:60], CorruptError),
        (whole[:20], WrongFormatError),
        (b"x" + whole[1:], WrongFormatError),
        (whole[:16] + b"\x09" + whole[17:], WrongFormatError),
    ):
        path.write_bytes(broken)
        with pytest.raises(error):
            ChangeFile(path)


# -- the folders -----------------------------------------------------------------------


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

    for start, end, first in ((a, c, b), (c, a, b), (b, c, c), (b, a, a)):
        step = change_steps.way(known, start, end)
        assert step is not None
        assert (step.before, step.after) == (start, first)
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


def test_a_damaged_predecessor_is_no_reason_not_to_be_replaced(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    path = tmp_path / first / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    second = publish(tmp_path, LATER, gates=Gates())

    assert pointer.current(tmp_path) == second
    assert change_steps.folders(tmp_path) == []


def test_diff_and_list_tell_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = publish(tmp_path, FOUND), publish(tmp_path, LATER)

    assert main(["list", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert f"{second}  published" in listed
    assert f"{first}  previous" in listed
    assert f"since {first}: 1 supprimees, 1 creees, 1 modifiees" in listed
    for stored in (True, False):
        if not stored:
            shutil.rmtree(tmp_path / change_steps.FOLDER)
        assert main(["diff", str(tmp_path), first, second]) == 0
        assert capsys.readouterr().out.splitlines()[1].split() == ["EE", "1", "1", "1"]
        assert main(["diff", str(tmp_path), first, second, "--rows"]) == 0
        assert [orjson.loads(line) for line in capsys.readouterr().out.splitlines()] == [
            {"nature": DELETED, "iso2": "EE", "id": "2"},
            {"nature": CREATED, "iso2": "EE", "id": "3"},
            {"nature": CHANGED, "iso2": "EE", "id": "1", "champs": ["nom", "ca_eur"]},
        ]
    assert main(["diff", str(tmp_path), first, first]) == 1
    assert main(["diff", str(tmp_path), first, "0" * 16]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = [company("FR", f"{number}", "Ç") for number in range(9_000)]
    first, second = publish(tmp_path, FOUND), publish(tmp_path, [*FOUND, *many])

    command = [sys.executable, "-m", "shards", "diff", str(tmp_path), first, second, "--rows"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()

    assert (process.returncode, told) == (0, b"")


def test_verify_reads_the_changes_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path, FOUND)
    publish(tmp_path, LATER)
    (folder,) = change_steps.folders(tmp_path)

    assert main(["verify", str(tmp_path)]) == 0
    (folder / "EE.changes").unlink()
    assert main(["verify", str(tmp_path)]) == 1
    assert "EE.changes is missing" in capsys.readouterr().err


def test_what_a_dead_build_left_of_changes_is_removed_by_the_next(tmp_path: Path) -> None:
    publish(tmp_path, FOUND)
    dead = tmp_path / f"{atomic_files.STAGED}changes"
    dead.mkdir()

    publish(tmp_path, LATER)

    assert not dead.exists()


def test_generations_that_share_a_file_are_open_side_by_side(tmp_path: Path) -> None:
    """LMDB opens no file twice in one process."""
    first, second = publish(tmp_path, FOUND), publish(tmp_path, LATER)

    one, other = (generation_files.load(tmp_path, name) for name in (first, second))
    assert one.shards["UK"] is other.shards["UK"]
    one.close()

    assert other.shards["UK"].company(0)["nom"] == "'A' Rated & Co"
    other.close()
