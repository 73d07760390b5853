"""Deleted companies, found in files of changes by their folded identifiers; the steps that are searched."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.changes.change_file import CREATED, DELETED, ChangeWriter, StoredChange, find_deleted
from shards.codec.folding import fold_id
from shards.errors import CorruptError, WrongFormatError
from shards.generations import change_steps
from tests.shards.two_publications import FOUND, LATER, compared
from tests.world import company, identifiers, publish

NONE = StoredChange(None, None, {})


def in_order(found: set[str]) -> list[str]:
    return sorted(found, key=lambda one: (fold_id(one), one))


@given(st.sets(identifiers, min_size=1), st.sets(identifiers), st.lists(identifiers, max_size=5))
def test_the_deleted_companies_are_those_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory, gone: set[str], came: set[str], others: list[str]
) -> None:
    path = tmp_path_factory.mktemp("deleted") / "EE.changes"
    writer = ChangeWriter(path, "EE")
    for nature, found in ((DELETED, gone), (CREATED, came)):
        for identifier in in_order(found):
            writer.add(nature, identifier, NONE)
    writer.close()

    known = {identifier: number for number, identifier in enumerate(in_order(gone))}
    for asked in (*gone, *came, *others):
        folded = fold_id(asked)
        expected = {one: number for one, number in known.items() if fold_id(one) == folded}
        assert find_deleted(path, folded) == expected


def test_a_comparison_is_searched_as_it_is_written(tmp_path: Path) -> None:
    words = ("b-1", "B1", "B 2", "É3", "a", "Ω", "10", "9", "-")
    compared(tmp_path, [company("EE", one, "Ä") for one in words], [company("EE", "9", "Ä")])

    for one in words:
        found = find_deleted(tmp_path / "EE.changes", fold_id(one))
        same = {other for other in words if fold_id(other) == fold_id(one)}
        assert found.keys() == same - {"9"}


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    compared(tmp_path, FOUND[:2], LATER[:2])
    path = tmp_path / "EE.changes"
    whole = path.read_bytes()
    assert find_deleted(path, "2") == {"2": 0}

    for broken in (whole[:60], whole[:48], whole[:48] + b"\xff" * (len(whole) - 48)):
        path.write_bytes(broken)
        with pytest.raises(CorruptError):
            find_deleted(path, "2")
    for broken in (b"", whole[:20], b"x" + whole[1:], whole[:16] + b"\x09" + whole[17:]):
        path.write_bytes(broken)
        with pytest.raises(WrongFormatError):
            find_deleted(path, "2")


def test_the_history_of_a_generation_is_what_led_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = [*LATER, company("FR", "9", "Œuvre")]
    a, b, c = (publish(tmp_path, found) for found in (FOUND, LATER, third))
    known = change_steps.steps(tmp_path)

    def told(end: str) -> list[tuple[str, str, bool]]:
        steps = change_steps.history(known, end)
        return [(one.before, one.after, one.backwards) for one in steps]

    assert told(c) == [(b, c, False), (a, b, False)]
    assert told(b) == [(a, b, False)]  # and not what came after it
    assert told(a) == told("0" * 16) == []
    monkeypatch.setattr(change_steps, "KEPT", 1)
    assert told(c) == [(b, c, False)]
