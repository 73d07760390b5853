"""Facet counts, compared with the slow search: exact counts of every place, rows of any depth."""

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
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=6))),
    st.integers(0, 30),
    st.sampled_from((0, 1, 1_000)),
)
def test_facets_count_and_list_as_the_oracle_does(
    case: tuple[list[Company], list[Query]], limit: int, top_rows: int
) -> None:
    """F12; the lists of the build, `top_rows` long, are no limit"""
    found, asked = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "TOP_ROWS", top_rows)
        patch.setattr(format, "TOP_LEAST", 2)
        with OpenShards(found) as world:
            for query in asked:
                made = count_facets(world.shards, query, limit=limit)

                assert_as_the_oracle(made, found, query, world, limit)


@pytest.mark.parametrize("tri", ORDERS)
@pytest.mark.parametrize("secteurs", [(), ("62",), ("47", "62")])
def test_rows_go_deeper_than_any_page(tri: str, secteurs: tuple[str, ...]) -> None:
    found = [
        company(iso2, f"{n:04}", f"Żabka {n % 7}", division=division, groupe=groupe, ca_eur=n % 11)
        for n in range(1_300)
        for iso2, division, groupe in (("EE", "62", "62.0"), ("FR", "47", "47.1"))
    ]
    query = Query(tri=tri, secteurs=secteurs)

    with OpenShards(found) as world:
        made = count_facets(world.shards, query, limit=2_500)

        assert_as_the_oracle(made, found, query, world, 2_500)


def test_nothing_matches_in_an_empty_world() -> None:
    with OpenShards([]) as world:
        made = count_facets(world.shards, Query(), limit=10)

    assert (made.total, made.counts, made.rows) == (0, {}, ())


def assert_as_the_oracle(
    made: FacetCount, found: Sequence[Company], query: Query, world: OpenShards, limit: int
) -> None:
    expected = oracle.search(found, query)
    rows = [(row.iso2, world.shards[row.iso2].company(row.row)["id"]) for row in made.rows]

    assert made.total == len(expected)
    assert made.counts == Counter((c["iso2"], c["division"]) for c in expected)
    assert rows == [(c["iso2"], c["id"]) for c in expected[:limit]]
