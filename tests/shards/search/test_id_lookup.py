"""The index of identifiers, compared with the list of folded identifiers."""

from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold_id
from shards.reader.lookups import rows_equal_to
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.world import Company, company

MIXED = st.sets(world.identifiers, min_size=1, max_size=20)
SAME_LENGTH = st.sets(st.text("01AB", min_size=4, max_size=4), min_size=1, max_size=20)


def companies_with_ids(ids: set[str]) -> list[Company]:
    """A company of each identifier."""
    return [company("EE", identifier, "Ä") for identifier in sorted(ids)]


@given(MIXED | SAME_LENGTH)
def test_a_folded_identifier_finds_all_identifiers_that_fold_to_it(ids: set[str]) -> None:
    """E2: identifiers that differ only in case or punctuation fold to the same text"""
    with open_shard(companies_with_ids(ids)) as (shard, rows):
        for entry in rows:
            folded = fold_id(entry["id"])
            expected = [
                row for row, candidate in enumerate(rows) if fold_id(candidate["id"]) == folded
            ]
            assert rows_equal_to(shard.idents, folded).tolist() == expected
        assert rows_equal_to(shard.idents, "NONE").tolist() == []
