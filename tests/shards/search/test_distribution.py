"""Distributions of searches, compared with the slow search: every value, every kind of search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.query import Query
from shards.search.counts.distribution import DIMENSIONS, distributions
from shards.search.search import UNLIMITED
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import Company, companies, company


@given(
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=6))),
    st.sets(st.sampled_from(sorted(DIMENSIONS)), min_size=1),
    st.sampled_from([None, 1, 2]),
)
def test_a_distribution_counts_as_the_oracle_does(
    case: tuple[list[Company], list[Query]], dimensions: set[str], limit: int | None
) -> None:
    """X3"""
    found, asked = case
    with OpenShards(found) as world:
        for query in [*asked, Query()]:
            assert_as_the_oracle(world, found, query, dimensions, limit)


@pytest.mark.parametrize("counted_least", [0, 1_024])
def test_rows_are_counted_although_their_number_is_stored(
    monkeypatch: pytest.MonkeyPatch, counted_least: int
) -> None:
    """The set of a frequent text says how many rows it has, but not where they belong."""
    for name, least in (("HEAD_ROWS", 2), ("HEADED_LEAST", 2), ("HEAVY_LEAST", 3)):
        monkeypatch.setattr(format, name, least)
    monkeypatch.setattr(format, "COUNTED_LEAST", counted_least)
    found = [
        company("FR", f"{n:04}", f"Żabka {n}", ville="Łódź" if n % 3 else None) for n in range(90)
    ]

    with OpenShards(found) as world:
        for q in ("zabka", "zab", "0", "0 1"):
            assert_as_the_oracle(world, found, Query(q=q), {"ville", "pays"}, None)


def test_a_town_is_spelt_as_where_most_companies_are_in_it() -> None:
    """X3"""
    spelt = {"FR": ["Saint-Rémy"] * 2 + ["SAINT REMY"] * 3, "EE": ["Saint-Remy"] * 4}
    found = [
        company(iso2, f"{n:04}", "Zoë", ville=ville)
        for iso2, villes in spelt.items()
        for n, ville in enumerate(villes)
    ]

    with OpenShards(found) as world:
        answer = distributions(world.shards, Query(pays=("EE",)), ["ville"], UNLIMITED)

        assert answer is not None
        assert answer[1]["ville"].first() == [("SAINT REMY", 4)]


def test_what_costs_more_than_the_budget_is_not_begun() -> None:
    found = [company("FR", f"{n:04}", "Été", ca_eur=n) for n in range(900)]

    with OpenShards(found) as world:
        base = world.shards
        assert (
            distributions(base, Query(), ["ville"], 1.0) is None
        )  # its towns were not gathered yet
        assert distributions(base, Query(), ["ville"], UNLIMITED) is not None
        assert distributions(base, Query(ca_min=5), ["ville"], 1.0) is None
        assert distributions(base, Query(), ["ville"], 1.0) is not None


def assert_as_the_oracle(
    world: OpenShards, found: list[Company], query: Query, dimensions: set[str], limit: int | None
) -> None:
    matches = oracle.search(found, query)
    answer = distributions(world.shards, query, dimensions, UNLIMITED)
    assert answer is not None
    total, made = answer

    assert total == len(matches)
    assert made.keys() == dimensions
    for name, one in made.items():
        shown, others, null = oracle.distribution(matches, name, limit)
        if name == "ville":
            shown = [(oracle.spelling(found, town), n) for town, n in shown]
        assert one.first(limit) == shown, name
        assert one.null == null, name
        assert int(one.counts.sum()) == total - null == others + sum(n for _, n in shown), name
