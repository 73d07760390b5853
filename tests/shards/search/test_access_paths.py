"""Access paths: each finds the same rows, those that pass every filter."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import row_sets
from shards.query import Query
from shards.search.compiled_query import compile_query
from tests import oracle
from tests.shards.search.open_shards import open_shard
from tests.shards.search.query_strategies import bounded_cases
from tests.shards.second_engine import access_paths, predicates
from tests.shards.second_engine.row_sets import RowSet, expand, unpack
from tests.world import Company, company

CASES = bounded_cases()
SETS = ("none", "list", "bits")


@pytest.mark.parametrize("kind", SETS)
@given(case=CASES, dividing=st.integers(1, 3))
def test_every_path_finds_the_rows_that_pass_every_filter(
    kind: str, case: tuple[list[Company], Query], dividing: int
) -> None:
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        bound = compiled and predicates.bind(shard, compiled)
        if not bound or (kind == "none" and bound.is_unfiltered):
            return
        chosen = [row for row in range(len(rows)) if row % dividing == 0]
        if kind != "none":
            bound = bound._replace(q_rows=_row_set(chosen, len(rows), kind))
        expected = {
            row
            for row, one in enumerate(rows)
            if oracle.matches(one, query) and (kind == "none" or row in chosen)
        }

        for path in access_paths._paths(bound):
            matches = path.run()
            listed = matches.rows().tolist()

            assert sorted(listed) == sorted(expected)
            assert matches.total == len(expected)
            assert matches.cost() >= 0


def test_the_cheapest_path_is_the_one_of_least_cost() -> None:
    found = [company("EE", str(n), "Ä", ca_eur=float(n), effectif=n) for n in range(50)]
    compiled = compile_query(Query(ca_min=48.0, effectif_min=1))
    assert compiled is not None
    with open_shard(found) as (shard, _):
        bound = predicates.bind(shard, compiled)
        assert bound is not None

        costs = [path.cost for path in access_paths._paths(bound)]
        assert access_paths.cheapest_path(bound).cost == min(costs)
        assert len(costs) == 3  # ranges of rows, turnover, headcount


@given(CASES)
def test_each_test_passes_the_rows_of_its_filter(case: tuple[list[Company], Query]) -> None:
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        bound = compiled and predicates.bind(shard, compiled)
        if not bound:
            return
        every = np.arange(len(rows), dtype=np.uint32)
        passed = np.ones(len(rows), dtype=bool)
        for test in access_paths.tests(bound):
            passed &= test(every)

    assert passed.tolist() == [oracle.matches(one, query) for one in rows]


def _row_set(chosen: Sequence[int], rows: int, kind: str) -> RowSet:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sets, "_DENSE", 0 if kind == "list" else 10**9)
        packed = row_sets.pack(np.array(chosen, dtype=np.uint32), rows)
    return expand(unpack(packed, rows))
