"""The comparison of two shards gives the changes between two dicts."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.changes import comparison
from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
    STATEMENTS,
)
from shards.codec.record import FIELDS
from shards.generations.change_steps import ChangeCounts
from tests import oracle
from tests.shards.two_publications import EARLIER, Changes, compare_shards, read_changes
from tests.world import Company, companies, company, write_shard


def slow_changes(old: Sequence[Company], new: Sequence[Company]) -> Changes:
    """The expected changes between two lists of companies: identifiers by kind, with the changed fields.

    A company whose only changed fields are `UNCOUNTED_FIELDS` of the oracle is not listed.
    """
    before, after = ({entry["id"]: entry for entry in dataset} for dataset in (old, new))
    # "comptes" is appended if only one of the two entries has statements.
    changed = {
        identifier: tuple(
            field for field in FIELDS if before[identifier][field] != after[identifier][field]
        )
        + ("comptes",) * (before[identifier]["a_comptes"] != after[identifier]["a_comptes"])
        for identifier in before.keys() & after.keys()
    }
    return {
        DELETED: [(identifier,) for identifier in before.keys() - after.keys()],
        CREATED: [(identifier,) for identifier in after.keys() - before.keys()],
        CHANGED: [
            (identifier, *champs)
            for identifier, champs in changed.items()
            if {*champs} - oracle.UNCOUNTED_FIELDS
        ],
    }


@given(companies(), companies(), st.sampled_from([1, 2, 4_096]))
def test_the_changes_are_those_between_two_dicts(
    old: list[Company], new: list[Company], companies_per_batch: int
) -> None:
    datasets = [[entry for entry in dataset if entry["iso2"] == "EE"] for dataset in (old, new)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_BATCH", companies_per_batch)

        changes = compare_shards(Path(folder), *datasets)

    expected = slow_changes(*datasets)
    assert {nature: sorted(entries) for nature, entries in changes.items()} == {
        nature: sorted(entries) for nature, entries in expected.items()
    }


def test_statements_that_changed_are_a_change_of_comptes(tmp_path: Path) -> None:
    line = {"code": "FA", "valeur": 1.0, "devise": "EUR", "exercice": 2024}
    lines = {"1": [line]}
    write_shard(tmp_path / "old", "EE", EARLIER, lines)
    write_shard(tmp_path / "new", "EE", EARLIER, {"1": [line | {"valeur": 2.0}]})

    counts = comparison.compare(tmp_path / "old", tmp_path / "new", "EE", tmp_path / "EE.changes")

    assert counts == ChangeCounts(modifiees=1)
    assert read_changes(tmp_path / "EE.changes")[CHANGED] == [("1", STATEMENTS)]


def test_identifiers_that_fold_to_the_same_text_are_distinguished(tmp_path: Path) -> None:
    old = [company("EE", "A-1", "Ä"), company("EE", "A.1", "É"), company("EE", "-", "Ö")]
    new = [company("EE", "A1", "Ä"), company("EE", "A.1", "È"), company("EE", ".", "Ö")]

    changes = compare_shards(tmp_path, old, new)

    assert sorted(changes[DELETED]) == [("-",), ("A-1",)]
    assert sorted(changes[CREATED]) == [(".",), ("A1",)]
    assert changes[CHANGED] == [("A.1", "nom")]


def test_all_companies_of_a_new_or_removed_country_are_changes(tmp_path: Path) -> None:
    write_shard(tmp_path / "shard", "EE", EARLIER)

    created = comparison.compare(None, tmp_path / "shard", "EE", tmp_path / "created")
    deleted = comparison.compare(tmp_path / "shard", None, "EE", tmp_path / "deleted")

    assert (created, deleted) == (ChangeCounts(creees=2), ChangeCounts(supprimees=2))
