"""The first rows of an order, compared with sorting all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.query import ORDERS, Query
from shards.search.compiled_query import compile_query
from tests import oracle
from tests.shards.search.open_shards import open_shard
from tests.shards.search.query_strategies import bounded_cases
from tests.shards.second_engine import access_paths, predicates, top_rows
from tests.shards.second_engine.row_sets import Listed
from tests.world import Company, companies

CASES = bounded_cases()


@given(companies(), st.sampled_from(ORDERS), st.integers(1, 9), st.data())
def test_the_first_of_some_rows_are_those_that_come_first_in_the_order(
    found: list[Company], tri: str, count: int, data: st.DataObject
) -> None:
    with open_shard(found) as (shard, _):
        order = shard.order(tri).tolist()  # so few that it lists all
        chosen = data.draw(st.sets(st.sampled_from(order)) if order else st.just(set()))
        rows = np.array(sorted(chosen), dtype=np.uint32)

        ranked = top_rows.first_of(shard, tri, rows, count).tolist()

    assert ranked == [row for row in order if row in chosen][:count]


@pytest.mark.parametrize("walking", [0.1, 10**9])
@given(case=CASES, count=st.integers(0, 9), with_rows=st.booleans())
def test_walking_and_ranking_find_the_same_first_rows(
    walking: float, case: tuple[list[Company], Query], count: int, with_rows: bool
) -> None:
    """B27 to B32; every way that is cheapest for some size is taken"""
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows), pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_rows, "WALKING", walking)
        patch.setattr(top_rows, "STARTING", 0)
        patch.setattr(format, "TOP_LEAST", 10**9)
        bound = compiled and predicates.bind(shard, compiled)
        if not bound:
            return
        if with_rows:
            bound = bound._replace(q_rows=Listed(np.arange(0, len(rows), 2, dtype=np.uint32)))
        matching = access_paths.cheapest_path(bound).run()

        first = top_rows.first_rows(bound, matching, count).tolist()

        wanted = {int(row) for row in matching.rows()}
    in_order = oracle.search(rows, Query(tri=query.tri))
    expected = [rows.index(company) for company in in_order]
    assert first == [row for row in expected if row in wanted][:count]
