"""The index of identifiers, compared with the folded identifiers themselves."""

from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold_id
from shards.reader.lookups import rows_equal_to
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.world import Company, company

MIXED = st.sets(world.identifiers, min_size=1, max_size=20)
SAME_LENGTH = st.sets(st.text("01AB", min_size=4, max_size=4), min_size=1, max_size=20)


def identified(ids: set[str]) -> list[Company]:
    return [company("EE", identifier, "Ä") for identifier in sorted(ids)]


@given(MIXED | SAME_LENGTH)
def test_a_whole_identifier_is_found_with_all_that_fold_to_it(ids: set[str]) -> None:
    """E2"""
    with open_shard(identified(ids)) as (shard, rows):
        for one in rows:
            whole = fold_id(one["id"])
            expected = [row for row, other in enumerate(rows) if fold_id(other["id"]) == whole]
            assert rows_equal_to(shard.idents, whole).tolist() == expected
        assert rows_equal_to(shard.idents, "NONE").tolist() == []
