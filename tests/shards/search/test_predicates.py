"""Bound queries: each filter by itself, compared with the fields of the companies."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.query import Query
from shards.search.compiled_query import compile_query
from tests import oracle
from tests.shards.search.open_shards import open_shard
from tests.shards.search.query_strategies import bounded_cases
from tests.shards.second_engine import predicates
from tests.shards.second_engine.predicates import FactTest
from tests.world import Company, company

CASES = bounded_cases()
# Few values, near the ends of the codes, so that bounds are often met exactly.
FACTS = st.sampled_from((0, 1, 2, 3, 4, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0x8002, 0xFFFF))


@given(CASES)
def test_every_filter_becomes_the_rows_that_pass_it(case: tuple[list[Company], Query]) -> None:
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        bound = compiled and predicates.bind(shard, compiled)
        if not bound:
            return
        if bound.turnover is not None:
            low, high = bound.turnover
            chosen = set(shard.order("ca_desc")[low:high].tolist())
            assert chosen == _passing(rows, "ca_eur", query.ca_min, query.ca_max)
        if bound.headcount is not None:
            low, high = bound.headcount
            chosen = set(shard.order("effectif_desc")[low:high].tolist())
            assert chosen == _passing(rows, "effectif", query.effectif_min, query.effectif_max)
        if bound.facts is not None:
            passed = set(np.flatnonzero(bound.facts.along(shard.facts)).tolist())
            assert passed == _passing(rows, "effectif", query.effectif_min, query.effectif_max) & {
                row for row, one in enumerate(rows) if one["site_web"] or not query.site_web
            }


@pytest.mark.parametrize("site_web", [False, True])
def test_every_pair_of_bounds_of_headcount_becomes_the_rows_within_them(site_web: bool) -> None:
    """B22: every bound that is, is next to, and is beyond a headcount"""
    found = [
        company("EE", f"{effectif}{site}", "Ä", effectif=effectif, site_web=site)
        for effectif in (None, 0, 1, 3, 4)
        for site in (None, "https://a.ee")
    ]
    bounds = (None, *range(6))
    with open_shard(found) as (shard, rows):
        for least, most in product(bounds, bounds):
            query = Query(effectif_min=least, effectif_max=most, site_web=site_web)
            compiled = compile_query(query)
            bound = predicates.bind(shard, compiled) if compiled else None
            expected = [row for row, one in enumerate(rows) if oracle.matches(one, query)]

            if bound is None:
                assert not expected
            elif bound.facts is not None:
                assert np.flatnonzero(bound.facts.test(shard.facts)).tolist() == expected


@given(CASES)
def test_a_query_is_not_bound_only_where_nothing_matches(
    case: tuple[list[Company], Query],
) -> None:
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows):
        bound = compiled and predicates.bind(shard, compiled)

    if bound is None:
        assert not any(oracle.matches(one, query) for one in rows)


@pytest.mark.parametrize("together", [1, 10**9])
@given(case=CASES)
def test_spans_are_the_rows_within_sectors_and_turnover(
    together: int, case: tuple[list[Company], Query]
) -> None:
    """The bisection of many cells and that of one cell agree"""
    found, query = case
    compiled = compile_query(query)
    with open_shard(found) as (shard, rows), pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicates, "_TOGETHER", together)
        bound = compiled and predicates.bind(shard, compiled)
        if not bound:
            return
        spans = predicates.spans(bound)

    wanted = Query(
        secteurs=query.secteurs,
        sous_secteurs=query.sous_secteurs,
        ca_min=query.ca_min,
        ca_max=query.ca_max,
        avec_ca=query.avec_ca,
    )
    expected = [row for row, one in enumerate(rows) if oracle.matches(one, wanted)]
    assert [row for span in spans.each() for row in range(*span)] == expected
    assert spans.size == len(expected)


@given(
    st.lists(FACTS, max_size=40),
    st.sampled_from([None, 0x7FFF]),
    FACTS,
    st.integers(0, 5) | st.integers(0, 0xFFFF),
)
def test_facts_are_tested_alike_one_by_one_and_in_blocks(
    facts: list[int], mask: int | None, low: int, width: int
) -> None:
    values = np.array(facts, dtype=np.uint16)
    bounds = FactTest(mask, low, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicates, "_BLOCK", 3)
        in_blocks = bounds.along(values).tolist()

    masked = [fact if mask is None else fact & mask for fact in facts]
    expected = [(fact - low) % 0x10000 < width for fact in masked]
    assert in_blocks == bounds.test(values).tolist() == expected


def _passing(rows: list[Company], field: str, least: float | None, most: float | None) -> set[int]:
    """The rows within the bounds (B22); a filter by turnover passes no null even without bounds."""
    return {
        row
        for row, one in enumerate(rows)
        if oracle.within(one[field], least, most) and (field != "ca_eur" or one[field] is not None)
    }
