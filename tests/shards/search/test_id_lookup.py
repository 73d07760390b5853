"""The index of identifiers, compared with the folded identifiers themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec.folding import fold_id
from shards.codec.sparse_index import probe
from shards.search.id_lookup import rows_equal_to
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.shards.second_engine import id_lookup
from tests.shards.second_engine.row_sets import NO_LOOKUP
from tests.world import Company, company

MIXED = st.sets(world.identifiers, min_size=1, max_size=20)
SAME_LENGTH = st.sets(st.text("01AB", min_size=4, max_size=4), min_size=1, max_size=20)


def identified(ids: set[str]) -> list[Company]:
    return [company("EE", identifier, "Ä") for identifier in sorted(ids)]


@pytest.mark.parametrize("heavy", [0, 10**6])
@given(ids=MIXED | SAME_LENGTH, data=st.data())
def test_a_prefix_is_found_in_every_identifier_that_begins_with_it(
    heavy: int, ids: set[str], data: st.DataObject
) -> None:
    """B15; identifiers of one length are stored without their places"""
    whole = fold_id(data.draw(st.sampled_from(sorted(ids)))) or "0"
    prefix = data.draw(st.just(whole) | st.text("01ABZ", min_size=1, max_size=3))
    prefix = prefix[: data.draw(st.integers(1, len(prefix)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "HEAVY_LEAST", heavy)
        patch.setattr(format, "HEAVY_SHARE", 2**31)
        with open_shard(identified(ids)) as (shard, rows):
            lookup = id_lookup.rows_beginning_with(shard, probe(prefix.encode()))

            expected = [
                row for row, one in enumerate(rows) if fold_id(one["id"]).startswith(prefix)
            ]
            assert lookup.find().rows().tolist() == expected


@given(MIXED | SAME_LENGTH)
def test_a_whole_identifier_is_found_with_all_that_fold_to_it(ids: set[str]) -> None:
    """E2"""
    with open_shard(identified(ids)) as (shard, rows):
        for one in rows:
            whole = fold_id(one["id"])
            expected = [row for row, other in enumerate(rows) if fold_id(other["id"]) == whole]
            assert rows_equal_to(shard.idents, whole).tolist() == expected
        assert rows_equal_to(shard.idents, "NONE").tolist() == []


def test_a_prefix_that_no_identifier_has_needs_no_lookup() -> None:
    with open_shard(identified({"10000018", "80000497"})) as (shard, _):
        assert id_lookup.rows_beginning_with(shard, probe(b"STEEL")) is NO_LOOKUP
        assert id_lookup.rows_beginning_with(shard, probe(b"0")) is NO_LOOKUP
