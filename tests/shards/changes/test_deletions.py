"""Deleted companies, looked up in files of changes by folded identifier, and the steps that are searched."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.changes.change_file import CREATED, DELETED, ChangeWriter, StoredChange, find_deleted
from shards.codec.folding import fold_id
from shards.errors import CorruptError, WrongFormatError
from shards.generations import change_steps
from tests.shards.two_publications import EARLIER, LATER, compare_shards
from tests.world import company, identifiers, publish

# These tests look up identifiers, not the values of changed fields, so no values are stored.
WITHOUT_VALUES = StoredChange(None, None, {})


def sort_ids(ids: set[str]) -> list[str]:
    """The identifiers in the order of a file of changes."""
    return sorted(ids, key=lambda identifier: (fold_id(identifier), identifier))


@given(st.sets(identifiers, min_size=1), st.sets(identifiers), st.lists(identifiers, max_size=5))
def test_deleted_companies_are_found_as_in_a_dict(
    tmp_path_factory: pytest.TempPathFactory,
    deleted: set[str],
    created: set[str],
    absent: list[str],
) -> None:
    """Each identifier finds the deleted identifiers that fold to the same text, with their entry numbers."""
    path = tmp_path_factory.mktemp("deleted") / "EE.changes"
    writer = ChangeWriter(path, "EE")
    for nature, ids in ((DELETED, deleted), (CREATED, created)):
        for identifier in sort_ids(ids):
            writer.add(nature, identifier, WITHOUT_VALUES)
    writer.close()

    entry_numbers = {identifier: number for number, identifier in enumerate(sort_ids(deleted))}
    for searched in (*deleted, *created, *absent):
        folded = fold_id(searched)
        expected = {
            identifier: number
            for identifier, number in entry_numbers.items()
            if fold_id(identifier) == folded
        }
        assert find_deleted(path, folded) == expected


def test_deleted_companies_of_a_comparison_are_found_by_folded_identifier(tmp_path: Path) -> None:
    ids = ("b-1", "B1", "B 2", "É3", "a", "Ω", "10", "9", "-")
    compare_shards(
        tmp_path, [company("EE", identifier, "Ä") for identifier in ids], [company("EE", "9", "Ä")]
    )

    for searched in ids:
        deleted = find_deleted(tmp_path / "EE.changes", fold_id(searched))
        folding_alike = {
            identifier for identifier in ids if fold_id(identifier) == fold_id(searched)
        }
        assert deleted.keys() == folding_alike - {"9"}


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    compare_shards(tmp_path, EARLIER[:2], LATER[:2])
    path = tmp_path / "EE.changes"
    content = path.read_bytes()
    assert find_deleted(path, "2") == {"2": 0}

    # The file ends within or before its starts, or all starts are too great.
    for broken in (content[:60], content[:48], content[:48] + b"\xff" * (len(content) - 48)):
        path.write_bytes(broken)
        with pytest.raises(CorruptError):
            find_deleted(path, "2")
    # The header is missing, incomplete, of another format, or of another version.
    for broken in (b"", content[:20], b"x" + content[1:], content[:16] + b"\x09" + content[17:]):
        path.write_bytes(broken)
        with pytest.raises(WrongFormatError):
            find_deleted(path, "2")


def test_the_history_of_a_generation_has_the_steps_that_led_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest step (the changes between two generations) is first; at most MOST_STEPS steps are given."""
    third_dataset = [*LATER, company("FR", "9", "Œuvre")]
    first, second, third = (
        publish(tmp_path, dataset) for dataset in (EARLIER, LATER, third_dataset)
    )
    steps_by_start = change_steps.steps(tmp_path)

    def history(end: str) -> list[tuple[str, str, bool]]:
        """The steps that led to a generation: its start, its end, and whether it is read backwards."""
        steps = change_steps.history(steps_by_start, end)
        return [(step.before, step.after, step.backwards) for step in steps]

    assert history(third) == [(second, third, False), (first, second, False)]
    assert history(second) == [(first, second, False)]  # without the later step
    assert history(first) == history("0" * 16) == []
    monkeypatch.setattr(change_steps, "MOST_STEPS", 1)
    assert history(third) == [(second, third, False)]
