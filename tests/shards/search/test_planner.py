"""Plans of one shard: totals, all rows and first rows, compared with the oracle."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.query import Query
from shards.search.compiled_query import compile_query
from shards.search.search import Base
from tests import oracle
from tests.shards.search.open_shards import OpenShards, open_shard
from tests.shards.search.query_strategies import bounded_cases, queries
from tests.shards.second_engine import planner, predicates
from tests.world import Company, companies, company

CASES = companies().flatmap(lambda found: st.tuples(st.just(found), queries(found)))


@given(CASES, st.integers(0, 9))
def test_a_plan_finds_what_the_oracle_finds(case: tuple[list[Company], Query], count: int) -> None:
    found, query = case[0], replace(case[1], pays=())
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        expected = [rows.index(one) for one in oracle.search(rows, query)]
        if compiled is None:
            assert not expected
            return

        plan = planner.plan(shard, compiled, count)
        matches = plan.find()

        assert matches.total == len(expected)
        assert matches.first(count).tolist() == expected[:count]
        assert sorted(matches.rows().tolist()) == sorted(expected)
        assert plan.cost > 0


@given(bounded_cases())
def test_a_count_without_looking_at_rows_is_exact(case: tuple[list[Company], Query]) -> None:
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        bound = compiled and predicates.bind(shard, compiled)
        if not bound:
            return
        total = planner.count_without_rows(bound)

    assert total in (None, sum(oracle.matches(one, query) for one in rows))


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        (Query(), True),
        (Query(secteurs=("62",)), True),
        (Query(secteurs=("62",), site_web=True), True),
        (Query(secteurs=("62",), avec_ca=True), True),
        (Query(ca_min=2.0, site_web=True), True),
        (Query(effectif_min=2), True),
        (Query(secteurs=("62",), effectif_min=2), False),
        (Query(ca_min=2.0, effectif_min=2), False),
        (Query(secteurs=("62",), ca_min=2.0), False),
    ],
)
def test_sums_over_cells_and_lengths_of_intervals_need_no_rows(
    query: Query, is_known: bool
) -> None:
    found = [
        company("EE", str(n), "Ä", division=division, ca_eur=float(n), effectif=n)
        for n, division in enumerate(("62", "47") * 5)
    ]
    compiled = compile_query(query)
    assert compiled is not None
    with open_shard(found) as (shard, _):
        bound = predicates.bind(shard, compiled)
        assert bound is not None
        assert (planner.count_without_rows(bound) is not None) is is_known


def test_the_first_page_of_a_frequent_text_is_read_without_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """FORMAT.md §8, heads: the set is found for deeper pages only"""
    monkeypatch.setattr(format, "HEAVY_LEAST", 4)
    monkeypatch.setattr(format, "HEAVY_SHARE", 2**31)
    monkeypatch.setattr(format, "HEADED_LEAST", 4)
    monkeypatch.setattr(format, "HEAD_ROWS", 3)
    found = [company("EE", str(n), "Orléans", score=n % 7) for n in range(20)]
    query = Query(q="orl", tri="score")
    compiled = compile_query(query)
    assert compiled is not None
    with open_shard(found) as (shard, rows):
        expected = [rows.index(one) for one in oracle.search(rows, query)]
        first_page = planner.plan(shard, compiled, 3)
        deeper = planner.plan(shard, compiled, 4)

        matches = first_page.find()
        assert matches.total == 20
        assert matches.first(3).tolist() == expected[:3]
        assert matches.first(4).tolist() == expected[:4]
        assert first_page.cost <= deeper.cost


def test_countries_are_planned_in_the_order_of_their_codes() -> None:
    found = [company(iso2, "1", "Ä") for iso2 in ("UK", "EE", "FR")]
    compiled = compile_query(Query())
    assert compiled is not None
    with OpenShards(found) as world:
        shards: Base = world.shards
        every = planner.plans(shards, (), compiled, 1)
        some = planner.plans(shards, ("UK", "EE", "UK"), compiled, 1)

        assert [shard.iso2 for shard, _ in every] == ["EE", "FR", "UK"]
        assert [shard.iso2 for shard, _ in some] == ["EE", "UK"]
