"""The comparison of two shards, held to a comparison of two dicts."""

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
from tests.shards.two_publications import FOUND, Changes, compared, read
from tests.world import Company, companies, company, write_shard


def expected(old: Sequence[Company], new: Sequence[Company]) -> Changes:
    """The same, the slow way: by two dicts."""
    before, after = ({one["id"]: one for one in found} for found in (old, new))
    changed = {
        name: tuple(field for field in FIELDS if before[name][field] != after[name][field])
        + ("comptes",) * (before[name]["a_comptes"] != after[name]["a_comptes"])
        for name in before.keys() & after.keys()
    }
    return {
        DELETED: [(name,) for name in before.keys() - after.keys()],
        CREATED: [(name,) for name in after.keys() - before.keys()],
        CHANGED: [(name, *champs) for name, champs in changed.items() if {*champs} - oracle.SILENT],
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
    line = {"code": "FA", "valeur": 1.0, "devise": "EUR", "exercice": 2024}
    lines = {"1": [line]}
    write_shard(tmp_path / "old", "EE", FOUND, lines)
    write_shard(tmp_path / "new", "EE", FOUND, {"1": [line | {"valeur": 2.0}]})

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
