"""Files of changes: random access, both directions, damage."""

from contextlib import closing
from pathlib import Path

import pytest

from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
    ChangeFile,
    ChangeWriter,
    StoredChange,
)
from shards.errors import CorruptError, WrongFormatError
from tests.shards.two_publications import FOUND, LATER, compared, read

NONE = StoredChange(None, None, {})


def test_backwards_who_came_went(tmp_path: Path) -> None:
    compared(tmp_path, FOUND[:2], LATER[:2])

    there = read(tmp_path / "EE.changes")
    back = read(tmp_path / "EE.changes", backwards=True)

    assert there == {DELETED: [("2",)], CREATED: [("3",)], CHANGED: [("1", "nom", "ca_eur")]}
    assert back == {DELETED: [("3",)], CREATED: [("2",)], CHANGED: [("1", "nom", "ca_eur")]}


def test_entries_are_read_from_anywhere_to_anywhere(tmp_path: Path) -> None:
    writer = ChangeWriter(tmp_path / "EE.changes", "EE")
    for number in range(5):
        writer.add(CREATED, f"{number}", NONE)
    writer.add(DELETED, "9", NONE)
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
