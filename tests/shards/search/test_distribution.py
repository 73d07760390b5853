"""Distributions of searches, compared with the slow search: every value, every kind of search."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec import bands
from shards.query import Query, Range
from shards.search import kernel_session
from shards.search.distribution import DIMENSIONS, distributions
from shards.search.search import UNLIMITED
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import BANDS, Company, companies, company

# A budget that no search of a test reaches.
LARGE: Final = 1e18


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


def test_a_census_that_will_read_through_arrays_is_begun_again_and_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_session, "_SCANNED", 1.0)
    found = [company(iso2, f"{n:04}", f"Żabka {n}") for iso2 in ("EE", "FR") for n in range(90)]

    with OpenShards(found) as world:
        answer = distributions(world.shards, Query(q="zabka"), ["pays"], LARGE)

        assert answer is not None
        assert (answer[0], answer[1]["pays"].top_values()) == (180, [("EE", 90), ("FR", 90)])
        assert world.shards.own_session().arrays.expects_scans


def test_a_town_has_its_most_frequent_spelling_of_all_countries() -> None:
    """X3: not the one of the country with most companies in it, each of whose spellings is rarer"""
    spelt = {
        "FR": ["Orléans"] * 3 + ["ORLEANS"] * 2 + ["Orleans"] * 2,
        "EE": ["ORLEANS"] * 2 + ["Orleans"],
        "UK": ["Łódź", "łodz"],
    }
    found = [
        company(iso2, f"{n:04}", "Zoë", ville=ville)
        for iso2, villes in spelt.items()
        for n, ville in enumerate(villes)
    ]

    with OpenShards(found) as world:
        answers = [
            distributions(world.shards, Query(pays=pays), ["ville"], UNLIMITED)
            for pays in ((), ("FR",), ("EE",))
        ]

        shown = [answer[1]["ville"].top_values() for answer in answers if answer is not None]

    assert shown == [[("ORLEANS", 10), ("Łódź", 2)], [("ORLEANS", 7)], [("ORLEANS", 3)]]


def test_a_published_band_counts_where_there_is_no_number() -> None:
    """X3: in the band that it lies in; the number decides where there is one"""
    published = [
        ("02", None), ("6-9", None), ("31", None), ("22", None), ("53", None), ("10000+", None),
        ("00", None), ("0", None), ("12", 300), ("NN", None), ("5-12", None), (None, None), (None, -1),
    ]  # fmt: skip
    found = [
        company("FR", f"{n:04}", "Été", tranche_effectif=tranche, effectif=effectif)
        for n, (tranche, effectif) in enumerate(published)
    ]

    with OpenShards(found) as world:
        for query in (Query(), Query(q="ete")):
            answer = distributions(world.shards, query, ["tranche_effectif"], UNLIMITED)

            assert answer is not None
            assert dict(answer[1]["tranche_effectif"].top_values()) == {
                "1-9": 2, "50-249": 2, "1000+": 2, "0": 2, "250-999": 1, "<0": 1,
            }  # fmt: skip
            assert answer[1]["tranche_effectif"].null == 3
        numbered = distributions(
            world.shards, Query(ranges=(Range("effectif", 0),)), ["pays"], UNLIMITED
        )
        assert numbered is not None
        assert numbered[0] == 1  # the filter is one of numbers


def test_a_band_is_in_one_of_ours_or_in_none() -> None:
    """The codes of INSEE and bands by their numbers, as the oracle says it"""
    names = bands.headcount_names()
    for published in (*bands.INSEE, *BANDS, "1 - 5", "١-٣", "12-", "+", ""):
        code = bands.published_code(published)

        assert (names[code - 1] if code else None) == oracle.published_band(published), published


def test_what_costs_more_than_the_budget_is_not_begun() -> None:
    found = [company("FR", f"{n:04}", "Été", ca_eur=n) for n in range(900)]

    with OpenShards(found) as world:
        base = world.shards
        assert (
            distributions(base, Query(), ["ville"], 1.0) is None
        )  # its towns were not gathered yet
        assert distributions(base, Query(), ["ville"], UNLIMITED) is not None
        assert distributions(base, Query(ranges=(Range("ca_eur", 5),)), ["ville"], 1.0) is None
        assert distributions(base, Query(), ["ville"], 1.0) is not None


def assert_as_the_oracle(
    world: OpenShards, found: list[Company], query: Query, dimensions: set[str], limit: int | None
) -> None:
    matches = oracle.search(found, query)
    # Counted along lists, then by marks, if that is faster; by both engines.
    bases = list(world.bases.values())
    for base, budget in product(bases, (UNLIMITED, LARGE)):
        answer = distributions(base, query, dimensions, budget)
        assert answer is not None
        total, made = answer

        assert total == len(matches)
        assert made.keys() == dimensions
        for name, one in made.items():
            shown, others, null = oracle.distribution(matches, name, limit)
            if name == "ville":
                shown = [(oracle.spelling(found, town), n) for town, n in shown]
            assert one.top_values(limit) == shown, name
            assert one.null == null, name
            assert int(one.counts.sum()) == total - null == others + sum(n for _, n in shown), name
