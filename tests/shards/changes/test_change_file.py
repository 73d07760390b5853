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
from tests.shards.two_publications import EARLIER, LATER, compare_shards, read_changes

# These tests read only the entries of companies, not the values of changed fields, so no values are stored.
WITHOUT_VALUES = StoredChange(None, None, {})


def test_created_companies_are_deleted_if_the_file_is_read_backwards(tmp_path: Path) -> None:
    compare_shards(tmp_path, EARLIER[:2], LATER[:2])

    forwards = read_changes(tmp_path / "EE.changes")
    backwards = read_changes(tmp_path / "EE.changes", backwards=True)

    assert forwards == {DELETED: [("2",)], CREATED: [("3",)], CHANGED: [("1", "nom", "ca_eur")]}
    assert backwards == {DELETED: [("3",)], CREATED: [("2",)], CHANGED: [("1", "nom", "ca_eur")]}


def test_any_range_of_entries_can_be_read(tmp_path: Path) -> None:
    writer = ChangeWriter(tmp_path / "EE.changes", "EE")
    for number in range(5):
        writer.add(CREATED, f"{number}", WITHOUT_VALUES)
    writer.add(DELETED, "9", WITHOUT_VALUES)
    writer.close()

    with closing(ChangeFile(tmp_path / "EE.changes")) as changes:
        assert changes.entries(CREATED, 3, 9) == [
            b'{"iso2":"EE","id":"3"}',
            b'{"iso2":"EE","id":"4"}',
        ]
        assert changes.entries(DELETED, 0, 9) == [b'{"iso2":"EE","id":"9"}']
        assert changes.entries(CHANGED, 0, 9) == []


def test_a_truncated_file_or_another_version_is_refused(tmp_path: Path) -> None:
    compare_shards(tmp_path, EARLIER[:2], LATER[:2])
    path = tmp_path / "EE.changes"
    content = path.read_bytes()

    for broken, error in (
        (content[:-1], CorruptError),
        (content[:60], CorruptError),  # ends within the starts
        (content[:20], WrongFormatError),  # ends within the header
        (b"x" + content[1:], WrongFormatError),  # another name of the format
        (content[:16] + b"\x09" + content[17:], WrongFormatError),  # another version
    ):
        path.write_bytes(broken)
        with pytest.raises(error):
            ChangeFile(path)
