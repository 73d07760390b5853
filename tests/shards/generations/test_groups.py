"""Groups: both directions of a file of relationships, compared with a plain list."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.errors import CorruptError
from shards.generations import groups
from shards.generations.groups import GROUPS, NATURES, Relationship

# Few LEI, so that many random relationships have the same parent or child.
LEIS = [f"{letter * 18}{number:02}" for letter in "0AZ" for number in (1, 99)]
DAYS = st.sampled_from([None, "1864-05-04", "2023-11-06"])
RELATIONSHIPS = st.lists(
    st.builds(Relationship, *[st.sampled_from(LEIS)] * 2, st.sampled_from(NATURES), DAYS, DAYS)
)


@given(RELATIONSHIPS)
def test_parents_and_children_are_those_of_a_list(
    tmp_path_factory: pytest.TempPathFactory, relationships: list[Relationship]
) -> None:
    """Parents, and the current and ended children of each nature, with the number of current children."""
    path = tmp_path_factory.mktemp("groups") / GROUPS
    groups.write(path, relationships)
    stored = groups.read(path)

    groups.check_order(stored)
    for lei in [*LEIS, "B" * 20]:
        assert set(stored.parents(lei)) == {
            relationship for relationship in relationships if relationship.child == lei
        }
        for nature in NATURES:
            with_parent = {
                relationship
                for relationship in relationships
                if (relationship.parent, relationship.nature) == (lei, nature)
            }
            for ended in (False, True):
                expected = {
                    relationship
                    for relationship in with_parent
                    if (relationship.fin is not None) == ended
                }
                children = stored.children(lei, nature, ended=ended)
                assert (set(children), len(children)) == (expected, len(expected))
                assert stored.children(lei, nature, 1, ended=ended) == children[:1]
            assert stored.count_children(lei, nature) == sum(
                relationship.fin is None for relationship in with_parent
            )


def test_the_same_relationships_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    rows = [Relationship(LEIS[n], LEIS[5], "directe", None, None) for n in range(5)]
    for name, order in (("a", rows), ("b", rows[::-1])):
        groups.write(tmp_path / name, order)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_generation_without_the_file_has_no_groups(tmp_path: Path) -> None:
    assert list(groups.read(tmp_path / GROUPS).parents(LEIS[0])) == []


def test_rows_out_of_order_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / GROUPS
    groups.write(path, [Relationship(LEIS[n], LEIS[5], "directe", None, None) for n in (0, 1)])
    rows = np.load(path)
    np.save(path, rows[::-1])
    with pytest.raises(CorruptError, match="not in the order of its child"):
        groups.check_order(groups.read(path))

    np.save(path, np.zeros(3))
    with pytest.raises(CorruptError, match="not of this format"):
        groups.read(path)
    path.write_bytes(b"x")
    with pytest.raises(CorruptError, match="cannot be read"):
        groups.read(path)
