"""Facet counts, compared with the oracle: the exact count of every cell, and any number of first rows."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.query import ORDERS, Query
from shards.search.distribution import FacetCount, count_facets
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import Company, companies, company


@given(
    companies().flatmap(
        lambda dataset: st.tuples(st.just(dataset), st.lists(queries(dataset), max_size=6))
    ),
    st.integers(0, 30),
    st.sampled_from((0, 1, 1_000)),
)
def test_facets_have_the_counts_and_rows_of_the_oracle(
    case: tuple[list[Company], list[Query]], limit: int, top_rows: int
) -> None:
    """F12; the length of stored lists, `top_rows`, does not limit the result"""
    dataset, searches = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "TOP_ROWS", top_rows)
        patch.setattr(format, "TOP_LEAST", 2)
        with OpenShards(dataset) as world:
            for query in searches:
                result = count_facets(world.shards, query, limit=limit)

                assert_equals_oracle(result, dataset, query, world, limit)


@pytest.mark.parametrize("tri", ORDERS)
@pytest.mark.parametrize("secteurs", [(), ("62",), ("47", "62")])
def test_facets_can_have_more_rows_than_a_result_page(tri: str, secteurs: tuple[str, ...]) -> None:
    dataset = [
        company(
            iso2,
            f"{number:04}",
            f"Żabka {number % 7}",
            division=division,
            groupe=groupe,
            ca_eur=number % 11,
        )
        for number in range(1_300)
        for iso2, division, groupe in (("EE", "62", "62.0"), ("FR", "47", "47.1"))
    ]
    query = Query(tri=tri, secteurs=secteurs)

    with OpenShards(dataset) as world:
        result = count_facets(world.shards, query, limit=2_500)

        assert_equals_oracle(result, dataset, query, world, 2_500)


def test_no_company_matches_in_empty_shards() -> None:
    with OpenShards([]) as world:
        result = count_facets(world.shards, Query(), limit=10)

    assert (result.total, result.counts, result.rows) == (0, {}, ())


def assert_equals_oracle(
    result: FacetCount, dataset: Sequence[Company], query: Query, world: OpenShards, limit: int
) -> None:
    """The total, the counts by country and sector, and the first rows are those of the oracle."""
    expected = oracle.search(dataset, query)
    rows = [(row.iso2, world.shards[row.iso2].company(row.row)["id"]) for row in result.rows]

    assert result.total == len(expected)
    assert result.counts == Counter((c["iso2"], c["division"]) for c in expected)
    assert rows == [(c["iso2"], c["id"]) for c in expected[:limit]]
